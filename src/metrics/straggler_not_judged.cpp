// Which ranks are not judged, and in which steps: part of their file is lost, or it begins later or ends earlier than
// those of others. Report stage.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "metrics/straggler_lag.hpp"

namespace ccl::straggler {
namespace {

constexpr std::size_t most_texts = 3;

bool has_gpu_events(const Step& step) {
  return std::any_of(step.devices.begin(), step.devices.end(),
                     [](const DeviceWindow& window) { return window.gpu_start_ns != absent_ns; });
}

using Dump = std::pair<std::int32_t, std::int32_t>;  // iteration, replica
using Numbers = std::vector<std::int64_t>;             // ascending

/// Steps with GPU events, as the run numbers them.
Numbers steps_of(const RankEntry& entry) {
  Numbers steps;
  for (const Step& step : entry.facts.steps)
    if (entry.takes_part && has_gpu_events(step)) steps.push_back(step.number + entry.step_shift);
  return steps;
}

std::map<Dump, Numbers> steps_of_any(const Ranks& ranks) {
  std::map<Dump, std::set<std::int64_t>> found;
  for (const RankEntry& entry : ranks.entries) {
    const Numbers steps = steps_of(entry);
    std::set<std::int64_t>& of_dump = found[{entry.iteration, entry.replica}];
    of_dump.insert(steps.begin(), steps.end());
    for (const Step& step : entry.facts.steps)  // all may have lost it
      if (entry.takes_part && step.lost_events) of_dump.insert(step.number + entry.step_shift);
  }
  std::map<Dump, Numbers> all;
  for (const auto& [dump, steps] : found) all[dump] = Numbers(steps.begin(), steps.end());
  return all;
}

Numbers lacking_steps(const RankEntry& entry, const Numbers& all) {
  const Numbers own = steps_of(entry);
  Numbers lacking;
  std::set_difference(all.begin(), all.end(), own.begin(), own.end(), std::back_inserter(lacking));
  return lacking;
}

/// " in steps 8-9 (lost with the damage of its file)".
std::string where_and_why(const RankEntry& entry, const Numbers& lacking, bool all_of_them, bool one_iteration) {
  std::vector<std::int32_t> numbers;
  for (const std::int64_t step : lacking) numbers.push_back(static_cast<std::int32_t>(step));
  std::string text = all_of_them ? " in any step" : (numbers.size() == 1 ? " in step " : " in steps ") + rank_list(numbers);
  if (!one_iteration && entry.iteration >= 0) text += " of iteration_" + std::to_string(entry.iteration);
  const bool damaged = entry.facts.lost_steps() || entry.facts.lost_events_count > 0;
  return text + (damaged             ? " (lost with the damage of the file)"
                 : !entry.takes_part ? " (its steps fit no other rank's)"
                                     : " (no GPU events of " + std::string(lacking.size() == 1 ? "it" : "them") + " in the file)");
}

}  // namespace

std::set<StepId> steps_not_of_all(const Ranks& ranks) {
  const auto all = steps_of_any(ranks);
  std::set<StepId> found;
  for (const RankEntry& entry : ranks.entries)
    for (const std::int64_t step : lacking_steps(entry, all.at({entry.iteration, entry.replica})))
      found.insert({entry.iteration, step});
  return found;
}

std::string not_judged_text(const Ranks& ranks, bool with_missing) {
  const auto all = steps_of_any(ranks);
  std::set<std::int32_t> iterations;
  for (const RankEntry& entry : ranks.entries) iterations.insert(entry.iteration);
  std::map<std::string, std::vector<std::int32_t>> by_text;
  std::vector<std::string> texts;  // in the order of the ranks
  for (const RankEntry& entry : ranks.entries) {
    const Numbers& steps = all.at({entry.iteration, entry.replica});
    const Numbers lacking = lacking_steps(entry, steps);
    if (lacking.empty()) continue;
    const std::string text = where_and_why(entry, lacking, lacking.size() == steps.size(), iterations.size() == 1);
    if (by_text[text].empty()) texts.push_back(text);
    by_text[text].push_back(entry.rank.value);
  }
  if (with_missing && !ranks.missing.empty()) {
    texts.emplace_back(" (no trace)");
    by_text[texts.back()] = ranks.missing;
  }
  std::string line;
  for (std::size_t i = 0; i < texts.size() && i < most_texts; ++i) {
    const std::vector<std::int32_t>& who = by_text[texts[i]];
    line += (i == 0 ? "not judged: " : "; ") + std::string(who.size() == 1 ? "rank " : "ranks ") + rank_list(who) + texts[i];
  }
  return texts.size() > most_texts ? line + "; and more" : line;
}

}  // namespace ccl::straggler
