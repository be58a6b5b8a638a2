#include "metrics/moved.hpp"

#include <limits>
#include <set>

#include "core/collective_math.hpp"

namespace ccl {
namespace {

const Group* find_group(const Groups& groups, GroupId id) {
  const std::int32_t row = groups.row_of(id);
  return row < 0 ? nullptr : &groups.groups[static_cast<std::size_t>(row)];
}

}  // namespace

Moved moved_by(const CollectiveRecord& record, const Groups& groups) {
  std::int64_t size = record.group_size;
  const Group* group = find_group(groups, record.group);
  if (size < 0 && group != nullptr) size = group->size;
  const bool pair = is_point_to_point(record.op);
  if (size < 0 && !pair && record.op != CollectiveOp::barrier) return {};
  Moved out;
  out.payload_bytes = payload_bytes(record.op, record.in_bytes, record.out_bytes, size);
  if (out.known()) out.bus_bytes = wire_bytes(record.op, out.payload_bytes, pair ? 2 : size);
  return out;
}

LinkClass link_of(const CollectiveRecord& record, const RankEntry& entry, const Ranks& ranks, const Groups& groups) {
  if (is_point_to_point(record.op) && record.peer >= 0) {
    const std::int32_t pair[] = {entry.rank.value, record.peer};
    return ranks.link_class(entry.iteration, entry.replica, pair);
  }
  const Group* group = find_group(groups, record.group);
  if (group == nullptr || !group->members_complete) return LinkClass::unknown;
  return ranks.link_class(entry.iteration, entry.replica, group->members);
}

std::int64_t hosts_count(GroupId id, const RankEntry& entry, const Ranks& ranks, const Groups& groups) {
  const Group* group = find_group(groups, id);
  if (group == nullptr || !group->members_complete) return -1;
  std::set<std::int64_t> hosts;
  for (const std::int32_t member : group->members) {
    if (ranks.ranks_per_host > 0) {
      hosts.insert(member / ranks.ranks_per_host);
      continue;
    }
    const std::int32_t row = ranks.find(entry.iteration, entry.replica, RankId(member));
    if (row < 0) return -1;
    hosts.insert(ranks.entries[static_cast<std::size_t>(row)].host_index);
  }
  return static_cast<std::int64_t>(hosts.size());
}

double link_share(CollectiveOp op, LinkClass link_class, std::int64_t ranks_count, std::int64_t hosts_count) {
  if (link_class == LinkClass::intra) return 1;
  if (link_class == LinkClass::unknown || hosts_count < 2) return std::numeric_limits<double>::quiet_NaN();
  if (is_point_to_point(op)) return 1;
  const auto n = static_cast<double>(ranks_count), k = static_cast<double>(hosts_count);
  const double crossing = (k - 1) / (n - 1);
  return op == CollectiveOp::all_to_all || op == CollectiveOp::all_to_allv ? crossing * n / k : crossing;
}

}  // namespace ccl
