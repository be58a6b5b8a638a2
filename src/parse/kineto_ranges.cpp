// One plain Kineto file read by several readers, each a range of its bytes. A border is a guess where an event starts;
// it counts only if the scan of the range before arrives there behind a whole event of the list, which is exactly
// where a scan of the whole file would be. Where that is not so, or a part holds what can not be put together, the
// first reader reads the whole file: the trace is the same in any case.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "parse/kineto_reader.hpp"
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
  constexpr std::size_t first_look = std::size_t{64} << 10, last_look = std::size_t{64} << 20;
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

/// The range of a part; nothing if the file is not to be read in parts. Each reader finds the borders of its own part,
/// the same ones as its neighbours.
std::optional<FileRange> range_of(const TraceFile& file, FilePart part) {
  const int fd = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::optional<FileRange> range;
  if (opens_with_brace(fd)) {
    const auto border = [&](int number) {
      if (number == 0) return std::int64_t{0};
      if (number == part.count) return file.bytes;
      return border_near(fd, file.bytes / part.count * number, file.bytes);
    };
    range = FileRange{border(part.number), border(part.number + 1)};
  }
  ::close(fd);
  return range;
}

/// The first parcel of a part.
struct PartTold {
  bool usable = false, reaches_end = false;  // of the file
  std::uint64_t parcels_count = 0;           // that follow
  ScanOutcome scan;
  std::vector<TraceHeader::Said> header;
  Bytes tables;
};

Bytes pack(const PartTold& part) {
  ByteWriter out;
  out.value(part.usable);
  out.value(part.reaches_end);
  out.value(part.parcels_count);
  out.value(part.scan.text_bytes);
  out.value(part.scan.cut);
  out.value(part.scan.ends_at_event);
  out.array(part.scan.damage);
  out.value<std::uint64_t>(part.header.size());
  for (const TraceHeader::Said& said : part.header) {
    out.text(said.key);
    out.text(said.text);
    out.value(said.type);
  }
  out.array(part.tables);
  return out.take();
}

/// What broke down on its way is empty.
PartTold unpack(const Bytes& bytes) {
  PartTold part;
  if (bytes.empty()) return part;
  ByteReader in(bytes);
  part.usable = in.value<bool>();
  part.reaches_end = in.value<bool>();
  part.parcels_count = in.value<std::uint64_t>();
  part.scan.text_bytes = in.value<std::int64_t>();
  part.scan.cut = in.value<bool>();
  part.scan.ends_at_event = in.value<bool>();
  part.scan.damage = in.array<DamagedRange>();
  part.header.resize(in.value<std::uint64_t>());
  for (TraceHeader::Said& said : part.header) {
    said.key = in.text();
    said.text = in.text();
    said.type = in.value<JsonType>();
  }
  part.tables = in.array<std::byte>();
  return part;
}

/// Takes the parts in order. What is left when it goes is taken all the same: the others wait until it is.
class IncomingParts {
 public:
  IncomingParts(PartExchange& parts, int count) : parts_(parts), count_(count) {}
  IncomingParts(const IncomingParts&) = delete;
  IncomingParts& operator=(const IncomingParts&) = delete;
  ~IncomingParts() {
    try {
      finish_part();
      while (number_ + 1 < count_) next(), finish_part();
    } catch (const FatalError&) {
      // The connection is gone, and with it who waits.
    }
  }
  PartTold next() {
    finish_part();
    PartTold part = unpack(parts_.take(++number_));
    left_ = part.parcels_count;
    return part;
  }
  Bytes parcel() {
    --left_;
    return parts_.take(number_);
  }

 private:
  void finish_part() {
    while (left_ > 0) parcel();
  }
  PartExchange& parts_;
  int count_;
  int number_ = 0;
  std::uint64_t left_ = 0;
};

}  // namespace

void pass_over_part(const ReadOptions& options) {
  if (options.part.count < 2 || options.parts == nullptr) return;
  if (options.part.number > 0)
    options.parts->give({});
  else
    IncomingParts(*options.parts, options.part.count);
}

ScanOutcome KinetoReader::scan_range(const TraceFile& file, FileRange range, const ReadOptions& options,
                                     KinetoBuilder& builder, TraceHeader& header, Progress& progress) {
  const bool last = range.end == file.bytes;
  const std::unique_ptr<ByteSource> source =
      open_range(file.path, {range.begin, last ? INT64_MAX : range.end}, window_bytes(options), source_memory_);
  KinetoScan scan_of(builder, header, std::max(limit_bytes_, window_bytes(options)), level_);
  if (range.begin > 0) scan_of.start_at_event(range.begin);
  return scan(*source, scan_of, last ? ScanEnd::of_file : ScanEnd::of_range, progress);
}

void KinetoReader::give_part(const TraceFile& file, const ReadOptions& options, Progress& progress) {
  std::size_t given = 0;
  PartTold part;
  try {
    KinetoBuilder builder(options, memory_, BuildsPart::later);
    const std::optional<FileRange> range = range_of(file, options.part);
    if (range.has_value()) {
      TraceHeader header;
      header.keeps_said = true;
      // Nothing of the file is left for a part that begins where it ends.
      if (range->begin < file.bytes) part.scan = scan_range(file, *range, options, builder, header, progress);
      part.reaches_end = range->end == file.bytes;
      part.usable = (part.scan.status == SourceStatus::end || range->begin >= file.bytes) && builder.can_be_a_part();
      part.header = std::move(header.said);
      if (part.usable) part.tables = builder.pack_tables(), part.parcels_count = builder.parcels_count();
    }
    options.parts->give(pack(part));
    for (; given < part.parcels_count; ++given) options.parts->give(builder.pack_events(given));
  } catch (const std::bad_alloc&) {
    if (given == 0 && part.parcels_count == 0) options.parts->give({});
    for (; given < part.parcels_count; ++given) options.parts->give({});
    throw;
  }
}

std::optional<ScanOutcome> KinetoReader::take_parts(const TraceFile& file, const ReadOptions& options,
                                                    KinetoBuilder& builder, TraceHeader& header, Progress& progress) {
  IncomingParts incoming(*options.parts, options.part.count);
  const std::optional<FileRange> range = range_of(file, options.part);
  if (!range.has_value()) return std::nullopt;
  ScanOutcome all = scan_range(file, *range, options, builder, header, progress);
  if (all.stopped) return all;
  bool at_file_end = range->end == file.bytes;
  if (all.status != SourceStatus::end || !builder.can_be_a_part() || (!at_file_end && !all.ends_at_event))
    return std::nullopt;
  for (int number = 1; number < options.part.count && !at_file_end; ++number) {
    const PartTold part = incoming.next();
    if (!part.usable) return std::nullopt;
    ByteReader tables(part.tables);
    builder.absorb_tables(tables);
    for (std::uint64_t i = 0; i < part.parcels_count; ++i) {
      const Bytes parcel = incoming.parcel();
      if (parcel.empty()) return std::nullopt;
      ByteReader events(parcel);
      builder.absorb_events(events);
    }
    for (const TraceHeader::Said& said : part.header)
      read_header_value(said.key, JsonValue{said.type, said.text}, header);
    all.text_bytes += part.scan.text_bytes;
    all.cut = part.scan.cut;
    for (const DamagedRange& damage : part.scan.damage) add_damaged_range(damage, all.damage);
    at_file_end = part.reaches_end;
    if (!at_file_end && !part.scan.ends_at_event) return std::nullopt;
  }
  return all;
}

}  // namespace ccl
