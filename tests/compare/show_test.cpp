#include "compare/show.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace ccl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

/// The page of step times of two runs, its lines not wrapped.
std::string page_of(const std::vector<double>& first, const std::vector<double>& second,
                    const std::vector<std::string>& bounds = {}) {
  const Figure& figure = key_figures().front();
  CompareResults results;
  results.descriptions = {"", ""};
  Comparison& one = results.comparisons.emplace_back();
  one.whole.push_back({figure, "", compare_samples(first, second, figure.better), 1});
  std::vector<JudgedBound>& judged = results.judged.emplace_back();
  for (const std::string& text : bounds) {
    const Bound bound = parse_bound(text);
    judged.push_back({bound, figure, one.whole.front().change, outcome_of(bound, one.whole.front().change)});
  }
  std::string page = comparison_page({}, results);
  const std::string wrapped = "\n              ";
  for (std::size_t at = page.find(wrapped); at != std::string::npos; at = page.find(wrapped))
    page.erase(at, wrapped.size() - 1);
  return page;
}

TEST(MovedMean, SingleStepsMoveItAndLeaveTheMedian) {
  EXPECT_THAT(page_of({99e6, 100e6, 101e6, 100e6}, {99e6, 100e6, 101e6, 140e6}),
              HasSubstr("answer        no significant change in the one figure; single steps differ: step time, slowest "
                        "rank moved by +10.0 % in the mean, by +0.5 % in the median"));
}

TEST(MovedMean, WithTheMedianItIsNoMatterOfSingleSteps) {
  const std::string page = page_of({90e6, 100e6, 110e6}, {94.5e6, 105e6, 115.5e6});
  EXPECT_THAT(page, HasSubstr("the median moved by +5.0 %, inside the noise of "));
  EXPECT_THAT(page, HasSubstr("and the mean by +5.0 %"));
  EXPECT_THAT(page, Not(HasSubstr("single steps")));
}

TEST(Bounds, OneBelowTheNoiseIsCalledSo) {
  const std::vector<double> first{90e6, 100e6, 110e6}, second{94.5e6, 105e6, 115.5e6}, slow{190e6, 200e6, 210e6};
  EXPECT_THAT(page_of(first, second, {"iter_time>+3%"}),
              HasSubstr("iter_time>+3%: within noise (100 ms -> 105 ms, +5.0 %) "
                        "this bound (3 %) is below the noise (49.5 %): profile more steps"));
  EXPECT_THAT(page_of(first, first, {"iter_time>+3%"}), HasSubstr("below the noise")) << "kept: it would not see 4 % either";
  EXPECT_THAT(page_of(first, second, {"iter_time>+60%"}), Not(HasSubstr("below the noise")));
  EXPECT_THAT(page_of(first, slow, {"iter_time>+3%"}), Not(HasSubstr("below the noise"))) << "broken nevertheless";
  EXPECT_THAT(page_of(first, second, {"iter_time>200ms"}), Not(HasSubstr("below the noise"))) << "a value has no noise";
}

TEST(Bounds, NoiseOfAValueOfZeroIsNoPercentage) {
  const std::vector<double> mostly_none{0, 0, 0, 4e6};
  const std::string page = page_of(mostly_none, mostly_none, {"iter_time>+3%"});
  EXPECT_THAT(page, HasSubstr("this bound is below the noise ("));
  EXPECT_THAT(page, HasSubstr(" ms; the first value is 0): bound the value instead of the change"));
  EXPECT_THAT(page, Not(HasSubstr("inf")));
}

TEST(Bounds, ThatOnlyTheMeanBreaksItIsSaid) {
  const std::vector<double> first{99e6, 100e6, 101e6, 100e6}, second{99e6, 100e6, 101e6, 140e6};
  EXPECT_THAT(page_of(first, second, {"iter_time>+5%"}), HasSubstr("its mean moved by +10.0 %: single steps differ"));
  EXPECT_THAT(page_of(first, second, {"iter_time>+15%"}), Not(HasSubstr("its mean")));
  EXPECT_THAT(page_of(second, first, {"iter_time>+5%"}), Not(HasSubstr("its mean")));
}

TEST(KeyFigures, NamesFitTheirColumn) {
  for (const Figure& figure : key_figures()) EXPECT_LE(figure.label.size(), 38) << figure.label;
}

}  // namespace
}  // namespace ccl
