#include <gtest/gtest.h>

#include "graph_run.hpp"

namespace ccl::test {
namespace {

TEST(CriticalPathMetric, TimesByRankCategoryAndDimensionAddUpToTheStep) {
  const MetricResult result = graph_result("critical_path", {three_ranks(300)});
  EXPECT_EQ(integer_at(result, "rows", 0, "length_ns"), 390);
  EXPECT_EQ(integer_at(result, "rows", 0, "compute_ns"), 340);
  EXPECT_EQ(integer_at(result, "rows", 0, "communication_ns"), 50);
  EXPECT_EQ(integer_at(result, "rows", 0, "hops_count"), 1);
  EXPECT_EQ(integer_at(result, "by_rank", 0, "path_ns"), 90);
  EXPECT_EQ(integer_at(result, "by_rank", 1, "path_ns"), 300);
  EXPECT_EQ(integer_at(result, "by_rank", 2, "path_ns"), 0);
  EXPECT_EQ(integer_at(result, "by_rank", 1, "slack_min_ns"), 0);
  EXPECT_EQ(text_at(result, "by_dimension", 0, "dimension"), "dp");
  EXPECT_EQ(integer_at(result, "by_dimension", 0, "time_ns"), 50);
  EXPECT_DOUBLE_EQ(headline(result, "communication_ratio"), 50.0 / 390);
  EXPECT_EQ(headline(result, "most_rank"), 1);
}

TEST(CriticalPathMetric, TheLongestPartsComeFirstWithTheirKernels) {
  const MetricResult result = graph_result("critical_path", {three_ranks(300)});
  ASSERT_EQ(table(result, "top").rows_count, 3);
  EXPECT_EQ(text_at(result, "top", 0, "name"), "gemm");
  EXPECT_EQ(integer_at(result, "top", 0, "rank"), 1);
  EXPECT_EQ(integer_at(result, "top", 0, "length_ns"), 300);
  EXPECT_EQ(text_at(result, "top", 1, "name"), "ncclDevKernel_AllReduce");
  EXPECT_EQ(text_at(result, "top", 2, "category"), "compute");
}

TEST(CriticalPathMetric, SegmentsFillTheStepInTime) {
  const MetricResult result = graph_result("critical_path", {three_ranks(300)});
  ASSERT_EQ(table(result, "segments").rows_count, 3);
  std::int64_t end_ns = 0;
  for (std::int64_t row = 0; row < 3; ++row) {
    EXPECT_EQ(integer_at(result, "segments", row, "start_ns"), end_ns);
    end_ns = integer_at(result, "segments", row, "end_ns");
  }
  EXPECT_EQ(end_ns, integer_at(result, "rows", 0, "length_ns"));
  EXPECT_EQ(integer_at(result, "segments", 0, "rank"), 1);
  EXPECT_EQ(text_at(result, "segments", 1, "category"), "communication");
  EXPECT_EQ(text_at(result, "segments", 1, "dimension"), "dp");
}

TEST(CriticalPathMetric, APartBelowAThousandthOfTheStepIsJoinedWithTheNext) {
  std::vector<MadeOp> ops = three_ranks(3000);
  for (const std::size_t reduce : {1U, 4U, 7U}) {
    ops[reduce].end_ns = ops[reduce + 1].start_ns = 3002;
    ops[reduce + 1].end_ns = 3042;
  }
  const MetricResult result = graph_result("critical_path", {ops});
  ASSERT_EQ(table(result, "segments").rows_count, 2);
  EXPECT_EQ(integer_at(result, "segments", 1, "start_ns"), 3000);
  EXPECT_EQ(integer_at(result, "segments", 1, "end_ns"), 3042);
  EXPECT_EQ(text_at(result, "segments", 1, "category"), "compute") << "as most of it";
}

TEST(CriticalPathMetric, SaysHowMuchIsNotMatched) {
  EXPECT_EQ(graph_result("critical_path", {three_ranks(300)}).report.status, Status::ok);
  std::vector<MadeOp> ops = three_ranks(300);
  ops[1].instance = 0;  // rank 0
  const MetricResult result = graph_result("critical_path", {ops});
  EXPECT_EQ(result.report.status, Status::partial);
  EXPECT_EQ(result.report.reason, "1 of 3 communication kernels not matched: the path does not change the rank there");
  EXPECT_EQ(integer_at(result, "rows", 0, "unmatched_count"), 1);
}

TEST(CriticalPathMetric, OfAnIncompleteCollectiveTheTransferIsEstimatedAndTheRestIsApart) {
  std::vector<MadeOp> ops = three_ranks(300);
  for (const std::size_t reduce : {1U, 4U, 7U}) ops[reduce].group_size = 4;  // the fourth has no trace
  const MetricResult result = graph_result("critical_path", {ops});
  EXPECT_EQ(integer_at(result, "rows", 0, "communication_ns"), 0);
  EXPECT_EQ(integer_at(result, "rows", 0, "unseparated_ns"), 50);
  EXPECT_EQ(integer_at(result, "by_dimension", 0, "unseparated_ns"), 50);
  EXPECT_EQ(result.report.status, Status::partial);
  EXPECT_NE(page_of(result).find("communication not matched with all its ranks (waiting or transfer)"),
            std::string::npos)
      << page_of(result);
}

TEST(CriticalPathMetric, NamesNoUnknownDimension) {
  std::vector<MadeOp> ops = three_ranks(300);
  for (const std::size_t reduce : {1U, 4U, 7U}) ops[reduce].dimension = Dimension::unknown;
  EXPECT_NE(page_of(graph_result("critical_path", {ops})).find("(of no known dimension 12.8 %)"), std::string::npos);
}

TEST(CriticalPathMetric, WhichRankIsLastIsWithinTheErrorWhereClocksAreNotKnownBetter) {
  GraphWorld world;
  world.clock.residual_ns = 101;
  world.ranks.missing = {3};
  const MetricResult result = graph_result("critical_path", {three_ranks(300)}, world);
  EXPECT_EQ(integer_at(result, "rows", 0, "close_count"), 1);
  EXPECT_NE(page_of(result).find("most of it on rank 1 of the 3 ranks seen"), std::string::npos) << page_of(result);
  EXPECT_NE(page_of(result).find("<= error"), std::string::npos);
  world.clock.residual_ns = 100;
  EXPECT_EQ(integer_at(graph_result("critical_path", {three_ranks(300)}, world), "rows", 0, "close_count"), 0);
}

TEST(CriticalPathMetric, WithoutStepsItIsAbsent) {
  EXPECT_EQ(graph_result("critical_path", {}).report.status, Status::absent);
}

}  // namespace
}  // namespace ccl::test
