#include "metrics/fsdp_gathers.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace ccl {
namespace {

/// A kernel that takes a module's gathered parameters apart.
struct CopyOut {
  std::size_t event = 0;
  std::int64_t lane_end_ns = absent_ns;  // latest end of everything before it on its lane; absent: it is the first
};

std::vector<CopyOut> copy_outs(const RankTrace& trace, const LaunchContext& context, const FsdpSlices& slices) {
  const EventTable& events = trace.events;
  const auto copies_out = [&](const CpuSlice& around) { return slices.of(around) == FsdpOp::copy_out; };
  std::vector<std::int64_t> until_ns(trace.lanes.size(), absent_ns);
  std::vector<CopyOut> out;
  for (std::size_t i = 0; i < events.size(); ++i) {
    std::int64_t& lane_end_ns = until_ns[events.lane[i]];
    const bool launched = events.kind[i] != EventKind::communication && events.launch_ns[i] != absent_ns;
    if (launched && context.find(trace, i, copies_out) >= 0) out.push_back({i, lane_end_ns});
    lane_end_ns = std::max(lane_end_ns, events.end_ns(i));
  }
  return out;
}

/// By steps, of which the busy lists are made one at a time.
void add_hidden(const RankTrace& trace, const BusyTrace& busy, const std::vector<std::size_t>& device_of_lane,
                std::vector<FsdpGather>& gathers) {
  const EventTable& events = trace.events;
  std::vector<FsdpGather*> by_step;
  for (FsdpGather& gather : gathers) by_step.push_back(&gather);
  std::stable_sort(by_step.begin(), by_step.end(), [&](const FsdpGather* a, const FsdpGather* b) {
    return events.step[a->event] < events.step[b->event];
  });
  for (FsdpGather* gather : by_step) {
    const Interval own{events.start_ns[gather->event], events.end_ns(gather->event)};
    const auto step = static_cast<std::size_t>(events.step[gather->event]);
    gather->hidden_ns = overlap_ns(std::span(&own, 1), busy.step(step, device_of_lane[events.lane[gather->event]]).compute);
  }
}

}  // namespace

bool is_fsdp_communication(const RankTrace& trace, const Collective& collective, bool in_fsdp_slice) {
  const Dimension dimension = trace.groups[collective.group].dimension;
  const bool elsewhere = dimension == Dimension::tp || dimension == Dimension::pp || dimension == Dimension::ep ||
                         dimension == Dimension::cp;
  if (elsewhere) return false;
  const bool shards = collective.op == CollectiveOp::all_gather || collective.op == CollectiveOp::reduce_scatter;
  if (in_fsdp_slice) return shards || collective.op == CollectiveOp::all_reduce;
  return shards && dimension == Dimension::dp;
}

std::vector<FsdpGather> fsdp_gathers(const RankTrace& trace, const LaunchContext& context, const FsdpSlices& slices,
                                     const TracePhases& phases, const std::vector<std::size_t>& device_of_lane,
                                     const BusyTrace& busy) {
  const EventTable& events = trace.events;
  std::vector<FsdpGather> out;
  for (const Collective& call : trace.collectives) {
    if (call.op != CollectiveOp::all_gather || events.step[call.event] < 0) continue;
    const std::int32_t slice = context.find(
        trace, call.event, [&](const CpuSlice& around) { return slices.of(around) == FsdpOp::all_gather; });
    if (slice < 0 || !is_fsdp_communication(trace, call, true)) continue;
    FsdpGather gather;
    gather.event = call.event;
    gather.module = trace.slices[static_cast<std::size_t>(slice)].name;
    out.push_back(gather);
  }
  add_hidden(trace, busy, device_of_lane, out);
  // Launches of gathers and copy-outs in CPU order: the copy-out of a module ends its oldest gather.
  const std::vector<CopyOut> copies = copy_outs(trace, context, slices);
  std::vector<std::pair<std::int64_t, std::size_t>> order;  // launch, gather number or out.size() + number of the copy-out
  for (std::size_t g = 0; g < out.size(); ++g) order.emplace_back(events.launch_ns[out[g].event], g);
  for (std::size_t c = 0; c < copies.size(); ++c) order.emplace_back(events.launch_ns[copies[c].event], out.size() + c);
  std::sort(order.begin(), order.end());
  std::map<std::string_view, std::vector<std::size_t>> waiting;  // by module
  std::set<std::pair<std::int32_t, Phase>> seen;
  for (const auto& [launch_ns, which] : order) {
    if (which < out.size()) {
      FsdpGather& gather = out[which];
      const Phase phase = phases.known ? phases.by_event[gather.event] : Phase::other;
      const bool backward = phase == Phase::backward || phase == Phase::recompute;
      gather.first = seen.insert({events.step[gather.event], backward ? Phase::backward : Phase::forward}).second;
      waiting[fsdp_module_in(trace.strings.text(gather.module))].push_back(which);
      continue;
    }
    const CopyOut& copy = copies[which - out.size()];
    const std::int32_t slice = context.find(trace, copy.event, [&](const CpuSlice& around) {
      return slices.of(around) == FsdpOp::copy_out && !fsdp_module_in(trace.strings.text(around.name)).empty();
    });
    const std::string_view module =
        slice < 0 ? std::string_view()
                  : fsdp_module_in(trace.strings.text(trace.slices[static_cast<std::size_t>(slice)].name));
    const auto found = waiting.find(module);
    if (found == waiting.end() || found->second.empty()) continue;
    FsdpGather& gather = out[found->second.front()];
    found->second.erase(found->second.begin());
    const std::int64_t idle_from = copy.lane_end_ns == absent_ns ? events.start_ns[gather.event] : copy.lane_end_ns;
    const std::int64_t from = std::max(idle_from, events.start_ns[gather.event]);
    const std::int64_t to = std::min(events.start_ns[copy.event], events.end_ns(gather.event));
    gather.stall_ns = std::max<std::int64_t>(0, to - from);
    gather.prefetched = copy.lane_end_ns != absent_ns && events.launch_ns[gather.event] < copy.lane_end_ns;
  }
  return out;
}

}  // namespace ccl
