#include "exchange/group_union.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "parse/finish.hpp"

namespace ccl {
namespace {

using Members = std::vector<std::int32_t>;

Members sorted(Members members) {
  std::sort(members.begin(), members.end());
  return members;
}

/// Sorts the claims, drops copies and renumbers the sightings: from here on nothing depends on who sent what.
void make_unique(std::vector<GroupClaim>& claims, std::vector<GroupSighting>& sightings) {
  std::vector<std::uint32_t> order(claims.size()), new_number(claims.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return claims[a] < claims[b]; });
  std::vector<GroupClaim> kept;
  for (const std::uint32_t i : order) {
    if (kept.empty() || kept.back() != claims[i]) kept.push_back(claims[i]);
    new_number[i] = static_cast<std::uint32_t>(kept.size() - 1);
  }
  claims = std::move(kept);
  for (GroupSighting& s : sightings) s.claim = new_number[s.claim];
  std::sort(sightings.begin(), sightings.end(), [](const GroupSighting& a, const GroupSighting& b) {
    return std::tie(a.rank_row, a.local) < std::tie(b.rank_row, b.local);
  });
}

/// Complete member lists by what an incomplete claim still tells.
class CompleteLists {
 public:
  CompleteLists(const std::vector<GroupClaim>& claims, const std::vector<GroupSighting>& sightings,
                const Ranks& ranks) {
    for (const GroupClaim& claim : claims)
      if (claim.complete()) lists_[key(claim)].push_back({&claim.members, sorted(claim.members)});
    // Where nobody lists the members but each knows its own place, the ranks that stand at all places are the list.
    std::map<Key, Members> seats;
    for (const GroupSighting& s : sightings) {
      const GroupClaim& claim = claims[s.claim];
      if (s.place < 0 || s.place >= claim.size || claim.complete()) continue;
      if (static_cast<std::size_t>(claim.size) > ranks.entries.size()) continue;  // some are missing, or it lies
      Members& at = seats[key(claim)];
      at.resize(static_cast<std::size_t>(claim.size), -1);
      std::int32_t& seat = at[static_cast<std::size_t>(s.place)];
      const std::int32_t rank = ranks.entries[static_cast<std::size_t>(s.rank_row)].rank.value;
      constexpr std::int32_t claimed_twice = -2;
      seat = seat == -1 || seat == rank ? rank : claimed_twice;
    }
    for (auto& [group, at] : seats) {
      if (std::any_of(at.begin(), at.end(), [](std::int32_t rank) { return rank < 0; })) continue;
      made_.push_back(std::move(at));
      lists_[group].push_back({&made_.back(), sorted(made_.back())});
    }
  }

  /// The members of the claim as seen by a rank; the claim's own, shorter list if nobody knows them all.
  const Members& complete(const GroupClaim& claim, std::int32_t rank) const {
    const auto found = lists_.find(key(claim));
    if (found != lists_.end())
      for (const List& list : found->second)
        if (std::binary_search(list.ranks.begin(), list.ranks.end(), rank) &&
            std::equal(claim.members.begin(), claim.members.end(), list.members->begin()))
          return *list.members;
    return claim.members;
  }

 private:
  using Key = std::tuple<std::int32_t, std::string, std::string, std::int32_t>;
  struct List {
    const Members* members;
    Members ranks;  // sorted
  };
  static Key key(const GroupClaim& claim) { return {claim.replica, claim.name, claim.description, claim.size}; }

  std::map<Key, std::vector<List>> lists_;
  std::deque<Members> made_;  // lists that no claim holds
};

/// What makes two sightings the same communicator, before names separate equal member sets.
struct Identity {
  std::int32_t replica = -1;
  std::string description;
  std::int32_t size = -1;
  Members ranks;     // sorted; empty unless all are known
  std::string name;  // only if the members are not known
  friend auto operator<=>(const Identity&, const Identity&) = default;
};

struct Seen {
  const GroupSighting* sighting;
  const GroupClaim* claim;
  const Members* members;  // shared: a copy for each rank of a large group would be ranks² of them
};

/// Equal members under several names on one rank are several communicators. They are told apart by name if all
/// names occur again and again, and in order of first use if each rank has names of its own.
std::vector<std::vector<Seen>> split_by_name(std::vector<Seen> seen) {
  std::map<std::int32_t, std::vector<std::string>> names_by_rank;
  std::set<std::string> names;
  std::size_t most = 0;
  const auto place = [&](const Seen& s) -> std::size_t {
    auto& known = names_by_rank[s.sighting->rank_row];
    const auto at = std::find(known.begin(), known.end(), s.claim->name);
    if (at != known.end()) return static_cast<std::size_t>(at - known.begin());
    known.push_back(s.claim->name);
    return known.size() - 1;
  };
  std::vector<std::size_t> order_of_use;
  for (const Seen& s : seen) {
    order_of_use.push_back(place(s));
    names.insert(s.claim->name);
    most = std::max(most, names_by_rank[s.sighting->rank_row].size());
  }
  if (most <= 1) return {std::move(seen)};
  const bool shared_names = names.size() == most;
  std::vector<std::vector<Seen>> parts(most);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto by_name = static_cast<std::size_t>(std::distance(names.begin(), names.find(seen[i].claim->name)));
    parts[shared_names ? by_name : order_of_use[i]].push_back(std::move(seen[i]));
  }
  return parts;
}

