// What an event may say of its time and size, whatever wrote it: sums of a file fit 64 bits then.
#pragma once
#include <cstdint>

namespace ccl {

/// Times of events and the base of the clock are each kept below this, so that their sum fits 64 bits.
inline constexpr std::int64_t largest_time_ns = std::int64_t{1} << 62;
/// No event lasts longer, and sums of what lasts as long in picoseconds still fit 64 bits.
inline constexpr std::int64_t longest_event_ns = std::int64_t{24} * 3600 * 1'000'000'000;

constexpr bool is_possible_time(std::int64_t start_ns, std::int64_t dur_ns = 0) {
  return start_ns > -largest_time_ns && start_ns < largest_time_ns && dur_ns <= longest_event_ns;
}

/// Bytes that a GPU copies or holds; −1: none, or more than any has.
constexpr std::int64_t possible_bytes(std::int64_t bytes) {
  return bytes >= 0 && bytes <= std::int64_t{1} << 48 ? bytes : -1;
}

}  // namespace ccl
