#include "exchange/settle_records.hpp"

#include <map>
#include <tuple>
#include <vector>

#include "core/recently_found.hpp"

namespace ccl {
namespace {

std::int32_t rank_at_place(const Groups& groups, GroupId id, std::int32_t place) {
  const Group* const group = groups.find(id);
  const bool known = group != nullptr && group->members_complete && place < group->size;
  return known ? group->members[static_cast<std::size_t>(place)] : -1;
}

}  // namespace

void settle_records(std::span<CollectiveRecord> records, RecordPlace place, std::int32_t row, const RankEntry& entry,
                    const Groups& groups, bool steps_chosen) {
  std::map<std::tuple<std::uint64_t, std::int64_t, CollectiveOp>, std::int32_t> ordinals;
  RecentlyFound next_ordinal(ordinals);
  const bool lost_steps = entry.facts.lost_steps() || !entry.no_steps.empty();
  std::vector<GroupId> ids;  // by the rank's own group
  const auto id_of = [&](std::uint64_t own) {
    while (ids.size() <= own) ids.push_back(groups.id_of(row, static_cast<std::uint32_t>(ids.size())));
    return ids[own];
  };
  auto number = static_cast<std::uint32_t>(place.first);
  for (CollectiveRecord& record : records) {
    record.worker = place.worker;
    record.local = number++;
    record.group = id_of(record.group.value);
    if (record.peer < -1) record.peer = rank_at_place(groups, record.group, -2 - record.peer);
    if (!entry.no_steps.empty()) record.step = outside_step;
    if (record.step != outside_step) record.step += entry.step_shift;
    record.rank_row = row;
    record.rank = entry.rank;
    record.iteration = entry.iteration;
    record.replica = entry.replica;
    if (record.step == outside_step && (lost_steps || steps_chosen)) {
      record.ordinal = lost_steps ? left_out_ordinal : not_asked_ordinal;
      continue;
    }
    record.ordinal = next_ordinal({record.group.value, record.step, record.op},
                                  record.group.value + static_cast<std::size_t>(record.op))++;
  }
}

}  // namespace ccl
