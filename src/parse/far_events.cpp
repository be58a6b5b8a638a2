#include "parse/far_events.hpp"

#include <algorithm>

namespace ccl {
namespace {

/// Whole milliseconds, in seconds.
std::string seconds(std::int64_t time_ns) {
  constexpr std::int64_t ns_per_ms = 1'000'000, ms_per_s = 1000;
  const std::string fraction = std::to_string(time_ns / ns_per_ms % ms_per_s);
  return std::to_string(time_ns / ns_per_ms / ms_per_s) + "." + std::string(3 - fraction.size(), '0') + fraction + " s";
}

std::string described(const RankTrace& trace, std::size_t event, std::int64_t distance_ns, const char* side) {
  return std::string(trace.strings.text(trace.strings.id(trace.events.name[event]))) + " at " +
         std::to_string(trace.events.start_ns[event]) + " ns, " + seconds(distance_ns) + " " + side + " the others";
}

}  // namespace

FarEvents far_events(const RankTrace& trace) {
  constexpr std::size_t fewest = 20, one_in = 100;
  constexpr std::int64_t least_ns = 60'000'000'000, times = 10;
  const EventTable& events = trace.events;
  const std::size_t count = events.size();
  if (count < fewest) return {};
  const auto& start_ns = events.start_ns;
  const std::size_t most = std::max<std::size_t>(1, count / one_in);
  const std::int64_t span_ns = start_ns[count - 1 - most] - start_ns[most];
  const auto far = [&](std::int64_t from_ns, std::int64_t to_ns) {
    return to_ns - from_ns > least_ns && (to_ns - from_ns) / times > span_ns;
  };
  std::int64_t busy_until_ns = events.end_ns(0);
  std::size_t seen = 1;
  const auto begins_far = [&](std::size_t event) {
    if (!far(start_ns[event - 1], start_ns[event])) return false;
    for (; seen < event; ++seen) busy_until_ns = std::max(busy_until_ns, events.end_ns(seen));
    return far(busy_until_ns, start_ns[event]);
  };
  std::size_t first = 0, end = count;  // of the others
  for (std::size_t i = 1; i <= most; ++i)
    if (begins_far(i)) first = i;
  for (std::size_t i = count - most; i < end; ++i)
    if (begins_far(i)) end = i;
  FarEvents found{static_cast<std::int64_t>(first + count - end), ""};
  const std::int64_t before_ns = first > 0 ? start_ns[first] - start_ns[0] : 0;
  const std::int64_t behind_ns = end < count ? start_ns[count - 1] - start_ns[end - 1] : 0;
  if (found.count > 0)
    found.farthest = before_ns > behind_ns ? described(trace, 0, before_ns, "before")
                                           : described(trace, count - 1, behind_ns, "behind");
  return found;
}

}  // namespace ccl
