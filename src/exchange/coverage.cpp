#include "exchange/coverage.hpp"

#include <algorithm>
#include <iterator>

#include "core/number_list.hpp"
#include "core/wording.hpp"
#include "exchange/rank_rules.hpp"

namespace ccl {
namespace {

constexpr std::size_t most_places = 3, most_ranges = 6;

StepNumbers steps_of(const RankEntry& entry) {
  StepNumbers steps;
  steps.reserve(entry.facts.steps.size());
  for (const Step& step : entry.facts.steps)
    if (entry.takes_part && step.has_gpu_events()) steps.push_back(step.number + entry.step_shift);
  return steps;
}

/// Where its numbers are no other rank's, only what it says itself is known.
StepNumbers marked_as_lost(const RankEntry& entry) {
  StepNumbers steps;
  for (const Step& step : entry.facts.steps)
    if (step.lost_events) steps.push_back(step.number + entry.step_shift);
  return steps;
}

bool has_a_step(const RankEntry& entry) {
  return std::any_of(entry.facts.steps.begin(), entry.facts.steps.end(),
                     [](const Step& step) { return step.has_gpu_events(); });
}

/// Ranks of which no step can be told: their traces have no events of a GPU, or damage took some of each step.
struct Untold {
  std::vector<std::int32_t> no_gpu, damaged;
  std::set<std::int32_t> all() const {
    std::set<std::int32_t> ranks(no_gpu.begin(), no_gpu.end());
    ranks.insert(damaged.begin(), damaged.end());
    return ranks;
  }
};

Untold untold_ranks(const Ranks& ranks) {
  std::map<std::int32_t, std::pair<bool, bool>> found;  // rank: all of its traces are so, one of them by damage
  for (const RankEntry& entry : ranks.entries) {
    const bool lost = entry.facts.damaged() && !has_a_step(entry);
    auto& [all, damaged] = found.emplace(entry.rank.value, std::pair(true, false)).first->second;
    all = all && (lost || entry.status == RankStatus::no_gpu_events);
    damaged = damaged || lost;
  }
  Untold out;
  for (const auto& [rank, how] : found)
    if (how.first) (how.second ? out.damaged : out.no_gpu).push_back(rank);
  return out;
}

/// " (a copy: copy_of_rank3.json)": what was left out since a trace that is used has the same content.
std::string copies_text(const Ranks& ranks, const Input& input) {
  constexpr std::size_t most = 3;
  std::vector<std::string> names;
  for (const RankFacts& facts : ranks.left_out) {
    if (facts.gpu_events_count == 0) continue;
    const bool copy = std::any_of(ranks.entries.begin(), ranks.entries.end(), [&](const RankEntry& entry) {
      return entry.iteration == facts.iteration && entry.replica == facts.replica &&
             entry.facts.rank == facts.rank && entry.facts.fingerprint == facts.fingerprint &&
             entry.facts.events_count == facts.events_count &&
             entry.facts.gpu_events_count == facts.gpu_events_count;
    });
    const std::string& name = file_of(facts, input).shown;
    if (copy && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string text = names.size() == 1 ? "a copy: " : "copies: ";
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return names.empty() ? "" : " (" + text + ")";
}

/// Ranks with a trace but these, which have one.
std::int64_t count_without(const Ranks& ranks, const std::set<std::int32_t>& these) {
  return ranks.covered() - static_cast<std::int64_t>(these.size());
}

std::string what_is_lost(const PartlyRead& part, bool one_iteration) {
  if (part.lost_steps.empty() && !part.every_step) return "damaged, but no step lost";
  std::string text = part.every_step ? "every step" : step_list(part.lost_steps);
  if (!one_iteration && part.entry->iteration >= 0) text += " of iteration_" + std::to_string(part.entry->iteration);
  if (part.entry->replica >= 0) text += " of replica " + std::to_string(part.entry->replica);
  return text + " lost with the damage";
}

std::string no_trace_text(const RankInDump& gap) {
  return "no trace in iteration_" + std::to_string(gap.iteration) +
         (gap.replica >= 0 ? " of replica " + std::to_string(gap.replica) : "");
}

/// "rank 5 (steps 8, 9 lost with the damage), rank 6 (step 9 lost with the damage)", and how many ranks these are.
std::pair<std::string, std::size_t> parts_of(const Ranks& ranks, const std::set<std::int32_t>& untold) {
  std::set<std::int32_t> iterations, named, told, more;
  for (const RankEntry& entry : ranks.entries) iterations.insert(entry.iteration);
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> places;  // what is lost, ranks; as they came
  const auto add = [&](std::int32_t rank, const std::string& what) {
    if (untold.contains(rank)) return;
    named.insert(rank);
    auto at = std::find_if(places.begin(), places.end(), [&](const auto& place) { return place.first == what; });
    if (at == places.end()) at = places.insert(at, {what, {}});
    at->second.push_back(rank);
  };
  for (const PartlyRead& part : partly_read(ranks)) add(part.entry->rank.value, what_is_lost(part, iterations.size() == 1));
  for (const RankInDump& gap : not_in_dump(ranks)) add(gap.rank, no_trace_text(gap));
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i < most_places) {
      text += (i == 0 ? "" : ", ") + ranks_text(places[i].second) + " (" + places[i].first + ")";
      told.insert(places[i].second.begin(), places[i].second.end());
    } else {
      more.insert(places[i].second.begin(), places[i].second.end());
    }
  }
  for (const std::int32_t rank : told) more.erase(rank);
  if (!more.empty()) text += " and " + counted(more.size(), "more rank");
  return {text, named.size()};
}

}  // namespace

CoveredSteps::CoveredSteps(const Ranks& ranks) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::set<std::int64_t>> found;
  for (const RankEntry& entry : ranks.entries) {
    std::set<std::int64_t>& of_dump = found[{entry.iteration, entry.replica}];
    for (const StepNumbers& steps : {steps_of(entry), entry.takes_part ? marked_as_lost(entry) : StepNumbers()})
      of_dump.insert(steps.begin(), steps.end());
  }
  for (const auto& [dump, steps] : found) all_[dump] = StepNumbers(steps.begin(), steps.end());
}

