// Order statistics of integers, as matching and clocks need them: exact, no floating point.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace ccl {

/// Median of at least one value; of an even number the mean of the two middle ones, rounded towards the smaller.
/// Leaves them in another order.
inline std::int64_t middle_of(std::span<std::int64_t> values) {
  const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), values.begin() + half, values.end());
  const std::int64_t upper = values[static_cast<std::size_t>(half)];
  if (values.size() % 2 == 1) return upper;
  const std::int64_t lower = *std::max_element(values.begin(), values.begin() + half);
  return lower + (upper - lower) / 2;
}
inline std::int64_t middle_value(std::vector<std::int64_t> values) { return middle_of(values); }

/// Percentile of at least one value by linear interpolation between order statistics, rounded down.
inline std::int64_t percentile_value(std::vector<std::int64_t> values, std::int64_t percent) {
  const std::int64_t position = static_cast<std::int64_t>(values.size() - 1) * percent;  // in hundredths
  const auto at = values.begin() + position / 100;
  std::nth_element(values.begin(), at, values.end());
  if (std::next(at) == values.end()) return *at;
  return *at + (*std::min_element(std::next(at), values.end()) - *at) * (position % 100) / 100;
}

}  // namespace ccl
