#include "parse/snapshot_records.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

namespace ccl {
namespace {

// Sums of as many sizes as are kept stay below 2^63.
constexpr std::int64_t largest_bytes = std::int64_t{1} << 39;
constexpr std::size_t most_segments = 1 << 20, most_frames = 1 << 22, most_marks = 1 << 20, most_lists = 1 << 21,
                      most_devices = 4096;

// Their order is the index of their text: the empty text is number 0.
enum Key : std::uint32_t {
  no_key,
  key_segments,
  key_device_traces,
  key_external_annotations,
  key_device,
  key_address,
  key_total_size,
  key_allocated_size,
  key_size,
  key_active_size,
  key_blocks,
  key_requested_size,
  key_segment_type,
  key_state,
  key_action,
  key_device_free,
  key_addr,
  key_time_us,
  key_frames,
  key_history,
  key_real_size,
  key_filename,
  key_line,
  key_name,
  key_stage,
  key_stream,
  keys_end
};
constexpr std::array<const char*, keys_end> key_texts{"",
                                                      "segments",
                                                      "device_traces",
                                                      "external_annotations",
                                                      "device",
                                                      "address",
                                                      "total_size",
                                                      "allocated_size",
                                                      "size",
                                                      "active_size",
                                                      "blocks",
                                                      "requested_size",
                                                      "segment_type",
                                                      "state",
                                                      "action",
                                                      "device_free",
                                                      "addr",
                                                      "time_us",
                                                      "frames",
                                                      "history",
                                                      "real_size",
                                                      "filename",
                                                      "line",
                                                      "name",
                                                      "stage",
                                                      "stream"};

enum class RecordKind : std::int64_t { entry = 1, block, segment, frame, mark, entry_list, block_list, site };
constexpr int kind_shift = 44;

PickleValue record(RecordKind kind, std::int64_t number) {
  return {PickleType::record, static_cast<std::int64_t>(kind) << kind_shift | number};
}
bool is(PickleValue value, RecordKind kind) {
  return value.type == PickleType::record && value.number >> kind_shift == static_cast<std::int64_t>(kind);
}
std::int64_t number_in(std::int64_t record_number) { return record_number & ((std::int64_t{1} << kind_shift) - 1); }

PickleValue value_of(const std::vector<PickleValue>& items, Key key) {
  for (std::size_t i = items.size(); i > 1; i -= 2)
    if (items[i - 2].number == key) return items[i - 1];
  return {};
}
bool has(const std::vector<PickleValue>& items, Key key) {
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i].number == key) return true;
  return false;
}
std::int64_t integer(const std::vector<PickleValue>& items, Key key, std::int64_t absent) {
  const PickleValue value = value_of(items, key);
  return value.type == PickleType::integer ? value.number : absent;
}
std::int64_t bytes_of(const std::vector<PickleValue>& items, Key key, std::int64_t absent = 0) {
  const std::int64_t bytes = integer(items, key, absent);
  return bytes >= 0 && bytes <= largest_bytes ? bytes : absent;
}

MemoryAction action_of(std::string_view text) {
  constexpr std::array<std::string_view, 9> names{"",
                                                  "alloc",
                                                  "free_requested",
                                                  "free_completed",
                                                  "segment_alloc",
                                                  "segment_free",
                                                  "segment_map",
                                                  "segment_unmap",
                                                  "oom"};
  const auto at = std::find(names.begin() + 1, names.end(), text);
  return at == names.end() ? MemoryAction::other : static_cast<MemoryAction>(at - names.begin());
}

}  // namespace

SnapshotRecords::SnapshotRecords(Pickle& pickle) : pickle_(pickle) {
  for (std::uint32_t key = 0; key < keys_end; ++key)
    if (pickle.texts.index(key_texts[key]) != key) throw std::logic_error("the pickle has texts already");
}

bool SnapshotRecords::wants(std::uint32_t key) const { return key != no_key && key < keys_end; }

const MemoryEntry* SnapshotRecords::entry(std::int64_t number) const {
  return number < first_entry_ ? nullptr : &entries_[static_cast<std::size_t>(number - first_entry_)];
}

PickleValue SnapshotRecords::finished(PickleValue container, const PickleContainer& content) {
  if (container.type == PickleType::dict) return finished_dict(content);
  if (container.type == PickleType::list) return finished_list(container, content);
  return {};
}

