#include "trace_use.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "metrics/all_metrics.hpp"
#include "parse/config_files.hpp"
#include "support/small_run.hpp"
#include "support/trace_builder.hpp"

namespace ccl::test {
namespace {

/// Two devices with several streams, collectives of two groups, six steps.
RankTrace some_trace() {
  std::mt19937 random(9);
  const auto some = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(most)); };
  TraceBuilder builder;
  builder.group("0", "mesh_dp", {0, 1}).group("1", "mesh_tp", {0, 2});
  for (std::int64_t step = 0; step < 6; ++step) builder.step(step, step * 1000, (step + 1) * 1000);
  for (int i = 0; i < 900; ++i) {
    const std::int64_t start_ns = some(6000), launch_ns = start_ns - some(60);
    builder.device(static_cast<std::int32_t>(some(2))).stream(some(3));
    switch (some(4)) {
      case 0: builder.copy("Memcpy DtoD", 8, start_ns, some(40), launch_ns); break;
      case 1: builder.collective(CollectiveOp::all_reduce, "0", 8, start_ns, some(40), launch_ns); break;
      case 2: builder.collective(CollectiveOp::all_gather, "1", 8, start_ns, some(40), launch_ns); break;
      default: builder.kernel("gemm_" + std::to_string(some(5)), start_ns, some(40), launch_ns); break;
    }
  }
  return builder.build();
}

struct Used {
  std::map<std::string, Bytes> tables;  // of all metrics
  std::size_t strings_count = 0;
  LocalResults local;
  std::vector<CollectiveRecord> records;
};

/// All metrics, all that can be kept.
Used use_trace(std::size_t helpers) {
  const Input input;
  const Config config;
  const Classifier classifier(embedded_config("kernels"));
  StringTable strings;
  Metrics metrics = start_metrics({});
  const LocalContext context{config, input.workload, classifier, strings};
  Used used;
  used.local.first_record.push_back(0);
  std::vector<std::vector<CollectiveRecord>> records;
  const TraceUse use{input, config, context, metrics, used.local, records, 0, true, true, true, true, true};
  const std::vector<Processors> lent(helpers, own_processors());
  RankTrace trace = some_trace();
  use.take(trace, 0, lent);
  const std::vector<Metric::BatchKey> keys{{.iteration = 0, .rank = RankId(0), .replica = 0}};
  SmallRun run;  // ranks and groups as they are agreed on
  run.add(some_trace());
  Problems problems;
  const ReportContext report{config, input.workload, run.ranks, run.groups, run.clock, strings, problems};
  const Resolver resolver{[&](StringId id) { return strings.text(id); },
                          [&](GroupId id) { return std::int64_t{run.groups.row_of(id)}; }};
  for (const auto& metric : metrics) {
    metric->settle(keys);
    for (const ResultTable& table : metric->result(report, resolver).tables)
      used.tables[metric->info().name + "/" + table.name] = table.packed;
  }
  used.strings_count = strings.size();
  used.records = records.at(0);
  return used;
}

TEST(TraceUse, ResultsDoNotDependOnLentProcessors) {
  const Used alone = use_trace(0);
  std::size_t filled = 0;
  for (const auto& [name, rows] : alone.tables) filled += rows.empty() ? 0 : 1;
  EXPECT_GE(filled, 10U) << "the trace tells metrics something";
  ASSERT_GT(alone.records.size(), 300U);
  for (const std::size_t helpers : {1U, 2U}) {
    const Used shared = use_trace(helpers);
    ASSERT_EQ(shared.tables.size(), alone.tables.size());
    for (const auto& [name, rows] : alone.tables) EXPECT_TRUE(shared.tables.at(name) == rows) << name << ", " << helpers;
    EXPECT_EQ(shared.strings_count, alone.strings_count);
    EXPECT_EQ(shared.local.first_record, alone.local.first_record);
    ASSERT_EQ(shared.records.size(), alone.records.size());
    for (std::size_t i = 0; i < alone.records.size(); ++i) {
      EXPECT_EQ(shared.records[i].start_ns, alone.records[i].start_ns);
      EXPECT_EQ(shared.records[i].before.compute_ns, alone.records[i].before.compute_ns);
      EXPECT_EQ(shared.records[i].before.stalled_ns, alone.records[i].before.stalled_ns);
    }
    ASSERT_EQ(shared.local.segments.size(), 1U);
    ASSERT_EQ(shared.local.segments[0].size(), alone.local.segments.at(0).size());
    for (std::size_t d = 0; d < alone.local.segments[0].size(); ++d)
      EXPECT_EQ(shared.local.segments[0][d].compute, alone.local.segments[0][d].compute);
  }
}

TEST(TraceUse, AGroupIsMatchedBySeqWhereAllItsCollectivesHaveIt) {
  const Input input;
  const Config config;
  const Classifier classifier(embedded_config("kernels"));
  StringTable strings;
  Metrics metrics = start_metrics({"coll_call_num"});
  const LocalContext context{config, input.workload, classifier, strings};
  LocalResults local;
  local.first_record.push_back(0);
  std::vector<std::vector<CollectiveRecord>> records;
  const TraceUse use{input, config, context, metrics, local, records, 0, false, true, false, false, false};
  TraceBuilder builder;
  builder.group("0", "mesh_dp", {0, 1}).group("1", "mesh_tp", {0, 2}).group("2", "mesh_pp", {0, 3});
  builder.collective(CollectiveOp::all_reduce, "0", 8, 0, 10).sequence(1).collective(CollectiveOp::all_reduce, "0", 8, 20, 10);
  builder.collective(CollectiveOp::all_gather, "1", 8, 40, 10).sequence(1);
  RankTrace trace = builder.build();
  use.take(trace, 0);
  ASSERT_EQ(local.sequence_everywhere.size(), 1U);
  EXPECT_EQ(local.sequence_everywhere[0], (std::vector<bool>{false, true, true})) << "one without collectives does not speak against it";
}

}  // namespace
}  // namespace ccl::test
