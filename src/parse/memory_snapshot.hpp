// What a PyTorch memory snapshot says of each device: state at the dump and peaks by replay of the trace ring.
// In: one pickle file. Out: numbers in bytes, per device. Definitions: metric-definitions 5.3; decisions, Memory peak.
#pragma once
#include <cstdint>
#include <vector>

#include "core/device_memory.hpp"
#include "core/problems.hpp"
#include "core/progress.hpp"
#include "discover/discover.hpp"
#include "parse/pickle_reader.hpp"

namespace ccl {

/// Devices with segments or trace entries, ascending. Empty and a Problem when the file is no usable snapshot.
std::vector<DeviceMemory> read_memory_snapshot(const TraceFile& file, std::int64_t window_bytes, Problems& problems,
                                               Progress& progress);

/// The same for a pickle at hand.
std::vector<DeviceMemory> memory_of(const Pickle& snapshot);

}  // namespace ccl
