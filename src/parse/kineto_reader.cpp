#include "parse/kineto_reader.hpp"

#include <algorithm>
#include <string>

#include "parse/finish.hpp"

namespace ccl {
namespace {

constexpr std::size_t smallest_window_bytes = 64;

class ProblemReport {
 public:
  ProblemReport(const TraceFile& file, RankId rank, Problems& problems) : problems_(problems) {
    origin_.file = file.shown;
    origin_.iteration = file.iteration;
    origin_.rank = rank.value;
  }
  void add(Code code, std::string detail = {}, std::int64_t offset = -1, std::int64_t count = 1) {
    Problem problem = origin_;
    problem.code = code;
    problem.offset = offset;
    problem.count = count;
    problem.detail = std::move(detail);
    problems_.add(std::move(problem));
  }
  const Problem& origin() const { return origin_; }

 private:
  Problem origin_;
  Problems& problems_;
};

enum class ReadEnd : std::uint8_t { whole, stopped };

ReadEnd scan_file(ByteSource& source, KinetoScan& scan, Progress& progress, std::int64_t& text_bytes) {
  std::size_t keep = 0;
  std::int64_t reported = 0;
  while (source.next(keep)) {
    text_bytes += static_cast<std::int64_t>(source.size() - keep);
    keep = source.size() - scan.consume({source.window(), source.size()}, false);
    progress.add_bytes(source.file_bytes() - reported);
    reported = source.file_bytes();
    if (progress.stop_requested()) return ReadEnd::stopped;
  }
  progress.add_bytes(source.file_bytes() - reported);
  scan.consume({source.window(), source.size()}, true);
  return ReadEnd::whole;
}

void report_source(const ByteSource& source, const KinetoScan& scan, std::int64_t text_bytes, ProblemReport& report) {
  if (source.status() == SourceStatus::gzip_cut) report.add(Code::gzip_cut, {}, text_bytes);
  if (source.status() == SourceStatus::too_large) report.add(Code::size_limit, inflate_limit_text, text_bytes);
  if (source.trailing_bytes() > 0)
    report.add(Code::gzip_trailing_bytes, std::to_string(source.trailing_bytes()) + " bytes", text_bytes);
  for (const DamagedRange& range : scan.damage()) {
    const std::string bytes = "bytes " + std::to_string(range.begin) + " to " + std::to_string(range.end);
    report.add(range.too_large ? Code::size_limit : Code::event_damaged, bytes, range.begin, range.count);
  }
  const bool ended = source.status() == SourceStatus::end;
  if (text_bytes == 0 && ended)
    report.add(Code::empty_file);
  else if (scan.cut() && ended)
    report.add(Code::file_cut, {}, text_bytes);
  if (!scan.found_events() && text_bytes > 0) report.add(Code::json_invalid, "no traceEvents", 0);
}

}  // namespace

void KinetoReader::read(const TraceFile& file, const ReadOptions& options, Problems& problems, Progress& progress,
                        const TraceSink& sink) {
  const auto window_bytes =
      std::max(smallest_window_bytes, static_cast<std::size_t>(std::max<std::int64_t>(options.window_bytes, 0)));
  const std::unique_ptr<ByteSource> source = open_source(file.path, window_bytes, source_memory_, options.inflate_limit, inflate_);
  KinetoBuilder builder(options, memory_);
  TraceHeader header;
  KinetoScan scan(builder, header, std::max(limit_bytes_, window_bytes), level_);
  std::int64_t text_bytes = 0;
  const ReadEnd end = scan_file(*source, scan, progress, text_bytes);

  ProblemReport report(file, header.rank, problems);
  if (end == ReadEnd::stopped) {
    report.add(Code::not_read);
    return;
  }
  if (source->status() == SourceStatus::unreadable) {
    report.add(Code::unreadable_file, source->error());
    return;
  }
  report_source(*source, scan, text_bytes, report);
  if (!scan.found_events()) return;

  builder.close(header, report.origin(), problems);
  RankTrace& trace = builder.trace();
  trace.format = TraceFormat::kineto;
  trace.iteration = file.iteration;
  trace.replica = file.replica;
  finish(trace, file, problems);
  sink(trace);
}

std::unique_ptr<TraceReader> make_kineto_reader() { return std::make_unique<KinetoReader>(); }

}  // namespace ccl
