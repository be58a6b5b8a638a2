#include "exchange/record_context.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/collective_math.hpp"
#include "core/intervals.hpp"

namespace ccl {
namespace {

/// What a device did from one time to another.
struct Done {
  std::int64_t compute_ns = 0, covered_ns = 0, starved_ns = 0;  // covered: compute or communication
  std::uint32_t kernels_count = 0;                              // of compute that started
};

/// The begins or the ends of windows, in order of time. An answer is what was done up to the end of its window less what was
/// done up to its begin.
class Questions {
 public:
  Questions(std::int64_t Interval::*edge, int sign) : edge_(edge), sign_(sign) {}
  void ask(std::uint32_t window) { all_.push_back(window); }
  void start(std::span<const Interval> windows) {
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return windows[a].*edge_ < windows[b].*edge_; };
    if (!std::is_sorted(all_.begin(), all_.end(), earlier)) std::sort(all_.begin(), all_.end(), earlier);
  }
  std::int64_t next_ns(std::span<const Interval> windows) const {
    return next_ < all_.size() ? windows[all_[next_]].*edge_ : std::numeric_limits<std::int64_t>::max();
  }
  /// done(t): all but the starving.
  template <class Until>
  void answer_up_to(std::int64_t t_ns, std::span<const Interval> windows, Until done, std::vector<Done>& answers) {
    for (; next_ < all_.size() && windows[all_[next_]].*edge_ <= t_ns; ++next_) {
      const Done until = done(windows[all_[next_]].*edge_);
      Done& answer = answers[all_[next_]];
      answer.compute_ns += sign_ * until.compute_ns;
      answer.covered_ns += sign_ * until.covered_ns;
      answer.kernels_count += static_cast<std::uint32_t>(sign_) * until.kernels_count;
    }
  }
  /// starved(t): of those that have the rest of their answer.
  template <class Until>
  void settle(std::span<const Interval> windows, Until starved_ns, std::vector<Done>& answers) {
    for (; settled_ < next_; ++settled_)
      answers[all_[settled_]].starved_ns += sign_ * starved_ns(windows[all_[settled_]].*edge_);
  }

 private:
  std::int64_t Interval::*edge_;
  int sign_;
  std::vector<std::uint32_t> all_;
  std::size_t next_ = 0, settled_ = 0;
};

/// One device from its first event to its last; questions are answered in passing, so nothing is kept of the events.
class DeviceSweep {
 public:
  void ask(std::uint32_t window) {
    begins_.ask(window);
    ends_.ask(window);
  }
  /// windows: as long as events are added.
  void start(std::span<const Interval> windows) {
    windows_ = windows;
    begins_.start(windows);
    ends_.start(windows);
    find_next();
  }
  void add(EventKind kind, Interval event, std::int64_t launch_ns, std::vector<Done>& answers) {
    if (next_ns_ <= event.start_ns) answer_up_to(event.start_ns, answers);
    const bool computes = kind == EventKind::compute;
    if (event.length_ns() > 0) end_idling(event.start_ns, launch_ns, answers);
    busy_.add(event);
    compute_.add(event, computes);
    covered_.add(event, computes || kind == EventKind::communication);
    kernels_count_ += computes ? 1 : 0;
  }
  void finish(std::vector<Done>& answers) {
    answer_up_to(std::numeric_limits<std::int64_t>::max(), answers);
    end_idling(absent_ns, absent_ns, answers);
  }

 private:
  void find_next() { next_ns_ = std::min(begins_.next_ns(windows_), ends_.next_ns(windows_)); }
  void answer_up_to(std::int64_t t_ns, std::vector<Done>& answers) {
    const auto done = [&](std::int64_t at_ns) { return Done{compute_.before_ns(at_ns), covered_.before_ns(at_ns), 0, kernels_count_}; };
    for (Questions* questions : {&begins_, &ends_}) questions->answer_up_to(t_ns, windows_, done, answers);
    any_unsettled_ = true;
    find_next();
  }
  // Whether the device starved while it idled is known only when the next event begins.
  void end_idling(std::int64_t start_ns, std::int64_t launch_ns, std::vector<Done>& answers) {
    const bool idled = !busy_.empty() && start_ns > busy_.end_ns();
    const bool starved = idled && launch_ns != absent_ns && launch_ns >= busy_.end_ns();
    if (any_unsettled_) settle(starved, answers);
    starved_ns_ += starved ? start_ns - busy_.end_ns() : 0;
  }

