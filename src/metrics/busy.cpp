#include "metrics/busy.hpp"

#include <algorithm>

namespace ccl {
namespace {

std::size_t place_of(EventKind kind) {
  return kind == EventKind::communication ? 0 : kind == EventKind::compute ? 1 : 2;
}

Intervals& list_of(BusyLists& lists, std::size_t which) {
  return which == 0 ? lists.communication : which == 1 ? lists.compute : lists.memory;
}

void add_event(BusyLists& lists, EventKind kind, Interval event) {
  const bool first = lists.empty();
  const std::size_t which = place_of(kind);
  append_merged(list_of(lists, which), event);
  ++lists.events_count[which];
  lists.sum_ns[which] += event.length_ns();
  if (first) lists.window = event;
  lists.window.end_ns = std::max(lists.window.end_ns, event.end_ns);
}

}  // namespace

Interval gpu_window(const Step& step) {
  Interval all{absent_ns, absent_ns};
  for (const DeviceWindow& device : step.devices) {
    if (device.gpu_start_ns == absent_ns) continue;
    all.start_ns = all.start_ns == absent_ns ? device.gpu_start_ns : std::min(all.start_ns, device.gpu_start_ns);
    all.end_ns = std::max(all.end_ns, device.gpu_end_ns);
  }
  return all;
}

std::vector<std::size_t> device_rows(const RankTrace& trace) {
  std::vector<std::size_t> rows;
  for (const Lane& lane : trace.lanes) {
    const auto at = std::lower_bound(trace.devices.begin(), trace.devices.end(), lane.device);
    rows.push_back(static_cast<std::size_t>(at - trace.devices.begin()));
  }
  return rows;
}

BusyTrace busy_lists(const RankTrace& trace) {
  BusyTrace out;
  out.devices_count = trace.devices.size();
  out.steps.resize(trace.steps.size() * out.devices_count);
  out.whole.resize(out.devices_count);
  const std::vector<std::size_t> device_of_lane = device_rows(trace);
  const EventTable& events = trace.events;
  // Room for all at once, of which only what is used is touched: lists that double copy themselves to fresh memory.
  std::vector<std::array<std::size_t, 3>> in_step(out.steps.size()), in_file(out.devices_count);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::size_t device = device_of_lane[events.lane[i]], which = place_of(events.kind[i]);
    ++in_file[device][which];
    if (events.step[i] >= 0) ++in_step[static_cast<std::size_t>(events.step[i]) * out.devices_count + device][which];
  }
  for (std::size_t which = 0; which < 3; ++which) {
    for (std::size_t at = 0; at < in_step.size(); ++at) list_of(out.steps[at], which).reserve(in_step[at][which]);
    for (std::size_t at = 0; at < in_file.size(); ++at) list_of(out.whole[at], which).reserve(in_file[at][which]);
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::size_t device = device_of_lane[events.lane[i]];
    const Interval event{events.start_ns[i], events.end_ns(i)};
    add_event(out.whole[device], events.kind[i], event);
    if (events.step[i] < 0) continue;
    add_event(out.steps[static_cast<std::size_t>(events.step[i]) * out.devices_count + device], events.kind[i], event);
  }
  return out;
}

void for_each_communication(const RankTrace& trace, const std::function<void(std::size_t, const Collective*)>& found) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events.kind[i] != EventKind::communication) continue;
    while (next < trace.collectives.size() && trace.collectives[next].event < i) ++next;
    const bool known = next < trace.collectives.size() && trace.collectives[next].event == i;
    found(i, known ? &trace.collectives[next] : nullptr);
  }
}

Dimension dimension_of(const RankTrace& trace, const Collective* collective) {
  if (collective == nullptr) return Dimension::unknown;
  const Dimension dimension =
      collective->group < trace.groups.size() ? trace.groups[collective->group].dimension : Dimension::unknown;
  const bool expert = collective->op == CollectiveOp::dispatch || collective->op == CollectiveOp::combine;
  return expert && dimension == Dimension::unknown ? Dimension::ep : dimension;
}

}  // namespace ccl
