// Launch context: which kept CPU slices stood around the call that launched a GPU event. In: a finished RankTrace. Out:
// the innermost slice of every event and the parent of every slice, by thread and time. Local stage; 4 bytes an event
// and a slice, and 4 more an event while it is made. One sort of the launches, one sweep per thread.
#pragma once
#include <cstdint>
#include <vector>

#include "core/tables.hpp"

namespace ccl {

struct LaunchContext {
  std::vector<std::int32_t> innermost;  // by event row: row in RankTrace::slices, −1 = launched outside every slice
  std::vector<std::int32_t> parent;     // by slice row: the slice it began in, on the same thread; −1 = none

  /// The slices around the launch of an event, innermost first, until found(slice) is true; its row, or −1.
  /// A slice that ended before the launch though one that began in it did not (they are not nested) is passed over.
  template <class Found>
  std::int32_t find(const RankTrace& trace, std::size_t event, Found found) const {
    return find_from(trace, innermost[event], trace.events.launch_ns[event], found);
  }
  /// The same from a slice outwards, the slice itself included, at a time within it.
  template <class Found>
  std::int32_t find_from(const RankTrace& trace, std::int32_t slice, std::int64_t time_ns, Found found) const {
    for (; slice >= 0; slice = parent[static_cast<std::size_t>(slice)]) {
      const CpuSlice& around = trace.slices[static_cast<std::size_t>(slice)];
      if (around.end_ns > time_ns && found(around)) return slice;
    }
    return -1;
  }
};

LaunchContext launch_context(const RankTrace& trace);

/// Rows of the GPU events with a launch, by (launch thread, queue): each such stretch is nearly in order of launch.
std::vector<std::uint32_t> launched_events(const RankTrace& trace);

}  // namespace ccl
