#include <gtest/gtest.h>

#include "exchange/merge.hpp"
#include "support/mpi_world.hpp"

namespace ccl {
namespace {

using test::world;

/// Adds 10 per call of local() to the row of the rank it is settled on.
struct Tally {
  static MetricInfo info() { return {.name = "tally"}; }
  struct Row {
    RankId rank;
    std::int64_t sum_count = 0;
    static TableInfo table() { return {}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) { return {}; }
    auto key() const { return std::tuple(rank); }
    void combine(const Row& other) { sum_count += other.sum_count; }
  };
  using Tables = RowTables<Row>;
  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    out.of<Row>().push_back({RankId(), trace.events_count});
  }
  static void report(const Tables& tables, const ReportContext&, Report& report) {
    std::int64_t sum = 0;
    for (const Row& row : tables.of<Row>()) sum += row.sum_count;
    report.value("sum_count", static_cast<double>(sum));
    report.value("rows_count", static_cast<double>(tables.of<Row>().size()));
  }
};

double headline(const MetricResult& result, const std::string& name) {
  for (const Headline& h : result.report.headlines)
    if (h.name == name) return h.value;
  return -1;
}

TEST(Merge, RowsTextsAndWarningsReachTheFirstWorker) {
  const int me = world().worker(), workers = world().num_workers();
  std::vector<std::unique_ptr<Metric>> metrics;
  metrics.push_back(define_metric<Tally>());
  StringTable strings;
  Problems problems;
  const Config config;
  const Workload workload;
  const Classifier* nothing = nullptr;  // Tally does not look at names
  const LocalContext context{config, workload, *nothing, strings};
  RankTrace trace;
  trace.events_count = me + 1;
  metrics[0]->local(trace, context);
  metrics[0]->local(trace, context);
  // Rank 0 is seen by every worker (its rows fold), the other one by this worker alone.
  const std::vector<Metric::BatchKey> keys{{-1, RankId(0), true}, {-1, RankId(me + 1), true}};
  metrics[0]->settle(keys);
  strings.intern("text of worker " + std::to_string(me));
  problems.add({.code = Code::file_cut, .file = std::to_string(me)});

  const std::int64_t bytes = merge(metrics, strings, problems, world());
  EXPECT_EQ(bytes > 0, me > 0);
  if (me > 0) return;
  const Ranks ranks;
  const Groups groups;
  const ClockModel clock;
  const ReportContext report{config, workload, ranks, groups, clock, strings, problems};
  const Resolver resolver{strings, groups};
  const MetricResult result = metrics[0]->result(report, resolver);
  EXPECT_EQ(headline(result, "sum_count"), workers * (workers + 1));
  EXPECT_EQ(headline(result, "rows_count"), workers + 1);
  EXPECT_EQ(problems.count(Code::file_cut), workers);
  for (int w = 0; w < workers; ++w) {
    const std::string text = "text of worker " + std::to_string(w);
    EXPECT_EQ(strings.text(string_id(text)), text);
  }
}

}  // namespace
}  // namespace ccl
