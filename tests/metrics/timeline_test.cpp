#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "metrics/timeline_bins.hpp"
#include "support/small_run.hpp"

namespace ccl::test {
namespace {

Intervals random_busy(std::mt19937& random) {
  Intervals list;
  for (int i = 0; i < 30; ++i) {
    const auto start = static_cast<std::int64_t>(100 + random() % 800);
    list.push_back({start, std::min<std::int64_t>(start + static_cast<std::int64_t>(random() % 40), 900)});
  }
  return merge_intervals(list);
}

std::int64_t sum_inside(const std::vector<std::int32_t>& values) {
  std::int64_t total = 0;
  for (const std::int32_t value : values) total += std::max(value, 0);
  return total;
}

TEST(TimelineBins, SumOverBinsIsTheWholeBudgetInsideTheCapture) {
  std::mt19937 random(11);
  for (const std::int64_t bins : {1, 7, 100, 1000, 5000}) {
    const Intervals c = random_busy(random), k = random_busy(random), m = random_busy(random);
    const Budget whole = budget(c, k, m, {100, 900});
    const BinnedBudget binned = bin_budget(c, k, m, {100, 900}, equal_bins({0, 1003}, bins));
    EXPECT_EQ(sum_inside(binned.compute_ns), whole.compute_ns) << bins;
    EXPECT_EQ(sum_inside(binned.communication_ns), whole.communication_ns) << bins;
    EXPECT_EQ(sum_inside(binned.overlap_ns), whole.overlap_ns) << bins;
    EXPECT_EQ(sum_inside(binned.memory_only_ns), whole.memory_only_ns) << bins;
    EXPECT_EQ(sum_inside(binned.idle_ns), whole.idle_ns) << bins;
  }
}

TEST(TimelineBins, TheSameOnAnyNumberOfLentProcessors) {
  std::mt19937 random(12);
  for (const std::int64_t bins : {1, 2, 7, 100, 1000}) {
    const Intervals c = random_busy(random), k = random_busy(random), m = random_busy(random);
    const TimeBins all = equal_bins({0, 1003}, bins);
    const BinnedBudget alone = bin_budget(c, k, m, {100, 900}, all);
    for (const std::size_t lent : {1U, 2U, 3U}) {
      const BinnedBudget shared = bin_budget(c, k, m, {100, 900}, all, std::vector<Processors>(lent, own_processors()));
      EXPECT_EQ(shared.compute_ns, alone.compute_ns) << bins << ", " << lent;
      EXPECT_EQ(shared.communication_ns, alone.communication_ns) << bins << ", " << lent;
      EXPECT_EQ(shared.overlap_ns, alone.overlap_ns) << bins << ", " << lent;
      EXPECT_EQ(shared.memory_only_ns, alone.memory_only_ns) << bins << ", " << lent;
      EXPECT_EQ(shared.idle_ns, alone.idle_ns) << bins << ", " << lent;
    }
  }
}

TEST(TimelineBins, OutsideTheCaptureNothingIsKnown) {
  const Intervals k{{25, 30}};
  const BinnedBudget binned = bin_budget({}, k, {}, {25, 45}, equal_bins({0, 60}, 6));
  EXPECT_EQ(binned.compute_ns, (std::vector<std::int32_t>{-1, -1, 5, 0, 0, -1}));
  EXPECT_EQ(binned.idle_ns, (std::vector<std::int32_t>{-1, -1, 0, 10, 5, -1}));
}

TEST(TimelineBins, BinsAreOfEqualIntegerWidthAndCoverTheSpan) {
  const TimeBins bins = equal_bins({50, 1053}, 1000);
  EXPECT_EQ(bins.width_ns, 2);
  EXPECT_EQ(bins.edges().size(), 1001U);
  EXPECT_EQ(bins.edges().front(), 50);
  EXPECT_GE(bins.edges().back(), 1053);
}

TEST(TimelineBins, LongCapturesGetMoreBinsSoThatCellsFit) {
  const std::int64_t day_ns = 86'400'000'000'000;
  const TimeBins bins = equal_bins({0, day_ns}, 10);
  EXPECT_LE(bins.width_ns, INT32_MAX);
  EXPECT_GE(bins.edge_ns(bins.count), day_ns);
  const Intervals k{{0, day_ns}};
  EXPECT_EQ(sum_inside(bin_budget({}, k, {}, {0, day_ns}, bins).compute_ns), day_ns);
}

SmallRun two_hosts() {
  SmallRun run;
  run.config.timeline_bins = 10;
  run.add(TraceBuilder()
              .iteration(3)
              .rank(0)
              .kernel("gemm", 0, 50)
              .collective(CollectiveOp::all_reduce, "", 8, 50, 50)
              .build(),
          "a");
  run.add(TraceBuilder().iteration(3).rank(1).kernel("gemm", 1000, 50).device(1).kernel("gemm", 1050, 20).build(), "b");
  run.clock.hosts[1].offset_ns = -1000;
  return run;
}

const ResultMatrix& matrix(const SmallRun& run, std::string_view path) {
  for (const ResultMatrix& found : run.matrices)
    if (found.path == path) return found;
  throw std::logic_error("no matrix " + std::string(path));
}

TEST(Timeline, RowsAreRanksAndDevicesOnTheCorrectedClock) {
  SmallRun run = two_hosts();
  const MetricResult result = run.result("timeline");
  const ResultMatrix& compute = matrix(run, "/timeline/iteration_3/compute_ns");
  ASSERT_EQ(compute.rows_total, 3);
  EXPECT_EQ(compute.row_numbers, (std::vector<std::int64_t>{0, 1, 2}));
  ASSERT_EQ(compute.columns_count, 10);
  const std::vector<std::int32_t> rank_0{10, 10, 10, 10, 10, 0, 0, 0, 0, 0};
  const std::vector<std::int32_t> rank_1_gpu_0{10, 10, 10, 10, 10, 0, 0, -1, -1, -1};
  const std::vector<std::int32_t> rank_1_gpu_1{0, 0, 0, 0, 0, 10, 10, -1, -1, -1};
  const auto row = [&](int r) {
    return std::vector<std::int32_t>(compute.values.begin() + 10 * r, compute.values.begin() + 10 * r + 10);
  };
  EXPECT_EQ(row(0), rank_0);
  EXPECT_EQ(row(1), rank_1_gpu_0);
  EXPECT_EQ(row(2), rank_1_gpu_1);
  ASSERT_EQ(result.report.vectors.size(), 4U);
  EXPECT_EQ(result.report.vectors[0].path, "/timeline/iteration_3/bin_edges_ns");
  EXPECT_EQ(result.report.vectors[1].values, (std::vector<std::int64_t>{0, 1, 1}));
  EXPECT_EQ(result.report.vectors[2].values, (std::vector<std::int64_t>{0, 0, 1}));
  EXPECT_TRUE(result.report.page.empty());
}

TEST(Timeline, ClocksThatAreNotKnownMakeItAbsent) {
  SmallRun run = two_hosts();
  run.clock.residual_ns = 3'600'000'000'000;
  const MetricResult result = run.result("timeline");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_NE(result.report.reason.find("the clocks of the ranks are known to 3600 s only"), std::string::npos)
      << result.report.reason;
  EXPECT_TRUE(run.matrices.empty());
  EXPECT_TRUE(result.report.vectors.empty());
  run.clock.residual_ns = 5;
  EXPECT_EQ(run.result("timeline").report.status, Status::ok);
  run.clock.hosts[1].corrected = false;
  const MetricResult own = run.result("timeline");
  EXPECT_EQ(own.report.status, Status::partial);
  EXPECT_EQ(own.report.reason, "hosts without a common clock: the rows of their ranks are on clocks of their own");
}

TEST(Timeline, AFileOfAnotherDayIsOffTheTimeline) {
  SmallRun run = two_hosts();
  const std::int64_t year_ns = 365 * 86'400'000'000'000;
  run.add(TraceBuilder().iteration(3).rank(2).kernel("gemm", year_ns, 50).build(), "a");
  (void)run.result("timeline");
  const ResultMatrix& compute = matrix(run, "/timeline/iteration_3/compute_ns");
  ASSERT_EQ(compute.columns_count, 10);
  EXPECT_EQ(std::vector<std::int32_t>(compute.values.end() - 10, compute.values.end()),
            std::vector<std::int32_t>(10, -1));
  EXPECT_EQ(compute.values.front(), 10);
}

TEST(Timeline, ADamagedTimeDoesNotMakeBinsWithoutNumber) {
  const std::int64_t decades_ns = std::int64_t{30} * 365 * 86'400'000'000'000;
  SmallRun run;
  run.config.timeline_bins = 10;
  run.add(TraceBuilder().rank(0).kernel("gemm", -decades_ns, 50).kernel("gemm", 0, 50).build(), "a");
  run.add(TraceBuilder().rank(1).kernel("gemm", 0, 100).build(), "a");
  run.add(TraceBuilder().rank(2).kernel("gemm", 20, decades_ns).build(), "a");
  (void)run.result("timeline");
  const ResultMatrix& compute = matrix(run, "/timeline/iteration_-1/compute_ns");
  ASSERT_EQ(compute.columns_count, 10);
  EXPECT_EQ(compute.values, (std::vector<std::int32_t>{10, 10, 10, 10, 10, -1, -1, -1, -1, -1,    //
                                                       10, 10, 10, 10, 10, 10, 10, 10, 10, 10,    //
                                                       -1, -1, 10, 10, 10, 10, 10, 10, 10, 10}));
}

TEST(Timeline, WhereNoCaptureMayBeRightThereIsNone) {
  SmallRun run;
  run.config.timeline_bins = 10;
  run.add(TraceBuilder().rank(0).kernel("gemm", 0, 50).kernel("gemm", INT64_MAX / 4, 50).build(), "a");
  const MetricResult result = run.result("timeline");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_TRUE(run.matrices.empty());
}

TEST(Timeline, EveryWorkerKnowsWhereItsRowsBelong) {
  SmallRun alone = two_hosts(), many = two_hosts();
  (void)alone.result("timeline");
  (void)many.result("timeline", 5, 4);
  std::vector<std::pair<std::int64_t, std::int32_t>> cells[2];
  for (const SmallRun* run : {&alone, &many})
    for (const ResultMatrix& m : run->matrices)
      if (m.path == "/timeline/iteration_3/idle_ns")
        for (std::size_t i = 0; i < m.values.size(); ++i)
          cells[run == &many].push_back({m.row_numbers[i / 10] * 10 + static_cast<std::int64_t>(i % 10), m.values[i]});
  for (auto& list : cells) std::sort(list.begin(), list.end());
  EXPECT_EQ(cells[0], cells[1]);
  EXPECT_EQ(cells[0].size(), 30U);
}

}  // namespace
}  // namespace ccl::test
