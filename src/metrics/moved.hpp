// What one communication kernel moved, between whom: payload S, bus bytes S·f and the part of them that crosses the
// link of its class (nccl-tests' PERFORMANCE.md). Closing stage; for communication, bandwidth.
#pragma once
#include <cstdint>

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

/// Link class of a record: of a pair, or of the group's members.
LinkClass link_of(const CollectiveRecord& record, const RankEntry& entry, const Ranks& ranks, const Groups& groups);

/// Hosts of a group's members; −1 if one is unknown.
std::int64_t hosts_count(GroupId group, const RankEntry& entry, const Ranks& ranks, const Groups& groups);

/// Share of the bus bytes that a GPU's link of this class carries. Within a host all of them. Between k hosts, for n
/// ranks on equal hosts: (k − 1)/(n − 1) of a collective (flat ring over all NICs of a host, or hierarchical), n/k
/// times that of an all-to-all. NaN where hosts are unknown.
double link_share(CollectiveOp op, LinkClass link_class, std::int64_t ranks_count, std::int64_t hosts_count);

}  // namespace ccl
