#include "metrics/moved.hpp"

#include <algorithm>
#include <limits>

#include "core/collective_math.hpp"

namespace ccl {
namespace {

/// −1: the host of one is unknown.
std::int32_t hosts_count(const std::vector<std::int32_t>& members, const RankEntry& entry, const Ranks& ranks) {
  std::vector<std::int64_t> hosts;
  for (const std::int32_t member : members) {
    if (ranks.ranks_per_host > 0) {
      hosts.push_back(member / ranks.ranks_per_host);
      continue;
    }
    const std::int32_t row = ranks.find(entry.iteration, entry.replica, RankId(member));
    if (row < 0) return -1;
    hosts.push_back(ranks.entries[static_cast<std::size_t>(row)].host_index);
  }
  std::sort(hosts.begin(), hosts.end());
  return static_cast<std::int32_t>(std::unique(hosts.begin(), hosts.end()) - hosts.begin());
}

}  // namespace

Moved moved_by(const CollectiveRecord& record, const Groups& groups) {
  std::int64_t size = record.group_size;
  const Group* group = groups.find(record.group);
  if (size < 0 && group != nullptr) size = group->size;
  const bool pair = is_point_to_point(record.op);
  if (size < 0 && !pair && record.op != CollectiveOp::barrier) return {};
  Moved out;
  out.payload_bytes = payload_bytes(record.op, record.in_bytes, record.out_bytes, size);
  if (out.known()) out.bus_bytes = wire_bytes(record.op, out.payload_bytes, pair ? 2 : size);
  return out;
}

LinkClass Links::of(const CollectiveRecord& record, const RankEntry& entry) {
  return is_point_to_point(record.op) && record.peer >= 0 ? of_pair(entry, record.peer)
                                                          : of_group(record.group, entry).link_class;
}

LinkClass Links::of_pair(const RankEntry& entry, std::int32_t peer) {
  if (const std::tuple rank(entry.iteration, entry.replica, entry.rank); rank != rank_) {
    rank_ = rank;
    of_peer_.clear();
  }
  const auto [at, added] = of_peer_.try_emplace(peer);
  if (added) {
    const std::int32_t pair[] = {entry.rank.value, peer};
    at->second = ranks_.link_class(entry.iteration, entry.replica, pair);
  }
  return at->second;
}

Links::Link Links::of_group(GroupId id, const RankEntry& entry) {
  const std::int32_t row = groups_.row_of(id);
  if (row < 0 || !groups_.groups[static_cast<std::size_t>(row)].members_complete) return {};
  std::vector<Seen>& seen = of_row_[static_cast<std::size_t>(row)];
  for (const Seen& one : seen)
    if (one.iteration == entry.iteration && one.replica == entry.replica) return one.link;
  const std::vector<std::int32_t>& members = groups_.groups[static_cast<std::size_t>(row)].members;
  const Link link{ranks_.link_class(entry.iteration, entry.replica, members), hosts_count(members, entry, ranks_)};
  seen.push_back({entry.iteration, entry.replica, link});
  return link;
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
