#include "parse/step_markers.hpp"

#include <algorithm>
#include <tuple>

#include "parse/event_limits.hpp"

namespace ccl {
namespace {

/// Old profilers round to whole microseconds.
constexpr std::int64_t rounding_ns = 10'000;

std::string seconds(std::int64_t time_ns) {
  constexpr std::int64_t ns_per_ms = 1'000'000, ms_per_s = 1000;
  const std::string fraction = std::to_string(time_ns / ns_per_ms % ms_per_s);
  return std::to_string(time_ns / ns_per_ms / ms_per_s) + "." + std::string(3 - fraction.size(), '0') + fraction + " s";
}

std::string what_is_wrong(const Step& step, const Step* next, MarkerOrder order, Interval recorded) {
  const std::string name = "step " + std::to_string(step.number);
  if (step.end_ns <= step.start_ns) return name + " has no duration that can be right";
  const std::string lasts = name + " lasts " + seconds(step.end_ns - step.start_ns) + " and goes on behind ";
  if (next != nullptr && order == MarkerOrder::one_after_the_other && step.end_ns > next->start_ns + rounding_ns)
    return lasts + "the begin of step " + std::to_string(next->number);
  if (next != nullptr && next->end_ns > next->start_ns && step.end_ns > next->end_ns + rounding_ns)
    return lasts + "the end of step " + std::to_string(next->number);
  return is_recorded(recorded, step.end_ns, step.end_ns) ? "" : lasts + "the end of the recording";
}

}  // namespace

void sort_steps(std::vector<Step>& steps) {
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return std::tie(a.number, a.start_ns, a.end_ns) < std::tie(b.number, b.start_ns, b.end_ns);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (kept > 0 && steps[kept - 1].number == steps[i].number) {
      Step& first = steps[kept - 1];
      if (steps[i].start_ns < first.end_ns) first.end_ns = std::max(first.end_ns, steps[i].end_ns);
    } else {
      std::swap(steps[kept++], steps[i]);
    }
  }
  steps.resize(kept);
}

InvalidMarkers settle_markers(std::vector<Step>& steps, MarkerOrder order, Interval recorded) {
  InvalidMarkers found;
  const auto note = [&found](const std::string& what) {
    if (found.count++ == 0) found.first = what;
  };
  const std::size_t all_count = steps.size();
  std::erase_if(steps, [&](const Step& step) {
    const bool outside = !is_recorded(recorded, step.start_ns, step.start_ns);
    if (outside) note("step " + std::to_string(step.number) + " begins outside the recording");
    return outside;
  });
  const auto by_start = [](const Step& a, const Step& b) { return a.start_ns < b.start_ns; };
  if (!std::is_sorted(steps.begin(), steps.end(), by_start)) std::stable_sort(steps.begin(), steps.end(), by_start);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step& step = steps[i];
    const Step* const next = i + 1 < steps.size() ? &steps[i + 1] : nullptr;
    const std::string wrong = what_is_wrong(step, next, order, recorded);
    if (wrong.empty()) continue;
    const bool ends = step.end_ns > step.start_ns;
    step.end_ns = next != nullptr ? next->start_ns : recorded.end_ns;
    const std::string told = wrong + (next != nullptr                 ? ": taken to end where the next begins"
                                      : step.end_ns > step.start_ns ? ": taken to end with the recording"
                                                                    : ": left out");
    if (next == nullptr && ends)
      found.open = told;
    else
      note(told);
  }
  std::erase_if(steps, [](const Step& step) { return step.end_ns <= step.start_ns; });
  found.left_out_count = static_cast<std::int64_t>(all_count - steps.size());
  return found;
}

}  // namespace ccl
