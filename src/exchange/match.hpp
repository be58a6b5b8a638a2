// Collectives matched across ranks. make_records() turns one rank's collectives into records; route() says which
// worker owns each; assemble() matches what an owner got; all three are pure. match() adds what workers say of steps
// (exchange/sequence_steps.hpp), the all-to-all of the records, the clock (exchange/clock.hpp) and the verdicts on their
// way back. Bytes moved, of what is matched elsewhere: 128 per record out; 32 back, 4 for others of an instance.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "comm/comm.hpp"
#include "core/problems.hpp"
#include "core/tables.hpp"
#include "exchange/groups.hpp"
#include "exchange/ranks.hpp"
#include "exchange/records.hpp"
#include "exchange/sequence_steps.hpp"

namespace ccl {

/// Collectives of one trace as records, before ranks and groups are agreed on: group holds the local row, rank_row
/// and rank the local trace number. Kept between parse and match; 128 bytes per communication kernel.
std::vector<CollectiveRecord> make_records(const RankTrace& trace, std::int32_t local_trace);
/// Where the trace has its CPU slices no more: with what synchronised_before_ns() said of them.
std::vector<CollectiveRecord> make_records(const RankTrace& trace, std::int32_t local_trace,
                                           std::span<const std::uint32_t> synchronised_ns);

using RecordRefs = std::vector<const CollectiveRecord*>;

struct Matched {
  MatchedCollectives mine;                  // the instances this worker owns
  ClockModel clock;                         // same on all workers
  std::vector<RecordVerdict> verdicts;      // by local record number, for this worker's own records
  std::int64_t bytes_out = 0, bytes_back = 0;
};

/// records: this worker's, already settled (final group, rank, rank_row, step after shift; worker and local number).
Matched match(const std::vector<CollectiveRecord>& records, const Ranks& ranks, const Groups& groups,
              const Comm& comm, Problems& problems);

/// Owner of a record: by (group, iteration, replica, step), without the step where Seq decides and steps share numbers.
std::vector<RecordRefs> route(const std::vector<CollectiveRecord>& records, const Groups& groups,
                              const SequenceSteps& sequences, int num_workers);
/// Matches the records of the groups an owner holds. Unmatched and inconsistent ones become problems.
MatchedCollectives assemble(std::vector<CollectiveRecord> records, const Ranks& ranks, const Groups& groups,
                            Problems& problems);

}  // namespace ccl
