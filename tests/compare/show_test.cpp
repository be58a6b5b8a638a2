#include "compare/show.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ccl {
namespace {

TEST(ChangeText, PercentThenTimes) {
  EXPECT_EQ(change_text(0.07), "+7.0 %");
  EXPECT_EQ(change_text(-0.003), "-0.3 %");
  EXPECT_EQ(change_text(NAN), "-");
  EXPECT_EQ(change_text(8.9), "+890.0 %");
  EXPECT_EQ(change_text(9), "x 10.0");
  EXPECT_EQ(change_text(278.236), "x 279") << "+27823.6 %: the second value is 279 times the first";
}

TEST(BandText, PercentThenTimes) {
  EXPECT_EQ(band_text(0.052), "5.2 %");
  EXPECT_EQ(band_text(9.5), "950.0 %");
  EXPECT_EQ(band_text(11.715), "11.7 x");
  EXPECT_EQ(band_text(1171.6), "1172 x");
}

TEST(KeyFigures, NamesFitTheirColumn) {
  for (const Figure& figure : key_figures()) EXPECT_LE(figure.label.size(), 38) << figure.label;
}

}  // namespace
}  // namespace ccl
