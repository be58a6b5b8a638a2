// Which times an event may have.
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

}  // namespace ccl
