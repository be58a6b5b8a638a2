// Transfer times against sizes: the straight line of Hockney's model, from exact sums. Pure; merge stage.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/wide.hpp"

namespace ccl {

/// transfer = alpha + bus bytes / beta. NaN where fewer than five points or no two sizes exist; beta is NaN, too, if
/// larger messages are not slower.
struct HockneyFit {
  double alpha_ns = 0, beta_bytes_per_s = 0, r_squared = 0;
};

/// A point: (bus bytes, transfer ns). What does not fit into 47 bits (140 TB, 39 h) takes no part, so that no sum overflows.
using HockneyPoint = std::pair<std::int64_t, std::int64_t>;

/// First pass. Integers: equal in any order of the points.
struct HockneyMeans {
  std::int64_t count = 0;
  Wide bytes = 0, ns = 0;  // sums
  void add(const HockneyPoint& point);
  void combine(const HockneyMeans& other);
};

/// Second pass: sums of what the points are off the means of all, which are rounded down to integers for that.
class HockneySums {
 public:
  HockneySums() = default;
  explicit HockneySums(const HockneyMeans& all);
  void add(const HockneyPoint& point);
  void combine(const HockneySums& other);
  /// Ordinary least squares.
  HockneyFit fit() const;

 private:
  std::int64_t count_ = 0, middle_bytes_ = 0, middle_ns_ = 0;  // of all
  Wide bytes_ = 0, ns_ = 0, bytes_bytes_ = 0, bytes_ns_ = 0, ns_ns_ = 0;
};

/// Both passes over points that are all here.
HockneyFit fit_hockney(const std::vector<HockneyPoint>& points);

}  // namespace ccl
