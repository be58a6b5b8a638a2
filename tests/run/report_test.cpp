#include "report.hpp"

#include <gtest/gtest.h>

#include "stopwatch.hpp"

namespace ccl {
namespace {

class OneValue final : public Metric {
 public:
  const MetricInfo& info() const override { return info_; }
  void local(const RankTrace&, const LocalContext&) override {}
  void settle(std::span<const BatchKey>) override {}
  void matched(const MatchedCollectives&, const ClosingContext&) override {}
  void closing(const ClosingRank&, const ClosingContext&) override {}
  void snapshot(const MemorySnapshot&, const LocalContext&) override {}
  void graph(const MeasuredGraph&, const ClosingContext&) override {}
  void pack(ByteWriter&) override {}
  void absorb(ByteReader&) override {}
  MetricResult result(const ReportContext& context, const Resolver& resolver) override {
    MetricResult out;
    out.info = info_;
    out.report.note("text", std::string(resolver.text(string_id("known"))));
    out.report.value("group", static_cast<double>(resolver.group_row(GroupId(9))));
    context.problems.add({.code = Code::mfu_over_100, .file = "", .detail = ""});
    return out;
  }
  std::vector<ResultMatrix> take_matrices() override { return {}; }

 private:
  MetricInfo info_{.name = "one_value", .unit = "", .question = "", .definition = "", .needs = "", .aliases = {}, .wants = {}};
};

struct ReportRun {
  Config config;
  Input input;
  Ranks ranks;
  Groups groups;
  ClockModel clock;
  MatchedCollectives collectives;
  StringTable strings;
  Problems problems;
  Timings timings;
  Results results{config, input, ranks, groups, clock, collectives, {}, {}, problems, timings};

  const Comm& comm() {
    static int argc = 0;
    static char** argv = nullptr;
    static const Comm alone(argc, argv);
    return alone;
  }
  Outcome run() {
    strings.intern("known");
    Metrics metrics;
    metrics.push_back(std::make_unique<OneValue>());
    const ClosingContext closing{config, input.workload, ranks, groups, clock, strings};
    report(metrics, {0}, closing, problems, comm(), results);
    return outcome(results, comm());
  }
  void lose_data() { problems.add({.code = Code::file_cut, .file = "a.json", .count = 2, .detail = ""}); }
};

TEST(Report, MetricsGetTextsGroupRowsAndAPlaceForWarnings) {
  ReportRun test;
  const Outcome outcome = test.run();
  ASSERT_EQ(test.results.metrics.size(), 1U);
  EXPECT_EQ(test.results.metrics[0].report.headlines.at(0).text, "known");
  EXPECT_EQ(test.results.metrics[0].report.headlines.at(1).value, -1);
  EXPECT_EQ(test.problems.count(Code::mfu_over_100), 1);
  EXPECT_EQ(outcome.exit_code, ExitCode::done);
}

TEST(Outcome, StrictTurnsLostDataIntoExitThree) {
  ReportRun relaxed, strict;
  relaxed.lose_data();
  EXPECT_EQ(relaxed.run().exit_code, ExitCode::done);
  strict.config.strict = true;
  EXPECT_EQ(strict.run().exit_code, ExitCode::done);  // notices are no losses
  strict.lose_data();
  EXPECT_EQ(strict.run().exit_code, ExitCode::strict_losses);
}

TEST(Outcome, AnEarlyEndCountsMoreThanStrict) {
  ReportRun test;
  test.config.strict = true;
  test.lose_data();
  test.results.partial = true;
  const Outcome outcome = test.run();
  EXPECT_EQ(outcome.exit_code, ExitCode::ended_early);
  EXPECT_NE(outcome.notes.find("ended early"), std::string::npos);
}

TEST(Outcome, NotesNameTheWarningsAndTheFile) {
  ReportRun test;
  test.config.output.hdf5 = "out.h5";
  test.lose_data();
  EXPECT_EQ(test.run().notes, "warnings: file_cut 2, mfu_over_100 1 (details in /warnings)\nlost: a.json: 2 file_cut (events before the cut are used; "
            "check that the profiler finished writing)\nresults: out.h5\n");
}

TEST(Outcome, QuietKeepsTheWarningsAndTimingsAreShownWhenAsked) {
  ReportRun test;
  test.config.output.quiet = true;
  test.config.output.timings = true;
  test.timings.stages = {{"match", 1.5, 0.25}};
  test.timings.stages[0].sent_bytes = 4096;
  const std::string notes = test.run().notes;
  EXPECT_EQ(notes.find("results:"), std::string::npos);
  EXPECT_NE(notes.find("match       1.500       0.250  0.250      1.00          0.0            0         4096        0"), std::string::npos) << notes;
}

TEST(Stopwatch, StagesAppearInOrderWhenTheyEnd) {
  Timings timings;
  struct Watched : Progress {
    std::vector<std::string> stages;
    void stage(std::string_view name) override { stages.emplace_back(name); }
  } progress;
  Stopwatch stopwatch(timings, progress);
  stopwatch.start("read");
  stopwatch.start("match");
  EXPECT_EQ(timings.stages.size(), 1U);
  stopwatch.current().sent_bytes = 7;
  stopwatch.stop();
  ASSERT_EQ(timings.stages.size(), 2U);
  EXPECT_EQ(timings.stages[0].stage, "read");
  EXPECT_EQ(timings.stages[1].sent_bytes, 7);
  EXPECT_GE(timings.stages[1].wall_s, 0);
  EXPECT_GT(timings.peak_memory_bytes, 0);
  EXPECT_EQ(progress.stages, (std::vector<std::string>{"read", "match"}));
}

}  // namespace
}  // namespace ccl
