// GPU events that were read but can not be used.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/processors.hpp"
#include "core/tables.hpp"

namespace ccl {

/// Takes the events of these rows out of the tables, before finish(): the file has lost them, with their launches if those
/// are known; else any step may have had them. Collectives, memory operations and shapes go with their events.
void leave_out_events(RankTrace& trace, const std::vector<bool>& rows);

/// A file that holds a trace twice, as one joined of overlapping parts: each event counts once. In: sorted events and slices.
/// Returns how many events were taken out; none where only a few are alike.
std::int64_t leave_out_repeats(RankTrace& trace, std::span<const Processors> lent = {});

/// The rows of events that lie outside a recording; empty if none does. Where most begin outside, it is the recording that is
/// told wrong: it is emptied.
std::vector<bool> unrecorded_events(const EventTable& events, Interval& recorded, std::int64_t margin_ns,
                                    std::span<const Processors> lent = {});

}  // namespace ccl
