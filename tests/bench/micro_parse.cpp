// Micro-benchmarks of reading: inflate, structural scan, event decode, classify, and the reader over one file.
#include <benchmark/benchmark.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <vector>

#include "parse/config_files.hpp"
#include "parse/event_splitter.hpp"
#include "parse/inflate.hpp"
#include "parse/kineto_build.hpp"
#include "parse/kineto_reader.hpp"
#include "sample_text.hpp"

namespace ccl::bench {
namespace {

constexpr std::size_t text_bytes = std::size_t{4} << 20;

const Classifier& classifier() {
  static const Classifier one(embedded_config("kernels"));
  return one;
}

void count_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

std::vector<char> packed(std::string text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::vector<char> out(deflateBound(&stream, text.size()));
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

void inflate(benchmark::State& state, InflateBackend backend) {
  const std::vector<char> gz = packed(trace_text(text_bytes));
  const auto inflater = make_inflater(backend);
  if (!inflater) return state.SkipWithError("not in this build");
  std::vector<char> text(2 * text_bytes);
  std::size_t bytes = 0;
  for (auto _ : state) {
    inflater->restart();
    std::size_t read = 0;
    bytes = 0;
    TextCheck check;
    for (InflateStep step; step.status == InflateStatus::more; read += step.consumed, bytes += step.produced) {
      step = inflater->step(gz.data() + read, gz.size() - read, text.data() + bytes, text.size() - bytes);
      if (inflater->leaves_check()) check.add(text_of_member(text.data() + bytes, step.produced));
    }
  }
  count_bytes(state, bytes);
}
BENCHMARK_CAPTURE(inflate, best, InflateBackend::best);
BENCHMARK_CAPTURE(inflate, zlib, InflateBackend::zlib);

/// Spans of all events; returns the list's text without the header before it.
std::string list_text() {
  const std::string text = trace_text(text_bytes);
  const std::size_t open = text.find('[');
  return text.substr(open + 1, text.rfind(']') - open - 1) + std::string(64, ' ');
}

std::vector<EventSpan> spans_of(const std::string& text, SplitLevel level) {
  std::vector<EventSpan> spans(text.size() / 64);
  SplitState split;
  spans.resize(split_events(text.data(), 0, text.size(), true, split, spans.data(), spans.size(), level).count);
  return spans;
}

void structural_scan(benchmark::State& state, SplitLevel level) {
  if (level > best_split_level()) return state.SkipWithError("not on this machine");
  const std::string text = list_text();
  std::vector<EventSpan> spans(text.size() / 64);
  for (auto _ : state) {
    SplitState split;
    benchmark::DoNotOptimize(split_events(text.data(), 0, text.size(), true, split, spans.data(), spans.size(), level));
  }
  count_bytes(state, text.size());
}
BENCHMARK_CAPTURE(structural_scan, best, best_split_level());
BENCHMARK_CAPTURE(structural_scan, avx2, SplitLevel::avx2);
BENCHMARK_CAPTURE(structural_scan, scalar, SplitLevel::scalar);

/// Every event of the sample to the builder: filter, names, arguments, tables.
void event_decode(benchmark::State& state) {
  const std::string text = list_text();
  const std::vector<EventSpan> spans = spans_of(text, best_split_level());
  ReadOptions options;
  options.classifier = &classifier();
  KinetoMemory memory;
  for (auto _ : state) {
    KinetoBuilder builder(options, memory);
    for (const EventSpan span : spans) builder.add({text.data() + span.begin, span.end - span.begin});
    benchmark::DoNotOptimize(builder.trace().events.size());
  }
  count_bytes(state, text.size());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(spans.size()));
}
BENCHMARK(event_decode);

void event_decode_kernels(benchmark::State& state) {
  const std::string text = kernel_event(123456);
  ReadOptions options;
  options.classifier = &classifier();
  options.wants.kernel_shapes = state.range(0) != 0;
  KinetoMemory memory;
  for (auto _ : state) {
    KinetoBuilder builder(options, memory);
    for (int i = 0; i < 1000; ++i) builder.add(text);
  }
  count_bytes(state, 1000 * text.size());
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(event_decode_kernels)->ArgName("shapes")->Arg(0)->Arg(1);

void classify(benchmark::State& state) {
  const char* const names[] = {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                               "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn",
                               "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>",
                               "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false>>"};
  for (auto _ : state)
    for (const char* name : names) benchmark::DoNotOptimize(classifier().kernel(name));
  state.SetItemsProcessed(state.iterations() * 4);
}
BENCHMARK(classify);

void reader(benchmark::State& state) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("ccl_bench_" + std::to_string(getpid()) + ".json")).string();
  const std::string text = trace_text(4 * text_bytes);
  std::FILE* const out = std::fopen(path.c_str(), "w");
  if (out == nullptr) return state.SkipWithError("no place for a file");
  std::fwrite(text.data(), 1, text.size(), out);
  std::fclose(out);
  TraceFile file;
  file.path = file.shown = path;
  ReadOptions options;
  options.classifier = &classifier();
  KinetoReader kineto;
  for (auto _ : state) {
    Problems problems;
    Progress progress;
    kineto.read(file, options, problems, progress,
                [](RankTrace& trace) { benchmark::DoNotOptimize(trace.events.size()); });
  }
  std::filesystem::remove(path);
  count_bytes(state, text.size());
}
BENCHMARK(reader)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ccl::bench
