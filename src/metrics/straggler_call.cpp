#include "metrics/straggler_call.hpp"

#include <algorithm>
#include <span>

#include "core/statistics.hpp"
#include "metrics/format.hpp"

namespace ccl {
namespace {
constexpr std::size_t least_earlier_steps = 3;
constexpr double onset_factor = 3;
constexpr double most_affected_before = 0.2;  // of the steps before an onset

/// What is slow every other step ends at a slow one as often as not: up to the last step seen that is no onset. Steps before
/// count as late that matter and come within `onset_factor` of what follows.
bool comes_and_goes(std::span<const std::pair<StepId, std::int64_t>> earlier, std::size_t steps_since, double lasting_ns,
                    double relevant_ns) {
  std::size_t count = 0, stretch = 0, longest = 0;
  for (const auto& [step, ns] : earlier) {
    const auto value = static_cast<double>(ns);
    const bool affected = relevant_ns > 0 && value >= relevant_ns && onset_factor * value >= lasting_ns;
    count += affected ? 1 : 0;
    stretch = affected ? stretch + 1 : 0;
    longest = std::max(longest, stretch);
  }
  return longest >= steps_since ||
         static_cast<double>(count) > most_affected_before * static_cast<double>(earlier.size());
}
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
      if (comes_and_goes(std::span(blame_by_step).first(i), blame_by_step.size() - i, lasting_ns, relevant_ns)) return {};
      return blame_by_step[i].first;
    }
    earlier.push_back(static_cast<double>(blame_by_step[i].second));
  }
  return {};
}

Persistence persistence_of(const std::vector<std::pair<StepId, std::int64_t>>& blame_by_step, double relevant_ns) {
  Persistence out;
  out.steps_count = static_cast<std::int64_t>(blame_by_step.size());
  std::size_t stretches = 0;
  bool was_affected = false;
  for (const auto& [step, ns] : blame_by_step) {
    const bool affected = ns > 0 && static_cast<double>(ns) >= relevant_ns;
    if (affected) {
      ++out.affected_count;
      if (!out.first) out.first = step;
      out.last = step;
      stretches += was_affected ? 0 : 1;
    }
    was_affected = affected;
  }
  out.to_the_end = was_affected;
  out.at_a_stretch = stretches == 1;
  return out;
}

std::int64_t noise_ns(const RankBlame& rank, std::int64_t residual_ns) {
  return residual_ns < 0 ? 0 : 2 * residual_ns * (rank.last_count - rank.lasting_count);
}

std::optional<StepId> since_of(const Persistence& persistence, const std::optional<StepId>& onset) {
  if (onset) return onset;
  const bool lasts = persistence.at_a_stretch && persistence.to_the_end && persistence.affected_count > 1;
  return lasts && !persistence.always() ? persistence.first : std::nullopt;
}

std::string persistence_text(const Persistence& persistence, const std::optional<StepId>& onset) {
  const std::string of = std::to_string(persistence.affected_count) + " of " + std::to_string(persistence.steps_count);
  if (const std::optional<StepId> since = since_of(persistence, onset)) return "since " + step_name(*since) + " (" + of + " steps)";
  if (persistence.steps_count <= 1) return "in the one step seen";
  if (persistence.always()) return "in all " + std::to_string(persistence.steps_count) + " steps";
  if (!persistence.at_a_stretch) return "in " + of + " steps";
  const StepId first = *persistence.first, last = *persistence.last;
  if (persistence.to_the_end) return "in " + step_name(first) + ", the last one seen (" + of + ")";
  if (first == last) return "in " + step_name(first) + " only (" + of + ")";
  if (first.iteration < 0 && last.iteration < 0)
    return "in steps " + std::to_string(first.step) + "-" + std::to_string(last.step) + " only (" + of + ")";
  return "in " + step_name(first) + " to " + step_name(last) + " only (" + of + ")";
}

namespace {

StragglerCall call_rank(const std::vector<RankBlame>& ranks, std::size_t which, std::int64_t residual_ns) {
  StragglerCall out;
  out.largest = which;
  const RankBlame& rank = ranks[which];
  out.share_of_period = ratio(static_cast<double>(rank.blame_ns), static_cast<double>(rank.periods_ns));
  out.stands_out =
      out.share_of_period >= least_share_of_period && rank.blame_ns > noise_ns(rank, residual_ns) && rank.last_count >= least_times_last;
  // Three small values before a fourth say little: what would not make it a straggler is not its beginning either.
  const double period_ns =
      rank.steps_count > 0 ? static_cast<double>(rank.periods_ns) / static_cast<double>(rank.steps_count) : 0;
  out.relevant_ns = least_share_of_period * period_ns;
  out.onset = onset_of(rank.blame_by_step, out.relevant_ns);
  out.persistence = persistence_of(rank.blame_by_step, out.relevant_ns);
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
