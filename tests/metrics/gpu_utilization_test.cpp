#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// Steps 4 and 5 on the GPU: [10,90) and, after a gap of 10, [100,200).
RankTrace two_steps() {
  return TraceBuilder()
      .rank(1)
      .step(4, 0, 50)
      .step(5, 50, 100)
      .kernel("gemm", 10, 40, 1)
      .collective(CollectiveOp::all_reduce, "", 64, 50, 40, 2)
      .kernel("gemm", 100, 20, 60)
      .copy("Memcpy DtoH", 64, 150, 50, 61)
      .build();
}

TEST(GpuUtilization, SharesDivideByThePeriodNotByTheWindow) {
  SmallRun run;
  run.add(two_steps());
  const MetricResult result = run.result("gpu_utilization");
  ASSERT_EQ(table(result, "rows").rows_count, 2);
  EXPECT_EQ(integer_at(result, "rows", 0, "period_ns"), 90) << "gap from the start of the CPU step";
  EXPECT_EQ(integer_at(result, "rows", 0, "busy_ns"), 80);
  EXPECT_EQ(integer_at(result, "rows", 1, "period_ns"), 110);
  EXPECT_EQ(integer_at(result, "rows", 1, "compute_ns"), 20);
  EXPECT_EQ(integer_at(result, "rows", 1, "memory_ns"), 50);
  EXPECT_EQ(integer_at(result, "rows", 1, "idle_ns"), 40);
  EXPECT_DOUBLE_EQ(headline(result, "busy_ratio"), 150.0 / 200);
  EXPECT_DOUBLE_EQ(headline(result, "compute_ratio"), 60.0 / 200);
}

TEST(GpuUtilization, WaitingInACollectiveIsBusyButNoCompute) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(0, 0, 100).collective(CollectiveOp::all_reduce, "", 64, 0, 100).build());
  const MetricResult result = run.result("gpu_utilization");
  EXPECT_DOUBLE_EQ(headline(result, "busy_ratio"), 1);
  EXPECT_DOUBLE_EQ(headline(result, "compute_ratio"), 0);
}

TEST(GpuUtilization, WholeFileCountsKernelsAndCopies) {
  SmallRun run;
  run.add(two_steps());
  const MetricResult result = run.result("gpu_utilization");
  EXPECT_EQ(integer_at(result, "whole", 0, "period_ns"), 190);
  EXPECT_EQ(integer_at(result, "whole", 0, "busy_ns"), 150);
  EXPECT_EQ(integer_at(result, "whole", 0, "kernels_count"), 3);
  EXPECT_EQ(integer_at(result, "whole", 0, "memory_count"), 1);
}

TEST(GpuUtilization, ARankWithoutGpuEventsMakesItPartial) {
  SmallRun run;
  run.add(two_steps());
  run.add(TraceBuilder().rank(2).step(4, 0, 50).build());
  const MetricResult result = run.result("gpu_utilization");
  EXPECT_EQ(result.report.status, Status::partial);
  EXPECT_EQ(result.report.reason, "1 of 2 ranks present have a value");
  EXPECT_EQ(result.report.ranks_covered, 1);
}

}  // namespace
}  // namespace ccl::test
