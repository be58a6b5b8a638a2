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

TEST(TokenToExpertAssignment, LogsOfTheRouterTellTheLoadOfSingleExperts) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(1, 0, 100).kernel("gemm", 1, 2).build());
  run.workload.expert_loads = {"gate_logs_0.json", {10, 30, 20, 40}, 1, 5};
  const MetricResult result = run.result("token_to_expert_assignment");
  EXPECT_EQ(result.report.status, Status::ok) << result.report.reason;
  EXPECT_DOUBLE_EQ(headline(result, "expert_load_max_over_mean_ratio"), 1.6);
  EXPECT_DOUBLE_EQ(headline(result, "expert_load_max_over_min_ratio"), 4);
  EXPECT_NEAR(headline(result, "expert_load_cv_ratio"), 0.4472136, 1e-7);
  EXPECT_NEAR(headline(result, "expert_load_entropy_ratio"), 0.9232, 1e-4);
  ASSERT_EQ(table(result, "by_expert").rows_count, 4);
  EXPECT_EQ(std::get<double>(cell_at(table(result, "by_expert"), 1, "share_ratio")), 0.3);
  EXPECT_NE(page_of(result).find("expert 3 of 4 gets 1.60 times the mean"), std::string::npos) << page_of(result);
  run.workload.expert_loads.loads = {0, 0};
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