GroupId make_id(const Identity& identity, const std::string& separator) {
  std::uint64_t hash = stable_hash(identity.description);
  hash = hash_combine(hash, static_cast<std::uint64_t>(identity.replica + 1));
  hash = hash_combine(hash, static_cast<std::uint64_t>(identity.size + 1));
  for (const std::int32_t rank : identity.ranks) hash = hash_combine(hash, static_cast<std::uint64_t>(rank));
  hash = stable_hash(identity.name, hash);
  hash = stable_hash(separator, hash);
  return GroupId(hash == 0 ? 1 : hash);
}

Group make_group(const Identity& identity, const std::vector<Seen>& part, GroupId id, const Ranks& ranks) {
  Group group;
  group.id = id;
  group.description = identity.description;
  group.size = identity.size;
  group.replica = identity.replica;
  group.name = part.front().claim->name;
  group.members_complete = !identity.ranks.empty();
  group.sequence_everywhere = true;
  const Members* members = part.front().members;
  for (const Seen& s : part) {
    group.sequence_everywhere = group.sequence_everywhere && s.sighting->sequence_everywhere != 0;
    if (s.members != members && (group.members_complete ? *s.members < *members : s.members->size() > members->size()))
      members = s.members;
    if (group.dimension == Dimension::unknown && s.claim->dimension != Dimension::unknown) {
      group.dimension = s.claim->dimension;
      group.dimension_source = s.claim->dimension_source;
    }
  }
  group.members = *members;
  if (part.front().claim->is_all()) {
    group.name = "all";
    for (const Seen& s : part) group.members.push_back(ranks.entries[static_cast<std::size_t>(s.sighting->rank_row)].rank.value);
    group.members = sorted(std::move(group.members));
    group.members.erase(std::unique(group.members.begin(), group.members.end()), group.members.end());
  }
  return group;
}

/// Dimensions that need the completed member list: the same evidence as a single trace uses.
void assign_missing_dimensions(std::vector<Group>& groups, const Ranks& ranks, const Mesh& mesh) {
  RankTrace carrier;
  carrier.world_size = ranks.world_size;
  std::vector<Group*> asked;
  for (Group& group : groups) {
    if (group.dimension != Dimension::unknown || group.size < 0) continue;
    asked.push_back(&group);
    ProcessGroup& as_local = carrier.groups.emplace_back();
    as_local.name = group.name;
    as_local.description = group.description;
    as_local.size = group.size;
    as_local.members = group.members;
  }
  assign_dimensions(carrier, mesh);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    asked[i]->dimension = carrier.groups[i].dimension;
    asked[i]->dimension_source = carrier.groups[i].dimension_source;
  }
}

}  // namespace

Groups unite_claims(std::vector<GroupClaim> claims, std::vector<GroupSighting> sightings, const Ranks& ranks,
                    const Mesh& mesh) {
  make_unique(claims, sightings);
  const CompleteLists lists(claims, sightings, ranks);
  Members world;
  std::map<Identity, std::vector<Seen>> identities;
  // Worked out once for all ranks that say the same.
  std::map<std::pair<std::uint32_t, const Members*>, std::vector<Seen>*> known_as;
  for (const GroupSighting& sighting : sightings) {
    const GroupClaim& claim = claims[sighting.claim];
    const std::int32_t rank = ranks.entries[static_cast<std::size_t>(sighting.rank_row)].rank.value;
    const Members* members = claim.complete() ? &claim.members : &lists.complete(claim, rank);
    if (claim.size > 0 && claim.size == ranks.world_size && members->size() != static_cast<std::size_t>(claim.size)) {
      if (world.empty()) {
        world.resize(static_cast<std::size_t>(claim.size));
        std::iota(world.begin(), world.end(), 0);
      }
      members = &world;  // a group as large as the world is the world
    }
    std::vector<Seen>*& seen = known_as[{sighting.claim, members}];
    if (seen == nullptr) {
      const bool known = claim.size > 0 && members->size() == static_cast<std::size_t>(claim.size);
      Identity identity{claim.replica, claim.description, claim.size, known ? sorted(*members) : Members(),
                        known ? std::string() : claim.name};
      seen = &identities[std::move(identity)];
    }
    seen->push_back({&sighting, &claim, members});
  }

  Groups united;
  for (auto& [identity, seen] : identities) {
    auto parts = split_by_name(std::move(seen));
    const bool by_order = parts.size() > 1 && std::any_of(parts.begin(), parts.end(), [](const auto& part) {
      return std::any_of(part.begin(), part.end(), [&](const Seen& s) { return s.claim->name != part[0].claim->name; });
    });
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string separator =
          parts.size() == 1 ? std::string() : by_order ? "#" + std::to_string(i) : parts[i][0].claim->name;
      const GroupId id = make_id(identity, separator);
      for (const Seen& s : parts[i]) united.mine.push_back({s.sighting->rank_row, s.sighting->local, id});
      united.groups.push_back(make_group(identity, parts[i], id, ranks));
    }
  }
  assign_missing_dimensions(united.groups, ranks, mesh);

  const auto order = [](const Group& g) {
    return std::tuple(g.dimension, g.size, g.members.empty() ? -1 : g.members.front(),
                      std::string_view(g.description), std::string_view(g.name), g.replica, g.id.value);
  };
  std::sort(united.groups.begin(), united.groups.end(),
            [&](const Group& a, const Group& b) { return order(a) < order(b); });
  united.fill_index();
  std::sort(united.mine.begin(), united.mine.end(), [](const Groups::Mapped& a, const Groups::Mapped& b) {
    return std::tie(a.rank_row, a.local) < std::tie(b.rank_row, b.local);
  });
  return united;
}

}  // namespace ccl
