#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "store/plain_text.hpp"
#include "store/sample_results.hpp"

namespace ccl {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

MetricResult with_line(PageSection section, const std::string& line) {
  MetricResult metric = test::sample_metric();
  metric.info.section = section;
  metric.report.page = {line};
  return metric;
}

TEST(SummaryPage, StatesInputAndCoverageFirstAndTheFileLast) {
  test::Run run = test::sample_run();
  run.config.output.hdf5 = "out.h5";
  const std::vector<std::string> lines = lines_of(summary_page(run.results()));
  ASSERT_GE(lines.size(), 5U);
  EXPECT_EQ(lines[0], "input         /somewhere/traces, run run1: 4 files (kineto), 4.00 MB");
  EXPECT_EQ(lines[1], "ranks         4 of 5 analysed, missing rank 4; world size 4; mesh dp_shard=2 tp=2 (from card)");
  EXPECT_EQ(lines[2], "steps         1 step in iteration 10; 4 GPUs (NVIDIA H100) on 2 hosts (hosts from: content)");
  EXPECT_EQ(lines[3], "warnings      1 data_loss, 1 notice: file_cut 1, missing_ranks 1");
  EXPECT_EQ(lines[4], "lost          rank 1, iteration_10/rank1_trace.json: file_cut at byte 99 (events before the cut are");
  EXPECT_EQ(lines[5], "              used; check that the profiler finished writing)");
  EXPECT_EQ(lines.back(), "results       out.h5");
}

TEST(SummaryPage, RanksWithoutGpuEventsOrHostAreNotCountedAsIfTheyHadThem) {
  test::Run run = test::sample_run();
  RankEntry& last = run.ranks.entries.back();
  last.status = RankStatus::no_gpu_events;
  last.host_source = HostSource::unknown;
  const std::string page = summary_page(run.results());
  const std::string rank = std::to_string(last.rank.value);
  EXPECT_THAT(page, HasSubstr("ranks         3 of 5 analysed, no GPU events on rank " + rank + ", missing rank 4;"));
  EXPECT_THAT(page, HasSubstr("hosts (hosts from: content; of 1\n              rank unknown)"));
  for (RankEntry& entry : run.ranks.entries) entry.host_source = HostSource::unknown;
  EXPECT_THAT(summary_page(run.results()), HasSubstr(", hosts unknown"));
}

TEST(SummaryPage, WarningsTakeOneLineWorstFirst) {
  test::Run run = test::sample_run();
  for (std::size_t i = 0; i < code_count; ++i) run.problems.add({.code = static_cast<Code>(i), .count = 1000});
  const std::string line = lines_of(summary_page(run.results()))[3];
  EXPECT_THAT(line, StartsWith("warnings      5000 errors, "));
  EXPECT_THAT(line, HasSubstr(": json_invalid 1000"));
  EXPECT_THAT(line, ::testing::EndsWith(" more"));
  EXPECT_LE(line.size(), 100U);
  run.problems = Problems();
  EXPECT_EQ(lines_of(summary_page(run.results()))[3], "warnings      none");
}

TEST(SummaryPage, EachDisagreementOfTheCardHasALine) {
  test::Run run = test::sample_run();
  run.problems.add({.code = Code::card_disagrees, .file = "run.yaml", .detail = "it counts 2 GPUs, the traces are of 8 ranks"});
  run.problems.add({.code = Code::card_disagrees, .file = {}, .detail = "its GPU is another"});
  const std::vector<std::string> lines = lines_of(summary_page(run.results()));
  EXPECT_EQ(lines[6], "card          its GPU is another");
  EXPECT_EQ(lines[7], "card          run.yaml: it counts 2 GPUs, the traces are of 8 ranks");
}

TEST(SummaryPage, SectionsComeInTheirFixedOrder) {
  const test::Run run = test::sample_run();
  Results results = run.results();
  results.metrics = {with_line(PageSection::further, "6 further"), with_line(PageSection::clock, "5 clock"),
                     with_line(PageSection::traffic, "4 traffic"), with_line(PageSection::overlap, "3 overlap"),
                     with_line(PageSection::step_time, "2 step"),  with_line(PageSection::answer, "1 answer")};
  const std::vector<std::string> lines = lines_of(summary_page(results));
  for (std::size_t i = 0; i < 6; ++i) EXPECT_THAT(lines[6 + i], StartsWith(std::to_string(i + 1)));
}

TEST(SummaryPage, MetricsWithoutALineShowTheirFirstValueAndAbsentOnesAreNamed) {
  const test::Run run = test::sample_run();
  Results results = run.results();
  results.metrics = {test::sample_metric("silent"), test::sample_metric("missing")};
  results.metrics[0].report.page.clear();
  results.metrics[1].report.page.clear();
  results.metrics[1].report.absent("no data");
  const std::string page = summary_page(results);
  EXPECT_THAT(page, HasSubstr("silent        mean_ns 12.5\n"));
  EXPECT_THAT(page, HasSubstr("no value      (--metric NAME says why) missing\n"));
}

TEST(SummaryPage, StaysWithinSixtyLinesOfAHundredColumnsWithoutControls) {
  test::Run run = test::sample_run();
  run.input.root = "/data/" + std::string(300, 'x');
  run.ranks.entries[0].facts.gpu = "evil \x1B[2J GPU \xFF\n";
  run.config.output.hdf5 = std::string(300, 'o') + ".h5";
  for (std::size_t i = 0; i < code_count; ++i) run.problems.add({.code = static_cast<Code>(i)});
  Results results = run.results();
  for (int i = 0; i < 100; ++i)
    results.metrics.push_back(with_line(PageSection::further, "kernel \x1B[31m 模型 " + std::string(150, 'k')));
  const std::string page = summary_page(results);
  EXPECT_THAT(page, Not(HasSubstr("\x1B")));
  const std::vector<std::string> lines = lines_of(page);
  EXPECT_THAT(lines.size(), ::testing::AllOf(::testing::Ge(59U), ::testing::Le(60U)));
  for (const std::string& line : lines) EXPECT_LE(display_width(line), 100U) << line;
  EXPECT_THAT(lines[lines.size() - 2], HasSubstr("more lines (--metric NAME, or --report-dir DIR): sample_time"));
}

TEST(SummaryPage, AnEntryStandsWholeOrNotAtAll) {
  const test::Run run = test::sample_run();
  Results results = run.results();
  for (int i = 0; i < 30; ++i) {
    results.metrics.push_back(with_line(PageSection::further, "entry " + std::to_string(i)));
    results.metrics.back().report.page.resize(3, "              more of it");
  }
  const std::vector<std::string> lines = lines_of(summary_page(results));
  EXPECT_LE(lines.size(), 60U);
  ASSERT_THAT(lines[lines.size() - 2], HasSubstr("more lines"));
  for (std::size_t i = 1; i <= 2; ++i) EXPECT_EQ(lines[lines.size() - 2 - i], "              more of it");
  EXPECT_THAT(lines[lines.size() - 5], StartsWith("entry "));
  const std::vector<std::string> whole = lines_of(whole_page(results));
  EXPECT_EQ(whole.size(), 6U + 3 * 30 + 1) << "input, ranks, steps, warnings, lost in two; entries; results";
}

TEST(MetricDetails, ShowDefinitionStatusValuesAndDetails) {
  test::Run run = test::sample_run();
  Results results = run.results();
  results.metrics = {test::sample_metric()};
  results.metrics[0].report.details = {"detail \x1B[1m line"};
  const std::string text = metric_details(results);
  EXPECT_THAT(text, HasSubstr("sample_time [ms]: How long does it take?"));
  EXPECT_THAT(text, HasSubstr("status ok, 4 of 5 ranks"));
  EXPECT_THAT(text, HasSubstr("mean_ns = 12.5  (mean over steps)"));
  EXPECT_THAT(text, HasSubstr("p99_ns = unknown"));
  EXPECT_THAT(text, HasSubstr("worst_rank = rank 3"));
  EXPECT_THAT(text, HasSubstr("detail ?[1m line"));
  EXPECT_THAT(text, StartsWith("sample_time "));
  run.config.input.run = run.input.run = "lr1";
  EXPECT_THAT(metric_details(results), ::testing::MatchesRegex("input         .*, run lr1: [^\n]*\n\nsample_time .*")) << "one of several runs";
}

TEST(ResultsJson, HoldsCoverageMetricsAndWarnings) {
  const test::Run run = test::sample_run();
  Results results = run.results();
  results.metrics = {test::sample_metric()};
  const std::string json = results_json(results);
  EXPECT_THAT(json, HasSubstr("\"ranks_covered\": 4, \"ranks_expected\": 5, \"ranks_missing\": [4]"));
  EXPECT_THAT(json, HasSubstr("\"ranks_whole\": 4, \"ranks_in_part_count\": 0, \"ranks_in_part\": [], "
                              "\"ranks_not_in_iteration_count\": 0, \"ranks_not_in_iteration\": [], \"text\": \"4 of 5 ranks analysed, missing rank 4\""));
  EXPECT_THAT(json, HasSubstr("\"sample_time\": {\"unit\": \"ns\"")) << "the page shows ms, the value is in ns";
  EXPECT_THAT(json, HasSubstr("\"units\": {\"mean_ns\": \"ns\", \"p99_ns\": \"ns\"}, \"tables\": {}"));
  EXPECT_THAT(json, HasSubstr("\"values\": {\"mean_ns\": 12.5, \"p99_ns\": null, \"worst_rank\": \"rank 3\"}"));
  EXPECT_THAT(json, HasSubstr("{\"code\": \"file_cut\", \"severity\": \"data_loss\", \"count\": 1"));
}

TEST(ResultsJson, NamesTheRanksThatWereReadInPartWithTheirSteps) {
  test::Run run = test::sample_run();
  RankEntry& entry = run.ranks.entries[2];
  entry.facts.loss = FileLoss::rest;
  entry.facts.steps.push_back({.number = 10, .devices = {{.device = 0}}, .lost_events = true});
  const std::string json = results_json(run.results());
  EXPECT_THAT(json, HasSubstr("\"ranks_covered\": 4, \"ranks_expected\": 5"));
  EXPECT_THAT(json, HasSubstr("\"ranks_whole\": 3, \"ranks_in_part_count\": 1, \"ranks_in_part\": [{\"iteration\": 10, "
                              "\"replica\": null, \"rank\": 2, \"every_step_lost\": false, \"lost_steps\": [10]}]"));
  EXPECT_THAT(json, HasSubstr("1 of them in part: rank 2 (step 10 lost with the damage), missing rank 4"));
  Results results = run.results();
  results.metrics = {test::sample_metric()};
  EXPECT_THAT(metric_details(results), HasSubstr("4 of 5 ranks; read in part: rank 2 (step 10 lost with the damage)\n"));
  EXPECT_THAT(summary_page(run.results()),
              HasSubstr("4 of 5 analysed, 1 of them in part: rank 2 (step 10 lost with the damage), missing\n              rank 4;"));
}

TEST(ResultsJson, OfThousandsOfRanksThatWereReadInPartTheFirstAreNamedAndAllAreCounted) {
  test::Run run = test::sample_run();
  for (std::int32_t rank = 100; rank < 6100; ++rank) {
    RankEntry entry = run.ranks.entries[0];
    entry.rank = RankId(rank);
    entry.facts.loss = FileLoss::rest;
    run.ranks.entries.push_back(entry);
  }
  const std::string json = results_json(run.results());
  EXPECT_THAT(json, HasSubstr("\"ranks_in_part_count\": 6000, \"ranks_in_part\": [{"));
  EXPECT_THAT(json, HasSubstr("\"rank\": 163, \"every_step_lost\""));
  EXPECT_THAT(json, Not(HasSubstr("\"rank\": 164, \"every_step_lost\"")));
  EXPECT_LT(json.size(), 20'000U);
}

TEST(ResultsJson, TablesThatAreShownAreRowsWithTheirUnits) {
  struct R {
    std::int64_t step = -1, delay_ns = 0;
    double ratio = NAN;
    bool complete = false;
    std::string why;
  };
  const std::vector<ColumnSpec<R>> columns{
      column("since_step", &R::step, "", "", -1), column("delay_ns", &R::delay_ns, "ns", ""),
      column("gain_ratio", &R::ratio, "", ""), column("complete", &R::complete, "", ""), column("why", &R::why, "", "")};
  const test::Run run = test::sample_run();
  Results results = run.results();
  results.metrics = {test::sample_metric()};
  results.metrics[0].report.shown = {
      {make_table("late", "who is late", columns, std::vector<R>{{8, 5, 0.5, true, "slow"}, {}}), 70}};
  EXPECT_THAT(results_json(results),
              HasSubstr("\"tables\": {\"late\": {\"description\": \"who is late\", \"rows_count\": 70, \"units\": "
                        "{\"delay_ns\": \"ns\", \"gain_ratio\": \"ratio\"}, \"rows\": [{\"since_step\": 8, "
                        "\"delay_ns\": 5, \"gain_ratio\": 0.5, \"complete\": true, \"why\": \"slow\"}, {\"since_step\": "
                        "null, \"delay_ns\": 0, \"gain_ratio\": null, \"complete\": false, \"why\": \"\"}]}}"));
}

}  // namespace
}  // namespace ccl
