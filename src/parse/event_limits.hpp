// What an event may say of its time and size, whatever wrote it: sums of a file fit 64 bits then.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/intervals.hpp"

namespace ccl {

/// Times of events and the base of the clock are each kept below this, so that their sum fits 64 bits.
inline constexpr std::int64_t largest_time_ns = std::int64_t{1} << 62;
/// No event lasts longer, and sums of what lasts as long in picoseconds still fit 64 bits.
inline constexpr std::int64_t longest_event_ns = std::int64_t{24} * 3600 * 1'000'000'000;

constexpr bool is_possible_time(std::int64_t start_ns, std::int64_t dur_ns = 0) {
  return start_ns > -largest_time_ns && start_ns < largest_time_ns && dur_ns <= longest_event_ns;
}

/// Around both, of which an empty one does not count.
inline Interval hull(Interval a, Interval b) {
  if (a.length_ns() <= 0 || b.length_ns() <= 0) return a.length_ns() > 0 ? a : b;
  return {std::min(a.start_ns, b.start_ns), std::max(a.end_ns, b.end_ns)};
}

/// A profiler records nothing from before its start or behind its end: what lies more than a second outside can not be
/// right. However long a program hangs, the recording lasts as long. Empty: nothing is known of it.
inline constexpr std::int64_t recording_margin_ns = 1'000'000'000;

inline bool is_recorded(Interval recorded, std::int64_t start_ns, std::int64_t end_ns,
                        std::int64_t margin_ns = recording_margin_ns) {
  return recorded.length_ns() <= 0 || (start_ns >= recorded.start_ns - margin_ns && end_ns <= recorded.end_ns + margin_ns);
}

/// Bytes that a GPU copies or holds; −1: none, or more than any has.
constexpr std::int64_t possible_bytes(std::int64_t bytes) {
  return bytes >= 0 && bytes <= std::int64_t{1} << 48 ? bytes : -1;
}

}  // namespace ccl
