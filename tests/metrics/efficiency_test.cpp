#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

double real_at(const MetricResult& result, const std::string& name, std::int64_t row, const std::string& column) {
  return std::get<double>(cell_at(table(result, name), row, column));
}

// Two ranks in one step of 1000 ns: 800 and 400 ns of compute. Rank 1's clock runs 5000 ns ahead.
SmallRun two_ranks() {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(3, 0, 1000).kernel("a", 0, 800).copy("Memcpy", 8, 900, 100).build(), "a");
  run.add(TraceBuilder().rank(1).step(3, 5000, 6000).kernel("a", 5100, 300).stream(8).kernel("b", 5300, 200).build(),
          "b");
  run.clock.hosts[1].offset_ns = -5000;
  return run;
}

TEST(Efficiency, IsLoadBalanceTimesCommunicationEfficiency) {
  SmallRun run = two_ranks();
  const MetricResult result = run.result("efficiency");
  ASSERT_EQ(table(result, "rows").rows_count, 1);
  EXPECT_EQ(integer_at(result, "rows", 0, "length_ns"), 1000);
  EXPECT_EQ(integer_at(result, "rows", 0, "useful_sum_ns"), 1200);
  EXPECT_DOUBLE_EQ(real_at(result, "rows", 0, "load_balance_ratio"), 600.0 / 800);
  EXPECT_DOUBLE_EQ(real_at(result, "rows", 0, "communication_efficiency_ratio"), 0.8);
  EXPECT_DOUBLE_EQ(headline(result, "parallel_efficiency_ratio"), 0.6);
  EXPECT_NEAR(headline(result, "load_balance_ratio") * headline(result, "communication_efficiency_ratio"),
              headline(result, "parallel_efficiency_ratio"), 1e-12);
}

TEST(Efficiency, WindowsAddUpToTheStep) {
  SmallRun run = two_ranks();
  const MetricResult result = run.result("efficiency");
  ASSERT_EQ(table(result, "windows").rows_count, 20);
  std::int64_t length_ns = 0, useful_ns = 0;
  for (std::int64_t w = 0; w < 20; ++w) {
    length_ns += integer_at(result, "windows", w, "length_ns");
    useful_ns += integer_at(result, "windows", w, "useful_sum_ns");
    EXPECT_LE(integer_at(result, "windows", w, "useful_max_ns"), integer_at(result, "windows", w, "length_ns"));
  }
  EXPECT_EQ(length_ns, 1000);
  EXPECT_EQ(useful_ns, 1200);
  EXPECT_DOUBLE_EQ(real_at(result, "windows", 0, "parallel_efficiency_ratio"), 0.5) << "rank 1 begins at 100";
}

TEST(Efficiency, AStepThatLostEventsIsNotOfThatRank) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(3, 0, 1000).kernel("a", 0, 800).copy("Memcpy", 8, 900, 100).build());
  TraceBuilder cut;
  cut.rank(1).step(3, 0, 1000).kernel("a", 100, 300);
  cut.raw().loss = FileLoss::rest;
  cut.raw().launches_until_ns = 100;
  run.add(cut.build());
  const MetricResult result = run.result("efficiency");
  ASSERT_EQ(table(result, "rows").rows_count, 1);
  EXPECT_EQ(integer_at(result, "rows", 0, "gpus_count"), 1);
  EXPECT_DOUBLE_EQ(headline(result, "load_balance_ratio"), 1) << "of rank 0 alone, not of 300 ns of rank 1";
  EXPECT_DOUBLE_EQ(headline(result, "parallel_efficiency_ratio"), 0.8);
}

