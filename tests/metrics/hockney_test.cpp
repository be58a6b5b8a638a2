#include "metrics/hockney.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace ccl {
namespace {

TEST(Hockney, FewPointsOrOneSizeGiveNoFit) {
  EXPECT_TRUE(std::isnan(fit_hockney({}).alpha_ns));
  EXPECT_TRUE(std::isnan(fit_hockney({{1, 1}, {2, 2}}).alpha_ns));
  EXPECT_TRUE(std::isnan(fit_hockney({{1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}}).alpha_ns));
  EXPECT_TRUE(std::isnan(fit_hockney({{1, 5}, {2, 4}, {3, 3}, {4, 2}, {5, 1}}).beta_bytes_per_s));
}

TEST(Hockney, FarFromZeroNothingIsLost) {
  const std::int64_t far = std::int64_t{1} << 46;  // whose squares a double does not hold
  const HockneyFit fit = fit_hockney({{far, far}, {far + 2, far + 1}, {far + 4, far + 2}, {far + 6, far + 3}, {far + 8, far + 4}});
  EXPECT_EQ(fit.beta_bytes_per_s, 2e9);
  EXPECT_EQ(fit.alpha_ns, static_cast<double>(far / 2));
  EXPECT_EQ(fit.r_squared, 1);
}

TEST(Hockney, MeansThatAreNoIntegers) {  // expected by fractions of integers
  const HockneyFit fit = fit_hockney({{1, 3}, {2, 5}, {4, 4}, {8, 9}, {11, 12}, {12, 10}});
  EXPECT_NEAR(1e9 / fit.beta_bytes_per_s, 121.0 / 164, 1e-14);
  EXPECT_NEAR(fit.alpha_ns, 409.0 / 164, 1e-14);
  EXPECT_NEAR(fit.r_squared, 14641.0 / 16441, 1e-14);
}

TEST(Hockney, WhatFitsIntoNoSumTakesNoPart) {
  const std::vector<HockneyPoint> points{{1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}};
  std::vector<HockneyPoint> more = points;
  more.push_back({INT64_MAX, 1});
  more.push_back({1, INT64_MAX});
  EXPECT_EQ(fit_hockney(more).alpha_ns, fit_hockney(points).alpha_ns);
}

TEST(Hockney, AnyOrderAndAnyPartsGiveTheSameBits) {
  std::mt19937 random(3);
  std::vector<HockneyPoint> points;
  for (int i = 0; i < 1000; ++i) points.push_back({1 + static_cast<std::int64_t>(random()) * 9, 1 + static_cast<std::int64_t>(random())});
  const HockneyFit whole = fit_hockney(points);
  std::shuffle(points.begin(), points.end(), random);
  HockneyMeans all, later;
  for (std::size_t i = 0; i < points.size(); ++i) (i < 300 ? all : later).add(points[i]);
  all.combine(later);
  HockneySums first(all), second(all);
  for (std::size_t i = 0; i < points.size(); ++i) (i < 700 ? first : second).add(points[i]);
  second.combine(first);
  const HockneyFit parts = second.fit();
  EXPECT_EQ(parts.alpha_ns, whole.alpha_ns);
  EXPECT_EQ(parts.beta_bytes_per_s, whole.beta_bytes_per_s);
  EXPECT_EQ(parts.r_squared, whole.r_squared);
}

}  // namespace
}  // namespace ccl
