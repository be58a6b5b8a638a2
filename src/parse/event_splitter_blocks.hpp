// The parts of split_events (event_splitter.hpp): byte by byte, and 64 bytes at a time with vector instructions that
// are chosen at run time.
#pragma once
#include <string_view>

#include "parse/event_splitter.hpp"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define CCL_SPLIT_X86 1
#endif

namespace ccl {

/// White space, control characters, and { } [ ] , : — what may stand beside a quote outside a string.
inline bool is_split_separator(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == ',' || c == ':' || c == '{' || c == '}' || c == '[' || c == ']';
}

/// Scans bytes until `to` or a stop; returns the first byte not scanned. At most one span per two bytes.
std::size_t split_bytes(const char* window, std::size_t from, std::size_t to, SplitState& state, EventSpan* spans,
                        std::size_t& count, SplitStop& stop);

/// Scan whole blocks while they fit before `to`, nothing in them is odd (else the state is the one before that block)
/// and at most `room` spans are added; return the first byte not scanned.
std::size_t split_blocks_avx2(const char* window, std::size_t from, std::size_t to, SplitState& state,
                              EventSpan* spans, std::size_t room, std::size_t& count);
std::size_t split_blocks_avx512(const char* window, std::size_t from, std::size_t to, SplitState& state,
                                EventSpan* spans, std::size_t room, std::size_t& count);

/// What stands between two events in Kineto's layout: the gap, and how an event begins.
inline constexpr std::string_view line_border = ",\n  {\n    \"";
inline constexpr std::size_t line_gap_bytes = 4;
/// A longer event is none of the layout, so that its end is not looked for through all of the text.
inline constexpr std::size_t longest_line_event_bytes = std::size_t{64} << 10;

/// The blocks of split_lines: whole events in Kineto's layout from `from`, behind the end of one; returns where the
/// last one ends. refused: what begins there is not in the layout; else it is not decided.
std::size_t split_lines_avx2(const char* window, std::size_t from, std::size_t to, EventSpan* spans,
                             std::size_t capacity, std::size_t& count, bool& refused);
std::size_t split_lines_avx512(const char* window, std::size_t from, std::size_t to, EventSpan* spans,
                               std::size_t capacity, std::size_t& count, bool& refused);

/// How often "ph" begins in the text, in quotes; it has at least this many bytes.
inline constexpr std::size_t fewest_phase_bytes = 64 + 3;
int count_phases_avx2(std::string_view text);
int count_phases_avx512(std::string_view text);

}  // namespace ccl
