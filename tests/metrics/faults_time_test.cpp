// Faults of older tools, by their number in the catalogue: steps, throughput, shares, classes of kernels.
#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// Two traced steps of a longer run; communication on two streams lies over compute.
RankTrace two_steps(std::int32_t rank, std::int32_t iteration = -1) {
  TraceBuilder builder;
  builder.rank(rank).iteration(iteration).group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp);
  for (const std::int64_t t : {0, 1000}) {
    builder.step(iteration * 10 + 10 + t / 1000, t, t + 1000);
    builder.stream(7).kernel("gemm", t, 600);
    builder.stream(9).collective(CollectiveOp::all_gather, "dp", 64, t + 100, 400);
    builder.stream(11).collective(CollectiveOp::reduce_scatter, "dp", 64, t + 200, 500);
  }
  return builder.build();
}
SmallRun two_ranks() {
  SmallRun run;
  run.add(two_steps(0)).add(two_steps(1));
  run.ranks.world_size = 2;
  return run;
}

TEST(FaultCatalogue, F3SumsOfOverlappingEventsAreNoShares) {
  SmallRun run = two_ranks();
  for (const char* metric : {"communication", "comm_comp_overlap", "gpu_utilization", "straggler", "kernel"})
    for (const Headline& line : run.result(metric).report.headlines) {
      const bool share = line.name.find("of_period_ratio") != std::string::npos;
      EXPECT_LE(share ? line.value : 0, 1) << metric << " " << line.name;
    }
  EXPECT_EQ(integer_at(run.result("communication"), "rows", 0, "union_ns"), 600);
  EXPECT_EQ(integer_at(run.result("communication"), "rows", 0, "sum_ns"), 900);
}

TEST(FaultCatalogue, F6OnlyTheStepsInTheTraceCount) {
  SmallRun run = two_ranks();
  run.workload.global_batch = {4, "toml"};
  run.workload.seq_len = {8, "toml"};
  // 2 steps of 32 tokens in 2000 ns, whatever the length of the training run.
  EXPECT_DOUBLE_EQ(headline(run.result("throughput_tokens"), "tokens_per_s"), 64 * 1e9 / 2000);
}

TEST(FaultCatalogue, F10BatchAndSequenceLengthHaveNoDefaults) {
  SmallRun run = two_ranks();
  run.workload.global_batch = {4, "card"};
  const MetricResult result = run.result("throughput_tokens");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_NE(result.report.reason.find("sequence length"), std::string::npos) << result.report.reason;
  EXPECT_TRUE(std::isnan(headline(result, "tokens_per_s")));
}

TEST(FaultCatalogue, F14EveryRankAndIterationIsUsed) {
  SmallRun run;
  for (const std::int32_t iteration : {2, 10})
    for (std::int32_t rank = 0; rank < 2; ++rank) run.add(two_steps(rank, iteration));
  EXPECT_EQ(table(run.result("communication"), "rows").rows_count, 8);
  EXPECT_EQ(headline(run.result("kernel"), "kernels_count"), 24);
}

TEST(FaultCatalogue, F15IterationsComeInNumericOrder) {
  SmallRun run;
  for (const std::int32_t iteration : {2, 10}) run.add(two_steps(0, iteration));
  EXPECT_EQ(integer_at(run.result("variability"), "rows", 0, "iteration"), 2);
  EXPECT_EQ(integer_at(run.result("variability"), "rows", 3, "iteration"), 10);
}

TEST(FaultCatalogue, F21CommunicationIsAskedBeforeReduction) {
  SmallRun run;
  run.add(TraceBuilder()
              .rank(0)
              .group("dp", "mesh_dp", {0, 1})
              .collective(CollectiveOp::all_reduce, "dp", 64, 0, 100)
              .kernel("void at::native::reduce_kernel<512, 1>", 200, 100)
              .kernel("void at::native::vectorized_gather_kernel<16>", 400, 100)
              .build());
  const MetricResult result = run.result("kernel");
  EXPECT_NEAR(headline(result, "communication_ratio"), 1.0 / 3, 1e-12);
  EXPECT_NEAR(headline(result, "reduction_ratio"), 1.0 / 3, 1e-12);
}

TEST(FaultCatalogue, F24DevicesAreAddedNotUnited) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(1, 0, 1000).kernel("gemm", 0, 100);
  builder.device(1).kernel("gemm", 0, 100);
  run.add(builder.build());
  EXPECT_EQ(integer_at(run.result("straggler"), "rows", 0, "compute_only_ns"), 200);
  EXPECT_EQ(table(run.result("variability"), "rows").rows_count, 2);
}

TEST(FaultCatalogue, F25NumeratorAndDenominatorAreBothUnions) {
  SmallRun run = two_ranks();
  // C = 100–700, K = 0–600: 500 of 600 hidden. Over the sum of durations it would be 500 of 900.
  EXPECT_DOUBLE_EQ(headline(run.result("comm_comp_overlap"), "overlap_ratio"), 500.0 / 600);
}

TEST(FaultCatalogue, F32UnmeasurableIsNeitherZeroNorMinusOne) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(1, 0, 100).kernel("gemm", 0, 50).build());
  for (const char* metric : {"throughput_tokens", "mfu", "pipeline_bubble", "communication", "bandwidth", "straggler",
                             "variability", "traffic_window", "sm"}) {
    const MetricResult result = run.result(metric);
    EXPECT_TRUE(result.report.status == Status::absent || result.report.status == Status::not_applicable) << metric;
    EXPECT_FALSE(result.report.reason.empty()) << metric;
    EXPECT_TRUE(result.report.page.empty()) << metric;
  }
}

TEST(FaultCatalogue, F34HeadlinesArePooledNotAveragesOfRoundedShares) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(1, 0, 1000).kernel("gemm", 0, 900).build());
  run.add(TraceBuilder()
              .rank(1)
              .step(1, 0, 1000)
              .group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp)
              .collective(CollectiveOp::all_reduce, "dp", 64, 0, 300)
              .build());
  EXPECT_DOUBLE_EQ(headline(run.result("communication"), "communication_of_period_ratio"), 300.0 / 1200);
}

}  // namespace
}  // namespace ccl::test
