#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// One kernel per step, from its start on: the period is the gap after the last kernel and the kernel.
RankTrace steps_of(std::int32_t rank, std::vector<std::int64_t> compute) {
  TraceBuilder builder;
  builder.rank(rank);
  for (std::size_t i = 0; i < compute.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    builder.step(number, number * 1000, number * 1000 + 1000).kernel("gemm", number * 1000, compute[i]);
  }
  return builder.build();
}

TEST(Variability, AcrossStepsTheLargestOverRanks) {
  SmallRun run;
  run.add(steps_of(0, {100, 100, 100})).add(steps_of(1, {100, 200, 300}));
  const MetricResult result = run.result("variability");
  EXPECT_DOUBLE_EQ(headline(result, "compute_across_steps_cv_max_ratio"), 0.5);
  EXPECT_EQ(headline(result, "period_across_steps_cv_max_rank"), 1);
}

TEST(Variability, AcrossRanksTheLargestOverSteps) {
  SmallRun run;
  run.add(steps_of(0, {100, 100})).add(steps_of(1, {100, 300}));
  const MetricResult result = run.result("variability");
  EXPECT_DOUBLE_EQ(headline(result, "compute_across_ranks_cv_max_ratio"), std::sqrt(2.0) * 100 / 200);
  EXPECT_EQ(integer_at(result, "by_step", 1, "ranks_count"), 2);
}

TEST(Variability, OneStepOfOneRankHasNone) {
  SmallRun run;
  run.add(steps_of(0, {100}));
  EXPECT_EQ(run.result("variability").report.status, Status::not_applicable);
}

}  // namespace
}  // namespace ccl::test
