#include "analyze.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "parse/config_files.hpp"

namespace ccl {
namespace {

/// What reached a metric.
struct Seen {
  std::vector<std::string> traces;   // "file rank steps outside dimension"
  std::vector<Metric::BatchKey> keys;
  std::size_t instances = 0;
  struct Closing {
    std::int32_t rank_row;
    std::size_t records, verdicts, segments;
    std::int64_t first_ordinal_sum;
  };
  std::vector<Closing> closings;
};

class Watching final : public Metric {
 public:
  Watching(Seen& seen, bool matching, bool segments) : seen_(seen) {
    info_.name = "watching";
    info_.needs_matching = matching;
    info_.needs_segments = segments;
  }
  const MetricInfo& info() const override { return info_; }
  void local(const RankTrace& trace, const LocalContext&) override {
    std::string text = std::to_string(trace.file) + " " + std::to_string(trace.rank.value) + " steps";
    for (const Step& step : trace.steps) text += " " + std::to_string(step.number);
    text += " outside " + std::to_string(trace.outside_events_count);
    for (const ProcessGroup& group : trace.groups) text += " " + std::string(to_text(group.dimension));
    seen_.traces.push_back(text);
  }
  void settle(std::span<const BatchKey> keys) override { seen_.keys.assign(keys.begin(), keys.end()); }
  void matched(const MatchedCollectives& all, const ClosingContext&) override { seen_.instances = all.instances.size(); }
  void snapshot(const MemorySnapshot&, const LocalContext&) override {}
  void graph(const MeasuredGraph&, const ClosingContext&) override {}
  void closing(const ClosingRank& rank, const ClosingContext&) override {
    Seen::Closing closing{rank.rank_row, rank.records.size(), rank.verdicts.size(), rank.segments.size(), 0};
    for (const CollectiveRecord& record : rank.records) closing.first_ordinal_sum += record.ordinal;
    seen_.closings.push_back(closing);
  }
  void pack(ByteWriter&) override {}
  void absorb(ByteReader&) override {}
  MetricResult result(const ReportContext&, const Resolver&) override { return {}; }
  std::vector<ResultMatrix> take_matrices() override { return {}; }

