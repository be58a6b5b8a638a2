#include "core/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ccl {
namespace {

TEST(Statistics, NothingToMeasureIsAbsentNotZero) {
  EXPECT_TRUE(std::isnan(mean({})));
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(percentile({}, 95)));
  EXPECT_TRUE(std::isnan(median_absolute_deviation({})));
  EXPECT_TRUE(std::isnan(ratio(1, 0)));
}

TEST(Statistics, DeviationDividesByOneLess) {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(mean(values), 5);
  EXPECT_DOUBLE_EQ(standard_deviation(values), std::sqrt(32.0 / 7.0));
  EXPECT_TRUE(std::isnan(standard_deviation(std::vector<double>{3})));
}

// numpy.percentile([1, 2, 4, 8], [0, 25, 50, 95, 100])
TEST(Statistics, PercentilesInterpolateLikeNumpy) {
  const std::vector<double> values{8, 1, 4, 2};
  EXPECT_DOUBLE_EQ(percentile(values, 0), 1);
  EXPECT_DOUBLE_EQ(percentile(values, 25), 1.75);
  EXPECT_DOUBLE_EQ(median(values), 3);
  EXPECT_NEAR(percentile(values, 95), 7.4, 1e-12);
  EXPECT_DOUBLE_EQ(percentile(values, 100), 8);
}

TEST(Statistics, InnerMeanDropsFirstAndLast) {
  EXPECT_DOUBLE_EQ(inner_mean(std::vector<double>{100, 2, 4, 100}), 3);
  EXPECT_TRUE(std::isnan(inner_mean(std::vector<double>{1, 2})));
}

TEST(Statistics, MedianAbsoluteDeviationIgnoresOneOutlier) {
  EXPECT_DOUBLE_EQ(median_absolute_deviation({1, 1, 2, 2, 4, 6, 9}), 1);
  EXPECT_DOUBLE_EQ(median_absolute_deviation({5, 5, 5, 500}), 0);
}

TEST(Statistics, TheMiddleOfTheOthersLeavesOneOut) {
  const std::vector<double> sorted{1, 2, 4, 8, 16};
  EXPECT_EQ(middle_of_others(5, 0), 2U) << "of 2 4 8 16 the lower";
  EXPECT_EQ(middle_of_others(5, 4), 1U) << "of 1 2 4 8 the lower";
  EXPECT_EQ(middle_of_others(4, 1), 2U) << "of 1 4 8";
  EXPECT_EQ(middle_of_others(2, 0), 1U);
  EXPECT_EQ(middle_of_others(4, 4), 1U) << "none is left out";
  EXPECT_EQ(median_of_others(sorted, 1), 6);
  EXPECT_EQ(median_of_others(sorted, 16), 3);
  EXPECT_EQ(median_of_others(std::vector<double>{1, 2, 4, 8}, 2), 4);
}

}  // namespace
}  // namespace ccl
