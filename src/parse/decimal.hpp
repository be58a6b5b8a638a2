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

/// parse_decimal for every form a number can have.
Decimal parse_any_decimal(std::string_view text, int scale);

/// text · 10^scale as an integer, rounded half to even. Sign, fraction and exponent are accepted; anything that is
/// not a number ("inf", "null", "") is absent; what does not fit int64 is out_of_range. Inline for the usual form: at
/// most 15 digits before the point and at most `scale` behind it.
inline Decimal parse_decimal(std::string_view text, int scale) {
  const auto digit = [](char c) { return static_cast<unsigned>(static_cast<unsigned char>(c)) - '0'; };
  const char* at = text.data();
  const char* const end = at + text.size();
  std::uint64_t value = 0;  // wraps for what is too long, which goes the other way
  while (at < end && digit(*at) < 10) value = value * 10 + digit(*at++);
  const std::int64_t integer_digits = at - text.data();
  if (integer_digits == 0 || integer_digits > 15) return parse_any_decimal(text, scale);
  int left = scale;
  if (at < end && *at == '.')
    for (++at; at < end && left > 0 && digit(*at) < 10; --left) value = value * 10 + digit(*at++);
  if (at != end) return parse_any_decimal(text, scale);
  for (; left > 0; --left) value *= 10;
  return {DecimalStatus::ok, static_cast<std::int64_t>(value)};
}

/// Decimal microseconds -> nanoseconds.
inline Decimal parse_us_as_ns(std::string_view text) { return parse_decimal(text, 3); }

/// Whole number, or the fallback if the text is none or does not fit (ids of 22 digits occur in real traces).
inline std::int64_t parse_integer(std::string_view text, std::int64_t fallback) {
  const Decimal d = parse_decimal(text, 0);
  return d.status == DecimalStatus::ok ? d.value : fallback;
}

}  // namespace ccl
