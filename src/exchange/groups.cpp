#include "exchange/groups.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "exchange/group_union.hpp"

namespace ccl {
namespace {

/// What a rank says of a group, as a GroupClaim would: every rank says it again, and most of it is members.
struct ClaimView {
  std::int32_t replica;
  const ProcessGroup& group;
  GroupClaim claim() const {
    return {replica, group.name, group.description, group.size, group.members, group.dimension, group.dimension_source};
  }
};

auto parts(const GroupClaim& claim) {
  return std::tie(claim.replica, claim.name, claim.description, claim.size, claim.members, claim.dimension, claim.dimension_source);
}
auto parts(const ClaimView& view) {
  const ProcessGroup& group = view.group;
  return std::tie(view.replica, group.name, group.description, group.size, group.members, group.dimension, group.dimension_source);
}

struct ByParts {
  using is_transparent = void;
  bool operator()(const auto& a, const auto& b) const { return parts(a) < parts(b); }
};

/// Member ranks nearly always form one arithmetic run, so a list of ten thousand travels as twelve bytes.
struct Run {
  std::int32_t first = 0, stride = 0, count = 0;
};

std::vector<Run> to_runs(const std::vector<std::int32_t>& members) {
  std::vector<Run> runs;
  for (const std::int32_t rank : members) {
    if (!runs.empty()) {
      Run& run = runs.back();
      if (run.count == 1) run.stride = rank - run.first;
      if (rank == run.first + run.stride * run.count) {
        ++run.count;
        continue;
      }
    }
    runs.push_back({rank, 0, 1});
  }
  return runs;
}

std::vector<std::int32_t> from_runs(const std::vector<Run>& runs) {
  std::vector<std::int32_t> members;
  for (const Run& run : runs)
    for (std::int32_t i = 0; i < run.count; ++i) members.push_back(run.first + run.stride * i);
  return members;
}

void pack(const GroupClaim& claim, ByteWriter& out) {
  out.value(claim.replica);
  out.text(claim.name);
  out.text(claim.description);
  out.value(claim.size);
  out.array(to_runs(claim.members));
  out.value(claim.dimension);
  out.text(claim.dimension_source);
}

GroupClaim unpack(ByteReader& in) {
  GroupClaim claim;
  claim.replica = in.value<std::int32_t>();
  claim.name = in.text();
  claim.description = in.text();
  claim.size = in.value<std::int32_t>();
  claim.members = from_runs(in.array<Run>());
  claim.dimension = in.value<Dimension>();
  claim.dimension_source = in.text();
  return claim;
}

struct Said {
  std::vector<GroupClaim> claims;
  std::vector<GroupSighting> sightings;
};

/// Every distinct claim once.
Said collect(const std::vector<LocalGroup>& locals, const Ranks& ranks) {
  Said said;
  std::map<GroupClaim, std::uint32_t, ByParts> numbers;
  for (const LocalGroup& local : locals) {
    const ClaimView view{ranks.entries[static_cast<std::size_t>(local.rank_row)].replica, local.group};
    auto at = numbers.find(view);
    if (at == numbers.end()) {
      at = numbers.emplace(view.claim(), static_cast<std::uint32_t>(said.claims.size())).first;
      said.claims.push_back(at->first);
    }
    said.sightings.push_back({local.rank_row, local.local, at->second, local.sequence_everywhere ? 1U : 0U, local.group.place});
  }
  return said;
}

std::string shown(const Group& group) {
  return "group " + (group.description.empty() ? group.name : group.description + " \"" + group.name + "\"") +
         " of " + std::to_string(group.size) + " ranks";
}

}  // namespace

std::int32_t Groups::row_of(GroupId id) const {
  if (by_id.empty()) {
    const auto same = [&](const Group& group) { return group.id == id; };
    const auto at = std::find_if(groups.begin(), groups.end(), same);
    return at == groups.end() ? -1 : static_cast<std::int32_t>(at - groups.begin());
  }
  std::size_t place = id.value & (by_id.size() - 1);
  while (by_id[place].row >= 0 && by_id[place].id != id) place = (place + 1) & (by_id.size() - 1);
  return by_id[place].row;
}

void Groups::fill_index() {
  by_id.assign(std::bit_ceil(2 * groups.size() + 1), {});
  for (std::size_t row = 0; row < groups.size(); ++row) {
    std::size_t place = groups[row].id.value & (by_id.size() - 1);
    while (by_id[place].row >= 0) place = (place + 1) & (by_id.size() - 1);
    by_id[place] = {groups[row].id, static_cast<std::int32_t>(row)};
  }
}

const Group* Groups::find(GroupId id) const {
  const std::int32_t row = row_of(id);
  return row < 0 ? nullptr : &groups[static_cast<std::size_t>(row)];
}

GroupId Groups::id_of(std::int32_t rank_row, std::uint32_t local) const {
  const auto at = std::lower_bound(mine.begin(), mine.end(), std::tuple(rank_row, local),
                                   [](const Mapped& m, const std::tuple<std::int32_t, std::uint32_t>& key) {
                                     return std::tuple(m.rank_row, m.local) < key;
                                   });
  return at != mine.end() && at->rank_row == rank_row && at->local == local ? at->id : GroupId();
}

Groups unite_groups(const std::vector<LocalGroup>& all, const Ranks& ranks, const Mesh& mesh) {
  Said said = collect(all, ranks);
  return unite_claims(std::move(said.claims), std::move(said.sightings), ranks, mesh);
}

Groups agree_on_groups(const std::vector<LocalGroup>& mine, const Ranks& ranks, const Mesh& mesh, const Comm& comm,
                       Problems& problems) {
  const Said own = collect(mine, ranks);
  ByteWriter out;
  out.value<std::uint64_t>(own.claims.size());
  for (const GroupClaim& claim : own.claims) pack(claim, out);
  out.array(own.sightings);

  Said all;
  for (const Bytes& part : comm.gather_all(out.take())) {
    ByteReader in(part);
    const auto first = static_cast<std::uint32_t>(all.claims.size());
    const auto count = in.value<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i) all.claims.push_back(unpack(in));
    for (GroupSighting& sighting : in.array<GroupSighting>()) {
      sighting.claim += first;
      all.sightings.push_back(sighting);
    }
  }
  Groups groups = unite_claims(std::move(all.claims), std::move(all.sightings), ranks, mesh);

  std::vector<Groups::Mapped> own_only;
  for (const LocalGroup& local : mine)
    own_only.push_back({local.rank_row, local.local, groups.id_of(local.rank_row, local.local)});
  std::sort(own_only.begin(), own_only.end(), [](const Groups::Mapped& a, const Groups::Mapped& b) {
    return std::tie(a.rank_row, a.local) < std::tie(b.rank_row, b.local);
  });
  groups.mine = std::move(own_only);

  if (comm.is_first())
    for (const Group& group : groups.groups) {
      if (group.members_complete || group.size < 0) continue;
      Problem problem;
      problem.code = Code::group_members_unknown;
      problem.detail = shown(group);
      problems.add(problem);
    }
  return groups;
}

}  // namespace ccl