  void settle(bool starved, std::vector<Done>& answers) {
    const auto starved_ns = [&](std::int64_t at_ns) {
      return starved_ns_ + std::max<std::int64_t>(starved ? at_ns - busy_.end_ns() : 0, 0);
    };
    for (Questions* questions : {&begins_, &ends_}) questions->settle(windows_, starved_ns, answers);
    any_unsettled_ = false;
  }

  std::span<const Interval> windows_;
  Questions begins_{&Interval::start_ns, -1}, ends_{&Interval::end_ns, 1};
  std::int64_t next_ns_ = 0;
  bool any_unsettled_ = false;
  MergedLength compute_, covered_, busy_;
  std::int64_t starved_ns_ = 0;
  std::uint32_t kernels_count_ = 0;
};

/// Row of each lane's device; the number of devices where a trace made by hand does not list it.
std::vector<std::size_t> device_of_lanes(const RankTrace& trace) {
  std::vector<std::size_t> rows;
  for (const Lane& lane : trace.lanes) {
    const auto at = std::lower_bound(trace.devices.begin(), trace.devices.end(), lane.device);
    const bool listed = at != trace.devices.end() && *at == lane.device;
    rows.push_back(listed ? static_cast<std::size_t>(at - trace.devices.begin()) : trace.devices.size());
  }
  return rows;
}

std::vector<std::int64_t> first_starts_ns(const RankTrace& trace, const std::vector<std::size_t>& device_of_lane) {
  std::vector<std::int64_t> first(trace.devices.size(), absent_ns);
  std::size_t missing = first.size();
  for (std::size_t i = 0; i < trace.events.size() && missing > 0; ++i) {
    const std::size_t device = device_of_lane[trace.events.lane[i]];
    if (device == first.size() || first[device] != absent_ns) continue;
    first[device] = trace.events.start_ns[i];
    --missing;
  }
  return first;
}

/// The calls that wait for the device on the threads that launch to it: how long they took up to a time.
class Synchronising {
 public:
  explicit Synchronising(const RankTrace& trace) {
    std::vector<bool> launches(trace.threads.size());
    bool any = false;
    for (const CpuSlice& slice : trace.slices) any |= slice.kind == SliceKind::runtime;
    if (!any) return;
    for (std::size_t i = 0; i < trace.events.size(); ++i)
      if (trace.events.launch_ns[i] != absent_ns && trace.events.launch_thread[i] < launches.size())
        launches[trace.events.launch_thread[i]] = true;
    for (const CpuSlice& slice : trace.slices)
      if (slice.kind == SliceKind::runtime && slice.thread < launches.size() && launches[slice.thread])
        calls_.push_back({slice.start_ns, slice.end_ns});
    calls_ = merge_intervals(std::move(calls_));
    std::int64_t sum_ns = 0;
    for (const Interval& call : calls_) before_ns_.push_back(std::exchange(sum_ns, sum_ns + call.length_ns()));
  }
  bool empty() const { return calls_.empty(); }
  std::int64_t until_ns(std::int64_t t_ns) const {
    const auto after = std::upper_bound(calls_.begin(), calls_.end(), t_ns,
                                        [](std::int64_t t, const Interval& call) { return t < call.start_ns; });
    if (after == calls_.begin()) return 0;
    const auto at = static_cast<std::size_t>(after - calls_.begin()) - 1;
    return before_ns_[at] + std::min(t_ns, calls_[at].end_ns) - calls_[at].start_ns;
  }

