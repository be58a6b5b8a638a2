// A step graph with fewer operations and the same replays. Pure. In: a StepGraph with measured and ideal times. Out: the
// same where operations that only follow one another on one device are one. For what is replayed many times.
#pragma once
#include "exchange/graph_replay.hpp"

namespace ccl {

struct ShortGraph {
  StepGraph graph;  // an operation stands for itself and those joined to it: their rank; communication with others stands alone
  GraphTimes measured, ideal;
};
/// Joins an operation to the one before if it waits for nothing else, nothing else waits for that, and neither
/// communicates with other ranks. Gaps and durations add up, so any choice of measured or ideal ones by rank gives the same ends.
ShortGraph shorten(const StepGraph& graph, const GraphTimes& measured, const GraphTimes& ideal);

}  // namespace ccl
