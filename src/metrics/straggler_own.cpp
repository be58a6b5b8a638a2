// The part of the blame that is a rank's own, and why. Report stage: sums of collectives in; nothing moves between ranks.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "core/statistics.hpp"
#include "core/wide.hpp"
#include "metrics/format.hpp"
#include "metrics/straggler_causes.hpp"

namespace ccl::straggler {
namespace {

std::int64_t part_of(std::int64_t whole, std::int64_t part, std::int64_t of) {
  return of <= 0 ? 0 : scaled(whole, part, of);
}

using Part = std::int64_t CauseSums::*;
constexpr std::pair<Part, Part> parts[] = {{&CauseSums::compute_ns, &CauseSums::by_compute_ns},
                                           {&CauseSums::communication_ns, &CauseSums::by_communication_ns},
                                           {&CauseSums::launch_ns, &CauseSums::by_launch_ns},
                                           {&CauseSums::stalled_ns, &CauseSums::by_stalled_ns}};
constexpr std::size_t parts_count = std::size(parts);

/// Whose sums over a step a rank's are compared with: the members of its group at its stage. Where it is alone at its
/// stage, the ranks at its place in the sibling groups. Sorted once: for each among the others anew would cost peers².
class Peers {
 public:
  Peers(std::span<const CauseSums> rows, const Groups& groups, const Stages& stages) : groups_(groups), stages_(stages) {
    for (const CauseSums& row : rows) {
      auto& sums = places_[place(row)];
      for (std::size_t part = 0; part < parts_count; ++part) sums[part].push_back(row.*parts[part].first);
    }
    for (auto& [place, sums] : places_)
      for (auto& sorted : sums) std::sort(sorted.begin(), sorted.end());
  }
  bool in_pipeline(const CauseSums& row) const { return stages_.alone(group_of(groups_, row.group), row.rank); }
  /// The row with `wanted_ns` of its delay split by what it had more of than its peers in the whole step. What that
  /// leaves stays unsplit.
  void split(CauseSums& row, std::int64_t wanted_ns) const {
    std::int64_t more_ns[parts_count] = {}, sum_ns = 0;
    const auto& sums = places_.at(place(row));
    for (std::size_t part = 0; part < parts_count; ++part) {
      const std::vector<std::int64_t>& sorted = sums[part];
      if (sorted.size() < 2) return;
      const std::int64_t own_ns = row.*parts[part].first;
      const auto own = static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), own_ns) - sorted.begin());
      more_ns[part] = std::max<std::int64_t>(0, own_ns - sorted[middle_of_others(sorted.size(), own)]);
      sum_ns += more_ns[part];
    }
    for (std::size_t part = 0; part < parts_count; ++part)
      row.*parts[part].second += sum_ns <= wanted_ns ? more_ns[part] : part_of(wanted_ns, more_ns[part], sum_ns);
  }

 private:
  using Place = std::tuple<StepId, std::int32_t, GroupId, std::int32_t, std::ptrdiff_t>;
  Place place(const CauseSums& row) const {
    if (!in_pipeline(row)) return {row.step, row.replica, row.group, 0, stages_.of(row.rank)};
    const Group& group = group_of(groups_, row.group);
    const auto at = std::find(group.members.begin(), group.members.end(), row.rank.value);
    return {row.step, row.replica, GroupId(), group.size, at - group.members.begin()};
  }
  const Groups& groups_;
  const Stages& stages_;
  std::map<Place, std::array<std::vector<std::int64_t>, parts_count>> places_;
};

}  // namespace

const Group& group_of(const Groups& groups, GroupId id) {
  static const Group none;
  const Group* const group = groups.find(id);
  return group == nullptr ? none : *group;
}

std::vector<CauseSums> settle_causes(std::span<const CauseSums> causes, const Groups& groups, const Stages& stages) {
  const Peers peers(causes, groups, stages);
  std::vector<CauseSums> settled(causes.begin(), causes.end());
  for (CauseSums& row : settled) {
    if (row.delay_ns == 0 || row.step.step == outside_step) continue;
    peers.split(row, peers.in_pipeline(row) ? row.delay_ns : row.behind_ns);
  }
  return settled;
}

