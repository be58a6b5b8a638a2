// GPU events whose launch is not in the file though launches before and behind it are: which step they are of. The
// correlations of a process ascend with its calls, so that the launch was between those of the correlations around it.
#pragma once
#include <cstdint>
#include <vector>

#include "core/tables.hpp"

namespace ccl {

/// Events behind the first launch, by correlation, whose own launch is not in the file.
std::size_t count_missing_launches(const EventTable& events);

struct MissingLaunches {
  std::int64_t placed = 0;            // in the step of both launches around theirs
  std::int64_t untold = 0;            // those are of different steps: the event is of none
  std::vector<bool> doubtful_steps;   // by row of trace.steps: may lack such an event; empty where none does
};

/// In: events with steps by their launch. Out: the steps of those whose launch is missing. Events from before the first
/// launch were launched before the profiler began: they stay as they are. Nothing where correlations do not ascend. Where most
/// events of a name lack their launch the profiler does not record it: such an event is placed, but makes no step doubtful.
MissingLaunches place_by_correlation(RankTrace& trace);

}  // namespace ccl