PickleValue SnapshotRecords::finished_dict(const PickleContainer& content) {
  const std::vector<PickleValue>& items = content.items;
  if (has(items, key_filename)) return add_frame(items);
  if (has(items, key_action)) return add_entry(items);
  if (has(items, key_state)) return add_block(items);
  if (has(items, key_blocks)) return add_segment(items);
  if (has(items, key_stage)) return add_mark(items);
  if (has(items, key_segments)) take_root(items);
  // A block of the older format says where it comes from in its history.
  if (has(items, key_real_size)) return record(RecordKind::site, site_of(value_of(items, key_frames)));
  return {};
}

PickleValue SnapshotRecords::add_frame(const std::vector<PickleValue>& items) {
  const PickleValue file = value_of(items, key_filename), name = value_of(items, key_name);
  PythonFrame frame;
  if (file.type == PickleType::text) frame.file = static_cast<std::uint32_t>(file.number);
  if (name.type == PickleType::text) frame.function = static_cast<std::uint32_t>(name.number);
  frame.line = integer(items, key_line, -1);
  const std::uint64_t hash =
      hash_combine(hash_combine(frame.file, frame.function), static_cast<std::uint64_t>(frame.line));
  const auto [at, added] = frame_of_.try_emplace(hash, static_cast<std::uint32_t>(frames.size()));
  if (added) {
    if (frames.size() >= most_frames) return {};
    frames.push_back(frame);
  }
  return record(RecordKind::frame, at->second);
}

PickleValue SnapshotRecords::add_entry(const std::vector<PickleValue>& items) {
  MemoryEntry entry;
  entry.action = action_of(pickle_.text(value_of(items, key_action)));
  entry.bytes = bytes_of(items, key_size);
  entry.address =
      entry.action == MemoryAction::oom ? bytes_of(items, key_device_free, -1) : integer(items, key_addr, 0);
  entry.time_us = integer(items, key_time_us, -1);
  entry.site = site_of(value_of(items, key_frames));
  entry.stream = number_of_stream(integer(items, key_stream, 0));
  if (static_cast<std::int64_t>(entries_.size()) >= most_entries) {
    entries_.pop_front();
    ++first_entry_;
    cut = true;
  }
  entries_.push_back(entry);
  return record(RecordKind::entry, first_entry_ + static_cast<std::int64_t>(entries_.size()) - 1);
}

PickleValue SnapshotRecords::add_block(const std::vector<PickleValue>& items) {
  if (static_cast<std::int64_t>(blocks_.size()) >= most_blocks) {
    cut = true;
    return {};
  }
  const std::string_view state = pickle_.text(value_of(items, key_state));
  MemoryBlock block;
  block.address = integer(items, key_address, -1);
  block.bytes = bytes_of(items, key_size);
  block.requested_bytes = bytes_of(items, key_requested_size);
  block.inactive = state == "inactive";
  block.allocated = state == "active_allocated";
  const PickleValue stack = value_of(items, has(items, key_frames) ? key_frames : key_history);
  block.site = site_of(stack);
  block.recorded = is(stack, RecordKind::site);
  blocks_.push_back(block);
  return record(RecordKind::block, static_cast<std::int64_t>(blocks_.size()) - 1);
}

PickleValue SnapshotRecords::add_segment(const std::vector<PickleValue>& items) {
  if (segments.size() >= most_segments) {
    cut = true;
    return {};
  }
  MemorySegment segment;
  segment.device = integer(items, key_device, 0);
  segment.address = integer(items, key_address, 0);
  segment.total_bytes = bytes_of(items, key_total_size);
  segment.allocated_bytes = bytes_of(items, key_allocated_size);
  segment.active_bytes = bytes_of(items, key_active_size);
  segment.requested_bytes = bytes_of(items, key_requested_size, -1);
  segment.small = pickle_.text(value_of(items, key_segment_type)) == "small";
  if (const PickleValue blocks = value_of(items, key_blocks); is(blocks, RecordKind::block_list))
    segment.blocks = block_lists_[static_cast<std::size_t>(number_in(blocks.number))];
  segments.push_back(segment);
  is_snapshot = true;
  return record(RecordKind::segment, static_cast<std::int64_t>(segments.size()) - 1);
}

