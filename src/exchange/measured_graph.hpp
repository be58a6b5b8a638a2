// A step's graph with what several metrics ask of it, worked out once a step. Memory: 16 bytes per operation beside the
// graph, 8 more where communication has members that are not here.
#pragma once
#include <utility>

#include "exchange/graph_replay.hpp"
#include "exchange/graph_transfer.hpp"

namespace ccl {

struct MeasuredGraph : StepGraph {
  explicit MeasuredGraph(StepGraph graph)
      : StepGraph(std::move(graph)),
        measured(measured_times(*this)),
        unseen(*this, measured),
        replays(replay_gives_back(*this, measured)) {}
  GraphTimes measured;
  UnseenTransfers unseen;
  bool replays;  // the measured times give the measured length back
};

}  // namespace ccl
