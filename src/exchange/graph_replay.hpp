// A step run again from its dependency graph with other durations. Pure. In: a StepGraph and a GraphTimes. Out: when each
// operation starts and ends then. With the times that were measured it gives back the measured step.
// Cost: one visit per operation and predecessor.
#pragma once
#include <cstdint>
#include <vector>

#include "exchange/graph.hpp"

namespace ccl {

/// What the replay goes by, per operation.
struct GraphTimes {
  std::vector<std::int64_t> gap_ns;  // from the last end that it waits for (first of a device: the graph's start) to its start
  std::vector<std::int64_t> run_ns;  // alone: its duration; matched: from the start of the last member to its own end
  std::vector<bool> starved;         // launched only once all that it waits for had ended, or the first of its device: the gap
                                     // is the CPU's
};
/// Replayed, they give every start and end back: a gap is what passes from the last end that is waited for to the start that was
/// measured, a transfer what passes from the last start of the members to the end that was.
GraphTimes measured_times(const StepGraph& graph);

/// times, but those of changed for the operations for which run(i) or gap(i) holds.
template <class Run, class Gap>
GraphTimes changed_times(GraphTimes times, const GraphTimes& changed, Run run, Gap gap) {
  for (std::size_t i = 0; i < times.run_ns.size(); ++i) {
    if (run(i)) times.run_ns[i] = changed.run_ns[i];
    if (gap(i)) times.gap_ns[i] = changed.gap_ns[i];
  }
  return times;
}

struct Replay {
  std::vector<std::int64_t> start_ns, end_ns;  // from the graph's start
  std::int64_t length_ns = 0;
};
Replay replay(const StepGraph& graph, const GraphTimes& times);
/// The length alone, of other gaps and durations.
std::int64_t replayed_length_ns(const StepGraph& graph, const std::vector<std::int64_t>& gap_ns,
                                const std::vector<std::int64_t>& run_ns);

/// By how much each operation could start later without making the step longer, by the measured times. >= 0 but for
/// errors of the clocks, which are cut off at 0.
std::vector<std::int64_t> slack_ns(const StepGraph& graph, const GraphTimes& measured);

}  // namespace ccl
