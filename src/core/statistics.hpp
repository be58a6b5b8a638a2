// Statistics: std with n − 1, percentiles by linear interpolation between order
// statistics (NumPy's default). Absent results are NaN.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace ccl {

double mean(std::span<const double> values);                // NaN for none
double standard_deviation(std::span<const double> values);  // NaN for fewer than two
double percentile(std::vector<double> values, double percent);  // NaN for none
double median(std::vector<double> values);
/// Of `count` sorted values without the one at place `own`: the place of the middle one, of an even count the lower.
/// own = count: none is left out. At least one must be left.
std::size_t middle_of_others(std::size_t count, std::size_t own);
/// Of at least two sorted values, one of which is `own`: the median without it.
double median_of_others(std::span<const double> sorted, double own);
/// Mean without the first and the last value when there are at least three; else NaN.
double inner_mean(std::span<const double> values);
/// Median absolute deviation from the median; NaN for none.
double median_absolute_deviation(const std::vector<double>& values);
/// a / b; NaN when b is 0.
double ratio(double a, double b);

}  // namespace ccl
