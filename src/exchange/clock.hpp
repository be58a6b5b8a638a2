// The hosts' clocks put on one time axis. In: matched symmetric collectives, whose members end together. Out: the
// ClockModel (offset and drift of each host against that of the lowest rank, and what remains) and the instances'
// times on the corrected clock.
// Moves: per instance and host beyond its first one 32 bytes to the pair's owner, then 2 × 48 bytes per host pair and
// iteration to all, then 16 bytes per difference to each host's owner and 24 per host to all. No number depends on
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

/// Fills arrivals, spreads and the transfer of pairs. Instances whose lag by clock and lag by duration differ by more
/// than three residuals become problems.
void apply_clock(MatchedCollectives& matched, const ClockModel& clock, const Ranks& ranks, const Groups& groups,
                 Problems& problems);

/// One matched collective seen from two hosts: when each host's members ended, each on its own clock.
struct EndDifference {
  std::int32_t iteration = -1;
  std::int32_t host_a = -1, host_b = -1;  // a < b
  std::int32_t unused = 0;
  std::int64_t end_a_ns = 0, end_b_ns = 0;  // median over the host's members
  friend auto operator<=>(const EndDifference&, const EndDifference&) = default;
};
/// Of credible symmetric instances, from the lowest host of each to its others.
std::vector<EndDifference> end_differences(const MatchedCollectives& matched, const Ranks& ranks);

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
