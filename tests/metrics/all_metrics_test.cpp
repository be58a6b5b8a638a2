// What every registered metric must keep, whatever it measures.
#include "metrics/all_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
const std::filesystem::path source = CCL_SOURCE_DIR;

// Six ranks on two hosts with two groups and three steps; sizes and times differ everywhere, some sizes are unknown.
SmallRun synthetic_run() {
  std::mt19937 random(5);
  const auto some = [&](std::int64_t most) { return 1 + static_cast<std::int64_t>(random()) % most; };
  SmallRun run;
  for (std::int32_t rank = 0; rank < 6; ++rank) {
    TraceBuilder builder;
    builder.iteration(10).rank(rank);
    builder.group("dp", "mesh_dp", {0, 1, 2, 3, 4, 5}, -1, Dimension::dp);
    builder.group(rank < 3 ? "tp0" : "tp1", "mesh_tp", rank < 3 ? std::vector{0, 1, 2} : std::vector{3, 4, 5}, -1,
                  Dimension::tp);
    builder.group("pp" + std::to_string(rank % 3), "mesh_pp", {rank % 3, rank % 3 + 3}, -1, Dimension::pp);
    builder.raw().gpu = "NVIDIA A100-SXM4-40GB";
    for (std::int64_t step = 0; step < 3; ++step) {
      const std::int64_t t = step * 10000;
      builder.step(step, t, t + 9000);
      builder.slice(SliceKind::user_annotation, "FSDP::all_gather (layers.1)", t + 150, t + 300);
      builder.slice(SliceKind::user_annotation, "Forward 0", t, t + 4500);
      builder.slice(SliceKind::user_annotation, "layer01.stage2_f", t + 2900, t + 3100);
      builder.slice(SliceKind::user_annotation, "Optimizer.step#AdamW.step", t + 8400, t + 8900);
      builder.slice(SliceKind::user_annotation,
                    step == 0 ? "execute_context_1(8)_generation_0(0)" : "execute_context_0(0)_generation_1(1)", t, t + 8000);
      builder.slice(SliceKind::runtime, "cudaDeviceSynchronize", t + 8950, t + 8960);
      // Drawn one by one: compilers differ in the order of arguments.
      const std::int64_t kernel_start = t + some(100), kernel_length = some(4000), copy_length = some(500);
      builder.stream(7).kernel("gemm", kernel_start, kernel_length).shape(0.5F, 8, 25);
      builder.copy("Memcpy HtoD", 64, t + 5000, copy_length);
      const std::int64_t gather_bytes = 6 * some(1000), gather_start = t + 200 + some(50), gather_length = some(2000);
      builder.stream(8).collective(CollectiveOp::all_gather, "dp", gather_bytes, gather_start, gather_length);
      const std::int64_t all_to_all_bytes = 3 * some(500), all_to_all_length = some(900);
      builder.collective(CollectiveOp::all_to_allv, rank < 3 ? "tp0" : "tp1", all_to_all_bytes, t + 3000, all_to_all_length);
      builder.splits({some(9), some(9), some(9)});  // in braces the order is that of the text
      const std::int64_t reduce_bytes = step == 2 ? -1 : some(800), reduce_length = some(2000);
      builder.collective(CollectiveOp::all_reduce, "dp", reduce_bytes, t + 6000, reduce_length);
      builder.collective(rank % 2 == 0 ? CollectiveOp::send : CollectiveOp::recv, "dp", 512, t + 8500, some(300));
      builder.peer(rank ^ 1);
      builder.collective(CollectiveOp::send, "pp" + std::to_string(rank % 3), 64, t + 8900, some(50)).peer((rank + 3) % 6);
    }
    builder.device(1).kernel("gemm", 100, some(300));
    run.add(builder.build(), rank < 3 ? "a" : "b");
    MemorySnapshot snapshot{rank, "rank" + std::to_string(rank) + ".pickle", 10, -1, RankId(rank), {}};
    snapshot.devices.emplace_back();
    snapshot.devices.back().reserved_bytes = 4000;
    snapshot.devices.back().active_bytes = some(4000);
    run.add_snapshot(snapshot);
  }
  run.clock.hosts[1].offset_ns = 40;
  run.clock.residual_ns = 1;
  run.workload.mesh.pp = 2;
  run.workload.mesh.source = "test";
  run.workload.global_batch = {6, "test"};
  run.workload.seq_len = {128, "test"};
  run.workload.parameters = {1000, "test"};
  run.workload.parameters_embedding = {100, "test"};
  run.workload.layers = {2, "test"};
  run.workload.hidden_size = {16, "test"};
  return run;
}

