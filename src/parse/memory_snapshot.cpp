#include "parse/memory_snapshot.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <unordered_map>

namespace ccl {
namespace {

// Their product stays below 2^63, so no sum overflows, and a list that is shared by many segments costs no time.
constexpr std::int64_t largest_bytes = std::int64_t{1} << 40;
constexpr std::int64_t most_blocks = 1 << 22, most_entries = 1 << 22;
constexpr std::int64_t most_devices = 4096;
constexpr std::int64_t block_bytes = 512;  // the allocator's smallest unit

std::int64_t integer(const Pickle& all, PickleValue dict, std::string_view key, std::int64_t absent) {
  const PickleValue value = all.at(dict, key);
  return value.type == PickleType::integer ? value.number : absent;
}
std::int64_t bytes_of(const Pickle& all, PickleValue dict, std::string_view key, std::int64_t absent = 0) {
  const std::int64_t bytes = integer(all, dict, key, absent);
  return bytes >= 0 && bytes <= largest_bytes ? bytes : absent;
}

/// Block sizes of what is live at the dump, by address.
using Live = std::unordered_map<std::int64_t, std::int64_t>;

struct Device {
  DeviceMemory memory;
  Live live;
  std::int64_t live_bytes = 0, live_requested_bytes = 0;
};
using Devices = std::map<std::int32_t, Device>;

void add_block(const Pickle& all, PickleValue block, std::int64_t address, bool split, Device& device,
               PoolMemory& pool) {
  const std::int64_t size = bytes_of(all, block, "size");
  ++device.memory.blocks_count;
  if (all.text(all.at(block, "state")) == "inactive") {
    pool.inactive_bytes += size;
    pool.largest_inactive_bytes = std::max(pool.largest_inactive_bytes, size);
    if (split) pool.inactive_split_bytes += size;
    return;
  }
  const std::int64_t requested = bytes_of(all, block, "requested_size");
  device.live_bytes += size;
  device.live_requested_bytes += requested > 0 ? requested : size;
  device.live[address] = size;
}

void add_segment(const Pickle& all, PickleValue segment, Devices& devices) {
  const std::int64_t number = integer(all, segment, "device", 0);
  if (number < 0 || number >= most_devices) return;
  Device& device = devices[static_cast<std::int32_t>(number)];
  DeviceMemory& m = device.memory;
  m.device = static_cast<std::int32_t>(number);
  if (m.segments_count >= most_blocks || m.blocks_count >= most_blocks) {
    m.cut = true;
    return;
  }
  ++m.segments_count;
  m.reserved_bytes += bytes_of(all, segment, "total_size");
  m.allocated_bytes += bytes_of(all, segment, "allocated_size");
  m.active_bytes += bytes_of(all, segment, "active_size");
  if (const std::int64_t requested = bytes_of(all, segment, "requested_size", -1); requested >= 0)
    m.requested_bytes = std::max<std::int64_t>(m.requested_bytes, 0) + requested;
  const auto& blocks = all.items(all.at(segment, "blocks"));
  const bool split = std::any_of(blocks.begin(), blocks.end(),
                                 [&](PickleValue block) { return all.text(all.at(block, "state")) != "inactive"; });
  PoolMemory& pool = all.text(all.at(segment, "segment_type")) == "small" ? m.small : m.large;
  auto next = static_cast<std::uint64_t>(integer(all, segment, "address", 0));
  for (const PickleValue block : blocks) {
    m.cut = m.cut || m.blocks_count >= most_blocks;
    if (m.cut) return;
    const std::int64_t address = integer(all, block, "address", static_cast<std::int64_t>(next));
    add_block(all, block, address, split, device, pool);
    next = static_cast<std::uint64_t>(address) + static_cast<std::uint64_t>(bytes_of(all, block, "size"));
  }
}

/// Newest to oldest, undoing each entry: what is live at the dump is known, what was live before it follows.
class Replay {
 public:
  Replay(const Pickle& all, Device& device) : all_(all), device_(device), m_(device.memory) {
    requested_ = m_.peak_requested_bytes = device.live_requested_bytes;
    active_ = m_.peak_active_bytes = device.live_bytes;
    reserved_ = m_.peak_reserved_bytes = m_.reserved_bytes;
  }

  void undo(PickleValue entry) {
    const std::string_view action = all_.text(all_.at(entry, "action"));
    const std::int64_t size = bytes_of(all_, entry, "size"), address = integer(all_, entry, "addr", 0);
    note_time(integer(all_, entry, "time_us", -1));
    ++m_.entries_count;
    if (action == "alloc")
      undo_allocation(size, address);
    else if (action == "free_completed")
      undo_free(size, address);
    else if (action == "free_requested")
      ++m_.frees_count, m_.frees_bytes += size;
    else if (action == "segment_alloc" || action == "segment_map")
      reserved_ -= size, m_.segment_allocations_count += action == "segment_alloc" ? 1 : 0;
    else if (action == "segment_free" || action == "segment_unmap")
      reserved_ += size;
    else if (action == "oom")
      m_.out_of_memory.push_back({integer(all_, entry, "time_us", -1), size, bytes_of(all_, entry, "device_free", -1)});
    m_.peak_requested_bytes = std::max(m_.peak_requested_bytes, requested_);
    m_.peak_active_bytes = std::max(m_.peak_active_bytes, active_);
    m_.start_active_bytes = active_, m_.start_reserved_bytes = reserved_;
    m_.peak_reserved_bytes = std::max(m_.peak_reserved_bytes, reserved_);
  }

