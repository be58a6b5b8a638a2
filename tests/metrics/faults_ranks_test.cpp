// Faults of older tools, by their number in the catalogue: comparing ranks.
#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// Rank `late` computes 700 ns of a 1000 ns step, the others 500 ns; then an all-reduce that ends on all at once.
SmallRun one_late_rank(std::int32_t ranks, std::int32_t late, std::int64_t clock_ns = 0) {
  std::vector<std::int32_t> members;
  for (std::int32_t rank = 0; rank < ranks; ++rank) members.push_back(rank);
  SmallRun run;
  for (const std::int32_t rank : members) {
    const std::int64_t t = rank == 0 ? 0 : clock_ns, compute_ns = rank == late ? 700 : 500 + rank;
    run.add(TraceBuilder()
                .rank(rank)
                .step(1, t, t + 1000)
                .kernel("gemm", t, compute_ns)
                .group("dp", "mesh_dp", members, -1, Dimension::dp)
                .stream(9)
                .collective(CollectiveOp::all_reduce, "dp", 640, t + compute_ns, 1000 - compute_ns)
                .build());
  }
  return run;
}

TEST(FaultCatalogue, F11CollectivesOfDifferentGroupsAreNotCompared) {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    TraceBuilder builder;
    builder.rank(rank).step(1, 0, 5000);
    builder.group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp).group("tp" + std::to_string(rank), "mesh_tp", {rank, rank + 2}, -1, Dimension::tp);
    // Rank 1 has one more collective of its own before the common one.
    if (rank == 1) builder.collective(CollectiveOp::all_reduce, "tp1", 64, 0, 900);
    builder.collective(CollectiveOp::all_reduce, "dp", 64, 1000, 100);
    run.add(builder.build());
  }
  const MetricResult result = run.result("bandwidth");
  EXPECT_EQ(integer_at(result, "rows", 0, "instances_count"), 1);
  EXPECT_DOUBLE_EQ(headline(result, "all_reduce_intra_median_busbw_bytes_per_s"), 64 * 1e9 / 100);
}

TEST(FaultCatalogue, F12ClocksOfTheFilesDoNotMatter) {
  for (const std::int64_t clock_ns : {0L, 123'456'789L}) {
    SmallRun run = one_late_rank(4, 2, clock_ns);
    EXPECT_EQ(headline(run.result("straggler"), "worst_rank"), 2);
    EXPECT_DOUBLE_EQ(headline(run.result("bandwidth"), "all_reduce_intra_median_busbw_bytes_per_s"), 960 * 1e9 / 300);
  }
}

TEST(FaultCatalogue, F17OneOfFiveCanBeAStraggler) {
  for (const std::int32_t ranks : {3, 4, 5}) {
    SmallRun run = one_late_rank(ranks, ranks - 1);
    EXPECT_EQ(headline(run.result("straggler"), "stragglers_count"), 1) << ranks;
  }
}

TEST(FaultCatalogue, F18EqualSpansHideNoStraggler) {
  SmallRun run = one_late_rank(4, 1);
  const MetricResult result = run.result("straggler");
  EXPECT_EQ(integer_at(result, "rows", 0, "period_ns"), integer_at(result, "rows", 1, "period_ns"));
  EXPECT_EQ(headline(result, "worst_rank"), 1);
}

TEST(FaultCatalogue, F19WaitingInSendRecvIsBubble) {
  SmallRun run;
  TraceBuilder first, second;
  first.rank(0).step(1, 0, 1000).group("pp", "mesh_pp", {0, 1}, -1, Dimension::pp).kernel("gemm", 0, 1000);
  second.rank(1).step(1, 0, 1000).group("pp", "mesh_pp", {0, 1}, -1, Dimension::pp);
  second.collective(CollectiveOp::recv, "pp", 64, 0, 600).peer(0).stream(9).kernel("gemm", 600, 400);
  run.add(first.build()).add(second.build());
  const MetricResult result = run.result("pipeline_bubble");
  EXPECT_DOUBLE_EQ(headline(result, "bubble_max_ratio"), 0.6);
  EXPECT_EQ(headline(result, "bubble_max_rank"), 1);
}

TEST(FaultCatalogue, F20NoBubbleWithoutAPipeline) {
  SmallRun run = one_late_rank(4, 1);
  const MetricResult result = run.result("pipeline_bubble");
  EXPECT_EQ(result.report.status, Status::not_applicable);
  EXPECT_TRUE(result.report.headlines.empty());
}

TEST(FaultCatalogue, F28WaitingRanksAreNotTheSlowOnes) {
  SmallRun run = one_late_rank(4, 3);
  // Rank 3 has the shortest communication of all, and is the one that computes too long.
  const MetricResult communication = run.result("communication"), straggler = run.result("straggler");
  EXPECT_LT(integer_at(communication, "rows", 3, "sum_ns"), integer_at(communication, "rows", 0, "sum_ns"));
  EXPECT_EQ(headline(straggler, "worst_rank"), 3);
  EXPECT_EQ(integer_at(straggler, "rows", 3, "wait_ns"), 0);
}

}  // namespace
}  // namespace ccl::test
