// Decimal text -> integer, exactly. Trace times are decimal microseconds: a double would round them (epoch µs of
// 1.7e15 have steps of 0.25 µs), so text goes to integer nanoseconds digit by digit.
#pragma once
#include <cstdint>
#include <string_view>

namespace ccl {

enum class DecimalStatus : std::uint8_t { ok, absent, out_of_range };

struct Decimal {
  DecimalStatus status = DecimalStatus::absent;
  std::int64_t value = 0;
};

/// text · 10^scale as an integer, rounded half to even. Sign, fraction and exponent are accepted; anything that is
/// not a number ("inf", "null", "") is absent; what does not fit int64 is out_of_range.
Decimal parse_decimal(std::string_view text, int scale);

/// Decimal microseconds -> nanoseconds.
inline Decimal parse_us_as_ns(std::string_view text) { return parse_decimal(text, 3); }

/// Whole number, or the fallback if the text is none or does not fit (ids of 22 digits occur in real traces).
std::int64_t parse_integer(std::string_view text, std::int64_t fallback);

}  // namespace ccl