 private:
  void undo_allocation(std::int64_t size, std::int64_t address) {
    ++m_.allocations_count;
    m_.allocations_bytes += size;
    const auto bucket = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(size | 1)) - 1);
    if (m_.sizes_count.size() <= bucket) m_.sizes_count.resize(bucket + 1);
    ++m_.sizes_count[bucket];
    requested_ -= size;
    const auto known = device_.live.find(address);
    active_ -= known == device_.live.end() ? rounded(size) : known->second;
    if (known != device_.live.end()) device_.live.erase(known);
  }
  void undo_free(std::int64_t size, std::int64_t address) {
    requested_ += size;
    active_ += rounded(size);
    device_.live[address] = rounded(size);
  }
  static std::int64_t rounded(std::int64_t size) { return (size + block_bytes - 1) / block_bytes * block_bytes; }
  void note_time(std::int64_t time_us) {
    if (time_us < 0) return;
    m_.first_us = m_.first_us < 0 ? time_us : std::min(m_.first_us, time_us);
    m_.last_us = std::max(m_.last_us, time_us);
  }

  const Pickle& all_;
  Device& device_;
  DeviceMemory& m_;
  std::int64_t requested_, active_, reserved_;
};

bool keeps(std::string_view key) {
  static constexpr std::array<std::string_view, 18> wanted{
      "segments", "device_traces", "device", "address",        "total_size",   "allocated_size",
      "size",     "active_size",   "blocks", "requested_size", "segment_type", "state",
      "action",   "device_free",   "addr",   "time_us",        "stream",       "is_expandable"};
  return std::find(wanted.begin(), wanted.end(), key) != wanted.end();
}

}  // namespace

std::vector<DeviceMemory> memory_of(const Pickle& snapshot) {
  Devices devices;
  // Before 2023 the snapshot was the bare list of segments.
  const PickleValue segments =
      snapshot.root.type == PickleType::list ? snapshot.root : snapshot.at(snapshot.root, "segments");
  for (const PickleValue segment : snapshot.items(segments)) add_segment(snapshot, segment, devices);
  const auto& traces = snapshot.items(snapshot.at(snapshot.root, "device_traces"));
  for (std::size_t d = 0; d < traces.size() && d < static_cast<std::size_t>(most_devices); ++d) {
    const auto& entries = snapshot.items(traces[d]);
    if (entries.empty()) continue;
    Device& device = devices[static_cast<std::int32_t>(d)];
    device.memory.device = static_cast<std::int32_t>(d);
    Replay replay(snapshot, device);
    const std::size_t first = entries.size() - std::min(entries.size(), static_cast<std::size_t>(most_entries));
    device.memory.cut = device.memory.cut || first > 0;
    for (std::size_t i = entries.size(); i-- > first;) replay.undo(entries[i]);
    std::reverse(device.memory.out_of_memory.begin(), device.memory.out_of_memory.end());
  }
  std::vector<DeviceMemory> out;
  for (auto& [number, device] : devices) out.push_back(std::move(device.memory));
  return out;
}

std::vector<DeviceMemory> read_memory_snapshot(const TraceFile& file, std::int64_t window_bytes, Problems& problems,
                                               Progress& progress) {
  SourceMemory memory;
  const auto source = open_source(file.path, static_cast<std::size_t>(window_bytes), memory);
  Pickle snapshot;
  std::int64_t reported = 0;
  const PickleFailure failure = read_pickle(*source, keeps, {}, snapshot, [&](std::int64_t used) {
    progress.add_bytes(used - reported);
    reported = used;
    return !progress.stop_requested();
  });
  Problem problem{.code = Code::json_invalid,
                  .iteration = file.iteration,
                  .rank = file.rank_in_name,
                  .file = file.shown,
                  .offset = failure.offset,
                  .detail = failure.why};
  if (failure.why.empty() && snapshot.root.type != PickleType::dict && snapshot.root.type != PickleType::list)
    problem.detail = "the pickle is no memory snapshot";
  if (problem.detail.empty()) {
    std::vector<DeviceMemory> found = memory_of(snapshot);
    problem.code = Code::size_limit;
    problem.detail = "blocks or the oldest trace entries were left out";
    if (std::any_of(found.begin(), found.end(), [](const DeviceMemory& m) { return m.cut; }))
      problems.add(std::move(problem));
    return found;
  }
  if (source->status() == SourceStatus::unreadable)
    problem.code = Code::unreadable_file, problem.detail = source->error();
  if (source->status() == SourceStatus::gzip_cut) problem.code = Code::gzip_cut;
  problems.add(std::move(problem));
  return {};
}

}  // namespace ccl
