// Rows of a Nsight Systems export that can not be used -> when the work they stood for was launched, for lost_steps.hpp.
#include <algorithm>
#include <utility>

#include "parse/event_limits.hpp"
#include "parse/left_out.hpp"
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

// Calls of the runtime and of the driver may have one correlation, and are one launch then.
void NsysBuild::count_kernels(Process& process) const {
  KernelCounts& counts = process.kernels;
  std::int64_t last = 0;
  for (const Launch& launch : process.launches) {
    if (graph_calls_.contains(launch.name)) ++counts.graph_launches;
    if (launch.correlation == last || !kernel_calls_.contains(launch.name)) continue;
    last = launch.correlation;
    ++counts.launches;
  }
  for (const EventKind kind : process.trace.events.kind)
    counts.kernels += kind == EventKind::compute || kind == EventKind::communication ? 1 : 0;
}

void NsysBuild::settle_losses(Process& process) const {
  RankTrace& trace = process.trace;
  trace.lost_events_count = lost_rows_ + process.lost_rows;
  // Those that name no process and came before its first row.
  if (process.lost_of_any < lost_of_any_) process.lost_work.push_back({});
  if (!process.lost_work.empty() || process.lost_launches || lost_launches_) trace.loss = FileLoss::pieces;
  const auto& launches = process.launches;
  if (process.kernels.too_few()) lose_launches_without_kernel(process);
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

// Who waits for a GPU waits in a call, so that no kernel ends long behind all calls of its process.
void NsysBuild::leave_out_unusable(Process& process, std::vector<bool> nameless) {
  RankTrace& trace = process.trace;
  const std::int64_t margin_ns = std::clamp(process.recorded.length_ns(), recording_margin_ns, longest_event_ns);
  std::vector<bool> rows = unrecorded_events(trace.events, process.recorded, margin_ns);
  process.unrecorded = std::count(rows.begin(), rows.end(), true);
  rows.resize(std::max(rows.size(), nameless.size()));
  for (std::size_t i = 0; i < nameless.size(); ++i) rows[i] = rows[i] || nameless[i];
  trace.events_count += std::count(rows.begin(), rows.end(), true);
  leave_out_events(trace, rows);
}

/// process.launches are in order of correlation.
void NsysBuild::lose_launches_without_kernel(Process& process) const {
  RankTrace& trace = process.trace;
  trace.loss = FileLoss::pieces;
  const auto correlations = trace.events.correlation.span();
  std::vector<std::int64_t> known(correlations.begin(), correlations.end());
  std::sort(known.begin(), known.end());
  auto next = known.begin();
  for (const Launch& launch : process.launches) {
    while (next != known.end() && *next < launch.correlation) ++next;
    const bool has_event = next != known.end() && *next == launch.correlation;
    if (!has_event && kernel_calls_.contains(launch.name)) trace.lone_launches_ns.push_back(launch.start_ns);
  }
}

void NsysBuild::report_losses(const Process& process) {
  const auto report = [&](Code code, std::int64_t count, std::string detail) {
    if (count > 0)
      problems_.add({.code = code, .iteration = file_.iteration, .rank = process.trace.rank.value, .file = file_.shown,
                     .count = count, .detail = std::move(detail)});
  };
  const std::string kernels = process.nameless_kernels > 0 ? "kernels" : "";
  const std::string ranges = process.nameless_ranges > 0 ? "NVTX ranges" : "";
  const std::string both = kernels.empty() || ranges.empty() ? "" : " and ";
  report(Code::event_damaged, process.nameless_kernels + process.nameless_ranges,
         kernels + both + ranges + " whose names are not in StringIds");
  report(Code::time_out_of_range, process.unrecorded, "GPU events far from all calls and ranges of their process");
  report(Code::event_damaged, process.kernels.too_few() ? process.kernels.missing() : 0, process.kernels.text());
  report(Code::time_out_of_range, process.invalid_markers.count, process.invalid_markers.first);
}

}  // namespace ccl
