// A step's graph with what several metrics ask of it, worked out once a step. Memory: 16 bytes per operation beside the
// graph, 8 more where communication has members that are not here.
#pragma once
#include <span>
#include <utility>

#include "core/processors.hpp"
#include "exchange/graph_replay.hpp"
#include "exchange/graph_transfer.hpp"

namespace ccl {

struct MeasuredGraph : StepGraph {
  /// processors: lent for what can be worked out side by side. They must outlive it.
  explicit MeasuredGraph(StepGraph graph, std::span<const Processors> processors = {})
      : StepGraph(std::move(graph)),
        lent(processors),
        measured(measured_times(*this)),
        unseen(*this, measured) {}
  std::span<const Processors> lent;
  GraphTimes measured;
  UnseenTransfers unseen;
};

}  // namespace ccl
