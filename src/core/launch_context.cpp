#include "core/launch_context.hpp"

#include <algorithm>
#include <tuple>

#include "core/sort_runs.hpp"

namespace ccl {

std::vector<std::uint32_t> launched_events(const RankTrace& trace) {
  const EventTable& events = trace.events;
  std::size_t threads = 1, lanes = trace.lanes.size();
  for (const std::uint32_t thread : events.launch_thread) threads = std::max<std::size_t>(threads, thread + 1U);
  if (threads * lanes > events.size()) lanes = 1;  // more stretches than events: by thread alone
  const auto stretch = [&](std::size_t i) { return events.launch_thread[i] * lanes + events.lane[i] % lanes; };
  std::vector<std::size_t> first(threads * lanes + 1);
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events.launch_ns[i] != absent_ns) ++first[stretch(i) + 1];
  for (std::size_t s = 1; s < first.size(); ++s) first[s] += first[s - 1];
  std::vector<std::uint32_t> rows(first.back());
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events.launch_ns[i] != absent_ns) rows[first[stretch(i)]++] = static_cast<std::uint32_t>(i);
  return rows;
}

LaunchContext launch_context(const RankTrace& trace) {
  const EventTable& events = trace.events;
  LaunchContext out;
  out.innermost.assign(events.size(), -1);
  out.parent.assign(trace.slices.size(), -1);
  std::vector<std::uint32_t> order;
  if (trace.slices.size() > 0) order = launched_events(trace);
  const auto key = [&](std::uint32_t i) { return std::tuple(events.launch_thread[i], events.launch_ns[i]); };
  sort_runs(order, [&](std::uint32_t a, std::uint32_t b) { return std::pair(key(a), a) < std::pair(key(b), b); });

  std::vector<std::int32_t> open;  // a stack; those that ended lie on top of none that is needed
  std::size_t next = 0;
  std::uint32_t thread = 0;
  const auto close = [&](std::int64_t time_ns) {
    while (!open.empty() && trace.slices[static_cast<std::size_t>(open.back())].end_ns <= time_ns) open.pop_back();
  };
  // Launches before (thread, time), in the slices that are open now.
  const auto place_launches = [&](std::tuple<std::uint32_t, std::int64_t> until) {
    for (; next < order.size() && key(order[next]) < until; ++next) {
      const auto [launch_thread, launch_ns] = key(order[next]);
      if (launch_thread != thread) open.clear();
      close(launch_ns);
      if (launch_thread == thread && !open.empty()) out.innermost[order[next]] = open.back();
    }
  };
  for (std::size_t s = 0; s < trace.slices.size(); ++s) {
    const CpuSlice& slice = trace.slices[s];
    place_launches({slice.thread, slice.start_ns});
    if (slice.thread != thread) open.clear();
    thread = slice.thread;
    close(slice.start_ns);
    if (!open.empty()) out.parent[s] = open.back();
    open.push_back(static_cast<std::int32_t>(s));
  }
  place_launches({UINT32_MAX, INT64_MAX});
  return out;
}

}  // namespace ccl
