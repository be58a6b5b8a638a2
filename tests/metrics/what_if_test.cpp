#include <gtest/gtest.h>

#include "graph_run.hpp"

namespace ccl::test {
namespace {

TEST(WhatIf, ASlowRankIsWhatTheStepLoses) {
  const MetricResult result = graph_result("what_if", {three_ranks(300)});
  EXPECT_EQ(result.report.status, Status::ok);
  EXPECT_EQ(integer_at(result, "rows", 0, "replayed_ns"), 390);
  EXPECT_EQ(integer_at(result, "rows", 0, "ideal_ns"), 190);
  EXPECT_DOUBLE_EQ(headline(result, "slowdown_ratio"), 390.0 / 190);
  // compute, communication, launch, ranks 0 to 2, slowest of them, dimension dp, operation all_reduce
  ASSERT_EQ(table(result, "cases").rows_count, 9);
  EXPECT_EQ(integer_at(result, "cases", 4, "number"), 1);
  EXPECT_EQ(integer_at(result, "cases", 4, "fixed_ns"), 190);
  EXPECT_EQ(integer_at(result, "cases", 4, "only_ns"), 390);
  EXPECT_EQ(integer_at(result, "cases", 3, "gain_ns"), 0);
  EXPECT_EQ(integer_at(result, "cases", 6, "gain_ns"), 200);
  EXPECT_DOUBLE_EQ(headline(result, "slowest_ranks_ratio"), 1);
  EXPECT_EQ(text_at(result, "cases", 7, "dimension"), "dp");
  EXPECT_EQ(integer_at(result, "cases", 7, "fixed_ns"), 340);
  EXPECT_EQ(integer_at(result, "cases", 7, "only_ns"), 190);
  EXPECT_EQ(text_at(result, "cases", 8, "op"), "all_reduce");
  EXPECT_EQ(integer_at(result, "cases", 8, "fixed_ns"), 390);
  EXPECT_NE(page_of(result).find("S = 2.053); rank 1 alone like its peers saves"), std::string::npos);
}

TEST(WhatIf, ThePublishedFormTakesTheMean) {
  Config config;
  config.what_if_ideal = "mean";
  const MetricResult result = graph_result("what_if", {three_ranks(300)}, config);
  EXPECT_EQ(integer_at(result, "rows", 0, "ideal_ns"), 166 + 90);
}

TEST(WhatIf, OneRankHasNoPeers) {
  std::vector<GraphOp> ops = three_ranks(100);
  ops.resize(3);
  EXPECT_EQ(graph_result("what_if", {ops}).report.status, Status::not_applicable);
}

TEST(WhatIf, ContradictingMatchesGiveNoNumber) {
  std::vector<GraphOp> ops = three_ranks(100);
  ops[1].instance = 1, ops[2].instance = 2;  // rank 0: first 1, then 2; rank 1 the other way round
  ops[4].instance = 2, ops[5].instance = 1;
  EXPECT_EQ(graph_result("what_if", {ops}).report.status, Status::absent);
  EXPECT_EQ(graph_result("what_if", {ops, three_ranks(100)}).report.status, Status::partial);
}

TEST(WhatIf, WithoutStepsItIsAbsent) { EXPECT_EQ(graph_result("what_if", {}).report.status, Status::absent); }

}  // namespace
}  // namespace ccl::test
