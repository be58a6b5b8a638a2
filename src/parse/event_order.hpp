// GPU events of a trace into the order of (start, lane, correlation); what refers to them is renumbered.
#pragma once
#include <span>

#include "core/processors.hpp"
#include "core/tables.hpp"

namespace ccl {

/// 8 bytes per event for the length of the call, and only if the file is not in order already.
void sort_events(RankTrace& trace, std::span<const Processors> lent = {});

}  // namespace ccl
