// What a PyTorch memory snapshot says of each device. In: one pickle file of any size, read in windows. Out: numbers in
// bytes, per device. Memory: 32 bytes per trace entry and block and 8 per object that the pickle numbers, all bounded.
#pragma once
#include <cstdint>
#include <vector>

#include "core/device_memory.hpp"
#include "core/problems.hpp"
#include "core/progress.hpp"
#include "discover/discover.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

/// Devices with segments or trace entries, ascending. Empty and a Problem when the file is no usable snapshot.
std::vector<DeviceMemory> read_memory_snapshot(const TraceFile& file, const ReadOptions& options, Problems& problems,
                                               Progress& progress);

}  // namespace ccl
