// What clocks are fitted to: when the members of a matched collective ended on one host and on another, each on its own
// clock. In: the instances a worker owns. Out: the ends by pair of hosts, in order, at the pair's owner.
// Moves: 16 bytes per instance and host beyond its first one, 20 per pair of a worker.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "comm/comm.hpp"
#include "exchange/ranks.hpp"
#include "exchange/records.hpp"

namespace ccl {

struct HostPair {
  std::int32_t iteration = -1;
  std::int32_t host_a = -1, host_b = -1;  // a < b
  friend auto operator<=>(const HostPair&, const HostPair&) = default;
};
/// Of one matched collective: the median over each host's members.
struct PairEnds {
  std::int64_t a_ns = 0, b_ns = 0;
  friend auto operator<=>(const PairEnds&, const PairEnds&) = default;
};
/// Those of each pair ascend.
using EndDifferences = std::map<HostPair, std::vector<PairEnds>>;

/// Whether its ends are used: symmetric, credible and not suspect.
bool tells_clocks(const MatchedInstance& instance);
/// Of these, from the lowest host of each to its others.
EndDifferences end_differences(const MatchedCollectives& matched, const Ranks& ranks);
/// Collective. All of each pair to one worker.
EndDifferences to_pair_owners(EndDifferences mine, const Comm& comm);

}  // namespace ccl
