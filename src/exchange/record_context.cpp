#include "exchange/record_context.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "core/collective_math.hpp"

namespace ccl {
namespace {

/// Length of a merged list within any window, by two binary searches.
class Lengths {
 public:
  explicit Lengths(const Intervals& merged) : merged_(merged), before_{0} {
    before_.reserve(merged.size() + 1);
    for (const Interval& interval : merged) before_.push_back(before_.back() + interval.length_ns());
  }
  std::int64_t within(Interval window) const { return up_to(window.end_ns) - up_to(window.start_ns); }

 private:
  std::int64_t up_to(std::int64_t t_ns) const {
    const auto next = std::partition_point(merged_.begin(), merged_.end(),
                                           [&](const Interval& interval) { return interval.start_ns < t_ns; });
    if (next == merged_.begin()) return 0;
    const Interval& last = *std::prev(next);
    return before_[static_cast<std::size_t>(next - merged_.begin())] - std::max<std::int64_t>(0, last.end_ns - t_ns);
  }

  const Intervals& merged_;
  std::vector<std::int64_t> before_;
};

/// Row of a lane's device; the number of devices when a trace made by hand does not list it.
std::size_t device_row(const RankTrace& trace, std::uint16_t lane) {
  const std::int32_t device = trace.lanes[lane].device;
  const auto at = std::lower_bound(trace.devices.begin(), trace.devices.end(), device);
  const bool listed = at != trace.devices.end() && *at == device;
  return listed ? static_cast<std::size_t>(at - trace.devices.begin()) : trace.devices.size();
}

std::uint32_t capped(std::int64_t ns) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ns, 0, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

std::vector<DeviceTime> device_times(const RankTrace& trace) {
  std::vector<DeviceTime> all(trace.devices.size());
  const EventTable& events = trace.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::size_t row = device_row(trace, events.lane[i]);
    if (row == all.size()) continue;
    DeviceTime& time = all[row];
    const Interval event{events.start_ns[i], events.end_ns(i)};
    if (time.first_ns == absent_ns) time.first_ns = event.start_ns;
    if (!time.busy.empty() && event.start_ns > time.busy.back().end_ns && event.length_ns() > 0 &&
        events.launch_ns[i] != absent_ns && events.launch_ns[i] >= time.busy.back().end_ns)
      time.starved.push_back({time.busy.back().end_ns, event.start_ns});
    if (events.kind[i] == EventKind::compute) {
      append_merged(time.compute, event);
      time.kernel_starts_ns.push_back(event.start_ns);
    }
    if (events.kind[i] == EventKind::compute || events.kind[i] == EventKind::communication)
      append_merged(time.covered, event);
    append_merged(time.busy, event);
  }
  return all;
}

void add_context(const RankTrace& trace, std::span<CollectiveRecord> records) {
  const std::vector<DeviceTime> times = device_times(trace);
  std::vector<Lengths> compute, covered, starved;
  for (const DeviceTime& time : times) {
    compute.emplace_back(time.compute);
    covered.emplace_back(time.covered);
    starved.emplace_back(time.starved);
  }
  std::map<std::tuple<std::uint64_t, std::uint16_t>, std::int64_t> last_end_ns;
  for (CollectiveRecord& record : records) {
    if (!is_symmetric(record.op)) continue;
    const std::size_t row = device_row(trace, record.lane);
    if (row == times.size()) continue;
    const auto [last, is_first] = last_end_ns.try_emplace({record.group.value, record.lane}, times[row].first_ns);
    const Interval window{std::min(last->second, record.start_ns), record.start_ns};
    const std::int64_t compute_ns = compute[row].within(window), starved_ns = starved[row].within(window);
    const std::int64_t communication_ns = covered[row].within(window) - compute_ns;
    record.before.compute_ns = capped(compute_ns);
    record.before.communication_ns = capped(communication_ns);
    record.before.starved_ns = capped(starved_ns);
    record.before.stalled_ns = capped(window.length_ns() - compute_ns - communication_ns - starved_ns);
    const std::vector<std::int64_t>& starts = times[row].kernel_starts_ns;
    record.before.kernels_count =
        static_cast<std::uint32_t>(std::lower_bound(starts.begin(), starts.end(), window.end_ns) -
                                   std::lower_bound(starts.begin(), starts.end(), window.start_ns));
    last->second = std::max(last->second, record.end_ns());
  }
}

}  // namespace ccl