 private:
  Seen& seen_;
  MetricInfo info_;
};

Metrics watching(Seen& seen, bool matching = true, bool segments = false) {
  Metrics metrics;
  metrics.push_back(std::make_unique<Watching>(seen, matching, segments));
  return metrics;
}

const Comm& alone() {
  static int argc = 0;
  static char** argv = nullptr;
  static const Comm comm(argc, argv);
  return comm;
}

CollectiveRecord record(std::uint64_t local_group, CollectiveOp op, std::int64_t step, std::int64_t sequence = -1) {
  CollectiveRecord made;
  made.group = GroupId(local_group);
  made.op = op;
  made.step = step;
  made.sequence = sequence;
  return made;
}

/// Two traces: number 0 is left out, number 1 is rank 5 of iteration 2, whose steps are shifted by 3.
struct TwoTraces {
  LocalResults local;
  Ranks ranks;
  Groups groups;
  TwoTraces() {
    local.facts.resize(2);
    local.facts[1].local = 1;
    local.segments = {{{0, {}, {}, {}}}, {{0, {}, {}, {}}}};
    local.chains.resize(2);
    local.records = {record(0, CollectiveOp::all_reduce, 7),
                     record(1, CollectiveOp::all_gather, 7, 40), record(1, CollectiveOp::all_gather, 7, 41),
                     record(0, CollectiveOp::all_gather, 7), record(1, CollectiveOp::all_gather, outside_step, 42)};
    local.first_record = {0, 1, 5};
    local.groups = {std::vector<ProcessGroup>(1), std::vector<ProcessGroup>(3)};
    local.sequence_everywhere = {{false}, {false, true, true}};
    RankEntry entry;
    entry.facts = local.facts[1];
    entry.iteration = 2;
    entry.rank = RankId(5);
    entry.step_shift = 3;
    ranks.entries = {entry};
    ranks.hosts = {"a"};
    groups.mine = {{0, 0, GroupId(100)}, {0, 1, GroupId(200)}, {0, 2, GroupId(300)}};
  }
};

TEST(LocalGroups, OnlyAcceptedTracesHaveGroups) {
  TwoTraces two;
  const std::vector<LocalGroup> groups = local_groups(two.local, two.ranks, alone());
  ASSERT_EQ(groups.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(groups[i].rank_row, 0);
    EXPECT_EQ(groups[i].local, i);
  }
  EXPECT_FALSE(groups[0].sequence_everywhere);
  EXPECT_TRUE(groups[1].sequence_everywhere);
  EXPECT_TRUE(groups[2].sequence_everywhere);
}

TEST(Settle, RecordsGetTheirFinalKeysAndThoseOfLeftOutTracesGo) {
  TwoTraces two;
  Seen seen;
  Metrics metrics = watching(seen);
  settle(two.local, two.ranks, two.groups, alone(), metrics);
  ASSERT_EQ(two.local.records.size(), 4U);
  EXPECT_EQ(two.local.first_record, (std::vector<std::size_t>{0, 0, 4}));
  const CollectiveRecord& second = two.local.records[1];
  EXPECT_EQ(second.group, GroupId(200));
  EXPECT_EQ(second.rank, RankId(5));
  EXPECT_EQ(second.rank_row, 0);
  EXPECT_EQ(second.iteration, 2);
  EXPECT_EQ(second.step, 10);
  EXPECT_EQ(second.ordinal, 1);
  EXPECT_EQ(second.local, 1U);
  EXPECT_EQ(two.local.records[2].ordinal, 0);  // another group
  EXPECT_EQ(two.local.records[3].ordinal, 0);  // another step
  EXPECT_EQ(two.local.records[3].step, outside_step);
  ASSERT_EQ(seen.keys.size(), 2U);
  EXPECT_FALSE(seen.keys[0].keep);
  EXPECT_TRUE(seen.keys[1].keep);
  EXPECT_EQ(seen.keys[1].iteration, 2);
  EXPECT_EQ(seen.keys[1].rank, RankId(5));
  EXPECT_EQ(seen.keys[1].step_shift, 3);
}

TEST(Close, EachAcceptedTraceSeesItsOwnRecordsAndVerdicts) {
  TwoTraces two;
  Seen seen;
  Metrics metrics = watching(seen);
  settle(two.local, two.ranks, two.groups, alone(), metrics);
  const Config config;
  const Workload workload;
  StringTable strings;
  Matched matched = unmatched(two.ranks);
  const ClosingContext context{config, workload, two.ranks, two.groups, matched.clock, strings};
  close(two.local, matched, context, alone(), metrics);
  matched.verdicts.resize(4);
  matched.mine.instances.resize(2);
  close(two.local, matched, context, alone(), metrics);
  ASSERT_EQ(seen.closings.size(), 2U);
  EXPECT_EQ(seen.closings[0].rank_row, 0);
  EXPECT_EQ(seen.closings[0].records, 4U);
  EXPECT_EQ(seen.closings[0].verdicts, 0U);
  EXPECT_EQ(seen.closings[0].segments, 1U);
  EXPECT_EQ(seen.closings[1].verdicts, 4U);
  EXPECT_EQ(seen.instances, 2U);
}

TEST(Unmatched, SeveralHostsKeepTheirOwnClocks) {
  TwoTraces two;
  EXPECT_TRUE(unmatched(two.ranks).clock.hosts.at(0).corrected);
  EXPECT_EQ(unmatched(two.ranks).clock.reference_rank, 5);
  two.ranks.hosts = {"a", "b"};
  EXPECT_FALSE(unmatched(two.ranks).clock.hosts.at(1).corrected);
  EXPECT_EQ(unmatched(two.ranks).clock.corrected(1, 77), 77);
}

/// One trace file on disk for the length of a test.
class TraceOnDisk {
 public:
  TraceOnDisk(const std::string& name, const std::string& text) : path_(testing::TempDir() + "ccl_analyze_" + name) {
    std::ofstream(path_) << text;
    file.path = path_;
    file.shown = name;
    file.format = TraceFormat::kineto;
    file.bytes = static_cast<std::int64_t>(text.size());
  }
  ~TraceOnDisk() { std::remove(path_.c_str()); }
  TraceFile file;

 private:
  std::string path_;
};

std::string trace_text(int rank, const std::string& padding) {
  return R"({"distributedInfo": {"rank": )" + std::to_string(rank) + R"(, "world_size": 2}, "traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 1, "tid": 1, "ts": 100, "dur": 100},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 1, "args": {"correlation": 1}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 110, "dur": 1, "args": {"correlation": 2}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 7, "ts": 20, "dur": 5,
     "args": {"device": 0, "stream": 7, "correlation": 1, "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 8,
              "Out msg nelems": 8, "Group size": 2, "Process Group Name": "0", "Process Group Description": "mesh_dp"}},
    {"ph": "X", "cat": "kernel", "name": "gemm)" + padding + R"(", "pid": 0, "tid": 8, "ts": 120, "dur": 5,
     "args": {"device": 0, "stream": 8, "correlation": 2, "blocks per SM": 1.5}}
  ]})";
}

struct AnalyzeRun {
  Seen seen;
  Input input;
  Config config;
  StringTable strings;
  Problems problems;
  Timings timings;
  const Classifier classifier{embedded_config("kernels")};
  LocalResults run(Progress& progress, bool matching = true, bool segments = false) {
    Metrics metrics = watching(seen, matching, segments);
    return analyze(input, config, classifier, alone(), metrics, strings, problems, progress, timings);
  }
};

