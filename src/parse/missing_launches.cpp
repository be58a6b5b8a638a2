#include "parse/missing_launches.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "parse/step_finder.hpp"

namespace ccl {
namespace {

using Launch = std::pair<std::int64_t, std::int64_t>;  // correlation, time

bool is_missing(const EventTable& events, std::size_t i) {
  return events.launch_ns[i] == absent_ns && events.correlation[i] != 0;
}

/// By correlation; none where the times do not ascend with it.
std::vector<Launch> known_launches(const EventTable& events) {
  constexpr std::size_t many = 100;  // one in so many: threads may be told a little out of order
  std::vector<Launch> launches;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events.launch_ns[i] != absent_ns && events.correlation[i] != 0) launches.emplace_back(events.correlation[i], events.launch_ns[i]);
  if (!std::is_sorted(launches.begin(), launches.end())) std::sort(launches.begin(), launches.end());
  std::size_t back = 0;
  for (std::size_t i = 1; i < launches.size(); ++i) back += launches[i].second < launches[i - 1].second ? 1 : 0;
  if (many * back > launches.size()) launches.clear();
  return launches;
}

/// Names of whose events most lack their launch: a call that the profiler does not record. What is always missing was not lost.
std::vector<bool> unrecorded_names(const RankTrace& trace) {
  constexpr std::uint32_t few = 3;  // say nothing
  std::vector<std::uint32_t> all(trace.strings.size()), missing(trace.strings.size());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    ++all[trace.events.name[i]];
    missing[trace.events.name[i]] += is_missing(trace.events, i) ? 1 : 0;
  }
  std::vector<bool> unrecorded(all.size());
  for (std::size_t name = 0; name < all.size(); ++name) unrecorded[name] = all[name] >= few && 2 * missing[name] > all[name];
  return unrecorded;
}

}  // namespace

std::size_t count_missing_launches(const EventTable& events) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events.launch_ns[i] != absent_ns && events.correlation[i] != 0) first = std::min<std::int64_t>(first, events.correlation[i]);
  std::size_t count = 0;
  for (std::size_t i = 0; i < events.size(); ++i) count += is_missing(events, i) && events.correlation[i] > first ? 1 : 0;
  return count;
}

MissingLaunches place_by_correlation(RankTrace& trace) {
  EventTable& events = trace.events;
  MissingLaunches found;
  if (count_missing_launches(events) == 0) return found;
  const std::vector<Launch> launches = known_launches(events);
  if (launches.empty()) return found;
  const std::vector<bool> unrecorded = unrecorded_names(trace);
  StepFinder finder(trace.steps);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!is_missing(events, i)) continue;
    const auto behind = std::lower_bound(launches.begin(), launches.end(), Launch(events.correlation[i], 0));
    if (behind == launches.begin() || events.start_ns[i] < std::prev(behind)->second) continue;  // contradicts the order
    const std::int64_t until_ns = behind == launches.end() ? events.start_ns[i] : std::min(events.start_ns[i], behind->second);
    const std::int32_t step = finder.find(std::prev(behind)->second), until = finder.find(until_ns);
    if (step == until) {
      if (step < 0) continue;
      ++found.placed;
      events.step[i] = step;
      continue;
    }
    if (unrecorded[events.name[i]]) continue;
    ++found.untold;
    found.doubtful_steps.resize(trace.steps.size(), false);
    const std::int32_t first = step < 0 ? until : step, last = until < 0 ? step : until;
    for (std::int32_t one = first; one <= last; ++one) found.doubtful_steps[static_cast<std::size_t>(one)] = true;
  }
  return found;
}

}  // namespace ccl
