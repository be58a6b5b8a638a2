#include <gtest/gtest.h>

#include <cmath>

#include "metrics/moved.hpp"
#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// Five all-gathers on ranks 0 and 1: transfer = 100 ns + bus bytes / 10 bytes per ns, rank 1 last.
SmallRun two_ranks(const std::string& second_host) {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    TraceBuilder builder;
    builder.rank(rank).step(1, 0, 100000).group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp);
    builder.raw().gpu = "NVIDIA A100-SXM4-40GB";
    for (std::int64_t i = 1; i <= 5; ++i)
      builder.collective(CollectiveOp::all_gather, "dp", i * 2000, i * 10000, 100 + i * 100 + (rank == 0 ? 777 : 0));
    run.add(builder.build(), rank == 0 ? "a" : second_host);
  }
  return run;
}
double real_at(const MetricResult& result, std::int64_t row, const std::string& column) {
  return std::get<double>(cell_at(table(result, "rows"), row, column));
}

TEST(Bandwidth, MedianOverInstancesWithoutTheWaiting) {
  SmallRun run = two_ranks("a");
  const MetricResult result = run.result("bandwidth");
  EXPECT_EQ(text_at(result, "rows", 0, "link_class"), "intra");
  EXPECT_EQ(integer_at(result, "rows", 0, "instances_count"), 5);
  EXPECT_DOUBLE_EQ(headline(result, "all_gather_intra_median_busbw_bytes_per_s"), 3000 * 1e9 / 400);
  EXPECT_DOUBLE_EQ(real_at(result, 0, "median_share_of_peak_ratio"), 7.5e9 / 300e9);
}

TEST(Bandwidth, SmallMessagesShowTheirTimeOnThePage) {
  SmallRun run = two_ranks("a");
  const std::vector<std::string> page = run.result("bandwidth").report.page;
  EXPECT_NE(page.at(0).find("all_gather intra 0.40 us (latency of 3.00 kB)"), std::string::npos) << page.at(0);
  const MetricResult result = run.result("bandwidth");
  EXPECT_EQ(real_at(result, 0, "median_bus_bytes"), 3000);
  EXPECT_EQ(real_at(result, 0, "median_transfer_ns"), 400);
  const std::string& detail = result.report.details.at(0);
  EXPECT_NE(detail.find("transfer median 0.40 us (latency of 3.00 kB); "), std::string::npos) << detail;
}

TEST(Bandwidth, HockneyFindsLatencyAndRate) {
  SmallRun run = two_ranks("a");
  const MetricResult result = run.result("bandwidth");
  EXPECT_NEAR(real_at(result, 0, "alpha_ns"), 100, 1e-6);
  EXPECT_NEAR(real_at(result, 0, "beta_bytes_per_s"), 1e10, 1);
  EXPECT_NEAR(real_at(result, 0, "r_squared"), 1, 1e-12);
}

TEST(Bandwidth, BetweenHostsTheNicIsThePeak) {
  SmallRun run = two_ranks("b");
  run.config.peaks["nic_bytes_per_s"] = 25e9;
  const MetricResult result = run.result("bandwidth");
  EXPECT_EQ(text_at(result, "rows", 0, "link_class"), "inter");
  EXPECT_DOUBLE_EQ(real_at(result, 0, "median_share_of_peak_ratio"), 7.5e9 / 25e9);
}

TEST(Bandwidth, FarAbovePeakIsNamed) {
  SmallRun run = two_ranks("b");
  run.config.peaks["nic_bytes_per_s"] = 2.5e9;
  const MetricResult result = run.result("bandwidth");
  EXPECT_NE(result.report.page.at(1).find("all_gather dp is 3 x that: hosts or peak are wrong"), std::string::npos)
      << result.report.page.at(1);
  ASSERT_EQ(run.problems.count(Code::busbw_above_peak), 1);
  EXPECT_EQ(run.problems.rows()[0].detail, "inter peak 2.50 GB/s (--peak), all_gather dp is 3 x that");
  SmallRun near = two_ranks("b");
  near.config.peaks["nic_bytes_per_s"] = 4e9;
  near.result("bandwidth");
  EXPECT_EQ(near.problems.count(Code::busbw_above_peak), 0);
}

TEST(Bandwidth, WhatABusbwPutsOnANic) {
  // 4 hosts of 8: 381.8 GB/s busbw of an all-reduce are 36.95 GB/s per NIC.
  EXPECT_NEAR(381.8 * link_share(CollectiveOp::all_reduce, LinkClass::inter, 32, 4), 36.95, 0.01);
  EXPECT_DOUBLE_EQ(link_share(CollectiveOp::all_to_all, LinkClass::inter, 32, 4), 24.0 / 31);
  EXPECT_DOUBLE_EQ(link_share(CollectiveOp::all_reduce, LinkClass::intra, 8, 1), 1);
  EXPECT_TRUE(std::isnan(link_share(CollectiveOp::all_reduce, LinkClass::unknown, 8, -1)));
}

TEST(Bandwidth, MediansOverDimensionsCountInstancesNotClasses) {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    TraceBuilder builder;
    builder.rank(rank).step(1, 0, 100000).group("tp", "mesh_tp", {0, 1}, -1, Dimension::tp);
    builder.group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp);
    for (std::int64_t i = 1; i <= 3; ++i) builder.collective(CollectiveOp::all_gather, "tp", i * 2000, i * 1'000'000, 1000);
    for (std::int64_t i = 4; i <= 5; ++i) builder.collective(CollectiveOp::all_gather, "dp", i * 2000, i * 1'000'000, 1000);
    run.add(builder.build(), "a");
  }
  const MetricResult result = run.result("bandwidth");
  EXPECT_DOUBLE_EQ(real_at(result, 0, "median_busbw_bytes_per_s"), 4.5e9);  // dp: 4, 5
  EXPECT_DOUBLE_EQ(real_at(result, 0, "p5_busbw_bytes_per_s"), 4.05e9);
  EXPECT_DOUBLE_EQ(real_at(result, 1, "median_busbw_bytes_per_s"), 2e9);    // tp: 1, 2, 3
  EXPECT_DOUBLE_EQ(real_at(result, 1, "p95_busbw_bytes_per_s"), 2.9e9);
  EXPECT_DOUBLE_EQ(headline(result, "all_gather_intra_median_busbw_bytes_per_s"), 3e9);
}

TEST(Bandwidth, IncredibleMatchesAreLeftOut) {
  SmallRun run = two_ranks("a");
  run.not_credible("dp");
  EXPECT_EQ(run.result("bandwidth").report.status, Status::absent);
}

}  // namespace
}  // namespace ccl::test
