#include "compare/rank_steps.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ccl {
namespace {

/// Ranks 0, 1, ... of one iteration, each with its steps.
RanksByStep steps_of(const std::vector<std::vector<double>>& ranks) {
  RanksByStep all;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const double step : ranks[rank]) all[{10, step}].emplace(-1, static_cast<double>(rank));
  return all;
}

RankKey rank(double number) { return {-1, number}; }
StepKey step(double number) { return {10, number}; }

TEST(RankSteps, WholeRunsKeepAllTheyHaveWhateverTheirStepsAre) {
  const RowFilter filter(steps_of({{4, 5}, {4, 5}}), steps_of({{5, 6, 7}, {5, 6, 7}}));
  EXPECT_TRUE(filter.keeps_all());
  EXPECT_TRUE(filter.keeps(step(4), rank(0)));
  EXPECT_TRUE(filter.keeps_step(step(4)));
  EXPECT_TRUE(filter.keeps_rank(rank(1)));
}

TEST(RankSteps, AStepThatARankLostIsLeftOutOfBothRuns) {
  const RanksByStep whole = steps_of({{4, 5}, {4, 5}}), cut = steps_of({{4, 5}, {4}});
  for (const RowFilter& filter : {RowFilter(whole, cut), RowFilter(cut, whole)}) {
    EXPECT_FALSE(filter.keeps_all());
    EXPECT_TRUE(filter.keeps(step(4), rank(1)));
    EXPECT_TRUE(filter.keeps(step(5), rank(0)));
    EXPECT_FALSE(filter.keeps(step(5), rank(1)));
    EXPECT_TRUE(filter.keeps_step(step(4)));
    EXPECT_FALSE(filter.keeps_step(step(5))) << "over all ranks it is another step";
    EXPECT_TRUE(filter.keeps_rank(rank(0)));
    EXPECT_FALSE(filter.keeps_rank(rank(1))) << "its file is not whole";
  }
}

TEST(RankSteps, ARankThatIsGoneLeavesNoStepOfAllRanks) {
  const RanksByStep whole = steps_of({{4, 5}, {4, 5}}), gone = steps_of({{4, 5}});
  for (const RowFilter& filter : {RowFilter(whole, gone), RowFilter(gone, whole)}) {
    EXPECT_TRUE(filter.keeps(step(5), rank(0)));
    EXPECT_FALSE(filter.keeps(step(5), rank(1)));
    EXPECT_FALSE(filter.keeps_step(step(4)));
  }
}

TEST(RankSteps, OfOtherStepsTheRanksThatBothRunsKnowAreCompared) {
  const RanksByStep whole = steps_of({{4, 5}, {4, 5}, {4, 5}}), later = steps_of({{14, 15}, {14}});
  const RowFilter of_whole(whole, later), of_later(later, whole);
  EXPECT_TRUE(of_whole.keeps(step(5), rank(1)));
  EXPECT_FALSE(of_whole.keeps(step(5), rank(2)));
  EXPECT_TRUE(of_later.keeps(step(14), rank(0)));
  EXPECT_FALSE(of_later.keeps(step(15), rank(0))) << "without rank 1 the mean over ranks is another one";
  EXPECT_TRUE(of_whole.keeps_step(step(4)));
  EXPECT_FALSE(of_later.keeps_step(step(14)));
}

TEST(RankSteps, TwoRunsThatLackTheSameAreComparedInAllTheyHave) {
  const RanksByStep cut = steps_of({{4, 5}, {4}});
  const RowFilter filter(cut, cut);
  EXPECT_TRUE(filter.keeps(step(5), rank(0)));
  EXPECT_TRUE(filter.keeps_step(step(5)));
}

}  // namespace
}  // namespace ccl
