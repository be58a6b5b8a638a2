// What of a Kineto file can not be right, or is missing, though its text is whole.
#include <algorithm>

#include "parse/event_limits.hpp"
#include "parse/kineto_build.hpp"
#include "parse/left_out.hpp"

namespace ccl {

KernelCounts KinetoBuilder::kernel_counts() const {
  KernelCounts counts{.launches = counts_.kernel_launches, .graph_launches = counts_.graph_launches};
  for (const EventKind kind : trace_.events.kind)
    counts.kernels += kind == EventKind::compute || kind == EventKind::communication ? 1 : 0;
  return counts;
}

std::int64_t KinetoBuilder::leave_out_unrecorded(std::span<const Processors> lent) {
  const std::vector<bool> rows = unrecorded_events(trace_.events, recorded_, recording_margin_ns, lent);
  leave_out_events(trace_, rows);
  return std::count(rows.begin(), rows.end(), true);
}

}  // namespace ccl
