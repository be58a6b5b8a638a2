#include "parse/memory_replay.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <unordered_map>

namespace ccl {
namespace {

constexpr std::int64_t most_devices = 4096;
constexpr std::int64_t block_bytes = 512;  // the allocator's smallest unit
constexpr std::size_t most_sites = 20;
// A list that is shared by many devices or segments costs no more time than this.
constexpr std::int64_t most_replayed = 1 << 24, most_blocks = 1 << 23;
constexpr std::int64_t end_of_time = std::numeric_limits<std::int64_t>::max();

std::int64_t rounded(std::int64_t bytes) { return (bytes + block_bytes - 1) / block_bytes * block_bytes; }

/// A block in use. Where it was asked for is unknown while only its free has been met.
struct LiveBlock {
  std::int64_t bytes = 0;
  std::uint32_t site = 0;
  bool site_known = true;
  bool recorded = false;  // in use at the dump with a stack: its allocation is among the entries, if none was dropped
};
using Live = std::unordered_map<std::int64_t, LiveBlock>;

struct Device {
  DeviceMemory memory;
  Live live;  // at the dump, by address
  std::int64_t live_bytes = 0, live_requested_bytes = 0;
};

/// Steps of one device, ascending and apart from each other; what is not is damage and left out.
std::vector<StepMemory> steps_of(const std::vector<StepMark>& marks, std::int64_t device) {
  std::map<std::int64_t, StepMemory> open;
  for (const StepMark& mark : marks) {
    if (mark.device != device || mark.time_us < 0) continue;
    StepMemory& step = open[mark.step];
    step.step = mark.step;
    (mark.starts ? step.first_us : step.last_us) = mark.time_us;
  }
  std::vector<StepMemory> steps;
  for (const auto& [number, step] : open)
    if (step.first_us >= 0 && step.last_us >= step.first_us && (steps.empty() || step.first_us >= steps.back().last_us))
      steps.push_back(step);
  return steps;
}

class Replay {
 public:
  Replay(const SnapshotRecords& records, RecordRange range, Device& device)
      : records_(records), first_(range.first), end_(range.first + range.count), device_(device), m_(device.memory) {
    while (first_ < end_ && records.entry(first_) == nullptr) ++first_, m_.cut = true;
  }

  void run() {
    if (first_ == end_) return;
    m_.steps = steps_of(records_.marks, m_.device);
    next_step_ = m_.steps.size();
    const Live at_dump = device_.live;
    requested_ = m_.peak_requested_bytes = device_.live_requested_bytes;
    active_ = m_.peak_active_bytes = device_.live_bytes;
    reserved_ = m_.peak_reserved_bytes = m_.reserved_bytes;
    std::int64_t peak_at = end_, until_us = end_of_time;
    for (std::int64_t i = end_; i-- > first_;) {
      const MemoryEntry& entry = *records_.entry(i);
      spread_over_steps(entry, until_us);
      until_us = entry.time_us;
      undo(entry);
      m_.peak_requested_bytes = std::max(m_.peak_requested_bytes, requested_);
      m_.peak_reserved_bytes = std::max(m_.peak_reserved_bytes, reserved_);
      if (active_ >= m_.peak_active_bytes) m_.peak_active_bytes = active_, peak_at = i;
    }
    spread_over_steps({.time_us = -1}, until_us);
    m_.peak_us = records_.entry(std::max(first_, peak_at - 1))->time_us;
    m_.start_active_bytes = active_;
    m_.start_reserved_bytes = reserved_;
    m_.allocation_missing = std::any_of(device_.live.begin(), device_.live.end(),
                                        [](const auto& block) { return block.second.recorded; });
    list_streams();
    std::reverse(m_.out_of_memory.begin(), m_.out_of_memory.end());
    rank_sites(at_dump, peak_at);
  }

 private:
  /// What was in use from the entry until the next one counts in the steps of that time.
  void spread_over_steps(const MemoryEntry& entry, std::int64_t until_us) {
    while (next_step_ > 0 && m_.steps[next_step_ - 1].first_us >= until_us) --next_step_;
    for (std::size_t s = next_step_; s-- > 0 && m_.steps[s].last_us >= entry.time_us;) {
      StepMemory& step = m_.steps[s];
      step.peak_active_bytes = std::max(step.peak_active_bytes, active_);
      if (step.end_active_bytes < 0) step.end_active_bytes = active_;
      if (entry.action != MemoryAction::alloc || entry.time_us < step.first_us) continue;
      ++step.allocations_count;
      step.allocations_bytes += entry.bytes;
    }
  }

