// Whether to believe a match: members of a symmetric collective leave together.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <span>

#include "core/collective_math.hpp"
#include "core/sort_runs.hpp"
#include "exchange/match_parts.hpp"
#include "exchange/robust.hpp"

namespace ccl {
namespace {

constexpr std::int64_t suspect_ns = 1'000'000;
constexpr std::int64_t suspect_all_to_all_ns = 5'000'000;  // members of an all-to-all may leave a few ms apart

// No link and no memory is as fast: a kernel that moves more in its time has a wrong one.
constexpr std::int64_t fastest_bytes_per_ns = 100'000;

bool is_too_short(const MatchedMember& member) { return member.payload_bytes / fastest_bytes_per_ns > member.dur_ns; }

/// f(first, end) for every run of instances, from number first on, of one group in one step.
template <class F>
void for_each_step(const std::vector<MatchedInstance>& instances, std::size_t first, F f) {
  for (std::size_t end = first; first < instances.size(); first = end) {
    while (end < instances.size() && same_step(instances[end], instances[first])) ++end;
    f(first, end);
  }
}

/// The usual end difference of each rank to the lowest one, ns.
struct UsualOffset {
  RankId rank;
  bool known = false;  // false: never in an instance together with the lowest rank
  std::int64_t offset_ns = 0;
};

/// f(row of the rank in `ranks`, member) for the members of an instance; both are sorted by rank.
template <class F>
void for_each_member(const MatchedInstance& instance, const MatchedMember* members, const std::vector<UsualOffset>& ranks,
                     F f) {
  std::size_t row = 0;
  for (std::int32_t m = 0; m < instance.members_seen; ++m) {
    while (ranks[row].rank < members[m].rank) ++row;
    f(row, members[m]);
  }
}

/// Medians over the symmetric instances [first, end) of one group and step.
std::vector<UsualOffset> usual_offsets(const MatchedCollectives& matched, std::size_t first, std::size_t end) {
  std::vector<UsualOffset> ranks;
  std::vector<RankId> all;
  for (std::size_t i = first; i < end; ++i) {
    const MatchedInstance& instance = matched.instances[i];
    if (!is_symmetric(instance.op)) continue;
    for (std::int32_t m = 0; m < instance.members_seen; ++m)
      all.push_back(matched.members[instance.first_member + static_cast<std::uint32_t>(m)].rank);
  }
  sort_runs(all, std::less<>());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  ranks.reserve(all.size());
  for (const RankId rank : all) ranks.push_back({rank, false, 0});
  const auto with_lowest = [&](auto f) {  // f(row, member, lowest)
    for (std::size_t i = first; i < end; ++i) {
      const MatchedInstance& instance = matched.instances[i];
      const MatchedMember* const members = &matched.members[instance.first_member];
      if (!is_symmetric(instance.op) || members[0].rank != ranks[0].rank) continue;
      for_each_member(instance, members, ranks, [&](std::size_t row, const MatchedMember& m) { f(row, m, members[0]); });
    }
  };
  std::vector<std::size_t> ends_at(ranks.size() + 1);  // of each row's differences in the list of all; first of the row before
  with_lowest([&](std::size_t row, const MatchedMember&, const MatchedMember&) { ++ends_at[row + 1]; });
  std::partial_sum(ends_at.begin(), ends_at.end(), ends_at.begin());
  std::vector<std::int64_t> differences(ends_at.back());
  with_lowest([&](std::size_t row, const MatchedMember& m, const MatchedMember& lowest) {
    differences[ends_at[row]++] = m.start_ns + m.dur_ns - (lowest.start_ns + lowest.dur_ns);
  });
  std::size_t begins_at = 0;
  for (std::size_t row = 0; row < ranks.size(); begins_at = ends_at[row++]) {
    const std::span<std::int64_t> of_row = std::span(differences).subspan(begins_at, ends_at[row] - begins_at);
    ranks[row].known = !of_row.empty();
    if (ranks[row].known) ranks[row].offset_ns = middle_of(of_row);
  }
  return ranks;
}

/// −1: not symmetric.
std::int64_t deviation_ns(const MatchedCollectives& matched, std::size_t i, const std::vector<UsualOffset>& ranks) {
  const MatchedInstance& instance = matched.instances[i];
  if (!is_symmetric(instance.op)) return -1;
  bool have_base = false;
  std::int64_t base_ns = 0, largest_ns = 0;
  for_each_member(instance, &matched.members[instance.first_member], ranks, [&](std::size_t row, const MatchedMember& m) {
    if (!ranks[row].known) return;
    const std::int64_t end_ns = m.start_ns + m.dur_ns - ranks[row].offset_ns;
    if (!have_base) base_ns = end_ns;
    have_base = true;
    largest_ns = std::max(largest_ns, std::abs(end_ns - base_ns));
  });
  return largest_ns;
}

/// Who waits for whom, and what is left of the durations without waiting.
void make_waits_absent(MatchedInstance& instance, std::span<MatchedMember> members) {
  instance.transfer_ns = instance.lag_ns = instance.delay_ns = instance.wait_sum_ns = -1;
  instance.first_rank = instance.last_rank = -1;
  instance.tie = false;
  for (MatchedMember& member : members) member.wait_ns = -1;
}

void make_cross_rank_absent(MatchedInstance& instance, std::span<MatchedMember> members) {
  make_waits_absent(instance, members);
  instance.credible = false;
  instance.start_spread_ns = instance.start_spread_file_ns = instance.end_spread_ns = -1;
}

}  // namespace

std::vector<std::int64_t> end_deviations_ns(const MatchedCollectives& matched) {
  std::vector<std::int64_t> deviations(matched.instances.size(), -1);
  for_each_step(matched.instances, 0, [&](std::size_t first, std::size_t end) {
    const std::vector<UsualOffset> ranks = usual_offsets(matched, first, end);
    for (std::size_t i = first; i < end; ++i) deviations[i] = deviation_ns(matched, i, ranks);
  });
  return deviations;
}

void check_ends(MatchedCollectives& matched, std::size_t first_instance, MatchCounts& counts) {
  for_each_step(matched.instances, first_instance, [&](std::size_t first, std::size_t end) {
    const std::vector<UsualOffset> ranks = usual_offsets(matched, first, end);
    std::int64_t symmetric = 0, suspects = 0;
    for (std::size_t i = first; i < end; ++i) {
      MatchedInstance& instance = matched.instances[i];
      const std::span<MatchedMember> members(&matched.members[instance.first_member],
                                             static_cast<std::size_t>(instance.members_seen));
      const std::int64_t deviation = deviation_ns(matched, i, ranks);
      symmetric += deviation >= 0 ? 1 : 0;
      const bool all_to_all = instance.op == CollectiveOp::all_to_all || instance.op == CollectiveOp::all_to_allv;
      std::string why;
      if (instance.suspect)  // a message, since it was matched
        why = "message of rank " + std::to_string(members[0].rank.value) + " to rank " +
              std::to_string(members[1].rank.value) + " that could be another one, as " +
              (instance.rule == MatchRule::pair ? "one begun later had ended before" : "some are missing");
      else if (const auto at = std::find_if(members.begin(), members.end(), is_too_short); at != members.end())
        why = std::string(to_text(instance.op)) + " of " + std::to_string(at->payload_bytes) + " bytes that takes rank " +
              std::to_string(at->rank.value) + " " + std::to_string(at->dur_ns) + " ns";
      else if (deviation > (all_to_all ? suspect_all_to_all_ns : suspect_ns))
        why = std::string(to_text(instance.op)) + " whose ends are " + std::to_string(deviation) + " ns apart";
      if (why.empty()) continue;
      instance.suspect = true;
      suspects += deviation >= 0 ? 1 : 0;
      make_waits_absent(instance, members);  // its durations are not of one collective
      counts.instance(instance, Code::collective_suspect, why);
    }
    if (suspects * 10 <= symmetric) return;
    for (std::size_t i = first; i < end; ++i)
      make_cross_rank_absent(matched.instances[i], {&matched.members[matched.instances[i].first_member],
                                                    static_cast<std::size_t>(matched.instances[i].members_seen)});
    counts.instance(matched.instances[first], Code::matching_not_credible);
  });
}

std::string_view to_text(Unmatched cause) {
  switch (cause) {
    case Unmatched::outside_steps: return "launched outside every step";
    case Unmatched::step_only_here: return "step is not in the traces of all members (step_only_here)";
    case Unmatched::alone: return "no other member has it";
    case Unmatched::unequal: return "members differ in number or kind of collectives and no order fits";
    case Unmatched::other_operation: return "members differ in operation or size under one sequence number";
    case Unmatched::peer_unknown: return "sender or receiver unknown";
    case Unmatched::operation_unknown: return "operation unknown";
    case Unmatched::takes_no_part: return "rank takes no part in cross-rank numbers";
    case Unmatched::own_sizes: return "sizes or split lists of one rank do not fit each other";
    case Unmatched::pair_disagrees: return "two ranks disagree on what one sends the other";
    case Unmatched::sums_disagree: return "members send more or less than they receive";
    case Unmatched::none: break;
  }
  return "";
}

namespace {

/// ", most on rank 3 (12 of 20)"; the lowest of several.
std::string most_text(const MatchCounts::Sum& sum) {
  if (sum.by_rank.empty()) return "";
  const auto most = std::max_element(sum.by_rank.begin(), sum.by_rank.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (sum.by_rank.size() == 1) return ", all on rank " + std::to_string(most->first);
  return ", most on rank " + std::to_string(most->first) + " (" + std::to_string(most->second) + " of " +
         std::to_string(sum.count) + ")";
}

}  // namespace

void MatchCounts::add_one(Sum& sum, std::int32_t rank) {
  ++sum.count;
  if (rank >= 0) ++sum.by_rank[rank];
}

MatchCounts::Sum& MatchCounts::of(const Key& key) {
  if (last_ == nullptr || key != last_key_) last_key_ = key, last_ = &counts[key];
  return *last_;
}

void MatchCounts::instance(const MatchedInstance& instance, Code code, const std::string& example) {
  Sum& sum = of({instance.iteration, instance.replica, instance.group, instance.step, code, Unmatched{}});
  if (sum.count == 0) sum.example = example;
  add_one(sum, -1);
}

void MatchCounts::inconsistent(const CollectiveRecord& record) {
  Sum& sum = of({record.iteration, record.replica, record.group, record.step, Code::inout_disagree, Unmatched::own_sizes});
  if (sum.count == 0)
    sum.example = std::string(to_text(record.op)) + " with In " + std::to_string(record.in_bytes) + " and Out " +
                  std::to_string(record.out_bytes) + " bytes" +
                  (record.splits_disagree ? " and split lists that do not fit them" : "");
  add_one(sum, record.rank.value);
}

void MatchCounts::dispute(const MatchedInstance& instance, Unmatched cause, std::int64_t by, const std::string& example) {
  Sum& sum = of({instance.iteration, instance.replica, instance.group, instance.step, Code::inout_disagree, cause});
  if (sum.count == 0) sum.example = example;
  add_one(sum, -1);
  if (by <= sum.worst) return;
  sum.worst = by;
  sum.example = example;
}

void MatchCounts::report(const Groups& groups, Problems& problems) const {
  for (const auto& [key, sum] : counts) {
    Problem problem;
    problem.code = key.code;
    problem.iteration = key.iteration;
    problem.count = sum.count;
    const Group* group = groups.find(key.group);
    problem.detail = "group " + std::to_string(groups.row_of(key.group));
    if (group != nullptr) problem.detail += " (" + (group->description.empty() ? group->name : group->description) + ")";
    if (key.replica >= 0) problem.detail += ", replica " + std::to_string(key.replica);
    problem.detail += key.step == outside_step ? ", outside steps" : ", step " + std::to_string(key.step);
    if (key.cause != Unmatched::none) problem.detail += ": " + std::string(to_text(key.cause));
    problem.detail += most_text(sum);
    if (!sum.example.empty()) problem.detail += (sum.worst > 0 ? "; worst: " : "; first: ") + sum.example;
    problems.add(problem);
  }
}

}  // namespace ccl
