// Whether two sets of repeated values differ by more than they scatter. Pure arithmetic.
#pragma once
#include <string_view>
#include <vector>

#include "compare/figures.hpp"

namespace ccl {

enum class Verdict { same, better, worse, changed, unknown_noise, only_first, only_second };
std::string_view to_text(Verdict verdict);

/// first and second are medians over the repetitions (NaN = absent). change_ratio = second / first − 1, NaN if first
/// is 0. band = half-width of the 95 % interval of second − first, in the unit of the values; NaN with a single
/// repetition on one side.
struct Change {
  double first = 0, second = 0, difference = 0, change_ratio = 0, band = 0;
  double mean_change_ratio = 0;  // of the means: moves with single slow repetitions, which the medians pass over
  std::size_t first_count = 0, second_count = 0;
  Verdict verdict = Verdict::same;
};

/// Medians, each with standard error 1.2533·s/√n (asymptotic, normal), s = 1.4826·MAD or the standard deviation where
/// the MAD is 0; band = Student's t (95 %, Welch–Satterthwaite) × the root of the summed squares. A difference inside
/// the band is Verdict::same; with one repetition any difference is Verdict::unknown_noise.
Change compare_samples(const std::vector<double>& first, const std::vector<double>& second, Better better);

}  // namespace ccl
