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

/// Rank r numbers the steps that take place as the job's first[r], first[r] + 1, … from `called[r]` on.
RankBuilder with_times(const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& called, bool one_host,
                       std::int64_t uneven_ns) {
  RankBuilder b;
  for (std::size_t r = 0; r < first.size(); ++r) {
    const std::string host = one_host ? "node0" : "node" + std::to_string(r);
    RankFacts& f = b.add("rank" + std::to_string(r), static_cast<std::int32_t>(r));
    f.host = host;
    const std::int64_t clock_ns = one_host ? 0 : 7'000'000'123 * static_cast<std::int64_t>(r);
    for (std::int64_t k = 0; k < 6; ++k) {
      const std::int64_t n = first[r] + k;
      const std::int64_t end_ns = clock_ns + 50'000'000 * (n + 1) + uneven_ns * (n * n % 7) + 100 * static_cast<std::int64_t>(r);
      const DeviceWindow window{0, end_ns - 49'000'000, end_ns, 0};
      f.steps.push_back({called[r] + k, window.gpu_start_ns, end_ns, StepSource::marker, {window}});
    }
  }
  return b;
}

TEST(StepNumbers, OneClockShowsWhichStepsAreTheSame) {
  RankBuilder b = with_times({4, 4, 4, 5}, {4, 4, 5, 5}, true, 0);
  const Ranks ranks = b.resolve();
  const std::vector<std::int64_t> shifts = {0, 0, -1, 0};
  for (std::size_t r = 0; r < shifts.size(); ++r) EXPECT_EQ(ranks.entries[r].step_shift, shifts[r]) << r;
  ASSERT_EQ(b.problems.count(Code::step_numbers_differ), 1) << "rank 3 is profiled a step later, and says so";
  EXPECT_EQ(b.problems.rows()[0].detail, "it has steps 5 to 10, the others steps 4 to 9; shifted by -1, since they take place then");
}

TEST(StepNumbers, WindowsThatHardlyOverlapKeepTheirNumbers) {
  RankBuilder b = with_times({0, 0, 4}, {0, 0, 4}, true, 0);
  const Ranks ranks = b.resolve();
  EXPECT_EQ(ranks.entries[2].step_shift, 0);
  EXPECT_TRUE(ranks.entries[2].takes_part);
  EXPECT_EQ(b.problems.count(Code::step_numbers_differ), 0);
}

TEST(StepNumbers, AHostThatSharesNoStepWithTheOthersIsNamed) {
  RankBuilder b = with_times({4, 4, 20, 20}, {4, 4, 20, 20}, true, 0);
  b.facts[2].host = b.facts[3].host = "node1";
  const Ranks ranks = b.resolve();
  EXPECT_TRUE(ranks.entries[3].takes_part) << "it may have been profiled then";
  ASSERT_EQ(b.problems.count(Code::step_numbers_differ), 2);
  EXPECT_EQ(b.problems.rows()[0].rank, 2);
  EXPECT_EQ(b.problems.rows()[0].detail,
            "it has steps 20 to 25, the others steps 4 to 9, at other times: if it is of another run, give each run's files alone");
}

TEST(StepNumbers, BetweenHostsTheEndsOfUnevenStepsTell) {
  RankBuilder b = with_times({4, 4, 4}, {4, 5, 4}, false, 300'000);
  const Ranks ranks = b.resolve();
  EXPECT_EQ(ranks.entries[0].step_shift, 0);
  EXPECT_EQ(ranks.entries[1].step_shift, -1);
  EXPECT_EQ(ranks.entries[2].step_shift, 0);
  RankBuilder even = with_times({4, 4, 4}, {4, 5, 4}, false, 0);
  EXPECT_EQ(even.resolve().entries[1].step_shift, 0) << "nothing tells";
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
  EXPECT_EQ(ranks.entries[0].no_steps, "step markers, which most others have not");
  EXPECT_TRUE(ranks.entries[1].takes_part);
  b.facts[1].steps[0].source = StepSource::marker;
  ranks = b.resolve();
  EXPECT_TRUE(ranks.entries[0].takes_part);
  EXPECT_EQ(ranks.entries[0].no_steps, "");
  EXPECT_EQ(ranks.entries[0].facts.steps.size(), 1U);
  EXPECT_FALSE(ranks.entries[2].takes_part);
  EXPECT_EQ(ranks.entries[2].no_steps, "no step markers");
  EXPECT_TRUE(ranks.entries[2].facts.steps.empty()) << "its whole trace is no step of the others";
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
