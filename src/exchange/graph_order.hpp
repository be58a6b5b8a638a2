// With whom the operations of a step leave a collective, and an order in which all of them can be replayed. In: a
// StepGraph with ops and preds. Out: its matches, order, and the matches that had to be cut.
#pragma once
#include "exchange/graph.hpp"

namespace ccl {

/// Fills match, first_member, members, order and cut. Where matches contradict the order on the ranks (of two, one rank
/// has this first and another that), of each such tangle the match is cut whose members fit each other's times worst,
/// until the rest is in order. Cost: one visit per operation and predecessor, again for every round of cuts (at most
/// 33).
void order_graph(StepGraph& graph);

/// Says how many matches of the step were cut, and names the worst.
void report_cuts(const StepGraph& graph, const Ranks& ranks, Problems& problems);

}  // namespace ccl