TEST(Analyze, ReadsTheLargestFileFirstAndKeepsWhatTheMetricsNeed) {
  const TraceOnDisk small("small.json", trace_text(0, "")), large("large.json", trace_text(1, "_with_a_longer_name"));
  AnalyzeRun test;
  test.input.files = {small.file, large.file};
  Progress progress;
  const LocalResults local = test.run(progress, true, true);
  EXPECT_EQ(test.seen.traces, (std::vector<std::string>{"1 1 steps 3 4 outside 0 dp", "0 0 steps 3 4 outside 0 dp"}));
  EXPECT_EQ(local.first_record, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(local.facts.at(0).file, 1);
  ASSERT_EQ(local.segments.at(0).size(), 1U);
  EXPECT_EQ(length_ns(local.segments[0][0].communication), 5000);
  EXPECT_EQ(length_ns(local.segments[0][0].compute), 5000);
  EXPECT_EQ(test.timings.files.size(), 2U);
  EXPECT_FALSE(local.ended_early);
}

TEST(Analyze, NothingIsKeptThatNoMetricAsksFor) {
  const TraceOnDisk file("plain.json", trace_text(0, ""));
  AnalyzeRun test;
  test.input.files = {file.file};
  Progress progress;
  const LocalResults local = test.run(progress, false, false);
  EXPECT_TRUE(local.records.empty());
  EXPECT_TRUE(local.segments.at(0).empty());
  EXPECT_EQ(local.first_record, (std::vector<std::size_t>{0, 0}));
}

/// How many CPU slices and kernel shapes a metric with these wants finds.
class Reading final : public Metric {
 public:
  Reading(const Wants& wants, std::string& seen) : seen_(seen) { info_.wants = wants; }
  const MetricInfo& info() const override { return info_; }
  void local(const RankTrace& trace, const LocalContext&) override {
    seen_ += std::to_string(trace.slices.size()) + " slices " + std::to_string(trace.kernel_shapes.size()) + " shapes, ";
  }
  void settle(std::span<const BatchKey>) override {}
  void matched(const MatchedCollectives&, const ClosingContext&) override {}
  void snapshot(const MemorySnapshot&, const LocalContext&) override {}
  void graph(const MeasuredGraph&, const ClosingContext&) override {}
  void closing(const ClosingRank&, const ClosingContext&) override {}
  void pack(ByteWriter&) override {}
  void absorb(ByteReader&) override {}
  MetricResult result(const ReportContext&, const Resolver&) override { return {}; }
  std::vector<ResultMatrix> take_matrices() override { return {}; }

 private:
  std::string& seen_;
  MetricInfo info_;
};

TEST(Analyze, WhatAMetricWantsIsThereWhateverTheOthersWant) {
  const TraceOnDisk first("first.json", trace_text(0, "_longer")), second("second.json", trace_text(1, ""));
  AnalyzeRun test;
  test.input.files = {first.file, second.file};
  Progress progress;
  std::string none, slices, shapes, both;
  Metrics metrics;
  metrics.push_back(std::make_unique<Reading>(Wants{}, none));
  metrics.push_back(std::make_unique<Reading>(Wants{.annotations = true}, slices));
  metrics.push_back(std::make_unique<Reading>(Wants{.annotations = true, .kernel_shapes = true}, both));
  metrics.push_back(std::make_unique<Reading>(Wants{.kernel_shapes = true}, shapes));
  analyze(test.input, test.config, test.classifier, alone(), metrics, test.strings, test.problems, progress, test.timings);
  EXPECT_EQ(none, "0 slices 0 shapes, 0 slices 0 shapes, ");
  EXPECT_EQ(slices, "2 slices 0 shapes, 2 slices 0 shapes, ");
  EXPECT_EQ(both, "2 slices 1 shapes, 2 slices 1 shapes, ");
  EXPECT_EQ(shapes, "2 slices 1 shapes, 2 slices 1 shapes, ");
}

TEST(Analyze, ChosenStepsOnly) {
  const TraceOnDisk file("steps.json", trace_text(0, ""));
  AnalyzeRun test;
  test.input.files = {file.file};
  test.config.input.steps = {4};
  Progress progress;
  test.run(progress);
  EXPECT_EQ(test.seen.traces, (std::vector<std::string>{"0 0 steps 4 outside 1 dp"}));
}

TEST(Analyze, AfterAStopTheOtherFilesAreNamedAsNotRead) {
  const TraceOnDisk file("stopped.json", trace_text(0, ""));
  AnalyzeRun test;
  test.input.files = {file.file};
  struct Stopped : Progress {
    bool stop_requested() const override { return true; }
  } progress;
  const LocalResults local = test.run(progress);
  EXPECT_TRUE(local.ended_early);
  EXPECT_TRUE(test.seen.traces.empty());
  ASSERT_EQ(test.problems.rows().size(), 1U);
  EXPECT_EQ(test.problems.rows()[0].code, Code::not_read);
  EXPECT_EQ(test.problems.rows()[0].file, "stopped.json");
}

}  // namespace
}  // namespace ccl
