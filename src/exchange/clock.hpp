// The hosts' clocks put on one time axis. In: matched symmetric collectives, whose members end together. Out: the
// ClockModel (offset and drift of each host against that of the lowest rank, and what remains) and the instances'
// times on the corrected clock.
// Moves: what exchange/end_differences.hpp says, then 2 × 48 bytes per host pair and iteration to all, then 8 bytes per
// difference to each host's owner and 24 per host to all. No number depends on
// how many workers share the work.
#pragma once
#include <cstdint>
#include <vector>

#include "comm/comm.hpp"
#include "core/problems.hpp"
#include "exchange/groups.hpp"
#include "exchange/ranks.hpp"
#include "exchange/records.hpp"

namespace ccl {

/// Collective. matched: what this worker owns. Hosts without a path to the reference become problems (on worker 0).
ClockModel fit_clocks(const MatchedCollectives& matched, const Ranks& ranks, const Comm& comm, Problems& problems);

/// Collective. Messages that are over before they were sent: a controlled logical clock moves their receivers' hosts on
/// (offsets in ClockModel::later); they become one problem. Without any, nothing changes and nothing is gathered.
void keep_causality(const MatchedCollectives& matched, const Ranks& ranks, const Comm& comm, ClockModel& clock,
                    Problems& problems);

/// Whether the clock of the host is corrected at any time; −1: no host, nothing to correct.
inline bool moves_times(const ClockModel& clock, std::int32_t host) {
  if (host < 0) return false;
  const HostClock& own = clock.hosts[static_cast<std::size_t>(host)];
  return own.offset_ns != 0 || own.drift_ppb != 0 || !clock.later.empty();
}

/// Fills arrivals and spreads, and the transfer of messages where clocks surely tell more than durations. Instances whose
/// lag by clock and lag by duration differ by more than three residuals become problems.
void apply_clock(MatchedCollectives& matched, const ClockModel& clock, const Ranks& ranks, const Groups& groups,
                 Problems& problems);

/// x_b − x_a = value, with a weight.
struct ClockEdge {
  std::int32_t a = -1, b = -1;
  std::int64_t value = 0;
  double weight = 1;
};
struct ClockSolution {
  std::vector<std::int64_t> values;  // the reference's is 0
  std::vector<bool> reached;
};
/// Weighted least squares over the graph of hosts. Edges in any fixed order; unreached hosts keep 0.
ClockSolution solve_clock_graph(std::size_t hosts_count, std::int32_t reference, const std::vector<ClockEdge>& edges);

/// The p-th percentile over all workers' values (≥ 0), by bisection with sums: 8 bytes a round. −1 without values.
std::int64_t percentile_over_workers(std::vector<std::int64_t> values, std::int64_t percent, const Comm& comm);

}  // namespace ccl
