#include "exchange/clock_error.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "core/wording.hpp"
#include "exchange/robust.hpp"

namespace ccl {
namespace {

constexpr std::int64_t least_of_step = 10;  // a tenth: what is told of a step over ranks is wrong by as much

/// Usual length of a rank's own step on its GPU: no clock of another rank is in it. -1: no step has GPU events.
std::int64_t usual_step_ns(const Ranks& ranks) {
  std::vector<std::int64_t> lengths;
  for (const RankEntry& entry : ranks.entries)
    for (const Step& step : entry.facts.steps) {
      std::int64_t longest_ns = -1;
      for (const DeviceWindow& window : step.devices)
        if (window.gpu_start_ns != absent_ns) longest_ns = std::max(longest_ns, window.gpu_end_ns - window.gpu_start_ns);
      if (longest_ns >= 0) lengths.push_back(longest_ns);
    }
  return lengths.empty() ? -1 : middle_value(std::move(lengths));
}

/// Between the first and the last rank to begin a step, in the step where that is least: ranks of one run are in the same step
/// at the same time, or not much later along a pipeline. -1: no step of several ranks.
std::int64_t least_spread_of_begins_ns(const Ranks& ranks, const ClockModel& clock) {
  struct Begins {
    std::int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    std::size_t ranks_count = 0;
  };
  std::map<std::tuple<std::int32_t, std::int32_t, std::int64_t>, Begins> steps;
  for (const RankEntry& entry : ranks.entries) {
    if (!entry.takes_part || entry.host_index < 0) continue;
    for (const Step& step : entry.facts.steps) {
      std::int64_t begin_ns = INT64_MAX;
      for (const DeviceWindow& window : step.devices)
        if (window.gpu_start_ns != absent_ns) begin_ns = std::min(begin_ns, window.gpu_start_ns);
      if (begin_ns == INT64_MAX) continue;
      Begins& of_step = steps[{entry.iteration, entry.replica, step.number + entry.step_shift}];
      const std::int64_t at_ns = clock.corrected(entry.host_index, begin_ns);
      of_step.first_ns = std::min(of_step.first_ns, at_ns);
      of_step.last_ns = std::max(of_step.last_ns, at_ns);
      ++of_step.ranks_count;
    }
  }
  std::int64_t least_ns = -1;
  for (const auto& [key, begins] : steps)
    if (begins.ranks_count > 1 && (least_ns < 0 || begins.last_ns - begins.first_ns < least_ns))
      least_ns = begins.last_ns - begins.first_ns;
  return least_ns;
}

}  // namespace

bool has_several_clocks(const Ranks& ranks, const ClockModel& clock) {
  return ranks.hosts.size() > 1 || !clock.apart.empty();
}

std::string clock_error_text(const Ranks& ranks, const ClockModel& clock) {
  if (!has_several_clocks(ranks, clock)) return "";
  const std::int64_t step_ns = usual_step_ns(ranks);
  const bool uncorrected = std::ranges::any_of(clock.hosts, [](const HostClock& host) { return !host.corrected; });
  if (const std::int64_t apart_ns = uncorrected ? least_spread_of_begins_ns(ranks, clock) : -1; step_ns >= 0 && apart_ns > 2 * step_ns)
    return "a host shares no collective with the others, and by its clock ranks begin a step " +
           milliseconds(static_cast<double>(apart_ns)) + " apart, more than two steps (" +
           milliseconds(static_cast<double>(step_ns)) + ")";
  if (step_ns < 0 || clock.residual_ns <= step_ns / least_of_step) return "";
  return "the clocks of the ranks are known to " + milliseconds(static_cast<double>(clock.residual_ns)) +
         " only, more than a tenth of a step (" + milliseconds(static_cast<double>(step_ns)) + ")";
}

}  // namespace ccl
