#include <gtest/gtest.h>

#include "metrics/metric.hpp"
#include "support/small_run.hpp"

namespace ccl {
namespace {

struct Counted {
  std::int64_t name = 0, count = 0;
  auto key() const { return name; }
  void combine(const Counted& other) { count += other.count; }
};

TEST(RowTables, FoldingAsListsDoubleKeepsFewRowsAndEverySum) {
  RowTables<Counted> tables;
  std::vector<Counted>& rows = tables.of<Counted>();
  std::size_t most = 0;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    rows.push_back({i % 50, 1});
    tables.fold_when_doubled<Counted>();
    most = std::max(most, rows.size());
  }
  EXPECT_LT(most, 1200U);
  sort_and_fold(rows);
  ASSERT_EQ(rows.size(), 50U);
  for (const Counted& row : rows) EXPECT_EQ(row.count, 2000);
}

TEST(RowTables, RowsThatAllDifferAreAllKept) {
  RowTables<Counted> tables;
  for (std::int64_t i = 5000; i > 0; --i) {
    tables.of<Counted>().push_back({i, i});
    tables.fold_all_when_doubled();
  }
  EXPECT_EQ(tables.of<Counted>().size(), 5000U);
}

TEST(RowTables, ListsInOrderAndTwoBehindEachOtherFoldAsAnyOther) {
  const std::vector<Counted> ordered{{1, 1}, {2, 2}, {2, 20}, {5, 5}}, more{{0, 7}, {2, 200}, {9, 9}}, mixed{{5, 1}, {0, 1}, {5, 2}};
  const auto folded = [](std::vector<Counted> rows, const std::vector<Counted>& behind) {
    rows.insert(rows.end(), behind.begin(), behind.end());
    sort_and_fold(rows);
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    for (const Counted& row : rows) out.emplace_back(row.name, row.count);
    return out;
  };
  using Expected = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(folded(ordered, {}), (Expected{{1, 1}, {2, 22}, {5, 5}}));
  EXPECT_EQ(folded(ordered, more), (Expected{{0, 7}, {1, 1}, {2, 222}, {5, 5}, {9, 9}}));
  EXPECT_EQ(folded(ordered, mixed), (Expected{{0, 1}, {1, 1}, {2, 22}, {5, 8}}));
  EXPECT_EQ(folded({}, {}), Expected{});
}

TEST(RowTables, SortedRowsOfAnotherWorkerFoldAsAnyOther) {
  const auto added = [](std::vector<Counted> rows, const std::vector<Counted>& more) {
    ByteWriter out;
    out.array(more);
    out.value(std::uint8_t{77});
    const Bytes came = out.take();
    ByteReader in(came);
    add_sorted(in, rows);
    EXPECT_EQ(in.value<std::uint8_t>(), 77) << "what comes behind them is still there";
    std::vector<std::pair<std::int64_t, std::int64_t>> seen;
    for (const Counted& row : rows) seen.emplace_back(row.name, row.count);
    return seen;
  };
  using Expected = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(added({{1, 1}, {2, 2}, {5, 5}}, {{0, 7}, {2, 200}, {9, 9}}), (Expected{{0, 7}, {1, 1}, {2, 202}, {5, 5}, {9, 9}}));
  EXPECT_EQ(added({{1, 1}}, {}), (Expected{{1, 1}}));
  EXPECT_EQ(added({}, {{1, 1}, {3, 1}}), (Expected{{1, 1}, {3, 1}}));
}

struct OfRank {
  static constexpr bool until_closing = true;
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  int value = 0;
};

TEST(RowTables, RowsUntilClosingAreFoundByTheirRank) {
  const std::vector<OfRank> rows{{{0, 1}, RankId(3), -1, 1}, {{0, 2}, RankId(3), -1, 2}, {{0, 1}, RankId(4), -1, 3},
                                 {{1, 1}, RankId(3), -1, 4}};  // by iteration, replica and rank
  RankEntry entry;
  entry.iteration = 0;
  entry.rank = RankId(3);
  const auto own = rows_of(rows, entry);
  ASSERT_EQ(own.size(), 2U);
  EXPECT_EQ(own[1].value, 2);
  entry.iteration = 1;
  EXPECT_EQ(rows_of(rows, entry).front().value, 4);
  entry.rank = RankId(5);
  EXPECT_TRUE(rows_of(rows, entry).empty());
}

struct StepRow {
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  std::int64_t end_ns = 0;
  auto key() const { return std::tuple(step, rank, replica); }
  static TableInfo table() { return {}; }
  static std::vector<ColumnSpec<StepRow>> columns(const Resolver&) { return {}; }
};
struct RankRow {
  std::int32_t iteration = -1;
  RankId rank;
  std::int64_t steps_count = 0;
  auto key() const { return std::tuple(iteration, rank); }
  static TableInfo table() { return {}; }
  static std::vector<ColumnSpec<RankRow>> columns(const Resolver&) { return {}; }
};
struct TwoLists {
  static MetricInfo info() { return {}; }
  using Tables = RowTables<StepRow, RankRow>;
  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    for (const Step& step : trace.steps) {
      out.of<StepRow>().emplace_back().step.step = step.number;
      out.of<StepRow>().back().end_ns = step.end_ns;
    }
    if (!trace.steps.empty()) out.of<RankRow>().emplace_back().steps_count = static_cast<std::int64_t>(trace.steps.size());
  }
  static void report(const Tables&, const ReportContext&, Report&) {}
};

