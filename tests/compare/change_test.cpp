#include "compare/change.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ccl {
namespace {

TEST(CompareSamples, KnownSevenPercentIsFoundWithItsBand) {
  const Change change = compare_samples({99, 100, 101, 100}, {106, 107, 108, 107}, Better::lower);
  EXPECT_EQ(change.first, 100);
  EXPECT_EQ(change.second, 107);
  EXPECT_NEAR(change.change_ratio, 0.07, 1e-12);
  // MAD 0.5 on both sides: s = 0.7413, error of a median 1.2533 s / 2, six degrees of freedom: t = 2.447.
  EXPECT_NEAR(change.band, 2.447 * std::sqrt(2.0) * 1.2533 * 1.4826 * 0.5 / 2, 1e-9);
  EXPECT_EQ(change.verdict, Verdict::worse);
  EXPECT_EQ(compare_samples({99, 100, 101, 100}, {106, 107, 108, 107}, Better::higher).verdict, Verdict::better);
  EXPECT_EQ(compare_samples({99, 100, 101, 100}, {106, 107, 108, 107}, Better::neither).verdict, Verdict::changed);
}

TEST(CompareSamples, DifferenceInsideTheScatterIsNoChange) {
  EXPECT_EQ(compare_samples({90, 100, 110}, {93, 103, 113}, Better::lower).verdict, Verdict::same);
}

TEST(CompareSamples, OneSlowStepMovesTheMeanOnly) {
  const Change change = compare_samples({100, 101, 99, 100}, {100, 101, 99, 180}, Better::lower);
  EXPECT_EQ(change.verdict, Verdict::same);
  EXPECT_NEAR(change.mean_change_ratio, 0.2, 1e-12);
}

TEST(CompareSamples, OutlierIsNotNoiseFree) {
  // Two of three values agree: the MAD is 0, the values scatter nevertheless.
  EXPECT_GT(compare_samples({10, 10, 16}, {11, 11, 11}, Better::lower).band, 1);
}

TEST(CompareSamples, ExactCountsChangeWithoutNoise) {
  const Change change = compare_samples({21, 21}, {22, 22}, Better::neither);
  EXPECT_EQ(change.band, 0);
  EXPECT_EQ(change.verdict, Verdict::changed);
}

TEST(CompareSamples, OneRepetitionHasNoNoiseEstimate) {
  const Change change = compare_samples({100}, {120}, Better::lower);
  EXPECT_TRUE(std::isnan(change.band));
  EXPECT_EQ(change.verdict, Verdict::unknown_noise);
  EXPECT_EQ(compare_samples({100}, {100}, Better::lower).verdict, Verdict::same);
}

TEST(CompareSamples, NothingOnOneSide) {
  EXPECT_EQ(compare_samples({}, {1, 2}, Better::lower).verdict, Verdict::only_second);
  EXPECT_EQ(compare_samples({1}, {}, Better::lower).verdict, Verdict::only_first);
  EXPECT_TRUE(std::isnan(compare_samples({0, 0}, {1, 1}, Better::lower).change_ratio));
}

}  // namespace
}  // namespace ccl
