// Micro-benchmarks behind the parse: interval algebra, matching, merge, HDF5 write.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>

#include "comm/comm.hpp"
#include "exchange/planted_world.hpp"
#include "metrics/metric.hpp"
#include "parse/config_files.hpp"
#include "store/hdf5_file.hpp"
#include "store/sample_rows.hpp"
#include "store/write_table.hpp"

namespace ccl::bench {
namespace {

Intervals intervals(std::int64_t count, std::int64_t offset_ns) {
  Intervals all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back({i * 100 + offset_ns, i * 100 + offset_ns + 60});
  return all;
}

void interval_budget(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  const Intervals communication = intervals(count, 0), compute = intervals(count, 30),
                  memory = intervals(count / 10, 7);
  for (auto _ : state) benchmark::DoNotOptimize(budget(communication, compute, memory, {0, count * 100 + 90}));
  state.SetItemsProcessed(state.iterations() * (2 * count + count / 10));
}
BENCHMARK(interval_budget)->Arg(1000)->Arg(100000);

void interval_unite(benchmark::State& state) {
  const Intervals a = intervals(state.range(0), 0), b = intervals(state.range(0), 30);
  for (auto _ : state) benchmark::DoNotOptimize(unite(a, b).size());
  state.SetItemsProcessed(state.iterations() * 2 * state.range(0));
}
BENCHMARK(interval_unite)->Arg(100000);

/// range(0) ranks in data-parallel groups of 64; 50 collectives each.
void matching(benchmark::State& state) {
  const auto ranks = static_cast<std::int32_t>(state.range(0));
  test::PlantedWorld world(std::vector<std::int32_t>(static_cast<std::size_t>(ranks), 0));
  for (std::int32_t first = 0; first < ranks; first += 64) {
    std::vector<std::int32_t> members(64);
    std::iota(members.begin(), members.end(), first);
    const GroupId group = world.add_group("dp" + std::to_string(first), members);
    for (int i = 0; i < 50; ++i) {
      std::vector<std::int64_t> starts(64);
      for (int m = 0; m < 64; ++m) starts[static_cast<std::size_t>(m)] = i * 10000 + (m * 37 + i * 11) % 500;
      world.collective(group, starts, i * 10000 + 900);
    }
  }
  std::sort(world.groups.groups.begin(), world.groups.groups.end(),
            [](const Group& a, const Group& b) { return a.id < b.id; });
  for (auto _ : state) benchmark::DoNotOptimize(world.assemble_alone().instances.size());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(world.records.size()));
}
BENCHMARK(matching)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

struct Sample {
  static MetricInfo info() {
    MetricInfo info;
    info.name = "sample";
    return info;
  }
  struct Row {
    StepId step;
    RankId rank;
    std::int32_t replica = -1;
    std::int64_t time_ns = 0;
    auto key() const { return std::tuple(step, rank, replica); }
    static TableInfo table() { return {"rows", "made up"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      return {column("time_ns", &Row::time_ns, "ns", "a time")};
    }
  };
  using Tables = RowTables<Row>;
  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    for (std::int32_t i = 0; i < 10; ++i) out.of<Row>().push_back({StepId{0, i}, trace.rank, -1, i});
  }
  static void report(const Tables&, const ReportContext&, Report&) {}
};

/// One worker's rows of range(0) ranks taken in by another that has as many.
void merge_rows(benchmark::State& state) {
  const Config config;
  const Workload workload;
  const Classifier classifier(embedded_config("kernels"));
  StringTable strings;
  const auto sender = define_metric<Sample>();
  std::vector<Metric::BatchKey> keys;
  RankTrace trace;
  for (std::int32_t rank = 0; rank < state.range(0); ++rank) {
    sender->local(trace, LocalContext{config, workload, classifier, strings});
    keys.push_back({0, RankId(rank), true, -1, 0});
  }
  sender->settle(keys);
  ByteWriter out;
  sender->pack(out);
  const Bytes packed = out.take();
  for (auto _ : state) {
    const auto receiver = define_metric<Sample>();
    for (int worker = 0; worker < 2; ++worker) {
      ByteReader in(packed);
      receiver->absorb(in);
    }
  }
  state.SetBytesProcessed(state.iterations() * 2 * static_cast<std::int64_t>(packed.size()));
  state.SetItemsProcessed(state.iterations() * state.range(0) * 20);
}
BENCHMARK(merge_rows)->Arg(64)->Arg(6144);

void hdf5_write(benchmark::State& state) {
  const test::Folder folder(test::own("bench"));
  const ResultTable table = test::sample_table(0, state.range(0));
  for (auto _ : state) {
    OutputFile file(folder.file("o.h5"));
    write_table(file, "/rows", table);
    file.commit();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(table.packed.size()));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(hdf5_write)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ccl::bench
