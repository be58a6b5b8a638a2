#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "analyze.hpp"
#include "comm/lending.hpp"
#include "parse/config_files.hpp"
#include "shared_file.hpp"
#include "support/mpi_world.hpp"

namespace ccl {
namespace {

using test::world;

std::string trace_text(int rank, int kernels) {
  std::string text = R"({"distributedInfo": {"rank": )" + std::to_string(rank) + R"(, "world_size": 3}, "traceEvents": [)";
  for (int i = 1; i <= kernels; ++i) {
    const std::string at = std::to_string(i), later = std::to_string(1 + i * 7 % kernels);
    text += R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": )" + at +
            R"(, "dur": 1, "args": {"correlation": )" + at + "}},\n";
    text += R"({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1)" + later +
            R"(, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": )" + later + "}},\n";
  }
  return text + R"({"ph": "M", "name": "end"}]})";
}

/// Three traces, each read by all workers but with another one in charge, as far as there are so many.
Input shared_input() {
  Input input;
  for (int rank = 0; rank < 3; ++rank) {
    TraceFile& file = input.files.emplace_back();
    file.shown = "rank" + std::to_string(rank) + ".json";
    file.path = testing::TempDir() + "ccl_ranges_" + std::to_string(world().num_workers()) + file.shown;
    file.format = TraceFormat::kineto;
    const std::string text = trace_text(rank, 200 + 100 * rank);
    file.bytes = static_cast<std::int64_t>(text.size());
    for (int w = 0; w < world().num_workers(); ++w) file.readers.push_back((rank + w) % world().num_workers());
    file.owner = file.readers.front();
    if (world().num_workers() == 1) file.readers.clear();
    if (world().is_first()) std::ofstream(file.path) << text;
  }
  world().barrier();
  return input;
}

struct Analysed {
  LocalResults local;
  Problems problems;
};

Analysed analyze_shared(const Input& input, Progress& progress) {
  Analysed run;
  const Classifier classifier(embedded_config("kernels"));
  Metrics metrics;
  StringTable strings;
  Timings timings;
  run.local = analyze(input, Config(), classifier, world(), metrics, strings, run.problems, progress, timings);
  world().barrier();
  if (world().is_first())
    for (const TraceFile& file : input.files) std::remove(file.path.c_str());
  return run;
}

void expect_whole_traces() {
  Progress progress;
  const Input input = shared_input();
  const Analysed run = analyze_shared(input, progress);
  std::int64_t own = 0;
  for (const TraceFile& file : input.files) own += file.owner == world().worker() ? 1 : 0;
  ASSERT_EQ(std::ssize(run.local.facts), own);
  for (const RankFacts& facts : run.local.facts) {
    EXPECT_EQ(input.files[static_cast<std::size_t>(facts.file)].owner, world().worker());
    EXPECT_EQ(facts.gpu_events_count, 200 + 100 * facts.rank.value);
    EXPECT_EQ(facts.events_count, 2 * facts.gpu_events_count);
    EXPECT_TRUE(facts.has_launches);
  }
}

struct LendingForTest {
  explicit LendingForTest(bool lend) { lend_processors_for_test(lend); }
  ~LendingForTest() { lend_processors_for_test(true); }
};

TEST(KinetoRangesOverWorkers, EveryTraceIsWholeAtItsOwner) {
  for (const bool lend : {true, false}) {
    const LendingForTest lending(lend);
    expect_whole_traces();
  }
}

TEST(KinetoRangesOverWorkers, NobodyWaitsForAWorkerThatIsToldToStop) {
  struct StopsOnOne : Progress {
    bool stop_requested() const override { return world().worker() == world().num_workers() - 1; }
  } progress;
  for (const bool lend : {true, false}) {
    const LendingForTest lending(lend);
    const Analysed run = analyze_shared(shared_input(), progress);
    EXPECT_EQ(run.local.ended_early, progress.stop_requested());
  }
}

}  // namespace
}  // namespace ccl
