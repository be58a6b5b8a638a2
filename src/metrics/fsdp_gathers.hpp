// Whether the parameters of a module were there when they were needed: every all-gather of FSDP with the copy-out that
// ends it. In: a trace, its context and phases. Out: per all-gather what of it was hidden by compute and how long the
// compute stream stood still for it.
#pragma once
#include <cstdint>
#include <vector>

#include "metrics/busy.hpp"
#include "metrics/fsdp_slices.hpp"

namespace ccl {

struct FsdpGather {
  std::size_t event = 0;
  std::uint32_t module = 0;    // string index of the slice that launched it
  std::int64_t hidden_ns = 0;  // len(g ∩ K) on its device and step
  std::int64_t stall_ns = -1;  // idle of the copy-out's stream that ends when that starts, within g; −1 no copy-out
  bool prefetched = false;     // launched before that stream ran out of earlier work
  bool first = false;          // first of its phase in its step: nothing to hide behind
};

/// Communication of FSDP: all-gather or reduce-scatter launched in an FSDP slice or over a data-parallel group, and
/// all-reduce launched in an FSDP slice; never of another known dimension.
bool is_fsdp_communication(const RankTrace& trace, const Collective& collective, bool in_fsdp_slice);

/// device_of_lane: row in trace.devices.
std::vector<FsdpGather> fsdp_gathers(const RankTrace& trace, const LaunchContext& context, const FsdpSlices& slices,
                                     const TracePhases& phases, const std::vector<std::size_t>& device_of_lane,
                                     const BusyTrace& busy);

}  // namespace ccl
