#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

TraceBuilder base(std::int32_t rank) {
  TraceBuilder builder;
  builder.rank(rank).step(0, 0, 1000);
  builder.group("dp", "mesh_dp", {0, 1, 2, 3}, -1, Dimension::dp).group("pp", "mesh_pp", {0, 2}, -1, Dimension::pp);
  builder.group("ep", "mesh_ep", {0, 1, 2, 3}, -1, Dimension::ep);
  return builder;
}

TEST(TrafficDistribution, PayloadAndWireBytesAreByDimension) {
  SmallRun run;
  run.add(base(0)
              .collective(CollectiveOp::all_gather, "dp", 4000, 0, 30)
              .collective(CollectiveOp::reduce_scatter, "dp", 8000, 30, 30)
              .collective(CollectiveOp::send, "pp", 1000, 60, 40)
              .peer(2)
              .build());
  const MetricResult result = run.result("traffic_distribution");
  EXPECT_EQ(integer_at(result, "rows", 0, "payload_bytes"), 13000);
  EXPECT_EQ(integer_at(result, "rows", 0, "wire_bytes"), 3000 + 6000 + 1000);
  EXPECT_DOUBLE_EQ(headline(result, "wire_per_rank_step_bytes"), 10000);
  EXPECT_DOUBLE_EQ(headline(result, "dp_of_wire_bytes_ratio"), 0.9);
  EXPECT_DOUBLE_EQ(headline(result, "pp_of_wire_bytes_ratio"), 0.1);
  EXPECT_DOUBLE_EQ(headline(result, "dp_of_time_ratio"), 0.6) << "time is another fraction than bytes";
  EXPECT_EQ(integer_at(result, "by_group", 0, "out_bytes") + integer_at(result, "by_group", 1, "out_bytes") +
                integer_at(result, "by_group", 2, "out_bytes"),
            4000 + 2000 + 1000);
}

TEST(TrafficDistribution, AStepThatLostEventsCountsNeitherAboveNorBelow) {
  SmallRun run;
  for (const std::int32_t rank : {0, 1}) {
    TraceBuilder builder = base(rank);
    builder.step(1, 1000, 2000);
    builder.collective(CollectiveOp::all_gather, "dp", 4000, 0, 30);
    builder.collective(CollectiveOp::all_gather, "dp", 8000, 1000, 30);
    if (rank == 1) builder.raw().loss = FileLoss::rest;
    builder.raw().launches_until_ns = 1000;
    run.add(builder.build());
  }
  const MetricResult result = run.result("traffic_distribution");
  ASSERT_EQ(table(result, "rows").rows_count, 3) << "not step 1 of rank 1";
  EXPECT_DOUBLE_EQ(headline(result, "wire_per_rank_step_bytes"), (3000 + 6000 + 3000) / 3.0);
  EXPECT_DOUBLE_EQ(headline(result, "wire_bytes"), 12000);
}

TEST(TrafficDistribution, UnknownSizesAreCountedNotZero) {
  SmallRun run;
  run.add(base(0)
              .collective(CollectiveOp::all_gather, "dp", 4000, 0, 30)
              .collective(CollectiveOp::all_reduce, "dp", -1, 30, 30)
              .build());
  const MetricResult result = run.result("traffic_distribution");
  EXPECT_EQ(result.report.status, Status::partial);
  EXPECT_EQ(result.report.reason, "1 of 2 kernels carry no message size");
  EXPECT_EQ(integer_at(result, "rows", 0, "unknown_bytes_count"), 1);
  EXPECT_EQ(text_at(result, "/traffic/totals", 0, "op"), "all_reduce");
  EXPECT_EQ(integer_at(result, "/traffic/totals", 0, "wire_bytes"), -1);
  EXPECT_EQ(integer_at(result, "/traffic/totals", 0, "time_ns"), 30);
}

TEST(TrafficDistribution, WithoutAnySizeItIsAbsent) {
  SmallRun run;
  run.add(base(0).collective(CollectiveOp::all_reduce, "dp", -1, 30, 30).without_arguments().build());
  const MetricResult result = run.result("traffic_distribution");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_TRUE(std::isnan(headline(result, "wire_bytes")));
  EXPECT_EQ(integer_at(result, "rows", 0, "wire_bytes"), -1);
}

TEST(TrafficDistribution, LinkClassComesFromTheHostsOfTheMembers) {
  SmallRun run;
  for (const std::int32_t rank : {0, 1, 2, 3})
    run.add(base(rank)
                .collective(CollectiveOp::all_gather, "dp", 4000, 0, 30)
                .collective(rank < 2 ? CollectiveOp::send : CollectiveOp::recv, "pp", 10, 40, 5)
                .peer(rank ^ 1)
                .build(),
            rank < 2 ? "a" : "b");
  const MetricResult result = run.result("traffic_distribution");
  ASSERT_EQ(table(result, "/traffic/totals").rows_count, 3);
  EXPECT_EQ(text_at(result, "/traffic/totals", 0, "link_class"), "inter");
  EXPECT_EQ(text_at(result, "/traffic/totals", 1, "op"), "send");
  EXPECT_EQ(text_at(result, "/traffic/totals", 1, "link_class"), "intra") << "of a message: the pair, not the group";
}

TEST(TrafficDistribution, SplitsSayWhoGetsHowMuch) {
  SmallRun run;
  for (const std::int32_t rank : {0, 1, 2, 3}) {
    TraceBuilder builder = base(rank);
    builder.collective(CollectiveOp::all_to_allv, "ep", 1000, 0, 30);
    if (rank == 1) builder.splits({1, 5, 3, 1});
    run.add(builder.build());
  }
  const MetricResult result = run.result("traffic_distribution");
  ASSERT_EQ(table(result, "/traffic/matrix").rows_count, 3) << "the own part is no traffic";
  EXPECT_EQ(integer_at(result, "/traffic/matrix", 0, "source"), 1);
  EXPECT_EQ(integer_at(result, "/traffic/matrix", 0, "destination"), 0);
  EXPECT_EQ(integer_at(result, "/traffic/matrix", 0, "bytes"), 100);
  EXPECT_EQ(integer_at(result, "/traffic/matrix", 1, "destination"), 2);
  EXPECT_EQ(integer_at(result, "/traffic/matrix", 1, "bytes"), 300);
  EXPECT_EQ(integer_at(result, "rows", 0, "wire_bytes"), 750) << "without splits: (n-1)/n";
  EXPECT_EQ(integer_at(result, "rows", 1, "wire_bytes"), 500) << "with splits: all but the own part";
}

TEST(TrafficDistribution, BothEndsOfAMessageAreOneEntryOfTheMatrix) {
  SmallRun run;
  run.add(base(0).collective(CollectiveOp::send, "pp", 500, 0, 30).peer(2).build());
  run.add(base(2).collective(CollectiveOp::recv, "pp", 500, 0, 30).peer(0).build());
  const MetricResult result = run.result("traffic_distribution");
  ASSERT_EQ(table(result, "/traffic/matrix").rows_count, 1);
  EXPECT_EQ(integer_at(result, "/traffic/matrix", 0, "bytes"), 500);
  EXPECT_EQ(integer_at(result, "/traffic/matrix", 0, "received_bytes"), 500);
  EXPECT_DOUBLE_EQ(headline(result, "wire_bytes"), 1000) << "it passes the link of each of the two ranks";
}

}  // namespace
}  // namespace ccl::test
