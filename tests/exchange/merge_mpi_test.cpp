#include <gtest/gtest.h>

#include <algorithm>

#include "exchange/merge.hpp"
#include "support/mpi_world.hpp"

namespace ccl {
namespace {

using test::world;

/// A metric that is only a list of numbers.
class Numbers final : public Metric {
 public:
  std::vector<std::int64_t> numbers;
  const MetricInfo& info() const override { return info_; }
  void local(const RankTrace&, const LocalContext&) override {}
  void settle(std::span<const BatchKey>) override {}
  void matched(const MatchedCollectives&, const ClosingContext&) override {}
  void closing(const ClosingRank&, const ClosingContext&) override {}
  void snapshot(const MemorySnapshot&, const LocalContext&) override {}
  void graph(const MeasuredGraph&, const ClosingContext&) override {}
  std::int64_t rows_bytes() const override { return static_cast<std::int64_t>(8 * numbers.size()); }
  void pack(ByteWriter& out) override { out.array(std::exchange(numbers, {})); }
  void absorb(ByteReader& in) override {
    for (const std::int64_t n : in.array<std::int64_t>()) numbers.push_back(n);
  }
  MetricResult result(const ReportContext&, const Resolver&) override { return {}; }
  std::vector<ResultMatrix> take_matrices() override { return {}; }
  void weigh(int weight) { info_.report_weight = weight; }

