#include "store/text_report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "store/sample_results.hpp"
#include "support/scratch_folder.hpp"

namespace ccl::test {
namespace {

constexpr std::time_t moment = 1'700'000'000;  // 2023-11-14 22:13:20 UTC

struct Sample {
  std::int64_t rank = 0, replica = -1, overlap_ns = 0, communication_ns = 0;
};

MetricResult overlap_result() {
  MetricResult out;
  out.info.name = "comm_comp_overlap";
  out.report.value("overlap_ratio", 0.25);
  out.report.value("overlap_min_ratio", 0.1);
  out.report.value("overlap_max_ratio", 0.4);
  const std::vector<ColumnSpec<Sample>> columns{
      column("rank", &Sample::rank, "", "rank"), column("replica", &Sample::replica, "", "replica"),
      column("overlap_ns", &Sample::overlap_ns, "ns", "overlap"),
      column("communication_ns", &Sample::communication_ns, "ns", "communication")};
  out.tables.push_back(make_table("rows", "budget", columns, std::vector<Sample>{{0, -1, 10, 100}, {1, -1, 40, 100}, {1, -1, 0, 100}}));
  return out;
}

TEST(TextReport, NameCarriesTimeModelAndMesh) {
  test::Run run;
  EXPECT_EQ(text_report_name(run.results(), moment), "20231114-221320_x_dpxxx_tpx_gpux.txt");
  run.input.workload.model = {"llama3 8B/x", "toml"};
  run.input.workload.mesh.dp_shard = 4;
  run.input.workload.mesh.tp = 2;
  run.input.workload.mesh.source = "toml";
  run.ranks.world_size = 8;
  EXPECT_EQ(text_report_name(run.results(), moment), "20231114-221320_llama3-8B-x_dp1x4_tp2_gpu8.txt");
  run.input.workload.mesh.pp = 3;
  run.input.workload.mesh.ep = 2;
  EXPECT_EQ(text_report_name(run.results(), moment), "20231114-221320_llama3-8B-x_dp1x4_tp2_pp3_ep2_gpu8.txt");
}

TEST(TextReport, ItsHeadSaysWhichRanksWereReadInPart) {
  test::Run run = test::sample_run();
  RankEntry& entry = run.ranks.entries[1];
  entry.facts.loss = FileLoss::rest;
  entry.facts.steps.push_back({.number = 10, .devices = {{.device = 0}}, .lost_events = true});
  EXPECT_NE(text_report(run.results(), moment)
                .find("Ranks:                            4 of 5 analysed, 1 of them in part: rank 1 (step 10 lost with the damage), missing rank 4\n"),
            std::string::npos);
}

struct Speed {
  std::string op;
  double busbw = 0, size_bytes = 0, transfer_ns = 0, share = 0, unknown = std::nan("");
  std::int64_t count = 24;
};

TEST(TextReport, SmallMessagesAreNoSlowNetwork) {
  const auto number = [](const char* name, double Speed::*value) {
    return derived<Speed>(name, "", "", [value](const Speed& row) { return row.*value; });
  };
  const auto text = [](const char* name) { return text_column<Speed>(name, "", [](const Speed& row) { return row.op; }); };
  const std::vector<ColumnSpec<Speed>> columns{
      text("op"), text("dimension"), text("link_class"), column("instances_count", &Speed::count, "", ""),
      number("median_busbw_bytes_per_s", &Speed::busbw), number("p5_busbw_bytes_per_s", &Speed::busbw),
      number("p95_busbw_bytes_per_s", &Speed::busbw), number("median_bus_bytes", &Speed::size_bytes),
      number("median_transfer_ns", &Speed::transfer_ns), number("median_share_of_peak_ratio", &Speed::share),
      number("alpha_ns", &Speed::unknown), number("beta_bytes_per_s", &Speed::unknown), number("r_squared", &Speed::unknown)};
  test::Run run;
  Results results = run.results();
  MetricResult communication, bandwidth;
  communication.info.name = "communication";
  bandwidth.info.name = "bandwidth";
  bandwidth.report.extra_tables.push_back(make_table(
      "rows", "speeds", columns, std::vector<Speed>{{"small", 0.46e6, 4, 8700, 1e-6}, {"large", 186e9, 48e6, 258e3, 0.62}}));
  results.metrics = {communication, bandwidth};
  const std::string report = text_report(results, moment);
  EXPECT_NE(report.find("small small small:              median 8.70 us (latency of 4 B) over 24\n"), std::string::npos) << report;
  EXPECT_NE(report.find("median 186 GB/s, p5 186 GB/s, p95 186 GB/s over 24, 62.0 % of the link's one-way peak\n"),
            std::string::npos);
}

TEST(TextReport, RanksArePooledOverTheirSteps) {
  test::Run run;
  Results results = run.results();
  results.metrics.push_back(overlap_result());
  const std::string text = text_report(results, moment);
  EXPECT_NE(text.find("Average Overlap:                  25.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 0:                         10.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 1:                         20.0 %"), std::string::npos) << text;
}

TEST(TextReport, WhatWasNotComputedIsUnknownNotZero) {
  test::Run run;
  Results results = run.results();
  MetricResult absent;
  absent.info.name = "throughput_tokens";
  absent.report.absent("the global batch is unknown");
  results.metrics.push_back(absent);
  const std::string text = text_report(results, moment);
  EXPECT_NE(text.find("Tokens per Second:                unknown: the global batch is unknown"), std::string::npos) << text;
  EXPECT_NE(text.find("traffic_distribution was not computed"), std::string::npos);
}

TEST(TextReport, HoldsThePageWithoutItsLimitOfLines) {
  const test::Run run = test::sample_run();
  Results results = run.results();
  for (int i = 0; i < 80; ++i) {
    results.metrics.push_back(test::sample_metric());
    results.metrics.back().report.page = {"entry " + std::to_string(i), "              to its end"};
  }
  const std::string text = text_report(results, moment);
  EXPECT_NE(text.find("entry 79\n              to its end\nresults "), std::string::npos) << text;
}

TEST(TextReport, ASecondReportOfTheSameSecondGetsItsOwnName) {
  const ScratchFolder folder;
  test::Run run;
  run.config.output.report_dir = folder.path("reports");
  const std::string first = write_text_report(run.results(), moment), second = write_text_report(run.results(), moment);
  EXPECT_NE(first, second);
  EXPECT_TRUE(std::filesystem::exists(first) && std::filesystem::exists(second));
}

}  // namespace
}  // namespace ccl::test
