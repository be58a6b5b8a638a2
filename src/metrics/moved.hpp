// What one communication kernel moved, between whom: payload S, bus bytes S·f and the part of them that crosses the
// link of its class (nccl-tests' PERFORMANCE.md). Closing stage; for communication, bandwidth.
#pragma once
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "exchange/groups.hpp"
#include "exchange/ranks.hpp"
#include "exchange/records.hpp"

namespace ccl {

/// −1: the trace does not say. Of a group of one rank, nothing moves and bus_bytes is 0.
struct Moved {
  std::int64_t payload_bytes = -1, bus_bytes = -1;
  bool known() const { return payload_bytes >= 0; }
};
Moved moved_by(const CollectiveRecord& record, const Groups& groups);

/// Which links communication takes. What is known of a group is found once: for each record of its members anew would
/// cost records × members.
class Links {
 public:
  struct Link {
    LinkClass link_class = LinkClass::unknown;
    std::int32_t hosts_count = -1;  // of the members; −1: one is unknown
  };
  Links(const Ranks& ranks, const Groups& groups) : ranks_(ranks), groups_(groups), of_row_(groups.groups.size()) {}
  /// Between the members of a group in the iteration and replica of the entry.
  Link of_group(GroupId id, const RankEntry& entry);
  LinkClass of_pair(const RankEntry& entry, std::int32_t peer);
  /// Link class of a record: of a pair, or of the group's members.
  LinkClass of(const CollectiveRecord& record, const RankEntry& entry);

 private:
  struct Seen {
    std::int32_t iteration = -1, replica = -1;
    Link link;
  };
  const Ranks& ranks_;
  const Groups& groups_;
  std::vector<std::vector<Seen>> of_row_;  // by row of the group
  std::map<std::int32_t, LinkClass> of_peer_;  // of the rank that was asked for last
  std::tuple<std::int32_t, std::int32_t, RankId> rank_;
};

/// Share of the bus bytes that a GPU's link of this class carries. Within a host all of them. Between k hosts, for n
/// ranks on equal hosts: (k − 1)/(n − 1) of a collective (flat ring over all NICs of a host, or hierarchical), n/k
/// times that of an all-to-all. NaN where hosts are unknown.
double link_share(CollectiveOp op, LinkClass link_class, std::int64_t ranks_count, std::int64_t hosts_count);

}  // namespace ccl