// Everything of a result that reaches a user.
std::string everything(const MetricResult& result) {
  std::string all = std::string(to_text(result.report.status)) + result.report.reason + "\n" +
                    std::to_string(result.report.ranks_covered);
  for (const auto* tables : {&result.tables, &result.report.extra_tables})
    for (const ResultTable& t : *tables) {
      all += "\n" + t.name + " " + std::to_string(t.rows_count) + " ";
      all.append(reinterpret_cast<const char*>(t.packed.data()), t.packed.size());
    }
  for (const Headline& line : result.report.headlines)
    all += "\n" + line.name + " " + std::to_string(line.value) + line.text;
  for (const auto* lines : {&result.report.page, &result.report.details})
    for (const std::string& line : *lines) all += "\n" + line;
  return all;
}

TEST(AllMetrics, WhoMeasuredWhichRankDoesNotMatter) {
  for (const MetricInfo& info : metric_list()) {
    SmallRun run = synthetic_run();
    const std::string alone = everything(run.result(info.name));
    for (const std::size_t workers : {2U, 3U, 5U, 8U})
      for (const unsigned seed : {1U, 2U, 3U})
        EXPECT_EQ(everything(run.result(info.name, workers, seed)), alone) << info.name << " on " << workers;
  }
}

TEST(AllMetrics, TheSyntheticRunGivesEachAValue) {
  for (const MetricInfo& info : metric_list()) {
    SmallRun run = synthetic_run();
    const MetricResult result = run.result(info.name);
    EXPECT_TRUE(result.report.status == Status::ok || result.report.status == Status::partial)
        << info.name << ": " << result.report.reason;
    EXPECT_EQ(result.report.ranks_covered, 6) << info.name;
    EXPECT_FALSE(result.report.details.empty()) << info.name;
  }
}

TEST(AllMetrics, NothingInIsAbsentNotZero) {
  for (const MetricInfo& info : metric_list()) {
    SmallRun run;
    const MetricResult result = run.result(info.name);
    EXPECT_TRUE(result.report.status == Status::absent || result.report.status == Status::not_applicable) << info.name;
    EXPECT_FALSE(result.report.reason.empty()) << info.name;
    for (const Headline& line : result.report.headlines) EXPECT_FALSE(line.value == 0) << info.name << " " << line.name;
  }
}

TEST(AllMetrics, LinesFitThePageAndNumbersHaveUnits) {
  static const std::set<std::string> units{"ns", "bytes", "count", "ratio", "ppb", "rank", "flops", "s"};
  for (const MetricInfo& info : metric_list()) {
    SmallRun run = synthetic_run();
    const MetricResult result = run.result(info.name);
    for (const std::string& line : result.report.page) EXPECT_LE(line.size(), 100U) << line;
    for (const Headline& line : result.report.headlines)
      EXPECT_TRUE(!line.text.empty() || units.contains(line.name.substr(line.name.rfind('_') + 1)))
          << info.name << " " << line.name;
  }
}

