// Steps of a damaged file that lost GPU events: half a step is no step, its times would be taken for whole ones. In: a
// trace with sorted events that have their steps. Out: what is left of such a step is outside every step.
#pragma once
#include <string>
#include <vector>

#include "core/tables.hpp"

namespace ccl {

/// By row of trace.steps. A step lost something
/// - if one of its launches has no GPU event,
/// - if a GPU event beside its own, on the same stream, has no launch: it may belong to it,
/// - if it overlaps the time between the launches around a lost piece,
/// - if the file is cut and the step goes on behind the last launch (of a file without launches: behind the last GPU
///   event; with graphs: behind the launch of the last GPU event, some of whose others may be missing),
/// - if it has no GPU event at all, or pieces of a file without launches are gone: then any step may have had them.
/// Events from before the profiler have no launch either: those before the CPU step of the first event with a launch do
/// not count. A file that lost nothing has no such step.
std::vector<bool> find_lost_steps(const RankTrace& trace);

/// The same of a stretch of CPU time that is no step, as a pass of a server: whether damage may have taken GPU events that
/// were launched in it.
bool may_have_lost_events(const RankTrace& trace, const Interval& launched);

/// All times of what a file lost, as those of its events, move by that much.
void shift_losses(RankTrace& trace, std::int64_t by_ns);

/// Takes the events of these steps, and of those marked in `more` (may be empty), out of them and marks the steps. "steps 8-9
/// lost events with the damage of the file"; empty if there are none.
std::string leave_out_lost_steps(RankTrace& trace, const std::vector<bool>& more = {});

}  // namespace ccl
