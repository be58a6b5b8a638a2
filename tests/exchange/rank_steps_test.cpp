#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/ranks.hpp"
#include "rank_builder.hpp"

namespace ccl {
namespace {

using test::RankBuilder;

RankBuilder with_steps(const std::vector<std::vector<std::int64_t>>& steps) {
  RankBuilder b;
  for (std::size_t r = 0; r < steps.size(); ++r) {
    RankFacts& f = b.add("rank" + std::to_string(r), static_cast<std::int32_t>(r));
    for (const std::int64_t n : steps[r]) f.steps.push_back({n, n * 100, n * 100 + 90, StepSource::marker, {}});
  }
  return b;
}

TEST(StepNumbers, EqualOrOverlappingNeedNoShift) {
  RankBuilder b = with_steps({{0, 1, 2}, {1, 2, 3}, {1, 2}, {2, 3, 4, 5}});
  const Ranks ranks = b.resolve();
  for (const RankEntry& e : ranks.entries) {
    EXPECT_TRUE(e.takes_part) << e.rank.value;
    EXPECT_EQ(e.step_shift, 0) << e.rank.value;
  }
  EXPECT_EQ(b.problems.count(Code::step_numbers_differ), 0);
}

TEST(StepNumbers, ConstantShiftIsFound) {
  RankBuilder b = with_steps({{10, 11, 12}, {10, 11, 12}, {5, 6, 7}, {13, 14, 15}});
  const Ranks ranks = b.resolve();
  EXPECT_EQ(ranks.entries[0].step_shift, 0);
  EXPECT_EQ(ranks.entries[2].step_shift, 5);
  EXPECT_EQ(ranks.entries[3].step_shift, -3);
  EXPECT_TRUE(ranks.entries[2].takes_part);
  ASSERT_EQ(b.problems.count(Code::step_numbers_differ), 2);
  EXPECT_EQ(b.problems.rows()[0].detail, "it has steps 5 to 7, the others steps 10 to 12; shifted by 5");
}

TEST(StepNumbers, TooFarTakesNoPart) {
  RankBuilder b = with_steps({{0, 1}, {0, 1}, {100, 101}});
  const Ranks ranks = b.resolve();
  EXPECT_FALSE(ranks.entries[2].takes_part);
  EXPECT_TRUE(ranks.entries[1].takes_part);
  EXPECT_EQ(b.problems.count(Code::step_numbers_differ), 1);
}

TEST(StepNumbers, ATieGoesToTheLowestRank) {
  RankBuilder b = with_steps({{4}, {7}});
  const Ranks ranks = b.resolve();
  EXPECT_EQ(ranks.entries[0].step_shift, 0);
  EXPECT_EQ(ranks.entries[1].step_shift, -3);
}

TEST(StepNumbers, TracesWithoutMarkersGoWithTheirKind) {
  RankBuilder b = with_steps({{0}, {0}, {0}});
  for (RankFacts& f : b.facts) f.steps[0].source = StepSource::span;
  EXPECT_TRUE(b.resolve().entries[0].takes_part);
  b.facts[0].steps[0].source = StepSource::marker;
  Ranks ranks = b.resolve();
  EXPECT_FALSE(ranks.entries[0].takes_part);
  EXPECT_TRUE(ranks.entries[1].takes_part);
  b.facts[1].steps[0].source = StepSource::marker;
  ranks = b.resolve();
  EXPECT_TRUE(ranks.entries[0].takes_part);
  EXPECT_FALSE(ranks.entries[2].takes_part);
  EXPECT_EQ(b.problems.count(Code::step_numbers_differ), 1);
}

TEST(StepNumbers, IterationsAreComparedWithinThemselves) {
  RankBuilder b = with_steps({{0, 1}, {0, 1}, {50, 51}, {50, 51}});
  b.facts[2].iteration = b.facts[3].iteration = 7;
  b.facts[2].rank = RankId(0);
  b.facts[3].rank = RankId(1);
  b.resolve();
  EXPECT_EQ(b.problems.count(Code::step_numbers_differ), 0);
}

TEST(StepNumbers, RanksWithoutStepsAreLeftAlone) {
  RankBuilder b = with_steps({{3}, {}, {3}});
  const Ranks ranks = b.resolve();
  EXPECT_TRUE(ranks.entries[1].takes_part);
  EXPECT_EQ(b.problems.count(Code::step_numbers_differ), 0);
}

}  // namespace
}  // namespace ccl
