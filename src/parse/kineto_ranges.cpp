// One plain Kineto file read by several readers: its bytes are cut into ranges, which are dealt round. The first reader
// reads its own and joins those of the others to them in the order of the file, while the others read on. A border is a
// guess where an event starts; it counts only if the scan of the range before arrives there behind a whole event of the
// list, which is exactly where a scan of the whole file would be. Where that is not so, or a part holds what can not be
// put together, the first reader reads the whole file: the trace is the same in any case.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "parse/kineto_parcels.hpp"
#include "parse/kineto_reader.hpp"
#include "parse/part_threads.hpp"
#include "parse/range_turns.hpp"
#include "parse/salvage.hpp"

namespace ccl {
namespace {

/// read(2) at an offset; what there is.
std::string read_at(int fd, std::int64_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd, text.data() + done, bytes - done, static_cast<off_t>(offset + static_cast<std::int64_t>(done)));
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

/// A document with members; a bare list of events ends otherwise.
bool opens_with_brace(int fd) {
  const std::string text = read_at(fd, 0, 4096);
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != std::string::npos && text[first] == '{';
}

/// Where an event seems to start, at the offset or soon behind it; else the size of the file.
std::int64_t border_near(int fd, std::int64_t offset, std::int64_t file_bytes) {
  constexpr std::size_t first_look = std::size_t{16} << 10, last_look = std::size_t{64} << 20;
  if (offset < static_cast<std::int64_t>(salvage_context_bytes)) return file_bytes;
  const std::int64_t begin = offset - static_cast<std::int64_t>(salvage_context_bytes);
  for (std::size_t look = first_look; look <= last_look; look *= 4) {
    const std::string text = read_at(fd, begin, salvage_context_bytes + look);
    const bool at_end = text.size() < salvage_context_bytes + look;
    if (text.size() <= salvage_context_bytes) return file_bytes;
    const Salvage found = find_next_event(text, salvage_context_bytes, at_end);
    if (found.found == SalvageFound::event) return begin + static_cast<std::int64_t>(found.position);
    if (found.found == SalvageFound::list_end || at_end) return file_bytes;
  }
  return file_bytes;
}

void add_outcome(const ScanOutcome& part, ScanOutcome& all) {
  all.text_bytes += part.text_bytes;
  all.cut = part.cut;
  for (const DamagedRange& damage : part.damage) add_damaged_range(damage, all.damage);
}

/// Joins what came to what the builder has; false if it does not fit.
bool absorb(KinetoPart* part, KinetoBuilder& builder, TraceHeader& header) {
  if (part == nullptr || !part->usable) return false;
  builder.absorb(*part->builder);
  for (const TraceHeader::Said& said : part->header)
    read_header_value(said.key, JsonValue{said.type, said.text}, header);
  return true;
}

}  // namespace

/// Where a file is to be cut: into rounds of one range for each reader, so that all of them meet the same mix of events. The last
/// rounds are small: all readers end nearly together.
class KinetoReader::FileCut {
 public:
  FileCut(const TraceFile& file, int readers, std::int64_t range_bytes)
      : file_(file), readers_(readers),
        whole_rounds_(static_cast<int>(std::clamp<std::int64_t>(file.bytes / range_bytes / readers, 1, most_rounds))),
        fd_(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC)), readable_(fd_ >= 0 && opens_with_brace(fd_)),
        borders_(static_cast<std::size_t>(ranges_count()) + 1) {}
  FileCut(const FileCut&) = delete;
  FileCut& operator=(const FileCut&) = delete;
  ~FileCut() {
    if (fd_ >= 0) ::close(fd_);
  }

  int readers() const { return readers_; }
  int ranges_count() const { return (whole_rounds_ + (pieces - 1) * cut_rounds()) * readers_; }

  /// Nothing if the file is not to be read in parts. Threads share one object; workers find the same borders each.
  std::optional<FileRange> range(int number) const {
    if (!readable_) return std::nullopt;
    const FileRange range{border(number), border(number + 1)};
    // A guess from further on can fall before the one in front of it: then at least one of them is wrong.
    if (range.begin > range.end) return std::nullopt;
    return range;
  }

 private:
  /// Found once, mostly: who asks at the same time finds the same.
  std::int64_t border(int number) const {
    std::atomic<std::int64_t>& known = borders_[static_cast<std::size_t>(number)];
    std::int64_t at = known.load(std::memory_order_relaxed) - 1;
    if (at >= 0) return at;
    at = find_border(number);
    known.store(at + 1, std::memory_order_relaxed);
    return at;
  }
  std::int64_t find_border(int number) const {
    if (number == 0) return 0;
    if (number == ranges_count()) return file_.bytes;
    const int round = number / readers_, first_cut = whole_rounds_ - cut_rounds();
    const std::int64_t whole_bytes = file_.bytes / whole_rounds_, piece_bytes = whole_bytes / pieces;
    const std::int64_t begin = round < first_cut ? whole_bytes * round : whole_bytes * first_cut + piece_bytes * (round - first_cut);
    return border_near(fd_, begin + offset_in_round(round < first_cut ? whole_bytes : piece_bytes, number % readers_), file_.bytes);
  }
  int cut_rounds() const { return whole_rounds_ < 8 ? 0 : 2; }
  // The first reader's ranges are smaller: it also joins those of the others, which pack them. The balance was measured.
  std::int64_t offset_in_round(std::int64_t round_bytes, int reader) const {
    constexpr double joining = 0.03, smallest_share = 0.02;
    if (reader == 0) return 0;
    const double of_others = 1.0 / (readers_ - 1);
    const double first = std::max(smallest_share, (of_others - joining) / (1 - joining + of_others));
    return static_cast<std::int64_t>(static_cast<double>(round_bytes) * (first + (1 - first) * of_others * (reader - 1)));
  }

