// What travels between workers for matching, and what comes back. Fixed size, trivially copyable.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/kinds.hpp"
#include "core/wide.hpp"

namespace ccl {

/// What a rank's device did between its previous symmetric collective of the same group and stream and this one:
/// the first four add up to that time (each stops at 4.29 s). Made while the events are in memory
/// (record_context.hpp).
struct BeforeCollective {
  static constexpr std::uint32_t unknown_ns = UINT32_MAX;
  std::uint32_t compute_ns = 0;
  std::uint32_t communication_ns = 0;   // of any group, not hidden by compute
  std::uint32_t starved_ns = 0;         // idle, and what ended the idling was launched after it began
  std::uint32_t stalled_ns = 0;         // the rest: copies, and idle with work already launched
  std::uint32_t kernels_count = 0;      // compute kernels that started
  std::uint32_t queued_ns = unknown_ns; // from the start of the collective's launch to its own start
  std::uint32_t synchronised_ns = 0;    // of the CPU between the launches of the two: in calls that wait for the device
  std::int64_t total_ns() const {
    return std::int64_t{compute_ns} + communication_ns + starved_ns + stalled_ns;
  }
};

/// Ordinals of records of no step: they are not missed when nothing matches them; they are not matched at all.
inline constexpr std::int32_t not_asked_ordinal = -1, left_out_ordinal = -2;

/// One rank's part in one collective: 128 bytes.
struct CollectiveRecord {
  GroupId group;
  std::int64_t step = outside_step;     // after the rank's step_shift
  std::int64_t sequence = -1;
  std::int64_t start_ns = 0, dur_ns = 0;  // trace clock
  std::int64_t in_bytes = -1, out_bytes = -1;
  std::int32_t iteration = -1, replica = -1;
  std::int32_t rank_row = -1;           // row of /ranks
  RankId rank;
  std::int32_t worker = 0;              // who sent it
  std::uint32_t local = 0;              // its number among that worker's records
  std::int32_t group_size = -1;
  std::int32_t peer = -1;
  std::int32_t ordinal = 0;             // among this rank's records of the same (group, step, op), by time
  std::uint16_t lane = 0;
  CollectiveOp op = CollectiveOp::unknown;
  Dtype dtype = Dtype::unknown;
  bool has_arguments = false;
  bool launched = false;                // its launch is in the file
  bool coalesced = false;
  bool splits_disagree = false;         // its split lists do not fit its In and Out sizes
  BeforeCollective before;
  std::int64_t end_ns() const { return start_ns + dur_ns; }
};

/// The way back: what a member learns about its own collective.
struct RecordVerdict {
  std::uint32_t local = 0;
  std::int32_t last_rank = -1;          // −1: unmatched, not symmetric or not credible
  std::int64_t transfer_ns = -1;        // −1 unknown
  std::int64_t last_start_ns = absent_ns;  // start of the last member, corrected clock
  std::int64_t lag_ns = -1;             // of the instance; −1 unknown
};

/// A matched collective instance, = one row of /collectives/instances; members in CSR form below. It travels as it lies, so
/// padding is named. Another number: here; match_numbers.cpp works it out by durations, apply_clock() by the corrected clock;
/// match_check.cpp takes it back where the match is not believed; store/collective_tables.cpp writes it.
struct MatchedInstance {
  GroupId group;
  std::int32_t iteration = -1, replica = -1;
  std::int64_t step = outside_step, sequence = -1;
  std::int32_t ordinal = 0;
  MatchRule rule = MatchRule::ordinal;
  CollectiveOp op = CollectiveOp::unknown;
  Dtype dtype = Dtype::unknown;
  LinkClass link_class = LinkClass::unknown;
  std::int32_t group_size = -1, members_seen = 0;
  std::int64_t payload_bytes = -1, wire_bytes = -1;
  std::int64_t first_arrival_ns = absent_ns, last_arrival_ns = absent_ns, last_end_ns = absent_ns;  // corrected
  std::int64_t transfer_ns = -1, lag_ns = -1, delay_ns = -1, wait_sum_ns = -1;
  std::int64_t start_spread_ns = -1, start_spread_file_ns = -1, end_spread_ns = -1;
  std::int32_t first_rank = -1, last_rank = -1;
  bool tie = false, incomplete = false, suspect = false, coalesced = false;
  bool credible = true;                 // false: its communicator's cross-rank numbers are absent
  std::uint8_t unused = 0;
  std::uint32_t first_member = 0;       // into MatchedCollectives::members
};

struct MatchedMember {
  std::int32_t rank_row = -1;
  RankId rank;
  std::int64_t start_ns = 0, dur_ns = 0;  // trace clock; add the clock correction of its rank for the corrected one
  std::int64_t payload_bytes = -1;
  std::int64_t wait_ns = -1;
  std::int32_t worker = 0;
  std::uint32_t local = 0;
  BeforeCollective before;
};

/// The instances one worker owns, sorted by (iteration, replica, group, step, sequence, ordinal, op).
struct MatchedCollectives {
  std::vector<MatchedInstance> instances;
  // Of instance i: [first_member, first_member + members_seen), by rank; of a send with its recv: sender, receiver.
  std::vector<MatchedMember> members;
};

/// Correction of one host's clock: corrected = t + offset + drift_ppb·(t − t_ref)/1e9.
struct HostClock {
  std::int64_t offset_ns = 0;
  std::int64_t drift_ppb = 0;
  std::int64_t residual_ns = -1;        // 95th percentile; −1 unknown
  std::int64_t instances_count = 0;
  bool corrected = true;                // false: no path to the reference host
};

/// Two ranks said to be on one host whose clocks differ.
struct ClocksApart {
  std::int32_t host = -1, rank_a = -1, rank_b = -1, unused = 0;
  std::int64_t apart_ns = 0;
};

struct ClockModel {
  /// Each iteration has its own offset: HostClock's is in force up to the first from_ns (host's own clock), then these.
  struct LaterOffset {
    std::int32_t host = -1;
    std::int64_t from_ns = 0, offset_ns = 0;
  };
  std::vector<HostClock> hosts;         // by Ranks::hosts
  std::vector<LaterOffset> later;       // sorted by (host, from_ns); empty with one iteration
  std::int64_t t_ref_ns = 0;
  std::int64_t residual_ns = -1;        // of the run; not below what clocks of one host are apart
  std::vector<ClocksApart> apart;       // of each host that shows several clocks the worst pair, by host
  std::int64_t ends_apart_ns = -1;      // where there is one: 95th percentile of what ends vary by, without its offset
  std::int32_t reference_rank = -1;
  /// What lags by duration, in which no clock is, may be wrong by.
  std::int64_t ends_residual_ns() const { return apart.empty() ? residual_ns : ends_apart_ns; }
  /// What a message's transfer by clock may be wrong by; −1: clocks tell nothing about it. One answer for the whole run,
  /// or links of it would be compared whose transfers are not of one kind.
  std::int64_t message_error_ns() const {
    const auto is_corrected = [](const HostClock& host) { return host.corrected; };
    const bool known = residual_ns >= 0 && apart.empty() && std::all_of(hosts.begin(), hosts.end(), is_corrected);
    return known ? 2 * residual_ns : -1;
  }
  std::int64_t corrected(std::int32_t host, std::int64_t t_ns) const {
    const HostClock& clock = hosts[static_cast<std::size_t>(host)];
    return t_ns + offset_ns(host, t_ns) + scaled(clock.drift_ppb, t_ns - t_ref_ns, 1'000'000'000);
  }
  std::int64_t offset_ns(std::int32_t host, std::int64_t t_ns) const {
    const auto before = [](std::pair<std::int32_t, std::int64_t> key, const LaterOffset& next) {
      return key < std::pair(next.host, next.from_ns);
    };
    const auto after = std::upper_bound(later.begin(), later.end(), std::pair(host, t_ns), before);
    const bool found = after != later.begin() && std::prev(after)->host == host;
    return found ? std::prev(after)->offset_ns : hosts[static_cast<std::size_t>(host)].offset_ns;
  }
};

}  // namespace ccl
