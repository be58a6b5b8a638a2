#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

SmallRun one_rank(float occupancy_percent) {
  SmallRun run;
  run.add(TraceBuilder()
              .rank(0)
              .step(1, 0, 1000)
              .kernel("gemm", 0, 100)
              .shape(4, 8, occupancy_percent)
              .kernel("small", 100, 300)
              .shape(0.5F, 4, occupancy_percent)
              .group("dp", "mesh_dp", {0, 1})
              .collective(CollectiveOp::all_reduce, "dp", 64, 400, 600)
              .shape(0.1F, 1, occupancy_percent)
              .build());
  return run;
}

TEST(Sm, CoverageIsWeightedByDurationAndAKernelFillsTheGpuOnce) {
  SmallRun run = one_rank(50);
  const MetricResult result = run.result("sm");
  EXPECT_DOUBLE_EQ(headline(result, "compute_coverage_ratio"), (100 + 150) / 400.0);
  EXPECT_DOUBLE_EQ(headline(result, "all_coverage_ratio"), (100 + 150 + 60) / 1000.0);
  EXPECT_DOUBLE_EQ(headline(result, "compute_occupancy_ratio"), 0.5);
}

TEST(Sm, AnOccupancyOfZeroIsUnknown) {
  SmallRun run = one_rank(0);
  const MetricResult result = run.result("sm");
  EXPECT_TRUE(std::isnan(headline(result, "compute_occupancy_ratio")));
  EXPECT_EQ(result.report.status, Status::ok);
}

TEST(Sm, WithoutShapesAbsent) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(1, 0, 100).kernel("gemm", 0, 100).build());
  EXPECT_EQ(run.result("sm").report.status, Status::absent);
}

}  // namespace
}  // namespace ccl::test
