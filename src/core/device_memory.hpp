// What a memory snapshot says of each device: state at the dump, and peaks by replay of the trace ring. All in bytes;
// −1 = the snapshot does not say.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.hpp"

namespace ccl {

/// One pool of segments, "small" or "large".
struct PoolMemory {
  std::int64_t inactive_bytes = 0, largest_inactive_bytes = 0;
  std::int64_t inactive_split_bytes = 0;  // inactive blocks in segments that also hold active ones
};

struct OutOfMemory {
  std::int64_t time_us = -1, asked_bytes = -1, free_bytes = -1;
};

/// Where memory was asked for: the innermost Python frame. Both empty: no frame was recorded.
struct AllocationSite {
  std::string file, function;
  std::int64_t line = -1;
  std::int64_t at_peak_bytes = 0, at_end_bytes = 0;  // active blocks
};

/// What one stream asked for and gave back, over the recorded entries.
struct StreamMemory {
  std::int64_t stream = 0;  // as the snapshot has it: 0 = the default stream, else a handle
  std::int64_t allocations_count = 0, allocations_bytes = 0, frees_count = 0, frees_bytes = 0;
};

/// Whether the ring dropped old entries; PyTorch does not write its size into the snapshot.
enum class RingEvidence : std::uint8_t {
  none,     // nothing speaks for it
  guessed,  // a count that people give as the size of a ring, and memory was taken before the oldest entry
  proven    // a block in use has a recorded stack, but its allocation is not among the entries
};

/// Between the two marks of a ProfilerStep.
struct StepMemory {
  std::int64_t step = -1, first_us = -1, last_us = -1;
  std::int64_t peak_active_bytes = -1, end_active_bytes = -1;
  std::int64_t allocations_count = 0, allocations_bytes = 0;
};

struct DeviceMemory {
  std::int32_t device = 0;
  std::int64_t segments_count = 0, blocks_count = 0;
  std::int64_t reserved_bytes = 0, allocated_bytes = 0, active_bytes = 0;
  std::int64_t requested_bytes = -1;  // not in every version
  PoolMemory small, large;

  bool cut = false;  // more blocks or entries than the limit: the oldest entries are left out

  // Replay of the ring; −1 without entries.
  std::int64_t entries_count = 0;
  std::int64_t peak_requested_bytes = -1;  // trace sizes, from the requested sizes of live blocks
  std::int64_t peak_active_bytes = -1;     // block sizes: from the end state where known, else rounded up to 512
  std::int64_t peak_reserved_bytes = -1;
  std::int64_t peak_us = -1;                                        // when peak_active_bytes was first reached
  std::int64_t start_active_bytes = -1, start_reserved_bytes = -1;  // before the oldest entry
  std::int64_t allocations_count = 0, allocations_bytes = 0, frees_count = 0, frees_bytes = 0;
  std::int64_t segment_allocations_count = 0;  // cudaMalloc calls
  std::int64_t first_us = -1, last_us = -1;
  std::vector<std::int64_t> sizes_count;  // allocations by size: entry k counts 2^k ≤ size < 2^(k+1)
  std::vector<OutOfMemory> out_of_memory;
  std::vector<AllocationSite> sites;  // largest at the peak first, at most 20
  std::vector<StepMemory> steps;      // ascending
  std::vector<StreamMemory> streams;  // ascending
  bool allocation_missing = false;    // of a block that is in use and has a recorded stack

  RingEvidence ring_full() const {
    const bool round_count =
        entries_count >= 1000 && (entries_count % 1000 == 0 || (entries_count & (entries_count - 1)) == 0);
    return allocation_missing                             ? RingEvidence::proven
           : round_count && start_reserved_bytes > 0 ? RingEvidence::guessed
                                                          : RingEvidence::none;
  }
};

/// One snapshot file. Its rank is the one in its name; unknown ranks are told apart by the file.
struct MemorySnapshot {
  std::int32_t file = -1;  // index into Input::files
  std::string shown;
  std::int32_t iteration = -1, replica = -1;
  RankId rank;
  std::vector<DeviceMemory> devices;  // ascending
};

}  // namespace ccl
