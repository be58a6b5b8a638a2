#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// Step 0: K [0,40) [60,80), C [30,70), M [85,90). Outside every step: C [200,220), launched before the step.
RankTrace one_rank(std::int32_t rank = 0) {
  return TraceBuilder()
      .rank(rank)
      .step(0, 0, 100)
      .group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp)
      .kernel("gemm", 0, 40)
      .kernel("gemm", 60, 20)
      .stream(8)
      .collective(CollectiveOp::all_gather, "dp", 4096, 30, 40)
      .copy("Memcpy HtoD", 64, 85, 5)
      .collective(CollectiveOp::all_reduce, "dp", 4096, 200, 20, not_launched)
      .build();
}

TEST(CommCompOverlap, BudgetOfAStepAddsUp) {
  SmallRun run;
  run.add(one_rank());
  const MetricResult result = run.result("comm_comp_overlap");
  const auto at = [&](const char* column) { return integer_at(result, "rows", 0, column); };
  EXPECT_EQ(at("window_ns"), 90);
  EXPECT_EQ(at("period_ns"), 90);
  EXPECT_EQ(at("communication_ns"), 40);
  EXPECT_EQ(at("compute_ns"), 60);
  EXPECT_EQ(at("overlap_ns"), 20);
  EXPECT_EQ(at("exposed_ns"), 20);
  EXPECT_EQ(at("memory_only_ns"), 5);
  EXPECT_EQ(at("busy_ns"), 85);
  EXPECT_EQ(at("idle_ns"), 5);
  EXPECT_EQ(at("compute_only_ns") + at("overlap_ns") + at("exposed_ns") + at("memory_only_ns") + at("idle_ns"), 90);
  EXPECT_DOUBLE_EQ(headline(result, "overlap_ratio"), 0.5);
  EXPECT_DOUBLE_EQ(headline(result, "exposed_of_period_ratio"), 20.0 / 90);
}

TEST(CommCompOverlap, WholeFileHasTheEventsOfNoStepToo) {
  SmallRun run;
  run.add(one_rank());
  const MetricResult result = run.result("overlap");
  const auto at = [&](const char* column) { return integer_at(result, "whole", 0, column); };
  EXPECT_EQ(at("window_ns"), 220);
  EXPECT_EQ(at("gpu_end_ns"), 220);
  EXPECT_EQ(at("communication_ns"), 60);
  EXPECT_EQ(at("communication_count"), 2);
  EXPECT_EQ(at("compute_sum_ns"), 60);
  EXPECT_EQ(at("busy_ns"), 105);
  EXPECT_EQ(at("idle_ns"), 115);
  EXPECT_EQ(table(result, "whole_by_op").rows_count, 2);
  EXPECT_EQ(text_at(result, "whole_by_op", 0, "op"), "all_reduce");
  EXPECT_EQ(integer_at(result, "whole_by_op", 0, "overlap_ns"), 0);
}

TEST(CommCompOverlap, PartsAreByOperationAndByDimension) {
  SmallRun run;
  run.add(one_rank());
  const MetricResult result = run.result("comm_comp_overlap");
  ASSERT_EQ(table(result, "by_op").rows_count, 1);
  EXPECT_EQ(text_at(result, "by_op", 0, "op"), "all_gather");
  EXPECT_EQ(text_at(result, "by_dimension", 0, "dimension"), "dp");
  EXPECT_EQ(integer_at(result, "by_dimension", 0, "communication_ns"), 40);
  EXPECT_EQ(integer_at(result, "by_dimension", 0, "overlap_ns"), 20);
}

TEST(CommCompOverlap, HeadlineIsPooledAndNamesTheExtremeRanks) {
  SmallRun run;
  run.add(one_rank(0));
  run.add(TraceBuilder()
              .rank(3)
              .step(0, 0, 100)
              .kernel("gemm", 0, 10)
              .stream(8)
              .collective(CollectiveOp::all_gather, "dp", 4096, 10, 60)
              .build());
  const MetricResult result = run.result("comm_comp_overlap");
  EXPECT_DOUBLE_EQ(headline(result, "overlap_ratio"), 20.0 / 100);
  EXPECT_DOUBLE_EQ(headline(result, "overlap_min_ratio"), 0);
  EXPECT_EQ(headline(result, "overlap_min_rank"), 3);
  EXPECT_DOUBLE_EQ(headline(result, "overlap_max_ratio"), 0.5);
  EXPECT_EQ(headline(result, "overlap_max_rank"), 0);
  EXPECT_NE(
      page_of(result).find("20.0 % of communication is hidden behind compute (0.0 % on rank 3 to 50.0 % on rank 0)"),
      std::string::npos)
      << page_of(result);
}

TEST(CommCompOverlap, DevicesOfOneRankAreRowsOfTheirOwn) {
  SmallRun run;
  run.add(TraceBuilder()
              .rank(0)
              .step(0, 0, 100)
              .kernel("gemm", 0, 40)
              .device(1)
              .collective(CollectiveOp::all_reduce, "dp", 64, 0, 40)
              .build());
  const MetricResult result = run.result("comm_comp_overlap");
  ASSERT_EQ(table(result, "rows").rows_count, 2);
  EXPECT_EQ(integer_at(result, "rows", 0, "communication_ns"), 0);
  EXPECT_EQ(integer_at(result, "rows", 1, "overlap_ns"), 0) << "compute of another device hides nothing";
}

TEST(CommCompOverlap, WithoutCommunicationTheQuestionHasNoSense) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(0, 0, 100).kernel("gemm", 0, 40).build());
  EXPECT_EQ(run.result("comm_comp_overlap").report.status, Status::not_applicable);
}

}  // namespace
}  // namespace ccl::test
