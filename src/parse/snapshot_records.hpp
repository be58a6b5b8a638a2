// What is kept of a memory snapshot while its pickle streams by: at most 32 bytes per trace entry and per block, and
// the Python frames that asked for memory. In: finished containers of the pickle. Out: records for the replay.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/device_memory.hpp"
#include "parse/pickle_reader.hpp"

namespace ccl {

enum class MemoryAction : std::uint8_t {
  other,
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  oom
};

struct MemoryEntry {
  std::int64_t address = 0;  // of oom: what was free on the device
  std::int64_t bytes = 0, time_us = -1;
  std::uint32_t site = 0;  // innermost Python frame + 1; 0 = none
  std::uint16_t stream = 0;  // index into SnapshotRecords::streams
  MemoryAction action = MemoryAction::other;
};

struct MemoryBlock {
  std::int64_t address = -1;  // −1: follows the block before it
  std::int64_t bytes = 0, requested_bytes = 0;
  std::uint32_t site = 0;
  bool inactive = false, allocated = false;
  bool recorded = false;  // it has a stack: its allocation was recorded
};

/// A range of entries or blocks: numbers count from the first that was read.
struct RecordRange {
  std::int64_t first = 0, count = 0;
};

struct MemorySegment {
  std::int64_t device = 0, address = 0, total_bytes = 0, allocated_bytes = 0, active_bytes = 0, requested_bytes = -1;
  bool small = false;
  RecordRange blocks;
};

struct PythonFrame {
  std::uint32_t file = 0, function = 0;  // indices into the pickle's texts
  std::int64_t line = -1;
};

/// START or END of a ProfilerStep.
struct StepMark {
  std::int64_t step = -1, time_us = -1, device = 0;
  bool starts = false;
};

class SnapshotRecords final : public PickleConsumer {
 public:
  static constexpr std::int64_t most_entries = 1 << 23, most_blocks = 1 << 22;

  explicit SnapshotRecords(Pickle& pickle);

  bool wants(std::uint32_t key) const override;
  PickleValue finished(PickleValue container, const PickleContainer& content) override;

  /// Null when it was dropped for being older than the newest most_entries.
  const MemoryEntry* entry(std::int64_t number) const;
  const MemoryBlock& block(std::int64_t number) const { return blocks_[static_cast<std::size_t>(number)]; }

  std::vector<MemorySegment> segments;
  std::vector<RecordRange> traces;  // by device
  std::vector<PythonFrame> frames;
  std::vector<StepMark> marks;
  std::vector<std::int64_t> streams;  // each once; those beyond the first 65535 count as the last
  bool cut = false;
  bool is_snapshot = false;

 private:
  PickleValue finished_dict(const PickleContainer& content);
  PickleValue finished_list(PickleValue list, const PickleContainer& content);
  PickleValue add_frame(const std::vector<PickleValue>& items);
  PickleValue add_entry(const std::vector<PickleValue>& items);
  PickleValue add_block(const std::vector<PickleValue>& items);
  PickleValue add_segment(const std::vector<PickleValue>& items);
  PickleValue add_mark(const std::vector<PickleValue>& items);
  void take_root(const std::vector<PickleValue>& items);
  std::uint32_t site_of(PickleValue frames_list) const;
  std::uint16_t number_of_stream(std::int64_t stream);

  Pickle& pickle_;
  std::deque<MemoryEntry> entries_;
  std::int64_t first_entry_ = 0;  // number of entries_.front()
  std::deque<MemoryBlock> blocks_;
  std::vector<RecordRange> entry_lists_, block_lists_;  // finished ones
  std::unordered_map<std::uint64_t, std::uint32_t> frame_of_;
  std::unordered_map<std::int64_t, std::uint16_t> number_of_stream_;
};

}  // namespace ccl
