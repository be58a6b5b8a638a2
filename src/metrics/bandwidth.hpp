// Transfer times against sizes: the straight line of Hockney's model. Pure; report stage.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace ccl {

/// transfer = alpha + bus bytes / beta. NaN where fewer than five points or no two sizes exist; beta is NaN, too, if
/// larger messages are not slower.
struct HockneyFit {
  double alpha_ns = 0, beta_bytes_per_s = 0, r_squared = 0;
  std::size_t points_count = 0;
};

/// Ordinary least squares. points: (bus bytes, transfer ns).
HockneyFit fit_hockney(const std::vector<std::pair<double, double>>& points);

}  // namespace ccl
