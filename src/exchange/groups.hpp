// Process groups united over all ranks. Rank-local groups (name, description, members as one trace tells them) become
// GroupIds; member lists cut by the profiler are completed from any rank's pg_config. unite_groups() is pure;
// agree_on_groups() adds one gather_all of the distinct rank-local groups (cost: 16 bytes per rank and group, and per
// distinct group of a worker its texts and 12 bytes per arithmetic run of member ranks: usually one run).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "core/ids.hpp"
#include "core/kinds.hpp"
#include "core/tables.hpp"
#include "discover/workload.hpp"
#include "exchange/ranks.hpp"

namespace ccl {

/// A process group of the run. Identity: description, size, members if known else name;
/// the name separates groups with identical members. Sorted by (dimension, size, first member, description, name):
/// the row number is the `group` column of every table.
struct Group {
  GroupId id;
  std::string name, description;
  Dimension dimension = Dimension::unknown;
  std::string dimension_source;
  std::int32_t size = -1;
  std::int32_t replica = -1;
  std::vector<std::int32_t> members;   // global ranks, group order; complete or empty/partial (members_complete)
  bool members_complete = false;
  bool sequence_everywhere = false;    // every collective of every member carries Seq
};

/// A rank-local group on its way: which accepted rank saw it, and its number in that rank's trace.
struct LocalGroup {
  std::int32_t rank_row = -1;
  std::uint32_t local = 0;             // row in RankTrace::groups
  ProcessGroup group;
  bool sequence_everywhere = false;
};

struct Groups {
  std::vector<Group> groups;
  std::int32_t row_of(GroupId id) const;                       // −1 unknown
  const Group* find(GroupId id) const;                         // nullptr unknown
  GroupId id_of(std::int32_t rank_row, std::uint32_t local) const;  // of a group seen by one of this worker's ranks

  // filled by agree_on_groups for this worker's own ranks: (rank_row, local group) -> id
  struct Mapped {
    std::int32_t rank_row;
    std::uint32_t local;
    GroupId id;
  };
  std::vector<Mapped> mine;            // sorted by (rank_row, local)

  struct ById {
    GroupId id;
    std::int32_t row = -1;
  };
  /// Index for row_of: a group is in the first free place from its id on, of at least twice as many places as groups, a
  /// power of two. Left empty by hand-made Groups, which are scanned.
  std::vector<ById> by_id;
  void fill_index();
};

/// Pure; the same on every worker and for any order of `all`. mine holds all of them.
Groups unite_groups(const std::vector<LocalGroup>& all, const Ranks& ranks, const Mesh& mesh);
/// Groups whose member list is nowhere complete become problems (on worker 0 only: all workers know the same).
Groups agree_on_groups(const std::vector<LocalGroup>& mine, const Ranks& ranks, const Mesh& mesh, const Comm& comm,
                       Problems& problems);

}  // namespace ccl
