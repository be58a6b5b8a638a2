// The Kineto reader on any bytes, compressed or not: in windows of two sizes, with and without vector instructions, it
// must find the same and say that the same is lost.
#include "kineto_text.hpp"
#include "parse/config_files.hpp"
#include "parse/kineto_reader.hpp"
#include "scratch_file.hpp"
#include "target.hpp"

namespace ccl::fuzz {
namespace {

struct Found {
  bool called = false;
  std::size_t events = 0, collectives = 0, slices = 0;
  std::int64_t lost = 0, start_sum = 0;
  std::string problems;
  friend bool operator==(const Found&, const Found&) = default;
};

Found read(const std::string& path, std::int64_t window_bytes, SplitLevel level) {
  static const Classifier classifier(embedded_config("kernels"));
  TraceFile file;
  file.path = path;
  file.shown = "trace.json";
  file.format = TraceFormat::kineto;
  ReadOptions options;
  options.wants = {true, true, true, true, true, true};
  options.window_bytes = window_bytes;
  options.classifier = &classifier;
  Progress progress;
  Problems problems;
  Found found;
  KinetoReader reader(std::size_t{1} << 20, InflateBackend::zlib, level);
  reader.read(file, options, problems, progress, [&](const RankTrace& trace) {
    found.called = true;
    found.events = trace.events.size();
    found.collectives = trace.collectives.size();
    found.slices = trace.slices.size();
    found.lost = trace.lost_events_count;
    std::uint64_t sum = 0;
    for (const std::int64_t start_ns : trace.events.start_ns) sum += static_cast<std::uint64_t>(start_ns);
    found.start_sum = static_cast<std::int64_t>(sum);
  });
  for (const Problem& row : problems.rows())
    found.problems += std::string(info(row.code).name) + ' ' + std::to_string(row.offset) + ' ' + row.detail + ' ' + std::to_string(row.count) + '\n';
  return found;
}

}  // namespace

std::vector<std::string> seeds() { return kineto_seeds(); }

void run(std::string_view bytes) {
  static ScratchFile file(".json");
  const std::string& path = file.hold(bytes);
  const Found large = read(path, 1 << 20, best_split_level()), small = read(path, 64, SplitLevel::scalar);
  require(large == small, "large and small windows find the same");
}

}  // namespace ccl::fuzz
