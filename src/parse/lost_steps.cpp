#include "parse/lost_steps.hpp"

#include <algorithm>
#include <cstdint>

#include "core/number_list.hpp"
#include "parse/step_finder.hpp"

namespace ccl {
namespace {

using Lost = std::vector<bool>;

void mark(std::int32_t step, Lost& lost) {
  if (step >= 0) lost[static_cast<std::size_t>(step)] = true;
}

/// A step without a CPU window is the whole trace.
bool goes_on_behind(const Step& step, std::int64_t time_ns) { return step.end_ns == absent_ns || step.end_ns > time_ns; }

void mark_launched_for_nothing(const RankTrace& trace, Lost& lost) {
  if (trace.steps.front().source == StepSource::span) {
    if (!trace.lone_launches_ns.empty()) lost[0] = true;
    return;
  }
  StepFinder finder(trace.steps);
  for (const std::int64_t launch_ns : trace.lone_launches_ns) mark(finder.find(launch_ns), lost);
}

/// The steps before and behind each event without a launch, on its stream.
void mark_around_launchless(const RankTrace& trace, Lost& lost) {
  const EventTable& events = trace.events;
  struct OnLane {
    std::int32_t before = -1;            // step of the last event that has one
    std::int64_t launchless_ns = absent_ns;  // start of the last one since then
  };
  std::vector<OnLane> lanes(trace.lanes.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    OnLane& lane = lanes[events.lane[i]];
    const std::int32_t step = events.step[i];
    if (step < 0) {
      if (events.launch_ns[i] != absent_ns) continue;
      lane.launchless_ns = events.start_ns[i];
      mark(lane.before, lost);
      continue;
    }
    if (lane.launchless_ns != absent_ns &&
        (lane.before >= 0 || lane.launchless_ns >= trace.steps[static_cast<std::size_t>(step)].start_ns))
      mark(step, lost);
    lane = {step, absent_ns};
  }
}

void mark_between(const RankTrace& trace, Lost& lost) {
  for (const Interval& piece : trace.lost_between)
    for (std::size_t i = 0; i < lost.size(); ++i)
      lost[i] = lost[i] || (trace.steps[i].start_ns <= piece.end_ns && goes_on_behind(trace.steps[i], piece.start_ns));
}

/// Until when a file tells all, if it is cut: events launched later may be behind the cut. Launch time; of a file without
/// launches that of the events. Absent where launches without events tell it.
std::int64_t told_until_ns(const RankTrace& trace) {
  const EventTable& events = trace.events;
  const std::size_t count = events.size();
  if (!trace.has_launches()) return count > 0 ? events.start_ns[count - 1] : absent_ns;
  if (!trace.launches_graphs) return trace.launches_until_ns;
  for (std::size_t i = count; i-- > 0;) {  // of one launch events may be there and missing
    const std::int64_t launch_ns = events.launch_ns[i];
    if (launch_ns == absent_ns) continue;
    return trace.launches_until_ns == absent_ns ? launch_ns : std::min(launch_ns, trace.launches_until_ns);
  }
  return trace.launches_until_ns;
}

void mark_behind_cut(const RankTrace& trace, Lost& lost) {
  const std::int64_t until_ns = told_until_ns(trace);
  if (until_ns == absent_ns) return;
  for (std::size_t i = 0; i < lost.size(); ++i) lost[i] = lost[i] || goes_on_behind(trace.steps[i], until_ns);
}

/// "step 8", "steps 8-9, 12".
std::string numbers_text(const RankTrace& trace, const Lost& lost) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < lost.size(); ++i)
    if (lost[i]) numbers.push_back(trace.steps[i].number);
  return (numbers.size() == 1 ? "step " : "steps ") + number_list(numbers, SIZE_MAX, 2);
}

}  // namespace

std::vector<bool> find_lost_steps(const RankTrace& trace) {
  Lost lost(trace.steps.size(), false);
  if (trace.loss == FileLoss::nothing || lost.empty()) return lost;
  if (trace.has_launches()) {
    mark_launched_for_nothing(trace, lost);
    mark_around_launchless(trace, lost);
    mark_between(trace, lost);
  } else if (trace.loss == FileLoss::pieces) {
    lost.assign(lost.size(), true);
  }
  if (trace.loss == FileLoss::rest) mark_behind_cut(trace, lost);
  Lost has_events(lost.size(), false);
  for (const std::int32_t step : trace.events.step) mark(step, has_events);
  for (std::size_t i = 0; i < lost.size(); ++i) lost[i] = lost[i] || !has_events[i];
  return lost;
}

bool may_have_lost_events(const RankTrace& trace, const Interval& launched) {
  if (trace.loss == FileLoss::nothing) return false;
  if (!trace.has_launches()) return true;
  const std::int64_t until_ns = told_until_ns(trace);
  if (trace.loss == FileLoss::rest && until_ns != absent_ns && launched.end_ns > until_ns) return true;
  for (const std::int64_t launch_ns : trace.lone_launches_ns)
    if (launched.start_ns <= launch_ns && launch_ns < launched.end_ns) return true;
  return std::any_of(trace.lost_between.begin(), trace.lost_between.end(), [&](const Interval& piece) {
    return launched.start_ns <= piece.end_ns && piece.start_ns < launched.end_ns;
  });
}

void shift_losses(RankTrace& trace, std::int64_t by_ns) {
  for (std::int64_t& start_ns : trace.lone_launches_ns) start_ns += by_ns;
  if (trace.launches_until_ns != absent_ns) trace.launches_until_ns += by_ns;
  for (Interval& piece : trace.lost_between) {
    if (piece.start_ns != INT64_MIN) piece.start_ns += by_ns;
    if (piece.end_ns != INT64_MAX) piece.end_ns += by_ns;
  }
}

std::string leave_out_lost_steps(RankTrace& trace, const std::vector<bool>& more) {
  Lost lost = find_lost_steps(trace);
  for (std::size_t i = 0; i < more.size(); ++i) lost[i] = lost[i] || more[i];
  if (std::find(lost.begin(), lost.end(), true) == lost.end()) return "";
  for (std::size_t i = 0; i < lost.size(); ++i) trace.steps[i].lost_events = lost[i];
  for (std::int32_t& step : trace.events.step) {
    if (step < 0 || !lost[static_cast<std::size_t>(step)]) continue;
    step = -1;
    ++trace.outside_events_count;
  }
  return numbers_text(trace, lost) + " lost events with the damage of the file";
}

}  // namespace ccl