  static constexpr std::int64_t most_rounds = 1 << 16;
  static constexpr int pieces = 4;  // of a cut round
  const TraceFile& file_;
  int readers_, whole_rounds_, fd_;
  bool readable_;
  mutable std::vector<std::atomic<std::int64_t>> borders_;  // and 1; 0: not looked for
};

void pass_over_part(const ReadOptions& options) {
  if (options.part.count < 2 || options.parts == nullptr) return;
  if (options.part.number > 0)
    options.parts->give({});
  else
    PartReceiver(options).skip(options.lent.parts);
}

ScanOutcome KinetoReader::scan_range(const TraceFile& file, FileRange range, const ReadOptions& options,
                                     KinetoBuilder& builder, TraceHeader& header, Progress& progress) {
  const bool last = range.end == file.bytes;
  const std::unique_ptr<ByteSource> source =
      open_range(file.path, {range.begin, last ? INT64_MAX : range.end}, window_bytes(options), *source_memory_);
  KinetoScan scan_of(builder, header, std::max(limit_bytes_, window_bytes(options)), level_);
  if (range.begin > 0) scan_of.start_at_event(range.begin);
  return scan(*source, scan_of, last ? ScanEnd::of_file : ScanEnd::of_range, progress);
}

void KinetoReader::give_parts(const TraceFile& file, const ReadOptions& options, PartGiver& giver, Progress& progress) {
  const FileCut cut(file, options.part.count, range_bytes_);
  RangeTurns turns(cut.ranges_count(), cut.readers());
  give_ranges(file, cut, options, turns, giver, progress);
}

void KinetoReader::give_ranges(const TraceFile& file, const FileCut& cut, const ReadOptions& options, RangeTurns& turns,
                               PartGiver& giver, Progress& progress) {
  OwnedPart part = std::make_unique<KinetoPart>();
  for (int number = turns.next(options.part.number, -1), next = 0; part != nullptr && number < cut.ranges_count(); number = next) {
    part->start_next(options);
    const std::optional<FileRange> range = cut.range(number);
    if (range.has_value()) {
      TraceHeader header;
      header.keeps_said = true;
      // Nothing of the file is left for a part that begins where it ends.
      if (range->begin < file.bytes) part->scan = scan_range(file, *range, options, *part->builder, header, progress);
      part->reaches_end = range->end == file.bytes;
      part->usable = (part->scan.status == SourceStatus::end || range->begin >= file.bytes) && part->builder->can_be_a_part();
      part->header = std::move(header.said);
    }
    next = turns.next(options.part.number, number);
    part->is_last = !part->usable || next == cut.ranges_count();
    part = giver.give(std::move(part));
  }
}

std::optional<ScanOutcome> KinetoReader::take_parts(const TraceFile& file, const ReadOptions& options,
                                                    KinetoBuilder& builder, TraceHeader& header, Progress& progress) {
  PartReceiver elsewhere(options);
  elsewhere.skip(options.lent.parts);
  const FileCut cut(file, options.part.count, range_bytes_);
  RangeTurns turns(cut.ranges_count(), cut.readers(), options.lent.parts, options.lent.processors.size());
  PartThreads threads(options, elsewhere, progress, [&](const ReadOptions& of_part, PartGiver& giver, Progress& of_thread) {
    KinetoReader(limit_bytes_, inflate_, level_, range_bytes_).give_ranges(file, cut, of_part, turns, giver, of_thread);
  });
  std::optional<ScanOutcome> found = join_parts(file, cut, options, turns, threads, builder, header, progress);
  threads.finish();
  return found;
}

std::optional<ScanOutcome> KinetoReader::join_parts(const TraceFile& file, const FileCut& cut, const ReadOptions& options,
                                                    RangeTurns& turns, PartTaker& parts, KinetoBuilder& builder,
                                                    TraceHeader& header, Progress& progress) {
  ScanOutcome all;
  bool at_file_end = false;
  for (int number = 0; number < cut.ranges_count() && !at_file_end; ++number) {
    ScanOutcome found;
    if (const int reader = turns.reach(number); reader > 0) {
      OwnedPart part = parts.take(reader);
      if (!absorb(part.get(), builder, header)) return std::nullopt;
      found = std::move(part->scan);
      at_file_end = part->reaches_end;
      parts.give_back(reader, std::move(part));
    } else {
      const std::optional<FileRange> range = cut.range(number);
      if (!range.has_value()) return std::nullopt;
      found = scan_range(file, *range, options, builder, header, progress);
      if (found.stopped) return found;
      if (found.status != SourceStatus::end || !builder.can_be_a_part()) return std::nullopt;
      at_file_end = range->end == file.bytes;
    }
    if (!at_file_end && !found.ends_at_event) return std::nullopt;
    if (number == 0)
      all = std::move(found);
    else
      add_outcome(found, all);
  }
  return all;
}

}  // namespace ccl