namespace {

/// A rank in a step against the members of a group that do its work.
class StepPeers {
 public:
  StepPeers(std::span<const Compute> computes, const Groups& groups, const Stages& stages)
      : groups_(groups), stages_(stages) {
    rows_.reserve(computes.size());
    for (const Compute& row : computes) rows_.push_back({{row.replica, row.step, row.rank}, &row});
    std::sort(rows_.begin(), rows_.end());
  }
  /// How much longer it computes than the median of the others, not below 0; nothing where no other is known.
  std::optional<std::int64_t> compute_excess_ns(const CauseSums& row) {
    const Compute* own = find(row, row.rank);
    const std::vector<const Compute*>& peers = at_stage(row).by_compute;
    if (own == nullptr) return {};
    const auto at = std::lower_bound(peers.begin(), peers.end(), own, shorter);
    const bool member = at != peers.end() && *at == own;
    if (peers.size() < (member ? 2 : 1)) return {};
    const std::size_t place = member ? static_cast<std::size_t>(at - peers.begin()) : peers.size();
    return std::max<std::int64_t>(0, own->compute_ns - peers[middle_of_others(peers.size(), place)]->compute_ns);
  }
  /// How much later than the next to last of them it begins, on the corrected clock: its CPU step or its first launch;
  /// nothing where that is not known of it or of any other.
  std::optional<std::int64_t> late_begin_ns(const CauseSums& row, std::int64_t Compute::*begin) {
    const Compute* own = find(row, row.rank);
    const AtStage& peers = at_stage(row);
    std::int64_t others_ns = absent_ns;
    for (const Compute* last : begin == &Compute::start_ns ? peers.last_started : peers.last_launched)
      if (last != nullptr && last->rank != row.rank) others_ns = std::max(others_ns, last->*begin);
    if (own == nullptr || own->*begin == absent_ns || others_ns == absent_ns) return {};
    return std::max<std::int64_t>(0, own->*begin - others_ns);
  }

 private:
  using Key = std::tuple<std::int32_t, StepId, RankId>;
  struct AtStage {
    std::vector<const Compute*> by_compute;                     // shortest first
    std::array<const Compute*, 2> last_started{}, last_launched{};  // the last two
  };
  static bool shorter(const Compute* a, const Compute* b) {
    return std::tuple(a->compute_ns, a->rank) < std::tuple(b->compute_ns, b->rank);
  }
  static void keep_last(std::array<const Compute*, 2>& last, const Compute* row, std::int64_t Compute::*begin) {
    for (const Compute*& kept : last)
      if (row != nullptr && (kept == nullptr || kept->*begin < row->*begin)) std::swap(kept, row);
  }
  const Compute* find(const CauseSums& row, RankId rank) const {
    const Key key{row.replica, row.step, rank};
    const auto at = std::ranges::lower_bound(rows_, key, {}, &std::pair<Key, const Compute*>::first);
    return at != rows_.end() && at->first == key ? at->second : nullptr;
  }
  /// Members of the group at the rank's stage, looked up once for all of them: for each anew would cost members².
  const AtStage& at_stage(const CauseSums& row) {
    const std::int32_t stage = stages_.of(row.rank);
    const auto [at, added] = known_.try_emplace({row.replica, row.step, row.group, stage});
    if (!added) return at->second;
    AtStage& peers = at->second;
    for (const std::int32_t member : group_of(groups_, row.group).members) {
      const Compute* its = stages_.of(RankId(member)) == stage ? find(row, RankId(member)) : nullptr;
      if (its == nullptr) continue;
      peers.by_compute.push_back(its);
      keep_last(peers.last_started, its, &Compute::start_ns);
      keep_last(peers.last_launched, its, &Compute::first_launch_ns);
    }
    std::sort(peers.by_compute.begin(), peers.by_compute.end(), shorter);
    return peers;
  }

  const Groups& groups_;
  const Stages& stages_;
  std::vector<std::pair<Key, const Compute*>> rows_;  // by key
  std::map<std::tuple<std::int32_t, StepId, GroupId, std::int32_t>, AtStage> known_;
};

/// Launch lag that a step begins with: made in the step before, and there at its own begin still.
class CarriedLag {
 public:
  explicit CarriedLag(StepPeers& peers) : peers_(peers) {}
  /// Rows in order of steps.
  std::int64_t into(const CauseSums& row) {
    Kept& kept = kept_[{row.replica, row.rank, row.group}];
    const bool follows = kept.step.iteration == row.step.iteration && kept.step.step + 1 == row.step.step;
    std::int64_t carried_ns = 0;
    if (const auto late_ns = peers_.late_begin_ns(row, &Compute::start_ns); late_ns && follows)
      carried_ns = std::min(std::clamp<std::int64_t>(kept.ns - row.lost_ns, 0, row.first_ns), *late_ns);
    // What was counted in the step before is part of what is left at the end of this one.
    kept = {row.step, row.kept_ns};
    return carried_ns;
  }

