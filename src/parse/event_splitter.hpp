// Finds the objects of a comma-separated list, the events of a trace, in a window of text. In: text from any point
// outside an object on, in windows; the state (in a string, escape, depth) is carried over their edges, so no byte is
// scanned twice. Out: [begin, end) of every complete object. Nothing else of the JSON is looked at, except that quotes
// must stand where JSON has them: a stray quote inside a name turns strings inside out, and is seen at once.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ccl {

/// Offsets into the window.
struct EventSpan {
  std::uint32_t begin = 0, end = 0;
};

/// Where the scan is, between two bytes.
struct SplitState {
  bool in_string = false;
  bool escaped = false;           // the next byte is escaped
  bool after_separator = true;    // the last byte was white space or one of { } [ ] , :
  bool after_string = false;      // the last byte closed a string
  std::int32_t depth = 0;         // braces open
  std::uint32_t event_begin = 0;  // of the open object, if depth > 0
};

enum class SplitStop : std::uint8_t {
  end,     // all bytes of the window that can be scanned are
  full,    // no room for more spans: call again
  stray,   // a quote where no quote can be: the object at hand is damaged
  closed   // a closing brace outside any object: the list has ended before
};

enum class SplitLevel : std::uint8_t { scalar, avx2, avx512 };
/// The best this machine has.
SplitLevel best_split_level();

struct SplitResult {
  SplitStop stop = SplitStop::end;
  std::size_t position = 0;  // first byte that is not scanned
  std::size_t count = 0;     // spans written
  // Of them, those of one run in Kineto's layout, each just behind ",\n  " and the one before (split_lines).
  std::size_t lines_begin = 0, lines_end = 0;
};

/// Scans [from, to) of the window. Whole blocks of 64 bytes only, unless `last`: the rest waits for more text. All
/// levels give the same result. capacity ≥ 64.
SplitResult split_events(const char* window, std::size_t from, std::size_t to, bool last, SplitState& state,
                         EventSpan* spans, std::size_t capacity, SplitLevel level);

}  // namespace ccl
