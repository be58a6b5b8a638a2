// Matched collectives in one global order. In: the instances each worker owns; out: this worker's consecutive slice of
// /collectives/instances and of /collectives/members. Cost: 200 bytes per instance and 48 per member, once each.
#pragma once
#include "comm/comm.hpp"
#include "store/results.hpp"

namespace ccl {

struct CollectiveTables {
  ResultTable instances, members;  // members has no rows if it was left out
  bool members_left_out = false;   // more rows than wanted, and --members was not given
};

/// Collective. Order: (iteration, replica, step, group, sequence, ordinal, op, times, members); the instance number is
/// the row number. Times of members are on the corrected clock.
CollectiveTables collective_tables(const MatchedCollectives& mine, const Ranks& ranks, const Groups& groups,
                                   const ClockModel& clock, std::int64_t most_members, const Comm& comm);

}  // namespace ccl
