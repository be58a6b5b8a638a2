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
  // compute, communication, launch, ranks 0 to 2, slowest of them, slow ranks, dimension dp, operation all_reduce
  ASSERT_EQ(table(result, "cases").rows_count, 10);
  EXPECT_EQ(integer_at(result, "cases", 4, "number"), 1);
  EXPECT_EQ(integer_at(result, "cases", 4, "fixed_ns"), 190);
  EXPECT_EQ(integer_at(result, "cases", 4, "only_ns"), 390);
  EXPECT_EQ(integer_at(result, "cases", 3, "gain_ns"), 0);
  EXPECT_EQ(integer_at(result, "cases", 6, "gain_ns"), 200);
  EXPECT_EQ(text_at(result, "cases", 7, "subject"), "slow_ranks");
  EXPECT_EQ(integer_at(result, "cases", 7, "gain_ns"), 200);
  EXPECT_EQ(integer_at(result, "cases", 7, "only_ns"), 390);
  EXPECT_DOUBLE_EQ(headline(result, "slowest_ranks_ratio"), 1);
  EXPECT_EQ(text_at(result, "cases", 8, "dimension"), "dp");
  EXPECT_EQ(integer_at(result, "cases", 8, "fixed_ns"), 340);
  EXPECT_EQ(integer_at(result, "cases", 8, "only_ns"), 190);
  EXPECT_EQ(text_at(result, "cases", 9, "op"), "all_reduce");
  EXPECT_EQ(integer_at(result, "cases", 9, "fixed_ns"), 390);
  EXPECT_NE(page_of(result).find("S = 2.053); rank 1 alone like its peers saves"), std::string::npos);
}

TEST(WhatIf, ThePublishedFormTakesTheMean) {
  GraphWorld world;
  world.config.what_if_ideal = "mean";
  const MetricResult result = graph_result("what_if", {three_ranks(300)}, world);
  EXPECT_EQ(integer_at(result, "rows", 0, "ideal_ns"), 166 + 90);
}

TEST(WhatIf, OneRankHasNoPeers) {
  std::vector<MadeOp> ops = three_ranks(100);
  ops.resize(3);
  EXPECT_EQ(graph_result("what_if", {ops}).report.status, Status::not_applicable);
}

TEST(WhatIf, OfMatchesThatContradictEachOtherOneIsLeftOutAndTheStepStays) {
  std::vector<MadeOp> ops = three_ranks(300);
  ops[2].instance = 2;  // rank 0: first 1, then 2; rank 1: 2 only; rank 2 the other way round
  ops[5].instance = 2;
  ops[7].instance = 2, ops[8].instance = 1;
  const MetricResult result = graph_result("what_if", {ops});
  EXPECT_NE(result.report.status, Status::absent);
  EXPECT_EQ(integer_at(result, "rows", 0, "replayed_ns"), 390);
}

TEST(WhatIf, TransfersThatOneGroupOnlyHasAreSaidToHaveNoPeers) {
  const MetricResult result = graph_result("what_if", {three_ranks(300)});
  EXPECT_DOUBLE_EQ(headline(result, "one_group_ratio"), 1);
  EXPECT_EQ(integer_at(result, "rows", 0, "one_group_ns"), 250 + 50 + 250);
  EXPECT_NE(result.report.details.back().find("one group of ranks only has"), std::string::npos);
}

TEST(WhatIf, TransfersOfAnIncompleteCollectiveAreThoseOfCompleteOnes) {
  // A group of three of which rank 2 has no trace, then a complete one of 20 ns.
  std::vector<MadeOp> ops = three_ranks(300);
  for (const std::size_t reduce : {1U, 4U, 7U}) ops[reduce].group_size = 3;
  ops[7].instance = 0;
  for (const std::size_t adam : {2U, 5U, 8U}) {
    MadeOp complete = ops[adam - 1];
    complete.instance = 2;
    complete.start_ns = 350, complete.end_ns = 370;
    ops[adam] = complete;
  }
  const MetricResult result = graph_result("what_if", {ops});
  EXPECT_DOUBLE_EQ(headline(result, "unmatched_ratio"), 0);
  EXPECT_EQ(integer_at(result, "rows", 0, "replayed_ns"), 370);
  EXPECT_EQ(integer_at(result, "rows", 0, "ideal_ns"), 100 + 20 + 20);
}

// Three reduces of one kind, the last of them in no time: like the others it would make the step longer.
TEST(WhatIf, AStepThatIdealOperationsMakeLongerIsNotJudged) {
  std::vector<MadeOp> ops;
  for (const std::int32_t rank : {0, 1, 2}) {
    std::int64_t end_ns = 0;
    for (const std::int64_t run_ns : {100, 50, 50, 1}) {
      MadeOp op = three_ranks(100)[run_ns == 100 ? 0 : 1];
      op.start_ns = end_ns;
      op.end_ns = end_ns += run_ns;
      op.rank_row = rank;
      op.lane = 0;
      op.instance = run_ns == 100 ? 0 : end_ns;
      ops.push_back(op);
    }
  }
  const MetricResult result = graph_result("what_if", {ops});
  EXPECT_EQ(integer_at(result, "rows", 0, "replayed_ns"), 201);
  EXPECT_EQ(integer_at(result, "rows", 0, "ideal_ns"), 250);
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_TRUE(std::isnan(headline(result, "slowdown_ratio")));
  EXPECT_NE(page_of(result).find("what if       unknown: with every operation like its peers' a step would take 0.25 us, longer "
                                 "than its 0.20 us"), std::string::npos)
      << page_of(result);
}

TEST(WhatIf, WithoutStepsItIsAbsent) { EXPECT_EQ(graph_result("what_if", {}).report.status, Status::absent); }

}  // namespace
}  // namespace ccl::test
