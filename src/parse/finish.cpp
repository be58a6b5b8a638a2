#include "parse/finish.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/shares.hpp"
#include "parse/event_order.hpp"
#include "parse/far_events.hpp"
#include "parse/left_out.hpp"
#include "parse/lost_steps.hpp"
#include "parse/missing_launches.hpp"
#include "parse/step_finder.hpp"
#include "parse/step_markers.hpp"

namespace ccl {
namespace {

// Lanes by (device, stream), so that the order of events does not depend on which lane a file names first.
void sort_lanes(RankTrace& trace) {
  const auto less = [](const Lane& a, const Lane& b) { return std::tie(a.device, a.stream) < std::tie(b.device, b.stream); };
  if (std::is_sorted(trace.lanes.begin(), trace.lanes.end(), less)) return;
  std::vector<std::uint16_t> order(trace.lanes.size());
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return less(trace.lanes[a], trace.lanes[b]); });
  std::vector<Lane> lanes(order.size());
  std::vector<std::uint16_t> renumbered(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    lanes[i] = trace.lanes[order[i]];
    renumbered[order[i]] = static_cast<std::uint16_t>(i);
  }
  trace.lanes = std::move(lanes);
  for (std::uint16_t& lane : trace.events.lane) lane = renumbered[lane];
}

struct StepCounts {
  std::int64_t outside = 0;     // events of no step
  std::int64_t launchless = 0;  // events without a launch, where launches decide
  StepCounts operator+(const StepCounts& other) const { return {outside + other.outside, launchless + other.launchless}; }
};

StepCounts assign_steps(RankTrace& trace, std::span<const Processors> lent) {
  EventTable& events = trace.events;
  const bool markers = !trace.steps.empty(), by_launch = trace.has_launches();
  if (!markers && !events.start_ns.empty()) trace.steps.push_back({.number = 0, .source = StepSource::span, .devices = {}});
  events.step.clear();
  events.step.add_rows(events.size());
  const std::vector<StepCounts> counts = results_of_shares(events.size(), lent, [&](const Share& share) {
    StepFinder finder(trace.steps);
    StepCounts found;
    for (std::size_t i = share.begin; i < share.end; ++i) {
      const std::int64_t decides = by_launch ? events.launch_ns[i] : events.start_ns[i];
      const std::int32_t step = !markers ? 0 : decides == absent_ns ? -1 : finder.find(decides);
      events.step[i] = step;
      found.outside += step < 0 ? 1 : 0;
      found.launchless += by_launch && decides == absent_ns ? 1 : 0;
    }
    return found;
  });
  return std::accumulate(counts.begin(), counts.end(), StepCounts());
}

/// Kernels queued before the profiler started have no launch; the user should not look for missing markers then.
std::string why_outside(std::int64_t launchless_count) {
  return launchless_count == 0 ? "" : std::to_string(launchless_count) + " have no launch in the file";
}

void list_devices(RankTrace& trace) {
  std::vector<bool> used(trace.lanes.size());
  for (const std::uint16_t lane : trace.events.lane) used[lane] = true;
  trace.devices.clear();
  for (std::size_t lane = 0; lane < used.size(); ++lane)
    if (used[lane]) trace.devices.push_back(trace.lanes[lane].device);
  std::sort(trace.devices.begin(), trace.devices.end());
  trace.devices.erase(std::unique(trace.devices.begin(), trace.devices.end()), trace.devices.end());
}

// One pass in start order. "Everything that started earlier" is strict: events that start together are no gap.
void fill_windows(RankTrace& trace) {
  const auto number_of = [&trace](const Step& step) { return static_cast<std::size_t>(&step - trace.steps.data()); };
  for (Step& step : trace.steps) {
    step.devices.clear();
    for (const std::int32_t device : trace.devices) step.devices.push_back({.device = device});
  }
  struct Busy {
    std::int64_t until_ns = absent_ns, at_ns = absent_ns, until_before_ns = absent_ns;
  };
  std::vector<Busy> busy(trace.devices.size());
  std::vector<std::size_t> device_of_lane(trace.lanes.size());
  for (std::size_t lane = 0; lane < trace.lanes.size(); ++lane)
    device_of_lane[lane] = static_cast<std::size_t>(
        std::lower_bound(trace.devices.begin(), trace.devices.end(), trace.lanes[lane].device) - trace.devices.begin());
  const EventTable& events = trace.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::int64_t start = events.start_ns[i];
    const std::size_t device = device_of_lane[events.lane[i]];
    Busy& before = busy[device];
    if (start != before.at_ns) before.at_ns = start, before.until_before_ns = before.until_ns;
    before.until_ns = std::max(before.until_ns, events.end_ns(i));
    if (events.step[i] < 0) continue;
    Step& step = trace.steps[static_cast<std::size_t>(events.step[i])];
    DeviceWindow& window = step.devices[device];
    if (window.gpu_start_ns == absent_ns) {
      window.gpu_start_ns = start;
      const bool known = number_of(step) == 0 || !trace.steps[number_of(step) - 1].lost_events;  // what came before
      const std::int64_t until = known ? before.until_before_ns : std::max(before.until_before_ns, step.start_ns);
      const std::int64_t from = until != absent_ns ? until : step.start_ns;
      window.gap_ns = from == absent_ns ? 0 : std::max<std::int64_t>(0, start - from);
    }
    window.gpu_end_ns = std::max(window.gpu_end_ns, events.end_ns(i));
  }
}

