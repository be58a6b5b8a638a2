// What a PyTorch memory snapshot says of each device: state at the dump and peaks by replay of the trace ring.
// In: one pickle file. Out: numbers in bytes, per device. Definitions: metric-definitions 5.3; decisions, Memory peak.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/problems.hpp"
#include "core/progress.hpp"
#include "discover/discover.hpp"
#include "parse/pickle_reader.hpp"

namespace ccl {

/// One pool of segments, "small" or "large".
struct PoolMemory {
  std::int64_t inactive_bytes = 0, largest_inactive_bytes = 0;
  std::int64_t inactive_split_bytes = 0;  // inactive blocks in segments that also hold active ones
};

struct OutOfMemory {
  std::int64_t time_us = -1, asked_bytes = -1, free_bytes = -1;
};

struct DeviceMemory {
  std::int32_t device = 0;
  std::int64_t segments_count = 0, blocks_count = 0;
  std::int64_t reserved_bytes = 0, allocated_bytes = 0, active_bytes = 0;
  std::int64_t requested_bytes = -1;  // −1: the snapshot's version does not say
  PoolMemory small, large;

  bool cut = false;  // more blocks or entries than the limit: the oldest entries are left out

  // Replay of the ring; −1 without entries.
  std::int64_t entries_count = 0;
  std::int64_t peak_requested_bytes = -1;  // trace sizes, from the requested sizes of live blocks
  std::int64_t peak_active_bytes = -1;     // block sizes: from the end state where known, else rounded up to 512
  std::int64_t peak_reserved_bytes = -1;
  std::int64_t allocations_count = 0, allocations_bytes = 0, frees_count = 0, frees_bytes = 0;
  std::int64_t segment_allocations_count = 0;  // cudaMalloc calls
  std::int64_t first_us = -1, last_us = -1;
  std::vector<std::int64_t> sizes_count;  // allocations by size: entry k counts 2^k ≤ size < 2^(k+1)
  std::vector<OutOfMemory> out_of_memory;
};

/// Devices with segments or trace entries, ascending. Empty and a Problem when the file is no usable snapshot.
std::vector<DeviceMemory> read_memory_snapshot(const TraceFile& file, std::int64_t window_bytes, Problems& problems,
                                               Progress& progress);

/// The same for a pickle at hand.
std::vector<DeviceMemory> memory_of(const Pickle& snapshot);

}  // namespace ccl
