#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// The GPU is idle in [0,20), [50,100) and [120,200); launches at 10, 15 and 190.
TraceBuilder one_step() {
  TraceBuilder builder;
  builder.rank(1).step(4, 0, 250);
  builder.kernel("a", 20, 30, 10).kernel("b", 100, 20, 15).kernel("c", 200, 50, 190);
  builder.slice(SliceKind::runtime, "cudaDeviceSynchronize", 195, 245);
  builder.slice(SliceKind::runtime, "cudaStreamSynchronize", 20, 30);
  builder.slice(SliceKind::runtime, "cudaStreamSynchronize", 30, 31);
  builder.slice(SliceKind::runtime, "cudaStreamSynchronize", 300, 310);
  return builder;
}

TEST(CpuOverhead, StarvedIsIdleTimeBeforeTheLaunchOfWhatEndsIt) {
  SmallRun run;
  run.add(one_step().build());
  const MetricResult result = run.result("cpu_overhead");
  EXPECT_EQ(integer_at(result, "rows", 0, "idle_ns"), 20 + 50 + 80);
  EXPECT_EQ(integer_at(result, "rows", 0, "starved_ns"), 10 + 0 + 70) << "b was launched long before the GPU fell idle";
  EXPECT_EQ(integer_at(result, "rows", 0, "period_ns"), 250);
  EXPECT_DOUBLE_EQ(headline(result, "starved_ratio"), 80.0 / 250);
}

TEST(CpuOverhead, DelayRunsFromTheLaunchAndTheQueueIsWhatHasNotStarted) {
  SmallRun run;
  run.add(one_step().build());
  const MetricResult result = run.result("cpu_overhead");
  EXPECT_DOUBLE_EQ(headline(result, "delay_p50_ns"), 10) << "of 10, 85 and 10";
  EXPECT_DOUBLE_EQ(headline(result, "delay_p95_ns"), 77.5);
  EXPECT_EQ(integer_at(result, "rows", 0, "queue_depth_max"), 1) << "a had not started when b was launched";
  EXPECT_EQ(integer_at(result, "rows", 0, "empty_queue_count"), 2);
}

TEST(CpuOverhead, SynchronisingCallsAreThoseThatBeginInTheCpuStep) {
  SmallRun run;
  run.add(one_step().build());
  const MetricResult result = run.result("cpu_overhead");
  EXPECT_EQ(integer_at(result, "rows", 0, "sync_calls_count"), 3);
  EXPECT_EQ(integer_at(result, "rows", 0, "sync_ns"), 61);
  EXPECT_EQ(table(result, "by_call").rows_count, 2);
}

TEST(CpuOverhead, F3SharesStayBelowOneWithManyStreams) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(0, 0, 100);
  for (std::int64_t stream = 1; stream < 9; ++stream) builder.stream(stream).kernel("k", 90, 10, 85);
  run.add(builder.build());
  const MetricResult result = run.result("cpu_overhead");
  EXPECT_EQ(integer_at(result, "rows", 0, "starved_ns"), 85) << "eight kernels end one idle stretch";
  EXPECT_LE(headline(result, "starved_ratio"), 1);
}

TEST(CpuOverhead, F32WithoutLaunchRecordsItIsAbsentNotZero) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(0, 0, 100).kernel("k", 0, 10, not_launched).build());
  EXPECT_EQ(run.result("cpu_overhead").report.status, Status::absent);
}

}  // namespace
}  // namespace ccl::test
