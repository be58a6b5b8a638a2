// Nsight Systems JSON exports, plain or gzip: --type=jsonlines, and --type=json of the years before. Lines may come in
// any order: names, GPUs and clocks are looked up when all have been read.
#include <map>

#include "parse/byte_source.hpp"
#include "parse/nsys_json.hpp"
#include "parse/nsys_tables.hpp"

namespace ccl {
namespace {

constexpr std::size_t longest_line_bytes = std::size_t{256} << 20;

class NsysJsonReader final : public TraceReader {
 public:
  void read(const TraceFile& file, const ReadOptions& options, Problems& problems, Progress& progress,
            const TraceSink& sink) override;

 private:
  SourceMemory memory_;
};

class Lines {
 public:
  Lines(NsysBuild& build, const TraceFile& file, Problems& problems)
      : build_(build), file_(file), problems_(problems), tables_(nsys_tables(build, file, problems)) {
    for (const NsysTable& table : tables_) by_name_.emplace(table.name, &table);
  }

  /// Complete lines of the text; returns how many bytes they are.
  std::size_t take(std::string_view text) {
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', begin)) {
      line(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return begin;
  }

  bool line(std::string_view text) {
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return true;
    if (!read_nsys_json_line(text, line_)) {
      ++damaged_;
      build_.lost_row(lost_line(text));
      return false;
    }
    ++count_;
    // One list of strings for the whole file: their ids are their places.
    std::int64_t id = 0;
    for (const std::string_view string : line_.strings) build_.string(id++, clean_text(string));
    const auto table = by_name_.find(line_.table);
    last_ = table == by_name_.end() ? nullptr : table->second;
    if (last_ == nullptr) return true;
    const JsonRow row(line_, table->second->columns);
    if (!table->second->take(row)) {
      ++lost_;
      build_.lost_row(lost_row_of(*table->second, row));
    }
    return true;
  }

  void report() {
    const auto say = [&](std::int64_t count, const char* detail) {
      if (count > 0) problems_.add({.code = Code::event_damaged, .file = file_.shown, .count = count, .detail = detail});
    };
    say(damaged_, "lines that are no JSON objects");
    say(lost_, "rows without usable numbers");
  }
  std::int64_t count() const { return count_; }

 private:
  /// Of the table it names, or of that of the line before: the lines of a table stand together.
  NsysLostRow lost_line(std::string_view text) const {
    const NsysTable* of = last_;
    for (const NsysTable& table : tables_)
      if (text.find('"' + std::string(table.name) + '"') != std::string_view::npos) of = &table;
    if (of == nullptr) return {};
    static const NsysJsonLine nothing{};
    return lost_row_of(*of, JsonRow(nothing, of->columns));
  }

  NsysBuild& build_;
  const TraceFile& file_;
  Problems& problems_;
  std::vector<NsysTable> tables_;
  std::map<std::string_view, const NsysTable*> by_name_;
  NsysJsonLine line_;
  const NsysTable* last_ = nullptr;
  std::int64_t count_ = 0, damaged_ = 0, lost_ = 0;
};

void NsysJsonReader::read(const TraceFile& file, const ReadOptions& options, Problems& problems, Progress& progress,
                          const TraceSink& sink) {
  const auto window = static_cast<std::size_t>(std::max<std::int64_t>(options.window_bytes, 64));
  const std::unique_ptr<ByteSource> source = open_source(file.path, window, memory_, options.inflate_limit);
  NsysBuild build(file, options, problems);
  build.strings_come_in_any_order();
  Lines lines(build, file, problems);
  std::size_t keep = 0;
  std::int64_t reported = 0;
  while (source->next(keep)) {
    keep = source->size() - lines.take({source->window(), source->size()});
    progress.add_bytes(source->file_bytes() - reported);
    reported = source->file_bytes();
    if (progress.stop_requested()) {
      problems.add({.code = Code::not_read, .file = file.shown});
      return;
    }
    if (keep > longest_line_bytes) {
      problems.add({.code = Code::size_limit, .file = file.shown, .detail = "a line of more than 256 MB"});
      build.lost(1);
      keep = 0;
      break;
    }
  }
  progress.add_bytes(source->file_bytes() - reported);
  if (source->status() == SourceStatus::unreadable) {
    problems.add({.code = Code::unreadable_file, .file = file.shown, .detail = source->error()});
    return;
  }
  if (source->status() == SourceStatus::too_large)
    problems.add({.code = Code::size_limit, .file = file.shown, .detail = inflate_limit_text});
  if (source->status() == SourceStatus::gzip_cut) problems.add({.code = Code::gzip_cut, .file = file.shown});
  // The last line needs no end; half of one means that the file was cut.
  const std::string_view rest(source->window() + (source->size() - keep), keep);
  NsysJsonLine whole;
  if (rest.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    if (read_nsys_json_line(rest, whole)) {
      lines.line(rest);
    } else {
      problems.add({.code = Code::file_cut, .file = file.shown, .detail = "its last line is not complete"});
      build.lost(1);
    }
  }
  lines.report();
  if (lines.count() == 0) {
    problems.add({.code = Code::json_invalid, .file = file.shown, .detail = "no line is a JSON object"});
    return;
  }
  build.build(sink);
}

}  // namespace

std::unique_ptr<TraceReader> make_nsys_json_reader() { return std::make_unique<NsysJsonReader>(); }

}  // namespace ccl
