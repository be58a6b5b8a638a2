#include "metrics/straggler_call.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

std::vector<std::pair<StepId, std::int64_t>> steps(const std::vector<std::int64_t>& blame) {
  std::vector<std::pair<StepId, std::int64_t>> out;
  for (std::size_t i = 0; i < blame.size(); ++i) out.push_back({{10, static_cast<std::int64_t>(i)}, blame[i]});
  return out;
}

RankBlame rank(std::int32_t number, std::int64_t blame_ns, std::int64_t last_count = 10) {
  RankBlame out;
  out.rank = RankId(number);
  out.blame_ns = blame_ns;
  out.last_count = last_count;
  out.periods_ns = 10000;
  return out;
}

TEST(StragglerCall, TheLargestBlameAtOnePercentStandsOut) {
  const StragglerCall call = call_straggler({rank(0, 20), rank(1, 100), rank(2, 99)}, 0);
  EXPECT_EQ(call.largest, 1U);
  EXPECT_TRUE(call.stands_out);
  EXPECT_DOUBLE_EQ(call.share_of_period, 0.01);
  EXPECT_FALSE(call_straggler({rank(0, 20), rank(1, 99)}, 0).stands_out);
}

TEST(StragglerCall, TiesGoToTheLowestRank) {
  EXPECT_EQ(call_straggler({rank(0, 5), rank(1, 500), rank(2, 500)}, 0).largest, 1U);
}

TEST(StragglerCall, TwiceIsChanceThreeTimesIsNot) {
  EXPECT_FALSE(call_straggler({rank(1, 500, 2)}, 0).stands_out);
  EXPECT_TRUE(call_straggler({rank(1, 500, 3)}, 0).stands_out);
}

TEST(StragglerCall, BlameWithinTheClockErrorIsNoClaim) {
  EXPECT_FALSE(call_straggler({rank(1, 500, 10)}, 25).stands_out);
  EXPECT_TRUE(call_straggler({rank(1, 501, 10)}, 25).stands_out);
  EXPECT_TRUE(call_straggler({rank(1, 500, 10)}, -1).stands_out) << "an unknown error limits nothing";
}

TEST(StragglerCall, WithoutAPeriodNobodyIsCalled) {
  RankBlame unknown = rank(1, 500);
  unknown.periods_ns = 0;
  EXPECT_FALSE(call_straggler({unknown}, 0).stands_out);
}

TEST(StragglerCall, OnsetIsWhereTheBlameStaysHigh) {
  EXPECT_EQ(onset_of(steps({1, 2, 1, 9, 1, 8, 9, 9}), 0), (StepId{10, 5})) << "the peak in step 3 does not stay";
  EXPECT_EQ(onset_of(steps({0, 0, 0, 0, 5, 6}), 0), (StepId{10, 4}));
}

TEST(StragglerCall, OnsetIsNotWhereSmallValuesGrowALittle) {
  const auto blame = steps({887, 82, 64, 743, 294, 11959, 21725, 20045});
  EXPECT_EQ(onset_of(blame, 0), (StepId{10, 3}));
  EXPECT_EQ(onset_of(blame, 900), (StepId{10, 5}));
}

TEST(StragglerCall, OnsetBeforeTheThirdStepIsUnknown) {
  EXPECT_FALSE(onset_of(steps({9, 9, 9, 9, 9}), 0).has_value()) << "late all the time";
  EXPECT_FALSE(onset_of(steps({0, 0, 9, 9, 9}), 0).has_value());
  EXPECT_FALSE(onset_of({}, 0).has_value());
}

TEST(StragglerCall, WhatComesAndGoesHasNoOnset) {
  const auto every = [](std::size_t nth, std::size_t count) {
    std::vector<std::int64_t> blame(count, 1);
    for (std::size_t i = nth - 1; i < count; i += nth) blame[i] = 90 + static_cast<std::int64_t>(i % 3);
    return onset_of(steps(blame), 10);
  };
  EXPECT_FALSE(every(2, 10).has_value());
  EXPECT_FALSE(every(2, 20).has_value());
  EXPECT_FALSE(every(3, 12).has_value());
  EXPECT_FALSE(every(4, 20).has_value());
  EXPECT_FALSE(every(5, 20).has_value()) << "one step at the end is no more than one before";
  EXPECT_FALSE(onset_of(steps({1, 1, 90, 90, 1, 1, 1, 1, 1, 1, 1, 90, 90}), 10).has_value());
  EXPECT_EQ(onset_of(steps({1, 1, 90, 1, 1, 1, 1, 1, 90, 91, 92}), 10), (StepId{10, 8})) << "one late step before is chance";
  EXPECT_EQ(onset_of(steps({12, 1, 14, 1, 12, 1, 13, 90, 91, 92}), 10), (StepId{10, 7})) << "what is far less is another thing";
}

TEST(StragglerCall, PersistenceSaysInWhichStepsAndHowMany) {
  const auto text = [](const std::vector<std::int64_t>& blame) {
    auto by_step = steps(blame);
    for (auto& [step, ns] : by_step) step.iteration = -1;
    return persistence_text(persistence_of(by_step, 10), onset_of(by_step, 10));
  };
  EXPECT_EQ(text({50, 40, 2, 1}), "in steps 0-1 only (2 of 4)");
  EXPECT_EQ(text({1, 2, 1, 90, 1}), "in step 3 only (1 of 5)");
  EXPECT_EQ(text({1, 2, 40, 30, 31}), "since step 2 (3 of 5 steps)") << "too early for an onset, but to the end";
  EXPECT_EQ(text({60, 60, 1, 30, 60}), "in 4 of 5 steps");
  EXPECT_EQ(text({1, 1, 90}), "in step 2, the last one seen (1 of 3)");
  EXPECT_EQ(text({1, 2, 1, 1, 30, 31}), "since step 4 (2 of 6 steps)");
  EXPECT_EQ(text({20, 20, 20}), "in all 3 steps");
  EXPECT_EQ(text({20, 1, 20, 1, 20}), "in 3 of 5 steps");
  EXPECT_EQ(text({20}), "in the one step seen");
}

TEST(StragglerCall, TheStepItLastsSinceIsTheOneThatTheTextSays) {
  const auto since = [](const std::vector<std::int64_t>& blame) {
    const auto by_step = steps(blame);
    return since_of(persistence_of(by_step, 10), onset_of(by_step, 10));
  };
  EXPECT_EQ(since({1, 2, 40, 30, 31}), (StepId{10, 2})) << "too early for an onset, but to the end";
  EXPECT_EQ(since({1, 40, 30, 30, 31}), (StepId{10, 1}));
  EXPECT_EQ(since({1, 2, 1, 1, 30, 31}), (StepId{10, 4}));
  EXPECT_FALSE(since({20, 20, 20}).has_value()) << "from the first step seen";
  EXPECT_FALSE(since({1, 1, 90}).has_value()) << "one step does not last";
  EXPECT_FALSE(since({60, 60, 1, 30, 60}).has_value());
  EXPECT_FALSE(since({50, 40, 2, 1}).has_value());
  EXPECT_FALSE(since({20}).has_value());
}

TEST(StragglerCall, LagThatCountsAlreadyIsNoFurtherClaim) {
  RankBlame late = rank(1, 500, 100);
  EXPECT_FALSE(call_straggler({late}, 25).stands_out);
  late.lasting_count = 95;
  EXPECT_TRUE(call_straggler({late}, 25).stands_out);
}

}  // namespace
}  // namespace ccl
