// Records of one trace, once its rank and the groups of the run are known. In: records as make_records() left them, in
// the order of the events. Out: the same with group, peer, step, rank and ordinal as the whole run
// has them, and its worker and number there.
#pragma once
#include <span>

#include "exchange/groups.hpp"
#include "exchange/ranks.hpp"
#include "exchange/records.hpp"

namespace ccl {

/// Whose records they are, and the number of the first among all of that worker.
struct RecordPlace {
  std::int32_t worker = 0;
  std::size_t first = 0;
};

/// Records come in the order of the events, (start, lane, correlation): counting them up is the ordinal. Where steps were
/// chosen (--step), those of no step have none: they are not missed when nothing matches them. Where steps of the rank
/// lost events, or are none of the others', those of no step are of these: sums over them would be taken for those of
/// whole steps.
void settle_records(std::span<CollectiveRecord> records, RecordPlace place, std::int32_t row, const RankEntry& entry,
                    const Groups& groups, bool steps_chosen);

}  // namespace ccl
