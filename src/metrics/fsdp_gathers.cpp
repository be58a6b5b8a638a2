#include "metrics/fsdp_gathers.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace ccl {
namespace {

/// Latest end of everything before an event on its lane; absent_ns for the first.
std::vector<std::int64_t> busy_until(const RankTrace& trace) {
  std::vector<std::int64_t> until(trace.lanes.size(), absent_ns), out(trace.events.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::int64_t& lane = until[trace.events.lane[i]];
    out[i] = lane;
    lane = std::max(lane, trace.events.end_ns(i));
  }
  return out;
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
                                     const std::vector<const Intervals*>& compute) {
  const EventTable& events = trace.events;
  const std::size_t devices = trace.devices.size();
  std::vector<FsdpGather> out;
  for (const Collective& call : trace.collectives) {
    if (call.op != CollectiveOp::all_gather || events.step[call.event] < 0) continue;
    const std::int32_t slice = context.find(
        trace, call.event, [&](const CpuSlice& around) { return slices.of(around) == FsdpOp::all_gather; });
    if (slice < 0 || !is_fsdp_communication(trace, call, true)) continue;
    FsdpGather gather;
    gather.event = call.event;
    gather.module = trace.slices[static_cast<std::size_t>(slice)].name;
    const std::size_t at =
        static_cast<std::size_t>(events.step[call.event]) * devices + device_of_lane[events.lane[call.event]];
    const Interval own{events.start_ns[call.event], events.end_ns(call.event)};
    gather.hidden_ns = overlap_ns(std::span(&own, 1), *compute[at]);
    out.push_back(gather);
  }
  // Launches of gathers and copy-outs in CPU order: the copy-out of a module ends its oldest gather.
  std::vector<std::pair<std::int64_t, std::size_t>> order;  // launch, gather number or out.size() + event
  for (std::size_t g = 0; g < out.size(); ++g) order.emplace_back(events.launch_ns[out[g].event], g);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events.kind[i] == EventKind::communication || events.launch_ns[i] == absent_ns) continue;
    const auto copies_out = [&](const CpuSlice& around) { return slices.of(around) == FsdpOp::copy_out; };
    if (context.find(trace, i, copies_out) >= 0) order.emplace_back(events.launch_ns[i], out.size() + i);
  }
  std::sort(order.begin(), order.end());
  const std::vector<std::int64_t> until = busy_until(trace);
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
    const std::size_t event = which - out.size();
    const std::int32_t slice = context.find(trace, event, [&](const CpuSlice& around) {
      return slices.of(around) == FsdpOp::copy_out && !fsdp_module_in(trace.strings.text(around.name)).empty();
    });
    const std::string_view module =
        slice < 0 ? std::string_view()
                  : fsdp_module_in(trace.strings.text(trace.slices[static_cast<std::size_t>(slice)].name));
    const auto found = waiting.find(module);
    if (found == waiting.end() || found->second.empty()) continue;
    FsdpGather& gather = out[found->second.front()];
    found->second.erase(found->second.begin());
    const std::int64_t idle_from = until[event] == absent_ns ? events.start_ns[gather.event] : until[event];
    const std::int64_t from = std::max(idle_from, events.start_ns[gather.event]);
    const std::int64_t to = std::min(events.start_ns[event], events.end_ns(gather.event));
    gather.stall_ns = std::max<std::int64_t>(0, to - from);
    gather.prefetched = until[event] != absent_ns && events.launch_ns[gather.event] < until[event];
  }
  return out;
}

}  // namespace ccl