// Rows of all traces lie in one list, those of the second are dropped, the third has none, the last none of a step.
TEST(RowTables, EachTraceGetsItsKeys) {
  const auto metric = define_metric<TwoLists>();
  const Classifier classifier(merged_settings("kernels", Config()));
  StringTable strings;
  const Config config;
  const Workload workload;
  const auto traced = [](std::vector<std::int64_t> ends_ns) {
    RankTrace trace;
    for (const std::int64_t end_ns : ends_ns) {
      Step& step = trace.steps.emplace_back();
      step.number = static_cast<std::int64_t>(trace.steps.size());
      step.end_ns = end_ns;
    }
    return trace;
  };
  for (const auto& ends_ns : std::vector<std::vector<std::int64_t>>{{10, 20}, {30}, {}, {40, 50, 60}, {70}})
    metric->local(traced(ends_ns), {config, workload, classifier, strings});
  const std::vector<Metric::BatchKey> keys{{7, RankId(5), true, -1, 0}, {7, RankId(1), false, -1, 0},
                                           {7, RankId(2), true, -1, 0}, {7, RankId(3), true, 1, 100},
                                           {7, RankId(4), true, -1, 0, false}};
  metric->settle(keys);
  ByteWriter out;
  metric->pack(out);
  const Bytes packed = out.take();
  ByteReader in(packed);
  const auto steps = in.array<StepRow>();
  std::vector<std::tuple<std::int64_t, std::int32_t, std::int32_t, std::int64_t>> seen;
  for (const StepRow& row : steps) {
    EXPECT_EQ(row.step.iteration, 7);
    seen.emplace_back(row.step.step, row.rank.value, row.replica, row.end_ns);
  }
  EXPECT_EQ(seen, (decltype(seen){{1, 5, -1, 10}, {2, 5, -1, 20}, {101, 3, 1, 40}, {102, 3, 1, 50}, {103, 3, 1, 60}}));
  const auto ranks = in.array<RankRow>();
  ASSERT_EQ(ranks.size(), 3U);
  EXPECT_EQ(ranks[0].rank, RankId(3));
  EXPECT_EQ(ranks[0].steps_count, 3);
  EXPECT_EQ(ranks[1].rank, RankId(4));
  EXPECT_EQ(ranks[1].steps_count, 1) << "what is told of the whole file stays";
  EXPECT_EQ(ranks[2].rank, RankId(5));
  EXPECT_EQ(ranks[2].steps_count, 2);
}

TEST(RowTables, RanksOfSortedRowsAreListedOnce) {
  std::vector<OfRank> rows;
  for (std::int64_t step = 0; step < 3; ++step)
    for (const int rank : {2, 2, 5, 9}) rows.push_back({{0, step}, RankId(rank), -1, 0});
  std::vector<RankId> ranks{RankId(1), RankId(5)};
  add_ranks(rows, ranks);
  sort_unique(ranks);
  EXPECT_EQ(ranks, (std::vector{RankId(1), RankId(2), RankId(5), RankId(9)}));
}

}  // namespace
}  // namespace ccl
