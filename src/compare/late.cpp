#include "compare/late.hpp"

#include <algorithm>
#include <cmath>

#include "core/number_list.hpp"
#include "core/wording.hpp"

namespace ccl {
namespace {

constexpr std::size_t most_named = 3;

std::string in_steps(double since, double affected, double steps) {
  const auto integer = [](double value) { return std::to_string(std::llround(value)); };
  if (since >= 0) return "since step " + integer(since);
  if (affected >= steps) return "in all steps";
  return "in " + integer(affected) + " of " + integer(steps) + " steps";
}

/// Rows of the table that tells of ranks late against their peers, or where there are none against themselves before.
void add_rows(const StoredRun& run, const std::string& name, const char* delay, std::vector<LateRank>& ranks) {
  const std::string path = "/metrics/straggler_lag/" + name;
  if (!run.has_table(path)) return;
  const StoredTable table = run.table(path);
  const std::vector<double> rank = table.numbers("rank"), replica = table.numbers("replica"),
                            since = table.numbers("since_step"), delay_ns = table.numbers(delay),
                            affected = table.numbers("affected_steps_count"), steps = table.numbers("steps_count");
  for (std::size_t i = 0; i < rank.size(); ++i) {
    const RankKey who{std::isnan(replica[i]) ? -1 : replica[i], rank[i]};
    ranks.push_back({who, rank_name(static_cast<std::int32_t>(who.first), RankId(static_cast<std::int32_t>(who.second))) + " " +
                              in_steps(since[i], affected[i], steps[i]) + " (" + milliseconds(delay_ns[i]) + " a step)"});
  }
}

std::string list_of(const std::vector<LateRank>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size() && i < most_named; ++i) text += (i == 0 ? "" : ", ") + ranks[i].text;
  return text + (ranks.size() > most_named ? " and " + std::to_string(ranks.size() - most_named) + " more" : "");
}

std::string names_of(const std::set<double>& ranks) {
  std::vector<std::int32_t> numbers;
  for (const double rank : ranks) numbers.push_back(static_cast<std::int32_t>(rank));
  return ranks_text(numbers);
}

std::set<RankKey> keys_of(const LateRanks& late) {
  std::set<RankKey> all;
  for (const LateRank& one : late.ranks) all.insert(one.who);
  return all;
}

}  // namespace

bool LateRanks::has(const RankKey& who) const {
  return std::any_of(ranks.begin(), ranks.end(), [&who](const LateRank& one) { return one.who == who; });
}

LateRanks late_ranks(const StoredRun& run) {
  LateRanks late;
  late.told = run.status("straggler_lag").has_values();
  if (!late.told) late.why_untold = "straggler_lag is " + run.why_untold("straggler_lag");
  if (const std::string rows = "/metrics/straggler_lag/rows"; run.has_table(rows)) {
    const StoredTable table = run.table(rows);
    const std::vector<double> rank = table.numbers("rank"), replica = table.numbers("replica");
    for (std::size_t i = 0; i < rank.size(); ++i) late.judged.insert({std::isnan(replica[i]) ? -1 : replica[i], rank[i]});
  }
  add_rows(run, "stragglers", "delay_ns", late.ranks);
  add_rows(run, "slower_than_before", "more_ns", late.ranks);
  for (const auto& [status, ranks] : run.ranks_by_status())
    if (status != "ok") late.lacking.insert(ranks.begin(), ranks.end());
  return late;
}

std::string text_of(const LateRanks& late) {
  if (!late.told) return "unknown (" + late.why_untold + ")";
  std::set<double> unknown = late.lacking;
  for (const LateRank& one : late.ranks) unknown.erase(one.who.second);
  return (late.ranks.empty() ? "none" : list_of(late.ranks)) +
         (unknown.empty() ? "" : ", " + names_of(unknown) + " not wholly judged");
}

std::string late_difference(const LateRanks& first, const LateRanks& second) {
  if (keys_of(first) == keys_of(second)) return "";
  return "first " + text_of(first) + "; second " + text_of(second);
}

NewStragglers new_stragglers(const LateRanks& first, const LateRanks& second) {
  NewStragglers out;
  std::vector<LateRank> sure, unsure;
  for (const LateRank& one : second.ranks)
    if (!first.has(one.who)) (first.lacking.contains(one.who.second) ? unsure : sure).push_back(one);
  out.found = list_of(sure);
  if (!sure.empty()) return out;
  if (!unsure.empty()) out.not_judged = "late " + list_of(unsure) + ", and the first run lacks that or a part of it";
  std::set<double> lost = second.lacking, unmatched;
  for (const RankKey& who : first.judged)
    if (!second.judged.contains(who) && !lost.contains(who.second)) unmatched.insert(who.second);
  for (const LateRanks* late : {&first, &second})
    for (const LateRank& one : late->ranks) lost.erase(one.who.second), unmatched.erase(one.who.second);
  if (out.not_judged.empty() && !lost.empty()) out.not_judged = "the second run lacks " + names_of(lost) + " or a part of it";
  if (out.not_judged.empty() && !unmatched.empty())
    out.not_judged = "no collective of " + names_of(unmatched) + " is matched in the second run";
  return out;
}

}  // namespace ccl
