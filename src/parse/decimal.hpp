// Decimal text -> integer, exactly. Trace times are decimal microseconds: a double would round them (epoch µs of
// 1.7e15 have steps of 0.25 µs), so text goes to integer nanoseconds digit by digit.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
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

/// At most 8 digits from `at` on, of which 8 bytes are readable, as one word of arithmetic.
struct DigitRun {
  std::uint64_t value = 0;
  int count = 0;
};
inline DigitRun take_digits(const char* at) {
  if constexpr (std::endian::native == std::endian::big) return {};
  constexpr std::uint64_t each = 0x0101010101010101;
  std::uint64_t digits = 0;
  std::memcpy(&digits, at, 8);
  digits ^= each * '0';
  // A carry out of a byte above 9 only reaches those behind the first that is none.
  const std::uint64_t others = ((digits + each * 0x76) | digits) & each * 0x80;
  const int count = others == 0 ? 8 : std::countr_zero(others) / 8;
  if (count == 0) return {};
  digits <<= 8 * (8 - count);
  digits = digits * 10 + (digits >> 8);
  const std::uint64_t high = (digits & 0x000000FF000000FF) * (100 + (std::uint64_t{1000000} << 32));
  const std::uint64_t low = ((digits >> 16) & 0x000000FF000000FF) * (1 + (std::uint64_t{10000} << 32));
  return {(high + low) >> 32, count};
}

/// The whole number of at most 15 digits at `at`; moves behind it. False, and stays, if there is none or no 16 bytes
/// are left to read.
inline bool take_whole(const char*& at, const char* end, std::int64_t& number) {
  static constexpr std::uint64_t powers[] = {1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000};
  if (end - at < 16) return false;
  DigitRun run = take_digits(at);
  std::uint64_t value = run.value;
  int count = run.count;
  if (count == 8) {
    run = take_digits(at + 8);
    if (run.count == 8) return false;
    value = value * powers[run.count] + run.value;
    count += run.count;
  }
  number = static_cast<std::int64_t>(value);
  at += count;
  return count > 0;
}

/// Microseconds at `at`, with at most three digits behind the point, as nanoseconds; moves behind them. False, and
/// stays, for any other form.
inline bool take_us_as_ns(const char*& at, const char* end, std::int64_t& ns) {
  static constexpr std::int64_t powers[] = {1000, 100, 10, 1};
  const char* behind = at;
  std::int64_t whole = 0;
  if (!take_whole(behind, end, whole)) return false;
  DigitRun fraction;
  if (*behind == '.') {
    if (end - behind < 9) return false;
    fraction = take_digits(behind + 1);
    if (fraction.count == 0 || fraction.count > 3) return false;
    behind += 1 + fraction.count;
  }
  ns = whole * 1000 + static_cast<std::int64_t>(fraction.value) * powers[fraction.count];
  at = behind;
  return true;
}

/// Decimal microseconds -> nanoseconds.
inline Decimal parse_us_as_ns(std::string_view text) { return parse_decimal(text, 3); }

/// Whole number, or the fallback if the text is none or does not fit (ids of 22 digits occur in real traces).
inline std::int64_t parse_integer(std::string_view text, std::int64_t fallback) {
  const Decimal d = parse_decimal(text, 0);
  return d.status == DecimalStatus::ok ? d.value : fallback;
}

}  // namespace ccl