StepNumbers CoveredSteps::lacking(const RankEntry& entry) const {
  const StepNumbers &all = of_dump(entry), own = steps_of(entry);
  StepNumbers lacking;
  std::set_difference(all.begin(), all.end(), own.begin(), own.end(), std::back_inserter(lacking));
  return lacking;
}

std::vector<RankInDump> not_in_dump(const std::vector<RankInDump>& present) {
  std::map<std::int32_t, std::map<std::int32_t, std::set<std::int32_t>>> found;  // replica, iteration: ranks
  for (const RankInDump& one : present) found[one.replica][one.iteration].insert(one.rank);
  std::vector<RankInDump> gaps;
  for (auto& [replica, dumps] : found) {
    const std::set<std::int32_t> in_all = dumps[-1];
    dumps.erase(-1);
    if (dumps.size() < 2) continue;
    std::set<std::int32_t> all;
    for (const auto& [iteration, ranks] : dumps) all.insert(ranks.begin(), ranks.end());
    for (const auto& [iteration, ranks] : dumps) {
      if (ranks.size() == all.size()) continue;
      for (const std::int32_t rank : all)
        if (!ranks.contains(rank) && !in_all.contains(rank)) gaps.push_back({iteration, replica, rank});
    }
  }
  std::sort(gaps.begin(), gaps.end());
  return gaps;
}

std::vector<RankInDump> not_in_dump(const Ranks& ranks) {
  std::vector<RankInDump> present;
  present.reserve(ranks.entries.size());
  for (const RankEntry& entry : ranks.entries) present.push_back({entry.iteration, entry.replica, entry.rank.value});
  return not_in_dump(present);
}

std::set<StepId> steps_not_of_all(const Ranks& ranks) {
  const CoveredSteps covered(ranks);
  std::set<StepId> found;
  for (const RankEntry& entry : ranks.entries)
    for (const std::int64_t step : covered.lacking(entry)) found.insert({entry.iteration, step});
  for (const RankInDump& gap : not_in_dump(ranks))
    for (const std::int64_t step : covered.of_dump(gap.iteration, gap.replica)) found.insert({gap.iteration, step});
  return found;
}

std::string step_list(const StepNumbers& steps) {
  return (steps.size() == 1 ? "step " : "steps ") + number_list(steps, most_ranges, 3);
}

std::vector<PartlyRead> partly_read(const Ranks& ranks) {
  std::vector<PartlyRead> parts;
  const auto damaged = [](const RankEntry& entry) { return entry.facts.damaged(); };
  if (std::none_of(ranks.entries.begin(), ranks.entries.end(), damaged)) return parts;
  const CoveredSteps covered(ranks);
  for (const RankEntry& entry : ranks.entries)
    if (damaged(entry))
      parts.push_back({&entry, entry.takes_part ? covered.lacking(entry) : marked_as_lost(entry), !has_a_step(entry)});
  return parts;
}

std::int64_t analysed_ranks_count(const Ranks& ranks) { return count_without(ranks, untold_ranks(ranks).all()); }

std::int64_t whole_ranks_count(const Ranks& ranks) {
  std::set<std::int32_t> not_whole = untold_ranks(ranks).all();
  for (const RankEntry& entry : ranks.entries)
    if (entry.facts.damaged()) not_whole.insert(entry.rank.value);
  for (const RankInDump& gap : not_in_dump(ranks)) not_whole.insert(gap.rank);
  return count_without(ranks, not_whole);
}

std::string parts_text(const Ranks& ranks) { return parts_of(ranks, {}).first; }

std::string coverage_text(const Ranks& ranks, std::string_view analysed, const Input* input) {
  const Untold untold = untold_ranks(ranks);
  const std::set<std::int32_t> all_untold = untold.all();
  std::string text = std::to_string(count_without(ranks, all_untold)) + " of " + std::to_string(ranks.expected) + " " + std::string(analysed);
  if (const auto [parts, count] = parts_of(ranks, all_untold); count > 0)
    text += ", " + std::to_string(count) + " of them in part: " + parts;
  if (!untold.no_gpu.empty()) text += ", no GPU events on " + ranks_text(untold.no_gpu);
  if (!untold.damaged.empty())
    text += ", every step of " + ranks_text(untold.damaged) + " lost with the damage of " +
            (untold.damaged.size() == 1 ? "its file" : "their files");
  if (!ranks.missing.empty()) text += ", missing " + ranks_text(ranks.missing);
  if (!ranks.left_out.empty()) text += ", " + counted(ranks.left_out.size(), "file") + " left out";
  if (input != nullptr) text += copies_text(ranks, *input);
  if (!ranks.unread.empty()) text += ", " + counted(ranks.unread.size(), "file") + " could not be read";
  return text;
}

}  // namespace ccl
