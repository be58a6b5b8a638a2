#include "parse/kineto_reader.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "core/freed_memory.hpp"
#include "parse/finish.hpp"
#include "parse/kineto_parcels.hpp"

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

void report_scan(const ScanOutcome& scan, ProblemReport& report) {
  const std::int64_t text_bytes = scan.text_bytes;
  const bool ended = scan.status == SourceStatus::end;
  // What follows a gzip file without being one is the rest of it, if its text is not whole.
  const bool rest_unreadable = scan.cut && ended && scan.trailing_bytes > 0;
  if (scan.status == SourceStatus::gzip_cut && !scan.error.empty())
    report.add(Code::gzip_cut, scan.error);
  else if (scan.status == SourceStatus::gzip_cut || rest_unreadable)
    report.add(Code::gzip_cut, {}, text_bytes);
  if (scan.status == SourceStatus::too_large) report.add(Code::size_limit, inflate_limit_text, text_bytes);
  if (scan.trailing_bytes > 0)
    report.add(Code::gzip_trailing_bytes, std::to_string(scan.trailing_bytes) + " bytes", text_bytes);
  for (const DamagedRange& range : scan.damage) {
    const std::string bytes = "bytes " + std::to_string(range.begin) + " to " + std::to_string(range.end);
    report.add(range.too_large ? Code::size_limit : Code::event_damaged, bytes, range.begin, range.count);
  }
  if (text_bytes == 0 && ended)
    report.add(Code::empty_file);
  else if (scan.cut && ended && !rest_unreadable)
    report.add(Code::file_cut, {}, text_bytes);
  if (!scan.found_events && text_bytes > 0) report.add(Code::json_invalid, "no traceEvents", 0);
}

FileLoss loss_of(const ScanOutcome& scan) {
  // A text that is whole has lost nothing, though its checksum is missing, or is wrong.
  if (scan.cut || scan.status == SourceStatus::too_large) return FileLoss::rest;
  return scan.damage.empty() ? FileLoss::nothing : FileLoss::pieces;
}

}  // namespace

std::size_t KinetoReader::window_bytes(const ReadOptions& options) {
  return std::max(smallest_window_bytes, static_cast<std::size_t>(std::max<std::int64_t>(options.window_bytes, 0)));
}

ScanOutcome KinetoReader::scan(ByteSource& source, KinetoScan& scan, ScanEnd end, Progress& progress) {
  ScanOutcome out;
  std::size_t keep = 0;
  std::int64_t reported = 0;
  while (source.next(keep)) {
    out.text_bytes += static_cast<std::int64_t>(source.size() - keep);
    keep = source.size() - scan.consume({source.window(), source.size()}, false);
    progress.add_bytes(source.file_bytes() - reported);
    reported = source.file_bytes();
    out.stopped = progress.stop_requested();
    if (out.stopped) return out;
  }
  progress.add_bytes(source.file_bytes() - reported);
  const std::string_view rest(source.window(), source.size());
  if (end == ScanEnd::of_file)
    scan.consume(rest, true);
  else
    out.ends_at_event = scan.ends_at_event(rest);
  out.status = source.status();
  out.error = source.error();
  out.trailing_bytes = source.trailing_bytes();
  out.cut = scan.cut();
  out.found_events = scan.found_events();
  out.damage = scan.damage();
  return out;
}

ScanOutcome KinetoReader::scan_file(const TraceFile& file, const ReadOptions& options, KinetoBuilder& builder,
                                    TraceHeader& header, Progress& progress) {
  const std::unique_ptr<ByteSource> source =
      open_source(file.path, window_bytes(options), *source_memory_, options.inflate_limit, inflate_);
  KinetoScan scan_of(builder, header, std::max(limit_bytes_, window_bytes(options)), level_);
  return scan(*source, scan_of, ScanEnd::of_file, progress);
}

void KinetoReader::read(const TraceFile& file, const ReadOptions& options, Problems& problems, Progress& progress,
                        const TraceSink& sink) {
  const bool in_parts = options.part.count > 1 && options.parts != nullptr;
  if (in_parts && options.part.number > 0) {
    PartSender sender(*options.parts);
    return give_parts(file, options, sender, progress);
  }
  TraceHeader header;
  std::optional<KinetoBuilder> builder(std::in_place, options, memory_);
  std::optional<ScanOutcome> found;
  if (in_parts) {
    found = take_parts(file, options, *builder, header, progress);
    give_back_freed_memory(builder->trace().events.size());  // what threads had
  }
  if (!found.has_value()) {
    if (in_parts) builder.emplace(options, memory_), header = {};
    found = scan_file(file, options, *builder, header, progress);
  }

  ProblemReport report(file, header.rank, problems);
  if (found->stopped) {
    report.add(Code::not_read);
    return;
  }
  if (found->status == SourceStatus::unreadable) {
    report.add(Code::unreadable_file, found->error);
    return;
  }
  report_scan(*found, report);
  if (!found->found_events) return;

  RankTrace& trace = builder->trace();
  trace.loss = loss_of(*found);
  const bool large = is_large(trace.events.size());
  if (large) source_memory_.emplace();
  builder->close(header, report.origin(), problems, options.lent.processors);
  if (large) memory_.launches = {};
  trace.format = TraceFormat::kineto;
  trace.iteration = file.iteration;
  trace.replica = file.replica;
  finish(trace, file, problems, options.lent.processors);
  sink(trace);
}

std::unique_ptr<TraceReader> make_kineto_reader() { return std::make_unique<KinetoReader>(); }

}  // namespace ccl
