#include <gtest/gtest.h>

#include <random>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

std::int64_t value(const MetricResult& result, const std::string& column, std::int64_t row = 0) {
  return integer_at(result, "rows", row, column);
}

TEST(BlockingComm, EachStretchHasOneReason) {
  SmallRun run;
  run.add(TraceBuilder()
              .rank(0)
              .step(0, 0, 1000)
              .group("dp", "", {0, 1})
              .kernel("a", 0, 100, 0)
              .kernel("b", 200, 100, 150)  // launched after the device began to idle: 100 starved
              .kernel("c", 460, 40, 3)     // waits for the all-reduce: 150 under it, 10 stalled
              .kernel("d", 550, 50, 4)     // waits for the copy: 30 under it, 20 stalled
              .kernel("e", 620, 80, 5)     // 20 stalled: nothing ran
              .stream(8)
              .collective(CollectiveOp::all_reduce, "dp", 8, 250, 200, 1)
              .stream(9)
              .copy("Memcpy", 8, 500, 30, 2)
              .build());
  const MetricResult result = run.result("blocking_comm");
  EXPECT_EQ(value(result, "period_ns"), 700);
  EXPECT_EQ(value(result, "compute_ns"), 370);
  EXPECT_EQ(value(result, "launch_starved_ns"), 100);
  EXPECT_EQ(value(result, "blocking_ns"), 150);
  EXPECT_EQ(value(result, "copying_ns"), 30);
  EXPECT_EQ(value(result, "dependency_stalled_ns"), 10 + 20 + 20);
  EXPECT_DOUBLE_EQ(headline(result, "blocking_ratio"), 150.0 / 700);
}

TEST(BlockingComm, CommunicationAfterTheLastKernelBlocks) {
  SmallRun run;
  run.add(TraceBuilder()
              .rank(0)
              .step(0, 0, 1000)
              .group("dp", "", {0, 1})
              .kernel("a", 0, 100)
              .stream(8)
              .collective(CollectiveOp::all_reduce, "dp", 8, 50, 200, 1)
              .build());
  EXPECT_EQ(value(run.result("blocking_comm"), "blocking_ns"), 150);
}

TEST(BlockingComm, ACopyBetweenTheGatherAndTheKernelHidesNoWaiting) {
  SmallRun run;
  run.add(TraceBuilder()
              .rank(0)
              .step(0, 0, 2000)
              .group("dp", "", {0, 1})
              .kernel("a", 0, 100, 0)
              .kernel("b", 1000, 100, 5)
              .copy("Memcpy", 8, 985, 10, 4)  // waits for the gather, in the stream of the kernel
              .stream(8)
              .collective(CollectiveOp::all_gather, "dp", 8, 400, 580, 3)
              .collective(CollectiveOp::all_gather, "dp", 8, 150, 240, 2)  // in the way of the other
              .stream(9)
              .copy("Memcpy", 8, 990, 6, 7)  // launched after the kernel: not waited for
              .build());
  const MetricResult result = run.result("blocking_comm");
  EXPECT_EQ(value(result, "blocking_ns"), 580 + 240);
  EXPECT_EQ(value(result, "copying_ns"), 10);
  EXPECT_EQ(value(result, "dependency_stalled_ns"), 900 - 580 - 240 - 10);
}

TEST(BlockingComm, AStretchGoesOnOverTheBorderOfSteps) {
  SmallRun run;
  run.add(TraceBuilder()
              .rank(0)
              .step(0, 0, 1000)
              .group("dp", "", {0, 1})
              .kernel("a", 0, 100, 0)
              .stream(8)
              .collective(CollectiveOp::all_gather, "dp", 8, 150, 200, 2)
              .step(1, 1000, 2000)
              .stream(7)
              .kernel("b", 1200, 100, 1001)  // launched after a's end: the gather was not in its way
              .stream(8)
              .collective(CollectiveOp::all_gather, "dp", 8, 1250, 200, 1002)
              .build());
  const MetricResult result = run.result("blocking_comm");
  EXPECT_EQ(value(result, "launch_starved_ns"), 250);
  EXPECT_EQ(value(result, "starved_communication_ns"), 200);
  EXPECT_EQ(value(result, "lead_in_ns"), 0);
  EXPECT_EQ(value(result, "launch_starved_ns", 1), 850);
  EXPECT_EQ(value(result, "lead_in_ns", 1), 850);
  EXPECT_EQ(value(result, "blocking_ns", 1), 150);  // the last step: its end waits
}

TEST(BlockingComm, IdentitiesAreExact) {
  std::mt19937 random(7);
  const auto some = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(most)); };
  for (int trial = 0; trial < 200; ++trial) {
    SmallRun run;
    TraceBuilder builder;
    builder.rank(0).step(0, 0, 1000).step(1, 1000, 2000).group("dp", "", {0, 1});
    for (std::int64_t i = 0; i < 12; ++i) {
      const std::int64_t start = some(2000), launch = std::max<std::int64_t>(0, start - some(200));
      builder.stream(i);
      if (i % 3 == 0) builder.collective(CollectiveOp::all_reduce, "dp", 8, start, some(150), launch);
      if (i % 3 == 1) builder.kernel("k", start, some(150), launch);
      if (i % 3 == 2) builder.copy("Memcpy", 8, start, some(60), launch);
    }
    run.add(builder.build());
    const MetricResult result = run.result("blocking_comm"), overlap = run.result("comm_comp_overlap");
    for (std::int64_t row = 0; row < table(result, "rows").rows_count; ++row) {
      EXPECT_EQ(value(result, "launch_starved_ns", row) + value(result, "blocking_ns", row) +
                    value(result, "copying_ns", row) + value(result, "dependency_stalled_ns", row),
                value(result, "compute_absent_ns", row));
      EXPECT_LE(value(result, "blocking_ns", row), integer_at(overlap, "rows", row, "exposed_ns"));
    }
  }
}

TEST(BlockingComm, WithoutLaunchesItSaysSo) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).kernel("a", 0, 100, not_launched).kernel("b", 200, 100, not_launched).build());
  const MetricResult result = run.result("blocking_comm");
  EXPECT_EQ(result.report.status, Status::partial);
  EXPECT_EQ(value(result, "launch_starved_ns"), 0);
  EXPECT_EQ(value(result, "dependency_stalled_ns"), 100);
}

}  // namespace
}  // namespace ccl::test
