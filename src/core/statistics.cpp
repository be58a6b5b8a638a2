#include "core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ccl {
namespace {
constexpr double absent = std::numeric_limits<double>::quiet_NaN();
}

double mean(std::span<const double> values) {
  if (values.empty()) return absent;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return absent;
  const double centre = mean(values);
  double sum = 0;
  for (const double v : values) sum += (v - centre) * (v - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double percentile(std::vector<double> values, double percent) {
  if (values.empty()) return absent;
  const double at = percent / 100.0 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), middle, values.end());
  const double above = std::next(middle) == values.end() ? *middle : *std::min_element(std::next(middle), values.end());
  return *middle + (at - static_cast<double>(below)) * (above - *middle);
}

double median(std::vector<double> values) { return percentile(std::move(values), 50); }

std::size_t middle_of_others(std::size_t count, std::size_t own) {
  const std::size_t middle = (count - (own < count ? 2 : 1)) / 2;
  return middle < own ? middle : middle + 1;
}

double median_of_others(std::span<const double> sorted, double own) {
  const auto at = static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), own) - sorted.begin());
  const auto other = [&](std::size_t i) { return sorted[i < at ? i : i + 1]; };
  const std::size_t count = sorted.size() - 1, below = (count - 1) / 2, above = count / 2;
  return below == above ? other(below) : other(below) + 0.5 * (other(above) - other(below));
}

double inner_mean(std::span<const double> values) {
  return values.size() < 3 ? absent : mean(values.subspan(1, values.size() - 2));
}

double median_absolute_deviation(const std::vector<double>& values) {
  const double centre = median(values);
  std::vector<double> deviations;
  for (const double v : values) deviations.push_back(std::abs(v - centre));
  return median(std::move(deviations));
}

double ratio(double a, double b) { return b == 0 ? absent : a / b; }

}  // namespace ccl
