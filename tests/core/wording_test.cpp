#include "core/wording.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ccl {
namespace {

TEST(Wording, TimesChooseTheirUnit) {
  EXPECT_EQ(milliseconds(12'345'678), "12.3 ms");
  EXPECT_EQ(milliseconds(1'234'567), "1.23 ms");
  EXPECT_EQ(milliseconds(99'000), "99.0 us");
  EXPECT_EQ(milliseconds(12e9), "12.0 s");
  EXPECT_EQ(milliseconds(0), "0.00 ms");
  EXPECT_EQ(microseconds(2'500'000), "2500 us");
}

TEST(Wording, UnknownIsAWordNotANumber) {
  EXPECT_EQ(milliseconds(std::nan("")), "unknown");
  EXPECT_EQ(percent(std::nan("")), "unknown");
  EXPECT_EQ(gigabytes(std::nan("")), "unknown");
}

TEST(Wording, ANameThatIsCutSaysSo) {
  EXPECT_EQ(short_name("kernel<4096>", 12), "kernel<4096>");
  EXPECT_EQ(short_name("kernel<4096>", 9), "kernel<40…");
}

TEST(Wording, BytesAreDecimal) {
  EXPECT_EQ(gigabytes(1.5e9), "1.50 GB");
  EXPECT_EQ(gigabytes(2.5e6), "2.50 MB");
  EXPECT_EQ(gigabytes(750), "750 B");
}

TEST(Wording, NamesOfStepsAndRanks) {
  EXPECT_EQ(step_name({10, 9}), "step 9 (iteration_10)");
  EXPECT_EQ(step_name({-1, 9}), "step 9");
  EXPECT_EQ(step_name({3, outside_step}), "outside every step");
  EXPECT_EQ(rank_name(-1, RankId(2)), "rank 2");
  EXPECT_EQ(rank_name(1, RankId(2)), "rank 2 of replica 1");
}

TEST(Wording, OneOfAThingIsNoPlural) {
  EXPECT_EQ(counted(0, "file"), "0 files");
  EXPECT_EQ(counted(1, "more rank"), "1 more rank");
  EXPECT_EQ(counted(3, "step"), "3 steps");
}

}  // namespace
}  // namespace ccl