 private:
  MetricInfo info_;
};

/// A text and a warning that name the worker.
void say_who(int me, StringTable& strings, Problems& problems) {
  strings.intern("text of worker " + std::to_string(me));
  Problem cut;
  cut.code = Code::file_cut;
  cut.file = std::to_string(me);
  problems.add(cut);
}

TEST(Merge, RowsTextsAndWarningsReachTheFirstWorker) {
  const int me = world().worker(), workers = world().num_workers();
  std::vector<std::unique_ptr<Metric>> metrics;
  for (int i = 0; i < 2; ++i) metrics.push_back(std::make_unique<Numbers>());
  // Worker w has w numbers in the first metric; only the last worker has one in the second.
  for (int i = 0; i < me; ++i) static_cast<Numbers&>(*metrics[0]).numbers.push_back(me);
  if (me == workers - 1) static_cast<Numbers&>(*metrics[1]).numbers.push_back(77);
  StringTable strings;
  Problems problems;
  say_who(me, strings, problems);

  const std::int64_t before = world().sent_bytes();
  world().sum(std::vector<std::int64_t>(metrics.size()));  // how many bytes of each metric there are
  const std::int64_t sizes_bytes = world().sent_bytes() - before;
  EXPECT_EQ(merge(metrics, {0, 0}, strings, problems, world()) > sizes_bytes, me > 0);
  if (me > 0) return;
  const auto& first = static_cast<Numbers&>(*metrics[0]).numbers;
  for (int w = 0; w < workers; ++w) {
    EXPECT_EQ(std::count(first.begin(), first.end(), w), w);
    const std::string text = "text of worker " + std::to_string(w);
    EXPECT_EQ(strings.text(string_id(text)), text);
  }
  EXPECT_EQ(static_cast<Numbers&>(*metrics[1]).numbers, std::vector<std::int64_t>{77});
  EXPECT_EQ(problems.count(Code::file_cut), workers);
}

TEST(Merge, RowsOfAMetricEndWithItsOwner) {
  const int me = world().worker(), workers = world().num_workers();
  std::vector<std::unique_ptr<Metric>> metrics;
  std::vector<int> owners;
  for (int i = 0; i < 7; ++i) {
    auto& metric = static_cast<Numbers&>(*metrics.emplace_back(std::make_unique<Numbers>()));
    metric.numbers = {100 * i + me};
    owners.push_back(i % workers);
  }
  StringTable strings;
  Problems problems;
  say_who(me, strings, problems);
  merge(metrics, owners, strings, problems, world());
  for (int w = 0; w < workers; ++w) {
    const std::string text = "text of worker " + std::to_string(w);
    EXPECT_EQ(strings.text(string_id(text)), text);
  }
  if (me == 0) {
    EXPECT_EQ(problems.count(Code::file_cut), workers);
  }
  for (int i = 0; i < 7; ++i) {
    if (owners[static_cast<std::size_t>(i)] != me) continue;
    auto& numbers = static_cast<Numbers&>(*metrics[static_cast<std::size_t>(i)]).numbers;
    std::sort(numbers.begin(), numbers.end());
    std::vector<std::int64_t> all;
    for (int w = 0; w < workers; ++w) all.push_back(100 * i + w);
    EXPECT_EQ(numbers, all);
  }
}

TEST(Merge, RowsThatDoNotFitInOneMessageAllArrive) {
  constexpr std::size_t count = 3'000'000;  // 24 MB a worker, of two metrics between which one has none
  const int me = world().worker(), workers = world().num_workers();
  std::vector<std::unique_ptr<Metric>> metrics;
  for (const std::size_t rows : {count, std::size_t{0}, count})
    static_cast<Numbers&>(*metrics.emplace_back(std::make_unique<Numbers>())).numbers.assign(rows, me + 1);
  StringTable strings;
  Problems problems;
  say_who(me, strings, problems);
  const int last = workers - 1;
  merge(metrics, {0, 0, last}, strings, problems, world());
  for (const auto& [metric, owner] : {std::pair(0, 0), std::pair(2, last)}) {
    const auto& numbers = static_cast<Numbers&>(*metrics[static_cast<std::size_t>(metric)]).numbers;
    if (owner != me) continue;
    EXPECT_EQ(numbers.size(), count * static_cast<std::size_t>(workers));
    for (int w = 0; w < workers; ++w) EXPECT_EQ(std::count(numbers.begin(), numbers.end(), w + 1), count);
  }
  if (me == 0) {
    EXPECT_EQ(problems.count(Code::file_cut), workers);
  }
}

TEST(Merge, ReportsAreSharedByTheirRows) {
  std::vector<std::unique_ptr<Metric>> metrics;
  for (const std::size_t count : {3, 10, 0, 7})
    static_cast<Numbers&>(*metrics.emplace_back(std::make_unique<Numbers>())).numbers.resize(count);
  // The largest first, each to whoever has least: 10 | 7 + 3 | …; of equal loads the first worker.
  const std::vector<int> of_two{1, 0, 0, 1}, of_three{2, 0, 2, 1}, of_more{2, 0, 3, 1};
  const int workers = world().num_workers();
  EXPECT_EQ(share_reports(metrics, world()), workers == 1   ? std::vector<int>(4, 0)
                                             : workers == 2 ? of_two
                                             : workers == 3 ? of_three
                                                            : of_more);
}

TEST(Merge, AReportThatTakesLongForItsRowsCountsForMore) {
  std::vector<std::unique_ptr<Metric>> metrics;
  for (const std::size_t count : {10, 4, 7})
    static_cast<Numbers&>(*metrics.emplace_back(std::make_unique<Numbers>())).numbers.resize(count);
  static_cast<Numbers&>(*metrics[1]).weigh(5);
  if (world().num_workers() == 2) {
    EXPECT_EQ(share_reports(metrics, world()), (std::vector<int>{1, 0, 1}));  // 5 x 4 | 10 + 7
  }
}

TEST(Merge, WhatIsAllTheFirstWorkersStaysThere) {
  std::vector<std::unique_ptr<Metric>> metrics;
  for (const std::size_t count : {3, 10, 0, 7})
    static_cast<Numbers&>(*metrics.emplace_back(std::make_unique<Numbers>())).numbers.resize(world().is_first() ? count : 0);
  EXPECT_EQ(share_reports(metrics, world()), std::vector<int>(4, 0));
}

}  // namespace
}  // namespace ccl