TEST(AllMetrics, NamesAndAliasesAreUniqueAndEverythingIsExplained) {
  std::set<std::string> names;
  for (const MetricInfo& info : metric_list()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    for (const std::string& alias : info.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
    EXPECT_TRUE(info.question.ends_with("?")) << info.name;
    EXPECT_FALSE(info.definition.empty() || info.needs.empty()) << info.name;
  }
}

TEST(AllMetrics, KeysComeFirstAndAreUniqueInRows) {
  const std::vector<std::string> order{"iteration", "step", "rank", "device", "replica"};
  for (const MetricInfo& info : metric_list()) {
    SmallRun run = synthetic_run();
    const MetricResult result = run.result(info.name);
    for (const ResultTable& t : result.tables) {
      if (t.name != "rows") continue;
      std::vector<std::string> keys;
      for (const ColumnInfo& c : t.columns)
        if (std::find(order.begin(), order.end(), c.name) != order.end()) keys.push_back(c.name);
      const bool named = std::any_of(t.columns.begin(), t.columns.end(), [](const auto& c) { return c.name == "name"; });
      std::set<std::pair<std::vector<std::int64_t>, std::string>> seen;
      for (std::int64_t row = 0; row < t.rows_count; ++row) {
        std::vector<std::int64_t> key;
        for (const std::string& k : keys) key.push_back(std::get<std::int64_t>(cell_at(t, row, k)));
        std::string name = named ? std::get<std::string>(cell_at(t, row, "name")) : "";
        for (const ColumnInfo& c : t.columns) {
          if (c.name == "category" || c.name == "phase") name.append(" ").append(std::get<std::string>(cell_at(t, row, c.name)));
          if (c.name == "microbatch" || c.name == "chunk" || c.name == "virtual_stage") key.push_back(std::get<std::int64_t>(cell_at(t, row, c.name)));
        }
        EXPECT_TRUE(seen.insert({key, name}).second) << info.name;
      }
      for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(t.columns[i].name, keys[i]) << info.name;
      for (const ColumnInfo& c : t.columns) EXPECT_FALSE(c.description.empty()) << info.name << " " << c.name;
    }
  }
}

TEST(AllMetrics, EveryMetricFileIsRegisteredAndTested) {
  std::set<std::string> registered;
  for (const MetricInfo& info : metric_list()) registered.insert(info.name);
  std::set<std::string> written;
  for (const auto& file : std::filesystem::directory_iterator(source / "src" / "metrics")) {
    if (file.path().extension() != ".cpp" || text_of(file.path()).find("return define_metric<") == std::string::npos)
      continue;
    const std::string name = file.path().stem().string();
    written.insert(name);
    EXPECT_TRUE(std::filesystem::exists(source / "tests" / "metrics" / (name + "_test.cpp"))) << name << " has no test";
  }
  EXPECT_EQ(written, registered) << "one file per metric, called by its name, with a line in all_metrics.cpp";
}

TEST(AllMetrics, UnknownNamesGetASuggestion) {
  // Misspelt names, labels of the page, words of the README.
  for (const auto& [word, metric] : std::initializer_list<std::pair<const char*, const char*>>{
           {"iter_tme", "iter_time"},       {"late", "straggler_lag"},     {"Lag", "straggler_lag"},
           {"wait", "straggler_lag"},       {"step time", "iter_time"},    {"critical path", "critical_path"},
           {"path", "critical_path"},       {"what if", "what_if"},        {"micro-batch", "microbatch"},
           {"bubble", "pipeline_bubble"},   {"exposed", "comm_comp_overlap"}, {"busbw", "communication"},
           {"stragler", "straggler"}}) {
    SCOPED_TRACE(word);
    try {
      start_metrics({word});
      FAIL() << "accepted";
    } catch (const FatalError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
      EXPECT_THAT(error.what(), testing::EndsWith("(no such metric). Did you mean '" + std::string(metric) + "'?"));
    }
  }
  EXPECT_EQ(start_metrics({"Overlap", "TIMELINE"}).size(), 2U);
  EXPECT_EQ(start_metrics({}).size(), metric_list().size());
}

TEST(AllMetrics, TracesThatWereLeftOutLeaveNoRows) {
  auto metric = std::move(start_metrics({"iter_time"}).front());
  SmallRun run;
  const RankTrace trace = TraceBuilder().rank(0).step(0, 0, 10).kernel("gemm", 0, 5).build();
  const Classifier classifier(merged_settings("kernels", Config()));
  StringTable strings;
  Config config;
  Workload workload;
  metric->local(trace, {config, workload, classifier, strings});
  Metric::BatchKey dropped;
  dropped.keep = false;
  metric->settle(std::span(&dropped, 1));
  ByteWriter out;
  metric->pack(out);
  const Bytes packed = out.take();
  ByteReader rows(packed);
  EXPECT_EQ(rows.value<std::uint64_t>(), 0U);
}

}  // namespace
}  // namespace ccl::test