// A run of one rank makes no graph: without communication nothing takes less time without transfers.
TEST(Efficiency, ARankAloneTellsNoTransfersUnlessItHasNone) {
  SmallRun quiet;
  quiet.add(TraceBuilder().rank(0).step(3, 0, 1000).kernel("a", 0, 800).copy("Memcpy", 8, 900, 100).build());
  const MetricResult none = quiet.result("efficiency");
  EXPECT_EQ(integer_at(none, "ideal_network", 0, "measured_ns"), 1000);
  EXPECT_EQ(integer_at(none, "ideal_network", 0, "ideal_ns"), 1000);
  EXPECT_DOUBLE_EQ(headline(none, "serialisation_efficiency_ratio"), 0.8);
  EXPECT_DOUBLE_EQ(headline(none, "transfer_efficiency_ratio"), 1);
  SmallRun run;
  run.add(TraceBuilder()
              .rank(0)
              .group("dp", "mesh_dp", {0, 1})
              .step(3, 0, 1000)
              .kernel("a", 0, 800)
              .stream(20)
              .collective(CollectiveOp::all_reduce, "dp", 4096, 900, 100)
              .build());
  const MetricResult some = run.result("efficiency");
  EXPECT_EQ(integer_at(some, "ideal_network", 0, "measured_ns"), 1000);
  EXPECT_TRUE(std::isnan(headline(some, "serialisation_efficiency_ratio")));
  EXPECT_DOUBLE_EQ(headline(some, "communication_efficiency_ratio"), 0.8);
}

// The graph of a step has a window without it: that is not the window of those that are looked at.
TEST(Efficiency, OfARankThatTakesNoPartItDoesNotMatterWhoHasIt) {
  for (const std::size_t workers : {1U, 2U, 3U})
    for (const unsigned seed : {1U, 2U, 3U, 4U}) {
      SmallRun run = two_ranks();
      run.add(TraceBuilder().rank(2).step(3, 0, 1900).kernel("a", 0, 1900).build(), "a");
      run.ranks.entries[2].takes_part = false;
      const MetricResult result = run.result("efficiency", workers, seed);
      ASSERT_EQ(table(result, "rows").rows_count, 1);
      EXPECT_EQ(integer_at(result, "rows", 0, "length_ns"), 1900) << workers << " " << seed;
      EXPECT_EQ(integer_at(result, "rows", 0, "gpus_count"), 3) << workers << " " << seed;
      EXPECT_EQ(integer_at(result, "rows", 0, "useful_sum_ns"), 3100) << workers << " " << seed;
    }
}

TEST(Efficiency, UncorrectedClocksAreSaid) {
  SmallRun run = two_ranks();
  run.clock.hosts[1].corrected = false;
  EXPECT_EQ(run.result("efficiency").report.status, Status::partial);
}

TEST(Efficiency, AHostWhoseClockIsNotKnownAndIsElsewhereLeavesItUnknown) {
  SmallRun run = two_ranks();
  run.clock.hosts[1].corrected = false;
  run.clock.hosts[1].offset_ns = 0;  // then rank 1 begins the step of 1000 ns 5100 ns behind rank 0
  const MetricResult result = run.result("efficiency");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_NE(result.report.reason.find("ranks begin a step 5.10 us apart, more than two steps"), std::string::npos) << result.report.reason;
}

// A rank that takes no part has a step which the replay does not cover: its compute must not count against the replay of the
// others.
TEST(Efficiency, FactorsOfCommunicationEfficiencyAreOfItsWindowsOrAbsent) {
  SmallRun run = two_ranks();
  const MetricResult whole = run.result("efficiency");
  EXPECT_DOUBLE_EQ(headline(whole, "serialisation_efficiency_ratio"), 0.8);
  EXPECT_DOUBLE_EQ(headline(whole, "transfer_efficiency_ratio"), 1);
  run.add(TraceBuilder().rank(2).step(9, 0, 9000).kernel("a", 0, 9000).build(), "a");
  run.ranks.entries[2].takes_part = false;
  const MetricResult more = run.result("efficiency");
  ASSERT_EQ(table(more, "rows").rows_count, 2);
  EXPECT_DOUBLE_EQ(real_at(more, "rows", 0, "serialisation_efficiency_ratio"), 0.8);
  EXPECT_TRUE(std::isnan(real_at(more, "rows", 1, "serialisation_efficiency_ratio")));
  EXPECT_TRUE(std::isnan(headline(more, "serialisation_efficiency_ratio"))) << "9800 / 1000 would be of different windows";
  EXPECT_TRUE(std::isnan(headline(more, "transfer_efficiency_ratio")));
}

}  // namespace
}  // namespace ccl::test
