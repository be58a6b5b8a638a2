// Behind a damaged event: where does the next good one start? In: a window of text from the damage on. Out: an offset
// to go on from, and how many events were lost on the way. Slow and careful; it only runs on broken files.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ccl {

enum class SalvageFound : std::uint8_t {
  event,     // a whole event starts at `position`
  list_end,  // the closing bracket of the list is at `position`
  more_text  // not decided: call again from `position` once there is more text
};

struct Salvage {
  SalvageFound found = SalvageFound::more_text;
  std::size_t position = 0;
  std::int64_t damaged_count = 0;  // further events found damaged between the start and position
};

/// What the next call must still see before its `from`, to know what a brace follows.
inline constexpr std::size_t salvage_context_bytes = 256;

/// Looks for the first '{' at or behind `from` that follows a comma or '}', opens with a key of a trace event and is a
/// whole object with a "ph"; or for the end of the list. at_end: no more text.
Salvage find_next_event(std::string_view window, std::size_t from, bool at_end);

enum class JunkAnswer : std::uint8_t {
  event,     // an object opens behind it: both neighbours are whole
  damage,    // it opens or closes something itself, or is long
  more_text  // not decided
};
struct Junk {
  JunkAnswer answer = JunkAnswer::damage;
  std::size_t size = 0;  // up to that object
};

/// text: from the first byte between two events that does not belong there.
Junk junk_between_events(std::string_view text, bool at_end);

}  // namespace ccl
