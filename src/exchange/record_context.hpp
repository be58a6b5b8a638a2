// What each collective's device did since the previous collective of the same group: the local half of "why was it
// late" (the other half compares members, metrics/straggler_causes.hpp). Runs while the events are in memory.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/tables.hpp"
#include "exchange/records.hpp"

namespace ccl {

/// Fills `before` of the symmetric collectives among a trace's records (one per row of trace.collectives, in order).
/// The time looked at runs from the end of the rank's previous symmetric collective of the same group and stream, the
/// first time from the first event of the device. Events without a launch never make an idle stretch starved.
/// synchronised_ns: synchronised_before_ns() of the same trace. Cost: one sweep over the events and one sort of the
/// collectives; memory: 56 bytes a collective while it runs.
void add_context(const RankTrace& trace, std::span<const std::uint32_t> synchronised_ns,
                 std::span<CollectiveRecord> records);

/// By row of trace.collectives: BeforeCollective::synchronised_ns, from launch to launch, 0 before the first. Known where
/// slices of kind runtime are kept; apart from the rest, so that records can be made when the slices are gone.
std::vector<std::uint32_t> synchronised_before_ns(const RankTrace& trace);

}  // namespace ccl
