// The event table (--events): /events/rows, every GPU event with what it is for, and /events/names, the kernels' names
// that its column `name` counts. In: this worker's rows; out: slices for write_table().
#pragma once
#include <vector>

#include "store/results.hpp"

namespace ccl {

struct EventTables {
  ResultTable rows;   // this worker's slice
  ResultTable names;  // whole on worker 0, empty elsewhere
};

/// Collective. Cost: every distinct name of the run on every worker.
EventTables event_tables(const std::vector<std::vector<EventRow>>& mine, const Ranks& ranks, const ClockModel& clock,
                         const StringTable& strings, const Comm& comm);

}  // namespace ccl
