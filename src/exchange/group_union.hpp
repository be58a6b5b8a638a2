// The pure part of uniting process groups: what ranks say of their groups (claims, each stored once) and who said it
// (sightings) become the groups of the run.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "exchange/groups.hpp"

namespace ccl {

/// One description of a group, shared by all ranks that give exactly this one.
struct GroupClaim {
  std::int32_t replica = -1;
  std::string name, description;
  std::int32_t size = -1;
  std::vector<std::int32_t> members;
  Dimension dimension = Dimension::unknown;
  std::string dimension_source;
  bool complete() const { return size > 0 && members.size() == static_cast<std::size_t>(size); }
  bool is_all() const { return name.empty() && description.empty() && size < 0; }
  friend auto operator<=>(const GroupClaim&, const GroupClaim&) = default;
};

struct GroupSighting {
  std::int32_t rank_row = -1;
  std::uint32_t local = 0;
  std::uint32_t claim = 0;
  std::uint32_t sequence_everywhere = 0;
  std::int32_t place = -1;  // ProcessGroup::place
};

/// claims may hold equal ones (from several workers); sightings point into it. mine = all sightings.
Groups unite_claims(std::vector<GroupClaim> claims, std::vector<GroupSighting> sightings, const Ranks& ranks,
                    const Mesh& mesh);

}  // namespace ccl
