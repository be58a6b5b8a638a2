#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// Two ranks, one layer: tokens go out and come back.
RankTrace expert_rank(std::int32_t rank) {
  TraceBuilder builder;
  builder.rank(rank).step(1, 0, 1000).group("ep", "mesh_ep", {0, 1}, -1, Dimension::ep);
  const auto call = [&](std::int64_t at) { builder.collective(CollectiveOp::all_to_allv, "ep", 64, at, 10); };
  call(10);
  rank == 0 ? builder.splits({30, 70}, {30, 50}) : builder.splits({50, 50}, {70, 50});
  call(50);
  rank == 0 ? builder.splits({30, 50}, {30, 70}) : builder.splits({70, 50}, {50, 50});
  return builder.build();
}

TEST(TokenToExpertAssignment, LoadIsWhatAllSendersSendToAMember) {
  SmallRun run;
  run.add(expert_rank(0)).add(expert_rank(1));
  const MetricResult result = run.result("token_to_expert_assignment");
  ASSERT_EQ(table(result, "by_member").rows_count, 2);
  EXPECT_EQ(integer_at(result, "by_member", 0, "tokens_count"), 80);
  EXPECT_EQ(integer_at(result, "by_member", 1, "tokens_count"), 120);
  EXPECT_EQ(integer_at(result, "by_member", 1, "member"), 1);
  EXPECT_DOUBLE_EQ(headline(result, "load_max_over_mean_ratio"), 1.2);
}

TEST(TokenToExpertAssignment, TokensThatComeBackAreNotSentAgain) {
  SmallRun run;
  run.add(expert_rank(0)).add(expert_rank(1));
  const MetricResult result = run.result("token_to_expert_assignment");
  EXPECT_EQ(integer_at(result, "rows", 0, "tokens_count"), 100);
  EXPECT_EQ(integer_at(result, "rows", 0, "returns_count"), 1);
}

TEST(TokenToExpertAssignment, F9SplitsAreTokensAndNeedNoHiddenSize) {
  SmallRun run;
  run.add(expert_rank(0));
  EXPECT_EQ(integer_at(run.result("token_to_expert_assignment"), "rows", 0, "tokens_count"), 100);
}

TEST(TokenToExpertAssignment, ListsOfAllToAllAreElementsNotTokens) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(1, 0, 100).group("ep", "mesh_ep", {0, 1}, -1, Dimension::ep);
  builder.collective(CollectiveOp::all_to_all, "ep", 64, 10, 10).splits({32, 32});
  run.add(builder.build());
  EXPECT_EQ(run.result("token_to_expert_assignment").report.status, Status::not_applicable);
}

TEST(TokenToExpertAssignment, CutListsGiveNoLoad) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(1, 0, 100).group("ep", "mesh_ep", {0, 1}, 64, Dimension::ep);
  builder.collective(CollectiveOp::all_to_allv, "ep", 64, 10, 10).splits({1, 1});
  builder.raw().collectives.back().splits_cut = true;
  run.add(builder.build());
  const MetricResult result = run.result("token_to_expert_assignment");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_NE(result.report.reason.find("cut"), std::string::npos);
}

}  // namespace
}  // namespace ccl::test