 private:
  Intervals calls_;
  std::vector<std::int64_t> before_ns_;
};

/// A time for each group and stream that was asked for. A group uses few streams.
class TimeOfStream {
 public:
  explicit TimeOfStream(std::size_t groups_count) : by_group_(groups_count) {}
  /// first_ns: the time where none is known yet.
  std::int64_t& of(std::size_t group, std::uint16_t lane, std::int64_t first_ns) {
    if (group >= by_group_.size()) by_group_.resize(group + 1);
    auto& times = by_group_[group];
    const auto known = std::find_if(times.begin(), times.end(), [&](const auto& time) { return time.first == lane; });
    return known != times.end() ? known->second : times.emplace_back(lane, first_ns).second;
  }

 private:
  std::vector<std::vector<std::pair<std::uint16_t, std::int64_t>>> by_group_;
};

std::uint32_t capped(std::int64_t ns) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ns, 0, std::numeric_limits<std::uint32_t>::max()));
}

void add_launches(const RankTrace& trace, std::span<const std::uint32_t> synchronised_ns,
                  std::span<CollectiveRecord> records) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::int64_t launch_ns = trace.events.launch_ns[trace.collectives[i].event];
    if (!is_symmetric(records[i].op) || launch_ns == absent_ns) continue;
    records[i].before.queued_ns = std::min(capped(records[i].start_ns - launch_ns), BeforeCollective::unknown_ns - 1);
    records[i].before.synchronised_ns = synchronised_ns[i];
  }
}

}  // namespace

std::vector<std::uint32_t> synchronised_before_ns(const RankTrace& trace) {
  std::vector<std::uint32_t> out(trace.collectives.size());
  const Synchronising synchronising(trace);
  if (synchronising.empty()) return out;
  TimeOfStream last_launch_ns(trace.groups.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Collective& collective = trace.collectives[i];
    const std::int64_t launch_ns = trace.events.launch_ns[collective.event];
    if (!is_symmetric(collective.op) || launch_ns == absent_ns) continue;
    std::int64_t& last_ns = last_launch_ns.of(collective.group, trace.events.lane[collective.event], launch_ns);
    out[i] = capped(synchronising.until_ns(launch_ns) - synchronising.until_ns(last_ns));
    last_ns = std::max(last_ns, launch_ns);
  }
  return out;
}

void add_context(const RankTrace& trace, std::span<const std::uint32_t> synchronised_ns,
                 std::span<CollectiveRecord> records) {
  if (records.empty()) return;
  add_launches(trace, synchronised_ns, records);
  const std::vector<std::size_t> device_of_lane = device_of_lanes(trace);
  const std::vector<std::int64_t> first_ns = first_starts_ns(trace, device_of_lane);
  std::vector<DeviceSweep> devices(trace.devices.size());
  std::vector<Interval> windows(records.size());
  std::vector<bool> asked(records.size());
  TimeOfStream last_end_ns(trace.groups.size());
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const CollectiveRecord& record = records[i];
    const std::size_t device = device_of_lane[record.lane];
    if (!is_symmetric(record.op) || device == devices.size()) continue;
    std::int64_t& last_ns = last_end_ns.of(trace.collectives[i].group, record.lane, first_ns[device]);
    asked[i] = true;
    windows[i] = {std::min(last_ns, record.start_ns), record.start_ns};
    devices[device].ask(i);
    last_ns = std::max(last_ns, record.end_ns());
  }

  std::vector<Done> answers(records.size());
  for (DeviceSweep& device : devices) device.start(windows);
  const EventTable& events = trace.events;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (const std::size_t device = device_of_lane[events.lane[i]]; device < devices.size())
      devices[device].add(events.kind[i], {events.start_ns[i], events.end_ns(i)}, events.launch_ns[i], answers);
  for (DeviceSweep& device : devices) device.finish(answers);

  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!asked[i]) continue;
    const Done& done = answers[i];
    const std::int64_t communication_ns = done.covered_ns - done.compute_ns;
    BeforeCollective& before = records[i].before;
    before.compute_ns = capped(done.compute_ns);
    before.communication_ns = capped(communication_ns);
    before.starved_ns = capped(done.starved_ns);
    before.stalled_ns = capped(windows[i].length_ns() - done.covered_ns - done.starved_ns);
    before.kernels_count = done.kernels_count;
  }
}

}  // namespace ccl
