// GPU events whose time can hardly be right: a few that lie far from all others of their trace.
#pragma once
#include <cstdint>
#include <string>

#include "core/tables.hpp"

namespace ccl {

struct FarEvents {
  std::int64_t count = 0;
  std::string farthest;  // its name, its time and how far it is from the others
};

/// Before the first or behind the last of all others, with a gap of more than a minute and ten times the span of these; at
/// most one event in a hundred (of twenty on, one) at either end. The events are in order of their start. Looks at the
/// ends only, and at all events only if there is such a gap.
FarEvents far_events(const RankTrace& trace);

}  // namespace ccl
