#include "parse/left_out.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "core/shares.hpp"
#include "parse/event_limits.hpp"

namespace ccl {
namespace {

template <class T>
void leave_out(Column<T>& column, const std::vector<bool>& rows) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!rows[i]) column[kept++] = column[i];
  column.resize(kept);
}

/// rows_before: those left out in front of each event.
template <class Row>
void leave_out_with(Column<Row>& all, const std::vector<bool>& rows, const std::vector<std::uint32_t>& rows_before) {
  std::size_t kept = 0;
  for (Row row : all) {
    if (rows[row.event]) continue;
    row.event -= rows_before[row.event];
    all[kept++] = row;
  }
  all.resize(kept);
}

/// Who goes by lanes relies on each having events.
void drop_empty_lanes(RankTrace& trace) {
  std::vector<bool> used(trace.lanes.size());
  for (const std::uint16_t lane : trace.events.lane) used[lane] = true;
  std::vector<std::uint16_t> renumbered(trace.lanes.size());
  std::uint16_t kept = 0;
  for (std::size_t lane = 0; lane < used.size(); ++lane) {
    renumbered[lane] = kept;
    if (used[lane]) trace.lanes[kept++] = trace.lanes[lane];
  }
  trace.lanes.resize(kept);
  for (std::uint16_t& lane : trace.events.lane) lane = renumbered[lane];
}

/// What goes with the events goes with them; steps and launches are as they were.
void take_out(RankTrace& trace, const std::vector<bool>& rows, const std::vector<std::uint32_t>& rows_before) {
  EventTable& events = trace.events;
  leave_out_with(trace.collectives, rows, rows_before);
  leave_out_with(trace.memory_operations, rows, rows_before);
  leave_out_with(trace.kernel_shapes, rows, rows_before);
  leave_out(events.start_ns, rows);
  leave_out(events.dur_ns, rows);
  leave_out(events.name, rows);
  leave_out(events.lane, rows);
  leave_out(events.kind, rows);
  leave_out(events.step, rows);
  leave_out(events.correlation, rows);
  leave_out(events.launch_ns, rows);
  leave_out(events.launch_thread, rows);
  drop_empty_lanes(trace);
}

bool repeats(const EventTable& events, std::size_t i, std::size_t j) {
  return events.start_ns[i] == events.start_ns[j] && events.lane[i] == events.lane[j] && events.dur_ns[i] == events.dur_ns[j] &&
         events.correlation[i] == events.correlation[j] && events.name[i] == events.name[j] && events.correlation[i] != 0;
}

/// In order of thread and start, longer ones first.
void leave_out_repeated_slices(CpuSlices& slices) {
  CpuSlices kept;
  std::vector<CpuSlice> alike;  // of one thread and time
  for (const CpuSlice slice : slices) {
    const bool same_time = !alike.empty() && alike.back().thread == slice.thread && alike.back().start_ns == slice.start_ns &&
                           alike.back().end_ns == slice.end_ns;
    if (!same_time) alike.clear();
    const auto is_it = [&](const CpuSlice& other) { return other.name == slice.name && other.kind == slice.kind; };
    if (std::any_of(alike.begin(), alike.end(), is_it)) continue;
    alike.push_back(slice);
    kept.push_back(slice);
  }
  slices.swap(kept);
}

}  // namespace

std::int64_t leave_out_repeats(RankTrace& trace, std::span<const Processors> lent) {
  constexpr std::size_t few = 10;  // one in so many may be alike by chance: short kernels of one graph
  const EventTable& events = trace.events;
  const std::vector<std::size_t> counts = results_of_shares(events.size(), lent, [&](const Share& share) {
    std::size_t found = 0;
    for (std::size_t i = std::max<std::size_t>(share.begin, 1); i < share.end; ++i) found += repeats(events, i - 1, i) ? 1 : 0;
    return found;
  });
  const std::size_t count = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  if (few * count <= events.size()) return 0;
  std::vector<bool> rows(events.size());
  std::vector<std::uint32_t> rows_before(events.size());
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    rows_before[i] = before;
    rows[i] = i > 0 && repeats(events, i - 1, i);
    before += rows[i] ? 1 : 0;
  }
  take_out(trace, rows, rows_before);
  leave_out_repeated_slices(trace.slices);
  return static_cast<std::int64_t>(count);
}

void leave_out_events(RankTrace& trace, const std::vector<bool>& rows) {
  EventTable& events = trace.events;
  std::vector<std::uint32_t> rows_before(rows.size());
  std::uint32_t count = 0;
  bool any_without_launch = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows_before[i] = count;
    if (!rows[i]) continue;
    ++count;
    if (events.launch_ns[i] != absent_ns)
      trace.lone_launches_ns.push_back(events.launch_ns[i]);
    else
      any_without_launch = true;
  }
  if (count == 0) return;
  if (any_without_launch) trace.lost_between.push_back({INT64_MIN, INT64_MAX});
  std::sort(trace.lone_launches_ns.begin(), trace.lone_launches_ns.end());
  if (trace.loss == FileLoss::nothing) trace.loss = FileLoss::pieces;
  trace.lost_events_count += count;
  take_out(trace, rows, rows_before);
}

std::vector<bool> unrecorded_events(const EventTable& events, Interval& recorded, std::int64_t margin_ns,
                                    std::span<const Processors> lent) {
  if (recorded.length_ns() <= 0) return {};
  const Interval possible{recorded.start_ns - margin_ns, recorded.end_ns + margin_ns};
  using Counts = std::pair<std::size_t, std::size_t>;  // outside, and of them those that begin there
  const std::vector<Counts> counts = results_of_shares(events.size(), lent, [&](const Share& share) {
    std::size_t out = 0, begin_out = 0;
    for (std::size_t i = share.begin; i < share.end; ++i) {  // without a branch: mostly there is none
      const std::int64_t start_ns = events.start_ns[i], end_ns = events.end_ns(i);
      const int before = static_cast<int>(start_ns < possible.start_ns);
      out += static_cast<std::size_t>(before | static_cast<int>(end_ns > possible.end_ns));
      begin_out += static_cast<std::size_t>(before | static_cast<int>(start_ns > possible.end_ns));
    }
    return Counts(out, begin_out);
  });
  std::size_t outside = 0, begin_outside = 0;
  for (const auto& [out, begin_out] : counts) outside += out, begin_outside += begin_out;
  if (2 * begin_outside > events.size()) {
    recorded = {};
    return {};
  }
  if (outside == 0) return {};
  std::vector<bool> rows(events.size());
  for (std::size_t i = 0; i < events.size(); ++i)
    rows[i] = !is_recorded(recorded, events.start_ns[i], events.end_ns(i), margin_ns);
  return rows;
}

}  // namespace ccl