// An event takes one multiplication that the next waits for.
std::uint64_t fingerprint(const RankTrace& trace) {
  const EventTable& events = trace.events;
  std::uint64_t hash = events.size();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto time = static_cast<std::uint64_t>(events.start_ns[i] - events.start_ns[0]) * 0x9e3779b97f4a7c15ULL;
    const auto duration = static_cast<std::uint64_t>(events.dur_ns[i]) * 0xc2b2ae3d27d4eb4fULL;
    hash = (hash ^ time ^ duration ^ trace.strings.id(events.name[i]).value) * 0x165667b19e3779f9ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

std::int64_t count_overlaps(const RankTrace& trace) {
  std::vector<std::int64_t> lane_end(trace.lanes.size(), INT64_MIN);
  std::int64_t overlaps = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    std::int64_t& end = lane_end[trace.events.lane[i]];
    if (trace.events.start_ns[i] < end) ++overlaps;
    end = std::max(end, trace.events.end_ns(i));
  }
  return overlaps;
}

struct Unlaunched {
  std::size_t all = 0, nameless = 0;  // events without a launch in the file; of them those that name none
  std::size_t behind = 0;             // and those that name one behind the first in the file
};

Unlaunched count_unlaunched(const EventTable& events, std::span<const Processors> lent) {
  const std::vector<Unlaunched> parts = results_of_shares(events.size(), lent, [&](const Share& share) {
    Unlaunched found;
    for (std::size_t i = share.begin; i < share.end; ++i) {
      const bool unlaunched = events.launch_ns[i] == absent_ns;
      found.all += unlaunched ? 1 : 0;
      found.nameless += unlaunched && events.correlation[i] == 0 ? 1 : 0;
    }
    return found;
  });
  Unlaunched found;
  for (const Unlaunched& part : parts) found.all += part.all, found.nameless += part.nameless;
  found.behind = found.all == found.nameless || found.all == events.size() ? 0 : count_missing_launches(events);
  return found;
}

/// Launches of which none fits an event, that many events do not name, or most of which are missing, tell no steps: as if
/// there were none. Damage is asked for what it took.
std::int64_t forget_useless_launches(const Unlaunched& found, RankTrace& trace) {
  constexpr std::size_t many = 100;  // one in so many: that is no damage here and there
  const std::size_t count = trace.events.size();
  const bool most_missing = trace.loss == FileLoss::nothing && found.behind > count - found.all;
  const bool useless = count > 0 && !trace.steps.empty() && (found.all == count || many * found.nameless > count || most_missing);
  return useless ? std::exchange(trace.launches_count, 0) : 0;
}

/// Behind damage a step is asked for those of its events that are missing; an event of no known launch is one of them.
std::int64_t lose_what_names_no_launch(const Unlaunched& found, RankTrace& trace) {
  if (!trace.has_launches() || trace.steps.empty() || found.nameless == 0) return 0;
  if (trace.loss == FileLoss::nothing) trace.loss = FileLoss::pieces;
  return static_cast<std::int64_t>(found.nameless);
}

/// Of a damaged file lost_steps.hpp says what they mean.
MissingLaunches place_missing(RankTrace& trace, bool markers, StepCounts& counts) {
  if (!markers || counts.launchless == 0 || trace.loss != FileLoss::nothing) return {};
  const MissingLaunches missing = place_by_correlation(trace);
  trace.lost_events_count += missing.untold;
  counts.outside -= missing.placed;
  counts.launchless -= missing.placed;
  return missing;
}

std::int64_t count_empty_steps(const std::vector<Step>& steps) {
  return std::count_if(steps.begin(), steps.end(), [](const Step& step) { return !step.has_gpu_events(); });
}

