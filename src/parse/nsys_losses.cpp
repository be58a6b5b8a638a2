// Rows of a Nsight Systems export that can not be used -> when the work they stood for was launched, for lost_steps.hpp.
#include <algorithm>

#include "parse/nsys_build.hpp"

namespace ccl {

void NsysBuild::note_lost_work(Process& process, EventKind kind, std::int64_t correlation) {
  const LostWork lost{process.trace.events.size(), kind, correlation};
  const LostWork* last = process.lost_work.empty() ? nullptr : &process.lost_work.back();
  if (correlation == 0 && last != nullptr && last->correlation == 0 && last->at == lost.at && last->kind == kind) return;
  process.lost_work.push_back(lost);
}

void NsysBuild::lost_row(const NsysLostRow& row) {
  if (processless_ || row.process != 0) {
    Process& owner = process(processless_ ? 0 : row.process);
    ++owner.lost_rows;
    owner.lost_launches = owner.lost_launches || row.launch;
    if (row.gpu) note_lost_work(owner, row.kind, row.correlation);
    return;
  }
  ++lost_rows_;
  lost_launches_ = lost_launches_ || row.launch;
  if (!row.gpu) return;
  ++lost_of_any_;
  for (auto& [key, owner] : processes_) {
    ++owner.lost_of_any;
    note_lost_work(owner, row.kind, 0);
  }
}

/// Rows of one table stand in some order of time: a lost one was launched about when its neighbours were.
Interval NsysBuild::launches_around(const RankTrace& trace, const LostWork& lost) {
  const EventTable& events = trace.events;
  const auto table = [](EventKind kind) {
    return kind == EventKind::memory_copy || kind == EventKind::memory_set ? kind : EventKind::compute;
  };
  const auto tells = [&](std::size_t i) { return events.launch_ns[i] != absent_ns && table(events.kind[i]) == lost.kind; };
  std::size_t before = lost.at, behind = lost.at;
  while (before > 0 && !tells(before - 1)) --before;
  while (behind < events.size() && !tells(behind)) ++behind;
  const std::int64_t from_ns = before > 0 ? events.launch_ns[before - 1] : INT64_MIN;
  const std::int64_t until_ns = behind < events.size() ? events.launch_ns[behind] : INT64_MAX;
  return {std::min(from_ns, until_ns), std::max(from_ns, until_ns)};
}

void NsysBuild::settle_losses(Process& process) const {
  RankTrace& trace = process.trace;
  trace.lost_events_count = lost_rows_ + process.lost_rows;
  // Those that name no process and came before its first row.
  if (process.lost_of_any < lost_of_any_) process.lost_work.push_back({});
  if (!process.lost_work.empty() || process.lost_launches || lost_launches_) trace.loss = FileLoss::pieces;
  const auto& launches = process.launches;
  for (const LostWork& lost : process.lost_work) {
    const auto before = [](const Launch& launch, std::int64_t id) { return launch.correlation < id; };
    const auto* found = std::lower_bound(launches.begin(), launches.end(), lost.correlation, before);
    if (lost.correlation != 0 && found != launches.end() && found->correlation == lost.correlation)
      trace.lone_launches_ns.push_back(found->start_ns);
    else
      trace.lost_between.push_back(launches_around(trace, lost));
  }
  std::sort(trace.lone_launches_ns.begin(), trace.lone_launches_ns.end());
}

}  // namespace ccl
