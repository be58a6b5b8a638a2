#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

RankTrace rank_of_two(std::int32_t rank, int gathers) {
  TraceBuilder builder;
  builder.rank(rank).step(1, 0, 1000).step(2, 1000, 2000).group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp);
  builder.slice(SliceKind::user_annotation, "nccl:all_gather", 100, 200);
  for (int i = 0; i < gathers; ++i) builder.collective(CollectiveOp::all_gather, "dp", 64, 100 + 10 * i, 5);
  builder.collective(CollectiveOp::all_reduce, "dp", 64, 1100, 5);
  builder.collective(CollectiveOp::all_reduce, "dp", 64, 5, 1, not_launched).without_arguments();
  builder.raw().events.correlation.back() = -1;  // from before the first launch of the file
  return builder.build();
}

TEST(CollCallNum, CountsKernelsOfStepsAndNothingElse) {
  SmallRun run;
  run.add(rank_of_two(0, 3)).add(rank_of_two(1, 3));
  const MetricResult result = run.result("coll_call_num");
  ASSERT_EQ(table(result, "rows").rows_count, 4);
  EXPECT_EQ(integer_at(result, "rows", 0, "calls_count"), 3);
  EXPECT_EQ(integer_at(result, "rows", 2, "calls_count"), 1) << "step 2";
  EXPECT_DOUBLE_EQ(headline(result, "calls_per_step_count"), 2);
  EXPECT_DOUBLE_EQ(headline(result, "calls_per_step_rank_0_count"), 2);
}

TEST(CollCallNum, TheWholeFileHasTheKernelsOfNoStep) {
  SmallRun run;
  run.add(rank_of_two(0, 3));
  const MetricResult result = run.result("coll_call_num");
  EXPECT_EQ(integer_at(result, "whole", 0, "calls_count"), 5);
  EXPECT_EQ(integer_at(result, "whole", 0, "outside_count"), 1);
  EXPECT_EQ(integer_at(result, "whole", 0, "with_arguments_count"), 4);
  EXPECT_EQ(integer_at(result, "by_group", 0, "step"), -1);
}

TEST(CollCallNum, ACollectiveOfTwoRanksIsOneCollective) {
  SmallRun run;
  run.add(rank_of_two(0, 3)).add(rank_of_two(1, 2));
  const MetricResult result = run.result("coll_call_num");
  // Two of the all-gathers, the all-reduce, and the kernel without arguments outside every step.
  EXPECT_EQ(headline(result, "collectives_count"), 4);
  EXPECT_EQ(integer_at(result, "logical", 1, "members_count"), 4);
}

TEST(CollCallNum, PartsTellOperationDimensionAndGroup) {
  SmallRun run;
  run.add(rank_of_two(0, 3));
  const MetricResult result = run.result("coll_call_num");
  EXPECT_EQ(text_at(result, "by_group", 1, "op"), "all_gather");
  EXPECT_EQ(text_at(result, "by_group", 1, "dimension"), "dp");
  EXPECT_EQ(integer_at(result, "by_group", 1, "group"), 0);
  EXPECT_NE(
      page_of(result).find("2 communication kernels per step and rank (rank 0: 2): 0.5 all_reduce, 1.5 all_gather"),
      std::string::npos)
      << page_of(result);
}

TEST(CollCallNum, FewCallsAStepAreNotNone) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp);
  for (std::int64_t step = 0; step < 25; ++step) {
    builder.step(step, 1000 * step, 1000 * step + 1000).kernel("gemm", 1000 * step, 10);
    if (step == 3) builder.collective(CollectiveOp::all_reduce, "dp", 64, 1000 * step + 20, 5);
    for (int i = 0; i < 1 + step % 4 / 3; ++i)
      builder.collective(CollectiveOp::all_gather, "dp", 64, 1000 * step + 40 + 10 * i, 5);
  }
  run.add(builder.build());
  const std::string page = page_of(run.result("coll_call_num"));
  EXPECT_NE(page.find("1.3 communication kernels per step"), std::string::npos) << page << "1.28";
  EXPECT_NE(page.find(": 0.04 all_reduce, 1.2 all_gather"), std::string::npos) << page << "1.24";
}

TEST(CollCallNum, AStepThatLostEventsCountsNeitherAboveNorBelow) {
  SmallRun run;
  TraceBuilder cut;
  cut.rank(1).step(1, 0, 1000).step(2, 1000, 2000).group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp);
  for (int i = 0; i < 3; ++i) cut.collective(CollectiveOp::all_gather, "dp", 64, 100 + 10 * i, 5);
  cut.collective(CollectiveOp::all_reduce, "dp", 64, 1100, 5);
  cut.raw().loss = FileLoss::rest;
  cut.raw().launches_until_ns = 1100;
  run.add(rank_of_two(0, 3)).add(cut.build());
  const MetricResult result = run.result("coll_call_num");
  ASSERT_EQ(table(result, "rows").rows_count, 3) << "not step 2 of rank 1";
  EXPECT_DOUBLE_EQ(headline(result, "calls_per_step_count"), (3 + 1 + 3) / 3.0);
  EXPECT_NE(page_of(result).find("0.3 all_reduce, 2 all_gather"), std::string::npos) << page_of(result);
  EXPECT_DOUBLE_EQ(headline(result, "calls_count"), 5 + 4) << "all that was read";
}

TEST(CollCallNum, WhereEveryStepLostEventsThatIsTheReason) {
  SmallRun run;
  TraceBuilder cut;
  cut.rank(0).step(1, 0, 1000).group("dp", "mesh_dp", {0, 1}).collective(CollectiveOp::all_reduce, "dp", 64, 100, 5);
  cut.raw().loss = FileLoss::rest;
  cut.raw().launches_until_ns = 100;
  run.add(cut.build());
  EXPECT_EQ(run.result("coll_call_num").report.reason, "every step lost events with the damage of its file");
  EXPECT_EQ(run.result("traffic_distribution").report.reason, "every step lost events with the damage of its file");
}

TEST(CollCallNum, NoCommunicationIsNotApplicable) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(0, 0, 10).kernel("gemm", 0, 5).build());
  EXPECT_EQ(run.result("coll_call_num").report.status, Status::not_applicable);
}

}  // namespace
}  // namespace ccl::test
