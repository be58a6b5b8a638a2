#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// An all-reduce of 1000 bytes, 400 ns on rank 0 (which waits) and 100 ns on rank 1; half of rank 0's is under compute.
SmallRun two_ranks() {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    TraceBuilder builder;
    builder.rank(rank).step(1, 0, 2000).group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp);
    builder.raw().gpu = "NVIDIA A100-SXM4-40GB";
    builder.kernel("gemm", 0, 300);
    builder.stream(9).collective(CollectiveOp::all_reduce, "dp", 1000, rank == 0 ? 100 : 400, rank == 0 ? 400 : 100);
    builder.collective(CollectiveOp::broadcast, "dp", -1, 600, 50);
    run.add(builder.build());
  }
  return run;
}
double real_at(const MetricResult& result, const std::string& name, std::int64_t row, const std::string& column) {
  return std::get<double>(cell_at(table(result, name), row, column));
}

TEST(Communication, BandwidthFromTheOwnTimeAndFromTheTransferTime) {
  SmallRun run = two_ranks();
  const MetricResult result = run.result("communication");
  EXPECT_DOUBLE_EQ(headline(result, "all_reduce_busbw_bytes_per_s"), 2000 * 1e9 / 500);
  EXPECT_DOUBLE_EQ(headline(result, "all_reduce_transfer_busbw_bytes_per_s"), 2000 * 1e9 / 200);
}

TEST(Communication, SmallMessagesShowTheirTimes) {
  SmallRun run = two_ranks();
  const Report report = run.result("communication").report;
  EXPECT_NE(report.page.at(0).find("all_reduce 0.25 us (0.10 us; latency of 1.00 kB)"), std::string::npos) << report.page.at(0);
  EXPECT_NE(report.details.at(0).find("busbw 0.25 us, by transfer time 0.10 us"), std::string::npos) << report.details.at(0);
}

TEST(Communication, RowsHaveTimeUnionAndExposure) {
  SmallRun run = two_ranks();
  const MetricResult result = run.result("communication");
  EXPECT_EQ(integer_at(result, "rows", 0, "union_ns"), 450);
  EXPECT_EQ(integer_at(result, "rows", 0, "exposed_ns"), 250);
  EXPECT_EQ(integer_at(result, "rows", 0, "calls_count"), 2);
  EXPECT_EQ(text_at(result, "by_op", 0, "op"), "all_reduce");
  EXPECT_EQ(integer_at(result, "by_op", 0, "exposed_ns"), 200);
}

TEST(Communication, UnknownSizesAreCountedNotTakenAsZero) {
  SmallRun run = two_ranks();
  const MetricResult result = run.result("communication");
  EXPECT_EQ(result.report.status, Status::partial);
  EXPECT_EQ(integer_at(result, "by_op", 1, "payload_bytes"), -1);
  EXPECT_TRUE(std::isnan(real_at(result, "by_op", 1, "busbw_bytes_per_s")));
}

TEST(Communication, SizeBucketsCompareWithTheOneWayPeakOfTheLink) {
  SmallRun run = two_ranks();
  const MetricResult result = run.result("communication");
  ASSERT_EQ(table(result, "by_size").rows_count, 1);
  EXPECT_EQ(integer_at(result, "by_size", 0, "size_log2"), 9);
  EXPECT_DOUBLE_EQ(real_at(result, "by_size", 0, "share_of_peak_ratio"), 2000 * 1e9 / 200 / 300e9);
}

}  // namespace
}  // namespace ccl::test