PickleValue SnapshotRecords::add_mark(const std::vector<PickleValue>& items) {
  constexpr std::string_view lead = "ProfilerStep#";
  const std::string_view name = pickle_.text(value_of(items, key_name));
  StepMark mark;
  if (name.substr(0, lead.size()) != lead || marks.size() >= most_marks) return {};
  const auto read = std::from_chars(name.data() + lead.size(), name.data() + name.size(), mark.step);
  if (read.ec != std::errc() || read.ptr != name.data() + name.size()) return {};
  mark.starts = pickle_.text(value_of(items, key_stage)) == "START";
  mark.time_us = integer(items, key_time_us, -1);
  mark.device = integer(items, key_device, 0);
  marks.push_back(mark);
  return record(RecordKind::mark, static_cast<std::int64_t>(marks.size()) - 1);
}

PickleValue SnapshotRecords::finished_list(PickleValue list, const PickleContainer& content) {
  const PickleValue first = content.records_count > 0 ? PickleValue{PickleType::record, content.first_record}
                            : content.items.empty()   ? PickleValue{}
                                                      : content.items.front();
  if (is(first, RecordKind::site)) return first;
  if (is(first, RecordKind::frame)) {
    // The innermost Python frame; those before it are the allocator's own.
    const auto python = [&](std::int64_t number) {
      return pickle_.texts.text(frames[static_cast<std::size_t>(number_in(number))].file).ends_with(".py");
    };
    for (std::int64_t i = 0; i < content.records_count; ++i)
      if (python(content.first_record + i)) return record(RecordKind::site, number_in(content.first_record + i) + 1);
    for (const PickleValue frame : content.items)
      if (is(frame, RecordKind::frame) && python(frame.number))
        return record(RecordKind::site, number_in(frame.number) + 1);
    return record(RecordKind::site, 0);
  }
  if (is(first, RecordKind::entry) || is(first, RecordKind::block)) {
    // Written one after the other they form a run; entries that are shared between lists do not occur.
    const bool of_blocks = is(first, RecordKind::block);
    std::vector<RecordRange>& lists = of_blocks ? block_lists_ : entry_lists_;
    if (lists.size() >= most_lists) return {};
    RecordRange range{number_in(first.number), content.records_count};
    for (const PickleValue item : content.items) {
      if (item.type != PickleType::record || item.number != first.number + range.count) break;
      ++range.count;
    }
    lists.push_back(range);
    return record(of_blocks ? RecordKind::block_list : RecordKind::entry_list, static_cast<std::int64_t>(lists.size()) - 1);
  }
  // The list of the devices' traces; some of them are empty.
  for (const PickleValue item : content.items)
    if (is(item, RecordKind::entry_list)) return content.items.size() <= most_devices ? list : PickleValue{};
  if (is(first, RecordKind::entry_list))
    return content.records_count <= static_cast<std::int64_t>(most_devices) ? list : PickleValue{};
  return {};
}

void SnapshotRecords::take_root(const std::vector<PickleValue>& items) {
  is_snapshot = true;
  const PickleValue devices = value_of(items, key_device_traces);
  if (devices.type != PickleType::list) return;
  const PickleContainer& content = pickle_.containers[static_cast<std::size_t>(devices.number)];
  const auto add = [&](PickleValue trace) {
    traces.push_back(is(trace, RecordKind::entry_list) ? entry_lists_[static_cast<std::size_t>(number_in(trace.number))]
                                                       : RecordRange{});
  };
  for (std::int64_t i = 0; i < content.records_count; ++i) add({PickleType::record, content.first_record + i});
  for (const PickleValue item : content.items) add(item);
}

std::uint32_t SnapshotRecords::site_of(PickleValue frames_list) const {
  return is(frames_list, RecordKind::site) ? static_cast<std::uint32_t>(number_in(frames_list.number)) : 0;
}

std::uint16_t SnapshotRecords::number_of_stream(std::int64_t stream) {
  constexpr std::size_t most_streams = 65535;
  if (const auto at = number_of_stream_.find(stream); at != number_of_stream_.end()) return at->second;
  if (streams.size() == most_streams) return most_streams - 1;
  streams.push_back(stream);
  const auto number = static_cast<std::uint16_t>(streams.size() - 1);
  number_of_stream_.emplace(stream, number);
  return number;
}

}  // namespace ccl
