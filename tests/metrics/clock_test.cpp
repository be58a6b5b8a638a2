#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

RankTrace any_trace(std::int32_t rank) { return TraceBuilder().rank(rank).step(0, 0, 10).kernel("gemm", 0, 5).build(); }

TEST(Clock, OneHostNeedsNoCorrection) {
  SmallRun run;
  run.add(any_trace(0)).add(any_trace(1));
  run.clock.residual_ns = 12300;
  const MetricResult result = run.result("clock");
  EXPECT_EQ(page_of(result), "clock         one host, nothing to correct; common ends agree within 12.3 us (p95)");
  EXPECT_EQ(headline(result, "largest_offset_ns"), 0);
  EXPECT_EQ(headline(result, "residual_ns"), 12300);
}

TEST(Clock, HostsCarryOffsetDriftAndRanks) {
  SmallRun run;
  run.add(any_trace(0), "a").add(any_trace(1), "a").add(any_trace(2), "b");
  run.clock.hosts[1] = {-2'500'000, 40, 900, 33, true};
  run.clock.residual_ns = 900;
  const MetricResult result = run.result("clock");
  ASSERT_EQ(table(result, "rows").rows_count, 2);
  EXPECT_EQ(text_at(result, "rows", 0, "ranks"), "0, 1");
  EXPECT_EQ(integer_at(result, "rows", 1, "offset_ns"), -2'500'000);
  EXPECT_EQ(integer_at(result, "rows", 1, "drift_ppb"), 40);
  EXPECT_EQ(headline(result, "largest_offset_ns"), 2'500'000);
  EXPECT_NE(page_of(result).find("2 hosts, corrected by up to 2500 us"), std::string::npos) << page_of(result);
}

// 0.5 s and 50 ppm: times of the file are 0.5 s off, and the drift since t_ref counts that too.
TEST(Clock, ThePageTellsWhatIsReallyApplied) {
  SmallRun run;
  run.add(any_trace(0), "a");
  run.add(TraceBuilder().rank(1).step(0, 500'000'000, 500'000'010).kernel("gemm", 500'000'000, 5).build(), "b");
  run.clock.hosts[1] = {-499'975'000, -50'000, 900, 33, true};
  const MetricResult result = run.result("clock");
  EXPECT_EQ(headline(result, "largest_offset_ns"), 499'975'000);
  EXPECT_EQ(headline(result, "largest_correction_ns"), 500'000'000);
  EXPECT_NE(page_of(result).find("corrected by up to 500000 us"), std::string::npos) << page_of(result);
}

TEST(Clock, AHostWithoutAPathIsSaidToBeUncorrected) {
  SmallRun run;
  run.add(any_trace(0), "a").add(any_trace(1), "b");
  run.clock.hosts[1].corrected = false;
  const MetricResult result = run.result("clock");
  EXPECT_EQ(result.report.status, Status::partial);
  EXPECT_EQ(result.report.reason, "1 host without a path to the reference host");
  EXPECT_TRUE(std::isnan(headline(result, "residual_ns")));
}

}  // namespace
}  // namespace ccl::test