  void undo(const MemoryEntry& entry) {
    note_time(entry.time_us);
    ++m_.entries_count;
    switch (entry.action) {
      case MemoryAction::alloc: undo_allocation(entry); break;
      case MemoryAction::free_completed:
        requested_ += entry.bytes;
        active_ += rounded(entry.bytes);
        device_.live[entry.address] = {rounded(entry.bytes), 0, false};
        break;
      case MemoryAction::free_requested:
        ++m_.frees_count;
        m_.frees_bytes += entry.bytes;
        ++streams_[entry.stream].frees_count;
        streams_[entry.stream].frees_bytes += entry.bytes;
        break;
      case MemoryAction::segment_alloc: ++m_.segment_allocations_count; [[fallthrough]];
      case MemoryAction::segment_map: reserved_ -= entry.bytes; break;
      case MemoryAction::segment_free:
      case MemoryAction::segment_unmap: reserved_ += entry.bytes; break;
      case MemoryAction::oom: m_.out_of_memory.push_back({entry.time_us, entry.bytes, entry.address}); break;
      case MemoryAction::other: break;
    }
  }

  void undo_allocation(const MemoryEntry& entry) {
    ++m_.allocations_count;
    m_.allocations_bytes += entry.bytes;
    ++streams_[entry.stream].allocations_count;
    streams_[entry.stream].allocations_bytes += entry.bytes;
    const auto bucket = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(entry.bytes | 1)) - 1);
    if (m_.sizes_count.size() <= bucket) m_.sizes_count.resize(bucket + 1);
    ++m_.sizes_count[bucket];
    requested_ -= entry.bytes;
    const auto known = device_.live.find(entry.address);
    active_ -= known == device_.live.end() ? rounded(entry.bytes) : known->second.bytes;
    if (known != device_.live.end()) device_.live.erase(known);
  }

  void list_streams() {
    for (auto& [number, stream] : streams_) {
      stream.stream = records_.streams[number];
      m_.streams.push_back(stream);
    }
    std::sort(m_.streams.begin(), m_.streams.end(),
              [](const StreamMemory& a, const StreamMemory& b) { return a.stream < b.stream; });
  }

  void note_time(std::int64_t time_us) {
    if (time_us < 0) return;
    m_.first_us = m_.first_us < 0 ? time_us : std::min(m_.first_us, time_us);
    m_.last_us = std::max(m_.last_us, time_us);
  }

  /// Who holds the memory at the peak. Blocks that are freed later get their site from their own allocation, the
  /// nearest one before the peak.
  void rank_sites(const Live& at_dump, std::int64_t peak_at) {
    if (records_.frames.empty()) return;
    Live live = at_dump;
    for (std::int64_t i = end_; i-- > peak_at;) {
      const MemoryEntry& entry = *records_.entry(i);
      if (entry.action == MemoryAction::alloc) live.erase(entry.address);
      if (entry.action == MemoryAction::free_completed) live[entry.address] = {rounded(entry.bytes), 0, false};
    }
    for (std::int64_t i = peak_at; i-- > first_;) {
      const MemoryEntry& entry = *records_.entry(i);
      if (entry.action != MemoryAction::alloc) continue;
      const auto at = live.find(entry.address);
      if (at != live.end() && !at->second.site_known) at->second.site = entry.site, at->second.site_known = true;
    }
    std::map<std::uint32_t, AllocationSite> sites;
    for (const auto& [address, block] : live) sites[block.site].at_peak_bytes += block.bytes;
    for (const auto& [address, block] : at_dump) sites[block.site].at_end_bytes += block.bytes;
    for (auto& [number, site] : sites) {
      site.line = std::int64_t{number};  // the frame's number, until the texts are filled in
      m_.sites.push_back(site);
    }
  }

