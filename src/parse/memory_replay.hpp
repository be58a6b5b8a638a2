// Numbers of each device from what was kept of a snapshot. The replay goes from the newest entry to the oldest, undoing
// each: what is live at the dump is known, what was live before follows.
#pragma once
#include <vector>

#include "parse/snapshot_records.hpp"

namespace ccl {

/// Devices with segments or trace entries, ascending.
std::vector<DeviceMemory> replay(const SnapshotRecords& records, const StringTable& texts);

}  // namespace ccl
