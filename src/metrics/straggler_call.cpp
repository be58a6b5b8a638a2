#include "metrics/straggler_call.hpp"

#include <algorithm>

#include "core/statistics.hpp"

namespace ccl {
namespace {
constexpr double least_share_of_period = 0.01;
constexpr std::int64_t least_times_last = 3;
constexpr std::size_t least_earlier_steps = 3;
constexpr double onset_factor = 3;
}  // namespace

std::optional<StepId> onset_of(const std::vector<std::pair<StepId, std::int64_t>>& blame_by_step, double relevant_ns) {
  // Going backwards, `least` is the smallest value from step i on: the values stay above a bound iff it is above.
  std::vector<std::int64_t> least(blame_by_step.size());
  for (std::size_t i = blame_by_step.size(); i-- > 0;) {
    least[i] = blame_by_step[i].second;
    if (i + 1 < least.size()) least[i] = std::min(least[i], least[i + 1]);
  }
  std::vector<double> earlier;
  for (std::size_t i = 0; i < blame_by_step.size(); ++i) {
    const auto lasting_ns = static_cast<double>(least[i]);
    if (i > 0 && lasting_ns > onset_factor * median(earlier) && lasting_ns >= relevant_ns) {
      if (i < least_earlier_steps) return {};
      return blame_by_step[i].first;
    }
    earlier.push_back(static_cast<double>(blame_by_step[i].second));
  }
  return {};
}

namespace {

StragglerCall call_rank(const std::vector<RankBlame>& ranks, std::size_t which, std::int64_t residual_ns) {
  StragglerCall out;
  out.largest = which;
  const RankBlame& rank = ranks[which];
  out.share_of_period = ratio(static_cast<double>(rank.blame_ns), static_cast<double>(rank.periods_ns));
  const std::int64_t noise_ns = residual_ns < 0 ? 0 : 2 * residual_ns * rank.last_count;
  out.stands_out =
      out.share_of_period >= least_share_of_period && rank.blame_ns > noise_ns && rank.last_count >= least_times_last;
  // Three small values before a fourth say little: what would not make it a straggler is not its beginning either.
  const double period_ns =
      rank.steps_count > 0 ? static_cast<double>(rank.periods_ns) / static_cast<double>(rank.steps_count) : 0;
  out.onset = onset_of(rank.blame_by_step, least_share_of_period * period_ns);
  return out;
}

}  // namespace

StragglerCall call_straggler(const std::vector<RankBlame>& ranks, std::int64_t residual_ns) {
  std::size_t largest = 0;
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i].blame_ns > ranks[largest].blame_ns) largest = i;
  return call_rank(ranks, largest, residual_ns);
}

std::vector<StragglerCall> call_stragglers(const std::vector<RankBlame>& ranks, std::int64_t residual_ns) {
  std::vector<StragglerCall> out;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (const StragglerCall call = call_rank(ranks, i, residual_ns); call.stands_out) out.push_back(call);
  std::stable_sort(out.begin(), out.end(), [&](const StragglerCall& a, const StragglerCall& b) {
    return ranks[a.largest].blame_ns > ranks[b.largest].blame_ns;
  });
  return out;
}

}  // namespace ccl