  const SnapshotRecords& records_;
  std::int64_t first_, end_;
  Device& device_;
  DeviceMemory& m_;
  std::int64_t requested_ = 0, active_ = 0, reserved_ = 0;
  std::size_t next_step_ = 0;
  std::unordered_map<std::uint16_t, StreamMemory> streams_;
};

void add_blocks(const SnapshotRecords& records, const MemorySegment& segment, Device& device) {
  bool split = false;
  for (std::int64_t b = 0; b < segment.blocks.count; ++b)
    split = split || !records.block(segment.blocks.first + b).inactive;
  PoolMemory& pool = segment.small ? device.memory.small : device.memory.large;
  auto next = static_cast<std::uint64_t>(segment.address);
  for (std::int64_t b = 0; b < segment.blocks.count; ++b) {
    const MemoryBlock& block = records.block(segment.blocks.first + b);
    const auto address = block.address < 0 ? next : static_cast<std::uint64_t>(block.address);
    next = address + static_cast<std::uint64_t>(block.bytes);
    ++device.memory.blocks_count;
    if (block.inactive) {
      pool.inactive_bytes += block.bytes;
      pool.largest_inactive_bytes = std::max(pool.largest_inactive_bytes, block.bytes);
      if (split) pool.inactive_split_bytes += block.bytes;
      continue;
    }
    device.live_bytes += block.bytes;
    device.live_requested_bytes += block.requested_bytes > 0 ? block.requested_bytes : block.bytes;
    device.live[static_cast<std::int64_t>(address)] = {block.bytes, block.site, true, block.recorded};
  }
}

void add_segment(const SnapshotRecords& records, const MemorySegment& segment,
                 std::map<std::int64_t, Device>& devices) {
  if (segment.device < 0 || segment.device >= most_devices) return;
  Device& device = devices[segment.device];
  DeviceMemory& m = device.memory;
  m.device = static_cast<std::int32_t>(segment.device);
  if (m.blocks_count + segment.blocks.count > most_blocks) {
    m.cut = true;
    return;
  }
  ++m.segments_count;
  m.reserved_bytes += segment.total_bytes;
  m.allocated_bytes += segment.allocated_bytes;
  m.active_bytes += segment.active_bytes;
  if (segment.requested_bytes >= 0)
    m.requested_bytes = std::max<std::int64_t>(m.requested_bytes, 0) + segment.requested_bytes;
  add_blocks(records, segment, device);
}

/// The largest sites, with their texts. Equal sizes are ordered by text, not by how the file numbers them.
void name_sites(const SnapshotRecords& records, const StringTable& texts, std::vector<AllocationSite>& sites) {
  for (AllocationSite& site : sites) {
    const std::int64_t number = site.line;
    site.line = -1;
    if (number == 0) continue;
    const PythonFrame& frame = records.frames[static_cast<std::size_t>(number - 1)];
    site.file = texts.text(frame.file);
    site.function = texts.text(frame.function);
    site.line = frame.line;
  }
  std::sort(sites.begin(), sites.end(), [](const AllocationSite& a, const AllocationSite& b) {
    return std::tie(b.at_peak_bytes, b.at_end_bytes, a.file, a.function, a.line) <
           std::tie(a.at_peak_bytes, a.at_end_bytes, b.file, b.function, b.line);
  });
  if (sites.size() > most_sites) sites.resize(most_sites);
}

}  // namespace

std::vector<DeviceMemory> replay(const SnapshotRecords& records, const StringTable& texts) {
  std::map<std::int64_t, Device> devices;
  for (const MemorySegment& segment : records.segments) add_segment(records, segment, devices);
  std::int64_t left = most_replayed;
  for (std::size_t d = 0; d < records.traces.size() && d < static_cast<std::size_t>(most_devices); ++d) {
    const RecordRange range = records.traces[d];
    if (range.count == 0) continue;
    Device& device = devices[static_cast<std::int64_t>(d)];
    device.memory.device = static_cast<std::int32_t>(d);
    device.memory.cut = device.memory.cut || records.cut || range.count > left;
    if (range.count > left) continue;
    left -= range.count;
    Replay(records, range, device).run();
    name_sites(records, texts, device.memory.sites);
  }
  std::vector<DeviceMemory> out;
  for (auto& [number, device] : devices) out.push_back(std::move(device.memory));
  return out;
}

}  // namespace ccl
