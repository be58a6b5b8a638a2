// What each collective's device did since the previous collective of the same group: the local half of "why was it
// late" (the other half compares members, metrics/straggler_causes.hpp). Runs while the events are in memory.
#pragma once
#include <span>

#include "core/tables.hpp"
#include "exchange/records.hpp"

namespace ccl {

/// Fills `before` of the symmetric collectives among a trace's records (one per row of trace.collectives, in order).
/// The time looked at runs from the end of the rank's previous symmetric collective of the same group and stream, the
/// first time from the first event of the device. Events without a launch never make an idle stretch starved.
/// Synchronising calls are looked at from launch to launch, not before the first; they are known where slices of kind
/// runtime are kept. Cost: one sweep over the events and one sort of the collectives; memory: 100 bytes a collective
/// while it runs.
void add_context(const RankTrace& trace, std::span<CollectiveRecord> records);

}  // namespace ccl
