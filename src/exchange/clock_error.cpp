#include "exchange/clock_error.hpp"

#include <algorithm>
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

}  // namespace

bool has_several_clocks(const Ranks& ranks, const ClockModel& clock) {
  return ranks.hosts.size() > 1 || !clock.apart.empty();
}

std::string clock_error_text(const Ranks& ranks, const ClockModel& clock) {
  if (!has_several_clocks(ranks, clock)) return "";
  const std::int64_t step_ns = usual_step_ns(ranks);
  if (step_ns < 0 || clock.residual_ns <= step_ns / least_of_step) return "";
  return "the clocks of the ranks are known to " + milliseconds(static_cast<double>(clock.residual_ns)) +
         " only, more than a tenth of a step (" + milliseconds(static_cast<double>(step_ns)) + ")";
}

}  // namespace ccl
