#include "parse/left_out.hpp"

#include <algorithm>
#include <cstdint>

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

}  // namespace

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

std::vector<bool> unrecorded_events(const EventTable& events, Interval& recorded, std::int64_t margin_ns) {
  if (recorded.length_ns() <= 0) return {};
  const Interval possible{recorded.start_ns - margin_ns, recorded.end_ns + margin_ns};
  std::size_t outside = 0, begin_outside = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {  // without a branch: mostly there is none
    const std::int64_t start_ns = events.start_ns[i], end_ns = events.end_ns(i);
    const int before = static_cast<int>(start_ns < possible.start_ns);
    outside += static_cast<std::size_t>(before | static_cast<int>(end_ns > possible.end_ns));
    begin_outside += static_cast<std::size_t>(before | static_cast<int>(start_ns > possible.end_ns));
  }
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
