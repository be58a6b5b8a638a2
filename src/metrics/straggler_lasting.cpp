#include "metrics/straggler_lasting.hpp"

#include <algorithm>
#include <tuple>

#include "core/statistics.hpp"

namespace ccl::straggler {
namespace {

constexpr std::uint32_t usual_launch_ns = 20'000;  // from a launch to the start on an idle device, at most
constexpr std::int64_t least_part_lost = 4;        // calls that had nothing to wait for take a little too

}  // namespace

void LastingLag::begin() {
  first_ = true;
  states_.clear();
}

LastingLag::State& LastingLag::state_of(RankId rank) {
  const auto at = std::lower_bound(states_.begin(), states_.end(), rank, [](const auto& of, RankId wanted) { return of.first < wanted; });
  return at != states_.end() && at->first == rank ? at->second : states_.insert(at, {rank, {}})->second;
}

// What the next to last of the launches lost of its lead over the last one while it waited for its device.
void LastingLag::lose_lead(const Pace& last, const Pace& next_to_last) {
  const std::int64_t before_ns = state_of(next_to_last.member->rank).lead_ns;
  State& state = state_of(last.member->rank);
  const std::int64_t lost_ns = std::int64_t{next_to_last.member->before.synchronised_ns} - last.member->before.synchronised_ns;
  if (before_ns < 0 || state.lead_ns < 0) return;
  const std::int64_t lag_ns = std::max<std::int64_t>(0, before_ns - state.lead_ns);
  if (lost_ns <= 0 || least_part_lost * lost_ns < lag_ns) return;
  state.counted_ns = std::min(state.counted_ns, std::max<std::int64_t>(0, lag_ns - lost_ns));
  if (state.open) state.lost_ns += lost_ns;
}

std::int64_t LastingLag::follow(std::span<const MatchedMember> members, RankId rank) {
  paces_.clear();
  for (const MatchedMember& member : members)
    if (member.before.queued_ns != BeforeCollective::unknown_ns)
      paces_.push_back({stages_->of(member.rank), std::int64_t{member.before.queued_ns} + member.dur_ns, &member});
  std::sort(paces_.begin(), paces_.end(), [](const Pace& a, const Pace& b) {
    return std::tuple(a.stage, a.lead_ns, a.member->rank) < std::tuple(b.stage, b.lead_ns, b.member->rank);
  });
  std::int64_t behind_ns = 0;
  for (std::size_t first = 0, end = 0; first < paces_.size(); first = end) {
    while (end < paces_.size() && paces_[end].stage == paces_[first].stage) ++end;
    if (end - first > 1) behind_ns = std::max(behind_ns, follow_stage(std::span(paces_).subspan(first, end - first), rank));
  }
  return behind_ns;
}

std::int64_t LastingLag::follow_stage(std::span<const Pace> paces, RankId rank) {
  lose_lead(paces[0], paces[1]);
  for (std::size_t p = 0; p < paces.size(); ++p) {
    const std::int64_t others_ns = paces[middle_of_others(paces.size(), p)].lead_ns;
    const std::int64_t lag_ns = std::max<std::int64_t>(0, others_ns - paces[p].lead_ns);
    State& state = state_of(paces[p].member->rank);
    state.lead_ns = paces[p].lead_ns;
    state.counted_ns = std::min(state.counted_ns, 2 * lag_ns);
    state.open = state.open && lag_ns > 0 && (state.first_ns == 0 || state.counted_ns > 0);
  }
  return paces[0].member->rank == rank ? paces[1].lead_ns - paces[0].lead_ns : 0;
}

void LastingLag::add(const MatchedInstance& instance, std::span<const MatchedMember> members, CauseSums& last) {
  const std::int64_t lag_ns = follow(members, last.rank);
  State& state = state_of(last.rank);
  // The launch's is what the rank launched late by, as far as its device had nothing to do or the collective itself
  // began when it was launched; before the first collective of the step nothing says what else it could have waited
  // for.
  std::int64_t idle_ns = instance.delay_ns;
  for (const MatchedMember& member : members)
    if (member.rank == last.rank && !first_ && member.before.queued_ns > usual_launch_ns)
      idle_ns = member.before.starved_ns;
  first_ = false;
  const std::int64_t own_ns = instance.delay_ns - last.by_communication_ns;
  const std::int64_t seen_ns = std::min({instance.delay_ns, lag_ns, idle_ns});
  last.late_ns = std::min(own_ns, std::max(last.by_launch_ns, seen_ns));
  // Of the lag that is there, what was counted is old; a late kernel before a launch in time is no lag of it.
  const std::int64_t uncounted_ns = std::max<std::int64_t>(0, lag_ns - state.counted_ns);
  last.lasting_ns = std::max<std::int64_t>(0, std::min(last.late_ns, lag_ns) - uncounted_ns);
  last.lasting_count = 2 * last.lasting_ns > instance.delay_ns ? 1 : 0;
  state.counted_ns += last.late_ns - last.lasting_ns;
  if (state.open) state.first_ns += last.late_ns - last.lasting_ns;
}

void LastingLag::finish(StepId step, std::int32_t replica, GroupId group, std::vector<CauseSums>& out) {
  for (const auto& [rank, state] : states_) {
    if (state.counted_ns == 0 && state.first_ns == 0) continue;
    CauseSums row;
    row.step = step;
    row.rank = rank;
    row.replica = replica;
    row.group = group;
    row.first_ns = state.first_ns;
    row.lost_ns = state.lost_ns;
    row.kept_ns = state.counted_ns;
    out.push_back(row);
  }
}

}  // namespace ccl::straggler