/// The event that alone is more than nine tenths of the summed durations, told by name; "" if there is none. A few
/// events say nothing: one of them is always most of the time.
std::string dominating_event(const RankTrace& trace) {
  constexpr std::size_t too_few = 20;
  const auto durations = trace.events.dur_ns.span();
  if (durations.size() < too_few) return "";
  const auto longest = std::max_element(durations.begin(), durations.end());
  const double all = std::accumulate(durations.begin(), durations.end(), 0.0);
  const auto share = static_cast<double>(*longest) / all;
  if (!(share > 0.9)) return "";
  const auto at = static_cast<std::size_t>(longest - durations.begin());
  return std::string(trace.strings.text(trace.strings.id(trace.events.name[at]))) + ": " + std::to_string(*longest) + " ns";
}

}  // namespace

void finish(RankTrace& trace, const TraceFile& file, Problems& problems, std::span<const Processors> lent) {
  trace.iteration = file.iteration;
  trace.replica = file.replica;
  const auto warn = [&](Code code, std::int64_t count, const std::string& detail = {}) {
    if (count > 0)
      problems.add({.code = code, .iteration = file.iteration, .rank = trace.rank.value, .file = file.shown,
                    .count = count, .detail = detail});
  };
  sort_lanes(trace);
  trace.slices.sort();  // before the events: what they are sorted with stays with malloc
  sort_events(trace, lent);
  warn(Code::overlap_on_stream, leave_out_repeats(trace, lent), "events that the file holds twice: each is used once");
  const bool markers = !trace.steps.empty();
  sort_steps(trace.steps);
  const Unlaunched unlaunched = count_unlaunched(trace.events, lent);
  const std::int64_t useless_launches_count = forget_useless_launches(unlaunched, trace);
  warn(Code::event_damaged, lose_what_names_no_launch(unlaunched, trace),
       "GPU events without a correlation: what launched them is not known");
  StepCounts counts = assign_steps(trace, lent);
  const MissingLaunches missing = place_missing(trace, markers, counts);
  trace.outside_events_count = counts.outside;
  const std::string lost = leave_out_lost_steps(trace, missing.doubtful_steps);
  std::int64_t overlaps_count = 0;
  std::string dominating;
  side_by_side(lent, {[&] {
                        list_devices(trace);
                        fill_windows(trace);
                      },
                      [&] { trace.fingerprint = fingerprint(trace); },
                      [&] { overlaps_count = count_overlaps(trace); },
                      [&] { dominating = dominating_event(trace); }});
  if (trace.events.start_ns.empty()) return;
  warn(Code::overlap_on_stream, overlaps_count);
  warn(Code::no_step_markers, markers ? 0 : 1);
  warn(Code::event_damaged, missing.untold, "launches of GPU events, at the edge of steps: in which of both the event was is not known");
  warn(Code::no_launch_records, missing.placed,
       "of " + std::to_string(trace.events.size()) + " GPU events: they are in the steps of the launches around theirs, by correlation");
  warn(Code::no_launch_records, trace.has_launches() ? 0 : 1,
       useless_launches_count == 0 ? "" : std::to_string(useless_launches_count) + " launches, which GPU events do not name");
  const std::int64_t empty_count = count_empty_steps(trace.steps);
  warn(Code::steps_without_gpu_events, empty_count, "of " + std::to_string(trace.steps.size()) + " steps" + (lost.empty() ? "" : "; " + lost));
  warn(Code::one_event_dominates, dominating.empty() ? 0 : 1, dominating);
  const FarEvents far = far_events(trace);
  warn(Code::events_far_from_others, far.count, far.farthest);
  warn(Code::kernels_outside_steps, trace.outside_events_count, why_outside(counts.launchless));
}

void select_steps(RankTrace& trace, const std::vector<std::int64_t>& numbers) {
  std::vector<std::int32_t> new_index(trace.steps.size(), -1);
  std::vector<Step> kept;
  for (std::size_t i = 0; i < trace.steps.size(); ++i)
    if (std::find(numbers.begin(), numbers.end(), trace.steps[i].number) != numbers.end()) {
      new_index[i] = static_cast<std::int32_t>(kept.size());
      kept.push_back(std::move(trace.steps[i]));
    }
  trace.steps = std::move(kept);
  for (std::int32_t& step : trace.events.step) {
    if (step < 0) continue;
    step = new_index[static_cast<std::size_t>(step)];
    if (step < 0) ++trace.outside_events_count;
  }
}

}  // namespace ccl