 private:
  struct Kept {
    StepId step;
    std::int64_t ns = 0;
  };
  StepPeers& peers_;
  std::map<std::tuple<std::int32_t, RankId, GroupId>, Kept> kept_;
};

/// The parts of a rank's blame on a group in a step that are its own.
struct OwnParts {
  std::int64_t compute_ns = 0, launch_ns = 0, before_ns = 0, stalled_ns = 0, rest_ns = 0;
  std::int64_t sum_ns() const { return compute_ns + launch_ns + before_ns + stalled_ns + rest_ns; }
};

// Who is behind is so in every collective that does not hold the others back: together they count as often as the rank
// computes longer than its peers. If it does not, it has only more left to run, for it waited longer in another group.
OwnParts own_parts(const CauseSums& row, StepPeers& peers, std::int64_t carried_ns) {
  OwnParts own;
  const std::int64_t late_ns = std::max(row.late_ns, row.by_launch_ns);
  own.launch_ns = std::max<std::int64_t>(0, late_ns - row.lasting_ns - carried_ns);
  if (const auto first_launch_ns = peers.late_begin_ns(row, &Compute::first_launch_ns))
    own.before_ns = std::clamp<std::int64_t>(std::min(row.first_ns, *first_launch_ns) - carried_ns, 0, own.launch_ns);
  own.launch_ns -= own.before_ns;
  std::int64_t left_ns = row.delay_ns - row.by_communication_ns - late_ns;
  own.stalled_ns = std::clamp<std::int64_t>(left_ns, 0, row.by_stalled_ns);
  left_ns -= own.stalled_ns;
  const std::int64_t computed_ns = std::clamp<std::int64_t>(left_ns, 0, row.by_compute_ns + row.behind_ns);
  const auto longer_ns = peers.compute_excess_ns(row);
  own.compute_ns =
      longer_ns ? std::min(computed_ns, *longer_ns) : std::max<std::int64_t>(0, computed_ns - row.behind_ns);
  own.rest_ns = left_ns - computed_ns;
  return own;
}

}  // namespace

std::vector<OwnBlame> own_blames(std::span<const CauseSums> causes, std::span<const Compute> computes,
                                 const Groups& groups, const Stages& stages) {
  StepPeers peers(computes, groups, stages);
  CarriedLag carried(peers);
  struct Largest {
    std::tuple<std::int32_t, RankId, StepId> of;
    const CauseSums* row = nullptr;
    OwnParts own;
    const auto& key() const { return of; }
    void combine(const Largest& other) {
      if (std::pair(-own.sum_ns(), row) > std::pair(-other.own.sum_ns(), other.row)) *this = other;
    }
  };
  std::vector<Largest> largest;
  for (const CauseSums& row : causes) {
    if (row.step.step == outside_step || stages.alone(group_of(groups, row.group), row.rank)) continue;
    const Largest next{{row.replica, row.rank, row.step}, &row, own_parts(row, peers, carried.into(row))};
    if (!largest.empty() && largest.back().of == next.of) largest.back().combine(next);  // rows come by step and rank
    else largest.push_back(next);
  }
  sort_and_fold(largest);  // of equal ones the first row
  std::vector<OwnBlame> out;
  for (const auto& found : largest) {
    const auto& [replica, rank, step] = found.of;
    if (out.empty() || out.back().replica != replica || out.back().rank != rank)
      out.emplace_back().replica = replica, out.back().rank = rank;
    OwnBlame& own = out.back();
    own.by_step.emplace_back(step, found.own.sum_ns());
    own.last_count += found.row->last_count;
    own.lasting_count += found.row->lasting_count;
    const OwnParts& parts = found.own;
    for (const auto& [cause, ns] :
         {std::pair(Cause::compute, parts.compute_ns), std::pair(Cause::launch, parts.launch_ns),
          std::pair(Cause::before, parts.before_ns), std::pair(Cause::stalled, parts.stalled_ns),
          std::pair(Cause::unexplained, parts.rest_ns)})
      if (ns > 0) own.parts[{cause, found.row->group}].emplace_back(step, ns);
  }
  return out;
}

std::set<StepId> OwnBlame::steps_of(const StragglerCall& call) const {
  std::set<StepId> steps;
  for (const auto& [step, ns] : by_step)
    if (call.counts(step, ns)) steps.insert(step);
  return steps;
}

std::string describe(Cause cause) {
  switch (cause) {
    case Cause::compute: return "slow compute";
    case Cause::launch: return "late launch (its device idles until the CPU launches)";
    case Cause::before: return "late before the step's first launch (data loading, host work before it)";
    case Cause::stalled: return "copies or stalls of launched work";
    case Cause::link: return "a slow link";
    case Cause::communication: return "longer communication";
    case Cause::pipeline: return "the order of the pipeline stages";
    case Cause::unexplained: break;
  }
  return "";
}

