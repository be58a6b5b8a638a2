#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

RankTrace steps_of(std::int32_t rank, std::vector<std::int64_t> lengths) {
  TraceBuilder builder;
  builder.rank(rank);
  std::int64_t at = 0, number = 0;
  for (const std::int64_t length : lengths) {
    builder.step(number++, at, at + length).kernel("gemm", at, length / 2);
    at += length;
  }
  return builder.build();
}

TEST(IterTime, AStepLastsAsLongAsOnItsSlowestRank) {
  SmallRun run;
  run.add(steps_of(0, {100, 300, 200})).add(steps_of(1, {400, 100, 200}));
  const MetricResult result = run.result("iter_time");
  EXPECT_DOUBLE_EQ(headline(result, "step_mean_ns"), 300);
  EXPECT_DOUBLE_EQ(headline(result, "step_p50_ns"), 300);
  EXPECT_DOUBLE_EQ(headline(result, "step_max_ns"), 400);
  EXPECT_DOUBLE_EQ(headline(result, "step_inner_mean_ns"), 300);
  EXPECT_EQ(table(result, "rows").rows_count, 6);
  EXPECT_EQ(table(result, "by_step").rows_count, 3);
  EXPECT_TRUE(table(result, "by_step").shown) << "the JSON has the time of each step";
  EXPECT_EQ(integer_at(result, "by_step", 0, "step_ns"), 400);
  EXPECT_EQ(integer_at(result, "by_step", 1, "step_ns"), 300);
  EXPECT_EQ(integer_at(result, "by_step", 1, "period_ns"), 250) << "rank 1: a gap of 200 and a window of 50";
}

TEST(IterTime, PeriodIsTheGapAndTheWindow) {
  SmallRun run;
  run.add(steps_of(0, {100, 300}));
  const MetricResult result = run.result("iter_time");
  EXPECT_EQ(integer_at(result, "rows", 0, "gpu_span_ns"), 50);
  EXPECT_EQ(integer_at(result, "rows", 1, "gap_ns"), 50);
  EXPECT_EQ(integer_at(result, "rows", 1, "period_ns"), 200);
}

TEST(IterTime, WithoutMarkersOnlyThePeriodIsKnown) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).kernel("gemm", 10, 40).build());
  const MetricResult result = run.result("iter_time");
  EXPECT_EQ(result.report.status, Status::partial);
  EXPECT_TRUE(std::isnan(headline(result, "step_mean_ns")));
  EXPECT_DOUBLE_EQ(headline(result, "period_mean_ns"), 40);
  EXPECT_EQ(integer_at(result, "rows", 0, "step_ns"), -1);
  EXPECT_EQ(integer_at(result, "by_step", 0, "step_ns"), -1);
}

TEST(IterTime, TheOldNameStillWorks) {
  SmallRun run;
  run.add(steps_of(0, {100}));
  EXPECT_EQ(run.result("AVG_STEP_TIME").info.name, "iter_time");
}

TEST(IterTime, AStepShiftRenumbersTheRows) {
  SmallRun run;
  run.add(steps_of(0, {100}));
  run.ranks.entries[0].step_shift = 3;
  EXPECT_EQ(integer_at(run.result("iter_time"), "rows", 0, "step"), 3);
}

}  // namespace
}  // namespace ccl::test
