// Last part of every reader: from events in file order to a const RankTrace.
#pragma once
#include "core/problems.hpp"
#include "core/processors.hpp"
#include "core/tables.hpp"
#include "discover/discover.hpp"
#include "discover/workload.hpp"

namespace ccl {

/// No duration is negative: readers leave such events out. Sorts the events by (start, lane, correlation) and renumbers
/// collectives, memory operations and shapes; sorts the steps; gives every event its step (its launch's start in the CPU step; without any launch in the file, its GPU
/// start; launch-less events of a file with launches are outside); fills the GPU windows and gaps; lists devices;
/// computes the fingerprint; reports overlaps on one stream, missing markers and launches, events
/// that are nearly all of the time or far from all others.
/// Takes iteration and replica from the file. Cost: 8 bytes per event for the sort, none if the file is in order.
/// What does not depend on each other runs side by side where processors are lent.
void finish(RankTrace& trace, const TraceFile& file, Problems& problems, std::span<const Processors> lent = {});

/// Leaves only the steps with these numbers (--step); the events of the others become outside events.
void select_steps(RankTrace& trace, const std::vector<std::int64_t>& numbers);

/// Dimension of each process group by evidence in this order: description, then member ranks
/// against the mesh, then pg_config (already merged into the group), never the operation alone.
void assign_dimensions(RankTrace& trace, const Mesh& mesh);

}  // namespace ccl
