// The reader alone over one file: bytes per CPU second beside bare_walk (Kineto) or bare_select (FILE.sqlite, which has
// several ranks), and the largest memory.
//
//   read_only FILE [WINDOW_BYTES [isal|zlib [scalar|avx2|avx512]]]
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cpu_time.hpp"
#include "parse/config_files.hpp"
#include "parse/kineto_reader.hpp"

int main(int count, char** arguments) {
  if (count < 2)
    return std::fprintf(stderr, "usage: read_only FILE [WINDOW_BYTES [isal|zlib [scalar|avx2|avx512]]]\n"), 2;
  using namespace ccl;
  const std::string_view inflate = count > 3 ? arguments[3] : "best";
  const std::string_view level = count > 4 ? arguments[4] : "best";
  const Classifier classifier(embedded_config("kernels"));
  TraceFile file;
  file.path = file.shown = arguments[1];
  ReadOptions options;
  options.classifier = &classifier;
  if (count > 2) options.window_bytes = std::atoll(arguments[2]);
  KinetoReader reader(KinetoReader::default_limit_bytes,
                      inflate == "zlib"   ? InflateBackend::zlib
                      : inflate == "isal" ? InflateBackend::isal
                                          : InflateBackend::best,
                      level == "scalar" ? SplitLevel::scalar
                      : level == "avx2" ? SplitLevel::avx2
                                        : best_split_level());
  Problems problems;
  Progress progress;
  std::size_t gpu_events = 0;
  std::int64_t events = 0, launches = 0;
  const auto begin = std::chrono::steady_clock::now();
  const double before_s = bench::cpu_seconds();
  const TraceSink count_trace = [&](const RankTrace& trace) {
    gpu_events += trace.events.size();
    events += trace.events_count;
    launches += trace.launches_count;
  };
  if (file.path.ends_with(".sqlite")) {
    file.format = TraceFormat::nsys_sqlite;
    options.wants.annotations = options.wants.kernel_shapes = options.wants.counters = true;
  }
  if (const auto nsys = file.format == TraceFormat::nsys_sqlite ? make_reader(file.format) : nullptr)
    nsys->read(file, options, problems, progress, count_trace);
  else
    reader.read(file, options, problems, progress, count_trace);
  const double cpu_s = bench::cpu_seconds() - before_s;
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  struct stat status {};
  stat(arguments[1], &status);
  std::printf(
      "read_only bytes %lld events %lld gpu_events %zu launches %lld cpu_s %.3f wall_s %.3f GB_per_cpu_s %.3f "
      "peak_MB %.1f\n",
      static_cast<long long>(status.st_size), static_cast<long long>(events), gpu_events,
      static_cast<long long>(launches), cpu_s, wall_s, 1e-9 * static_cast<double>(status.st_size) / cpu_s,
      bench::peak_megabytes());
  for (const Problem& problem : problems.rows())
    std::fprintf(stderr, "%s %s count %lld\n", std::string(info(problem.code).name).c_str(), problem.detail.c_str(),
                 static_cast<long long>(problem.count));
  return 0;
}
