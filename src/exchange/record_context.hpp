// What each collective's device did since the previous collective of the same group: the local half of "why was it
// late" (the other half compares members, metrics/straggler_causes.hpp). Runs while the events are in memory.
#pragma once
#include <span>
#include <vector>

#include "core/intervals.hpp"
#include "core/tables.hpp"
#include "exchange/records.hpp"

namespace ccl {

/// Fills `before` of the symmetric collectives among a trace's records (one per row of trace.collectives, in order).
/// The time looked at runs from the end of the rank's previous symmetric collective of the same group and stream, the
/// first time from the first event of the device. Cost: one sweep over the events, a binary search per collective.
void add_context(const RankTrace& trace, std::span<CollectiveRecord> records);

/// One device over the whole trace.
struct DeviceTime {
  Intervals compute, covered, busy;  // merged: compute; compute or communication; any event
  Intervals starved;                 // idle stretches whose next event was launched after they began
  std::vector<std::int64_t> kernel_starts_ns;  // of compute
  std::int64_t first_ns = absent_ns;
};

/// By row of trace.devices. Events without a launch never make an idle stretch starved.
std::vector<DeviceTime> device_times(const RankTrace& trace);

}  // namespace ccl
