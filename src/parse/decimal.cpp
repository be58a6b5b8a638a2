#include "parse/decimal.hpp"

#include <array>
#include <limits>

namespace ccl {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The significant digits of a number and where its decimal point is: 0.d1d2d3… · 10^point.
struct Digits {
  std::array<char, 48> digits{};
  int count = 0;
  std::int64_t point = 0;
  bool more = false;  // non-zero digits beyond the kept ones
  void add(char c) {
    if (count == 0 && c == '0') return;
    if (count < static_cast<int>(digits.size()))
      digits[static_cast<std::size_t>(count++)] = c;
    else if (c != '0')
      more = true;
  }
};

/// False if the text is not a number.
bool split_number(std::string_view text, Digits& out, bool& negative) {
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) negative = text[at++] == '-';
  std::int64_t integer_digits = 0;
  bool any = false, fraction = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!is_digit(c)) break;
    any = true;
    const bool leading_zero = out.count == 0 && c == '0';
    out.add(c);
    if (!fraction && !leading_zero) ++integer_digits;
    if (fraction && leading_zero) --integer_digits;
  }
  if (!any) return false;
  std::int64_t exponent = 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    bool down = false;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) down = text[at++] == '-';
    if (at == text.size()) return false;
    for (; at < text.size() && is_digit(text[at]); ++at)
      if (exponent < 1'000'000) exponent = exponent * 10 + (text[at] - '0');
    if (down) exponent = -exponent;
  }
  out.point = integer_digits + exponent;
  return at == text.size();
}

/// Half to even on the digits from `from` on.
bool rounds_up(const Digits& d, std::int64_t from, bool odd) {
  if (from < 0 || from >= d.count) return false;
  const char first = d.digits[static_cast<std::size_t>(from)];
  if (first != '5') return first > '5';
  for (std::int64_t i = from + 1; i < d.count; ++i)
    if (d.digits[static_cast<std::size_t>(i)] != '0') return true;
  return d.more || odd;
}

}  // namespace

Decimal parse_any_decimal(std::string_view text, int scale) {
  Digits d;
  bool negative = false;
  if (!split_number(text, d, negative)) return {};
  if (d.count == 0) return {DecimalStatus::ok, 0};
  const std::int64_t whole = d.point + scale;  // digits before the point of the result
  if (whole > 19) return {DecimalStatus::out_of_range, 0};
  std::uint64_t value = 0;
  for (std::int64_t i = 0; i < whole; ++i)
    value = value * 10 + (i < d.count ? static_cast<std::uint64_t>(d.digits[static_cast<std::size_t>(i)] - '0') : 0);
  if (whole >= 0 && rounds_up(d, whole, value % 2 == 1)) ++value;
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value > largest) return {DecimalStatus::out_of_range, 0};
  const auto number = static_cast<std::int64_t>(value);
  return {DecimalStatus::ok, negative ? -number : number};
}

}  // namespace ccl
