// The memory of a planted rank over its steps, the snapshot it would have dumped, and what must be found in it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "allocator.hpp"
#include "clocks.hpp"
#include "job.hpp"
#include "work.hpp"

namespace synth {

struct PlantedStep {
  int number = 0;
  std::int64_t first_us = 0, last_us = 0;
};

struct RankMemory {
  Allocator allocator;
  std::vector<PlantedStep> steps;
  std::size_t first_entry = 0;  // older ones fell out of the ring
};
RankMemory simulate_memory(const Job& job, const RankRun& run, int rank);

/// Bytes written. Makes the folder.
std::int64_t write_snapshot(const RankMemory& memory, const std::string& path);
std::string snapshot_path(const Job& job, int rank);
/// One large snapshot: allocations and frees until the file has about so many bytes.
std::int64_t write_big_snapshot(const std::string& path, double bytes);

/// Truth, found forwards from the start: state after each entry of the recorded window.
struct MemoryPeaks {
  std::int64_t active = 0, requested = 0, reserved = 0, time_us = -1;
};
MemoryPeaks peaks_of(const RankMemory& memory);
MemoryPeaks peaks_of(const RankMemory& memory, const PlantedStep& step);  // time_us stays −1
/// (function, bytes in use at the peak, at the end), by function.
struct SiteBytes {
  std::string function;
  std::int64_t at_peak = 0, at_end = 0;
};
std::vector<SiteBytes> sites_of(const RankMemory& memory);

}  // namespace synth
