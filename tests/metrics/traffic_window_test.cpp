#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

TraceBuilder with_groups() {
  TraceBuilder builder;
  builder.rank(0).step(1, 0, 10000);
  builder.group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp).group("tp", "mesh_tp", {0, 2}, -1, Dimension::tp);
  return builder;
}

TEST(TrafficWindow, ConsecutiveKernelsOfOneDimensionAreOnePhase) {
  SmallRun run;
  run.add(with_groups()
              .collective(CollectiveOp::all_gather, "dp", 64, 0, 500)
              .collective(CollectiveOp::all_gather, "dp", 64, 100, 100)
              .collective(CollectiveOp::all_reduce, "tp", 64, 700, 50)
              .build());
  const MetricResult result = run.result("traffic_window");
  EXPECT_EQ(table(result, "by_pair").rows_count, 1);
  EXPECT_DOUBLE_EQ(headline(result, "dp_to_tp_positive_mean_ns"), 200);
  EXPECT_EQ(integer_at(result, "rows", 0, "phases_count"), 2);
}

TEST(TrafficWindow, OverlappingPhasesAreKeptAsNegativeWindows) {
  SmallRun run;
  run.add(with_groups()
              .collective(CollectiveOp::all_gather, "dp", 64, 0, 500)
              .stream(9)
              .collective(CollectiveOp::all_reduce, "tp", 64, 400, 200)
              .stream(7)
              .collective(CollectiveOp::all_gather, "dp", 64, 900, 10)
              .build());
  const MetricResult result = run.result("traffic_window");
  EXPECT_EQ(headline(result, "positive_mean_ns"), 300);
  EXPECT_EQ(integer_at(result, "rows", 0, "negative_ns"), -100);
  EXPECT_EQ(headline(result, "windows_count"), 2);
}

TEST(TrafficWindow, ThePageHasTheLongestPairsAndSaysHowManyAreLeftOut) {
  TraceBuilder builder = with_groups();
  builder.group("pp", "mesh_pp", {0, 4}, -1, Dimension::pp);
  std::int64_t t = 0;
  // tp and dp overlap; what lies before and behind pp is longer each time.
  for (const auto& [group, gap_ns] :
       {std::pair{"dp", 0}, {"tp", -10}, {"dp", -10}, {"pp", 50}, {"tp", 200}, {"pp", 100}, {"dp", 400}}) {
    t += gap_ns;
    builder.collective(CollectiveOp::all_reduce, group, 64, t, 20);
    t += 20;
  }
  SmallRun run;
  run.add(builder.build());
  const MetricResult result = run.result("traffic_window");
  EXPECT_NE(page_of(result).find("phases: pp to dp 0.40 us (1 of 1), pp to tp 0.20 us (1 of 1), tp to pp 0.10 us (1 of 1), "
                                 "dp to pp 0.05 us (1 of 1); 2 more are shorter"),
            std::string::npos)
      << page_of(result);
}

TEST(TrafficWindow, GapsWithinAGroup) {
  SmallRun run;
  run.add(with_groups()
              .collective(CollectiveOp::all_gather, "dp", 64, 0, 100)
              .collective(CollectiveOp::all_gather, "dp", 64, 140, 100)
              .collective(CollectiveOp::all_gather, "dp", 64, 300, 100)
              .build());
  const MetricResult result = run.result("traffic_window");
  EXPECT_EQ(result.report.status, Status::not_applicable);
  EXPECT_DOUBLE_EQ(std::get<double>(cell_at(table(result, "by_group"), 0, "mean_ns")), 50);
}

}  // namespace
}  // namespace ccl::test
