#include "compare/change.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "core/statistics.hpp"

namespace ccl {
namespace {

/// Of values that scatter, what is too small to mention.
constexpr double least_change = 0.001;
constexpr double absent = std::numeric_limits<double>::quiet_NaN();

/// Two-sided 95 % quantile of Student's t; between the tabulated degrees the smaller one, which is the wider band.
double student_t(double degrees) {
  constexpr std::array<double, 30> table{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                         2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                         2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees >= 120) return 1.980;
  if (degrees >= 60) return 2.000;
  const auto row = static_cast<std::size_t>(std::max(1.0, std::floor(degrees)));
  return table[std::min(row, table.size()) - 1];
}

double error_of_median(const std::vector<double>& values) {
  const double robust = 1.4826 * median_absolute_deviation(values);
  const double spread = robust > 0 ? robust : standard_deviation(values);
  return 1.2533 * spread / std::sqrt(static_cast<double>(values.size()));
}

double band_of(const std::vector<double>& first, const std::vector<double>& second) {
  if (first.size() < 2 || second.size() < 2) return absent;
  const double a = std::pow(error_of_median(first), 2), b = std::pow(error_of_median(second), 2);
  if (a + b == 0) return 0;
  const double degrees = std::pow(a + b, 2) / (a * a / static_cast<double>(first.size() - 1) +
                                               b * b / static_cast<double>(second.size() - 1));
  return student_t(degrees) * std::sqrt(a + b);
}

Verdict verdict_of(const Change& change, Better better) {
  if (change.difference == 0) return Verdict::same;
  if (std::isnan(change.band)) return Verdict::unknown_noise;
  if (std::abs(change.difference) <= change.band) return Verdict::same;
  if (change.band > 0 && std::abs(change.change_ratio) < least_change) return Verdict::same;
  if (better == Better::neither) return Verdict::changed;
  return (change.difference < 0) == (better == Better::lower) ? Verdict::better : Verdict::worse;
}

}  // namespace

std::string_view to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::same: return "same";
    case Verdict::better: return "better";
    case Verdict::worse: return "worse";
    case Verdict::changed: return "changed";
    case Verdict::unknown_noise: return "unknown_noise";
    case Verdict::only_first: return "only_first";
    case Verdict::only_second: return "only_second";
  }
  return "";
}

Change compare_samples(const std::vector<double>& first, const std::vector<double>& second, Better better) {
  Change change;
  change.first = median(first);
  change.second = median(second);
  change.first_count = first.size();
  change.second_count = second.size();
  change.difference = change.second - change.first;
  change.change_ratio = change.first == 0 ? absent : change.second / change.first - 1;
  const double first_mean = mean(first);
  change.mean_change_ratio = first_mean == 0 ? absent : mean(second) / first_mean - 1;
  change.band = band_of(first, second);
  change.verdict = first.empty()    ? Verdict::only_second
                   : second.empty() ? Verdict::only_first
                                    : verdict_of(change, better);
  return change;
}

}  // namespace ccl