namespace {

/// Compute of the rank / median of the members of the group at its stage; NaN without peers.
double times_of_peers(const OwnBlame& own, const Group& group, std::span<const Compute> computes,
                      const std::set<StepId>& steps, const Stages& stages) {
  std::map<RankId, std::int64_t> compute_ns;
  for (const std::int32_t member : group.members)
    if (stages.of(RankId(member)) == stages.of(own.rank)) compute_ns[RankId(member)] = 0;
  for (const Compute& row : computes) {
    if (row.replica != own.replica || steps.count(row.step) == 0) continue;
    const auto at = compute_ns.find(row.rank);
    if (at != compute_ns.end()) at->second += row.compute_ns;
  }
  std::vector<double> others_ns;
  for (const auto& [member, ns] : compute_ns)
    if (member != own.rank && ns > 0) others_ns.push_back(static_cast<double>(ns));
  return others_ns.empty() ? std::nan("") : ratio(static_cast<double>(compute_ns[own.rank]), median(others_ns));
}

/// "late before the step's first launch: data loading takes 15.7 ms, 9.3 ms on its peers" where that explains least_ns.
std::string loading_text(const OwnBlame& own, const Group& group, std::span<const Compute> computes,
                         const std::set<StepId>& steps, const Stages& stages, double least_ns) {
  std::map<RankId, std::int64_t> loading_ns;
  for (const Compute& row : computes) {
    if (row.replica != own.replica || steps.count(row.step) == 0 || stages.of(row.rank) != stages.of(own.rank))
      continue;
    if (std::find(group.members.begin(), group.members.end(), row.rank.value) != group.members.end())
      loading_ns[row.rank] += row.loading_ns;
  }
  std::vector<double> others_ns;
  for (const auto& [member, ns] : loading_ns)
    if (member != own.rank) others_ns.push_back(static_cast<double>(ns));
  const auto own_ns = static_cast<double>(loading_ns[own.rank]);
  const double count = static_cast<double>(std::max<std::size_t>(steps.size(), 1));
  if (others_ns.empty() || median(others_ns) <= 0 || own_ns - median(others_ns) < count * least_ns) return "";
  return "late before the step's first launch: data loading takes " + milliseconds(own_ns / count) + ", " +
         milliseconds(median(others_ns) / count) + " on its peers";
}

}  // namespace

std::string own_sentence(const OwnBlame& own, std::span<const CauseSums> causes, std::span<const Compute> computes,
                         const StragglerCall& call, const Groups& groups, const Stages& stages,
                         const std::set<StepId>& lacking) {
  const std::set<StepId> counted = own.steps_of(call);
  std::map<Cause, std::map<GroupId, std::int64_t>> sums;
  std::map<Cause, std::int64_t> by_cause;
  std::int64_t total_ns = 0;
  for (const auto& [key, steps] : own.parts)
    for (const auto& [step, ns] : steps) {
      if (counted.count(step) == 0) continue;
      sums[std::get<0>(key)][std::get<1>(key)] += ns;
      by_cause[std::get<0>(key)] += ns;
      total_ns += ns;
    }
  if (total_ns == 0) return "";
  const auto larger = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto& [cause, ns] = *std::max_element(by_cause.begin(), by_cause.end(), larger);
  const GroupId group = std::max_element(sums[cause].begin(), sums[cause].end(), larger)->first;
  std::int64_t incomplete_count = 0;
  for (const CauseSums& row : causes)
    if (row.replica == own.replica && row.rank == own.rank && row.group == group && counted.count(row.step) > 0)
      incomplete_count += row.incomplete_count;
  const double times = times_of_peers(own, group_of(groups, group), computes, counted, stages);
  const double share = ratio(static_cast<double>(ns), static_cast<double>(total_ns));
  std::string text = cause == Cause::unexplained ? "not explained by what the traces show" : describe(cause);
  if (cause == Cause::compute && times > 1)
    text += " (its kernels take " + hundredths(times) + " x as long as its peers')";
  if (cause == Cause::before) {
    const double least_ns = 0.5 * static_cast<double>(ns) / static_cast<double>(counted.size());
    const std::string loading = loading_text(own, group_of(groups, group), computes, counted, stages, least_ns);
    if (!loading.empty()) text = loading;
  }
  const auto lacking_count = std::count_if(counted.begin(), counted.end(), [&](StepId step) { return lacking.count(step) > 0; });
  const bool sure = share >= 0.8 && incomplete_count == 0 && own.by_step.size() > 1 && cause != Cause::unexplained &&
                    lacking_count == 0;
  return text + ", on " + group_name(groups, group) + "; confidence " +
         (sure ? "high" : share >= 0.5 && cause != Cause::unexplained ? "medium" : "low") + " (" + percent(share) +
         " of its blame" +
         (lacking_count == 0 ? ""
                             : "; in " + std::to_string(lacking_count) + " of " +
                                   ccl::counted(counted.size(), "step") + " not all ranks are judged") +
         ")";
}

}  // namespace ccl::straggler
