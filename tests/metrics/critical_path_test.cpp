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

TEST(CriticalPathMetric, WithoutStepsItIsAbsent) {
  EXPECT_EQ(graph_result("critical_path", {}).report.status, Status::absent);
}

}  // namespace
}  // namespace ccl::test
