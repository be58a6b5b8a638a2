#include <algorithm>
#include <map>
#include <optional>

#include "exchange/rank_rules.hpp"

namespace ccl {
namespace {

using Numbers = std::vector<std::int64_t>;  // ascending

Numbers numbers_of(const RankEntry& entry) {
  Numbers numbers;
  for (const Step& step : entry.facts.steps) numbers.push_back(step.number);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

bool has_markers(const RankEntry& entry) {
  return !entry.facts.steps.empty() && entry.facts.steps.front().source == StepSource::marker;
}

std::int64_t shared(const Numbers& a, const Numbers& b, std::int64_t shift_of_a) {
  std::int64_t count = 0;
  for (const std::int64_t n : a) count += std::binary_search(b.begin(), b.end(), n + shift_of_a) ? 1 : 0;
  return count;
}

bool shares_half(const Numbers& a, const Numbers& b, std::int64_t shift_of_a) {
  return 2 * shared(a, b, shift_of_a) >= static_cast<std::int64_t>(std::min(a.size(), b.size()));
}

/// The numbering that shares most steps with all ranks (each numbering weighted by its ranks); tie: the one of the
/// lowest rank, which the order of first use gives.
const Numbers& common_numbering(const std::vector<std::pair<Numbers, std::int64_t>>& numberings) {
  const Numbers* best = &numberings.front().first;
  std::int64_t most = -1;
  for (const auto& [candidate, own] : numberings) {
    std::int64_t sum = 0;
    for (const auto& [other, ranks] : numberings) sum += ranks * shared(candidate, other, 0);
    if (sum > most) {
      most = sum;
      best = &candidate;
    }
  }
  return *best;
}

std::optional<std::int64_t> find_shift(const Numbers& numbers, const Numbers& common) {
  std::int64_t best = 0;
  std::int64_t most = shared(numbers, common, 0);
  for (std::int64_t distance = 1; distance <= largest_step_shift; ++distance)
    for (const std::int64_t shift : {-distance, distance})
      if (const std::int64_t count = shared(numbers, common, shift); count > most) {
        most = count;
        best = shift;
      }
  if (best == 0 || !shares_half(numbers, common, best)) return std::nullopt;
  return best;
}

std::string span_text(const Numbers& numbers) {
  const std::string first = std::to_string(numbers.front());
  return numbers.size() == 1 ? "step " + first : "steps " + first + " to " + std::to_string(numbers.back());
}

void warn(const RankEntry& entry, const Input& input, std::string detail, Problems& problems) {
  Problem p;
  p.code = Code::step_numbers_differ;
  p.iteration = entry.iteration;
  p.rank = entry.rank.value;
  p.file = file_of(entry.facts, input).shown;
  p.detail = std::move(detail);
  problems.add(std::move(p));
}

/// Entries of one (iteration, replica) that have steps.
void settle_group(const std::vector<RankEntry*>& entries, const Input& input, Problems& problems) {
  const auto marked = static_cast<std::size_t>(
      std::count_if(entries.begin(), entries.end(), [](const RankEntry* e) { return has_markers(*e); }));
  const bool markers_win = 2 * marked >= entries.size();
  std::map<Numbers, std::size_t> index;
  std::vector<std::pair<Numbers, std::int64_t>> numberings;
  std::vector<RankEntry*> alike;
  for (RankEntry* entry : entries) {
    if (has_markers(*entry) != markers_win) {
      entry->takes_part = false;
      entry->no_steps = markers_win ? "no step markers" : "step markers, which most others have not";
      entry->facts.steps.clear();
      warn(*entry, input,
           markers_win ? "it has no step markers, most others do" : "it has step markers, most others do not",
           problems);
      continue;
    }
    alike.push_back(entry);
    const Numbers numbers = numbers_of(*entry);
    const auto [at, added] = index.try_emplace(numbers, numberings.size());
    if (added) numberings.emplace_back(numbers, 0);
    ++numberings[at->second].second;
  }
  if (numberings.size() < 2) return;
  const Numbers& common = common_numbering(numberings);
  std::vector<bool> usual;
  for (const RankEntry* entry : alike) usual.push_back(numbers_of(*entry) == common);
  const std::vector<std::optional<std::int64_t>> by_time = shifts_by_time(alike, usual);
  for (std::size_t i = 0; i < alike.size(); ++i) {
    RankEntry* entry = alike[i];
    const Numbers numbers = numbers_of(*entry);
    const std::string text = "it has " + span_text(numbers) + ", the others " + span_text(common);
    if (by_time[i]) {  // ranks may be profiled over different steps: then the numbers are right
      entry->step_shift = *by_time[i];
      if (*by_time[i] != 0)
        warn(*entry, input, text + "; shifted by " + std::to_string(*by_time[i]) + ", since they take place then", problems);
      else if (shared(numbers, common, 0) == 0)
        warn(*entry, input, text + ", at other times: if it is of another run, give each run's files alone", problems);
      continue;
    }
    if (shares_half(numbers, common, 0)) continue;
    if (const std::optional<std::int64_t> shift = find_shift(numbers, common)) {
      entry->step_shift = *shift;
      warn(*entry, input, text + "; shifted by " + std::to_string(*shift), problems);
    } else {
      entry->takes_part = false;
      warn(*entry, input, text + "; no constant shift fits", problems);
    }
  }
}

}  // namespace

void settle_steps(Ranks& ranks, const Input& input, Problems& problems) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<RankEntry*>> groups;
  for (RankEntry& entry : ranks.entries)
    if (!entry.facts.steps.empty()) groups[{entry.iteration, entry.replica}].push_back(&entry);
  for (auto& [key, entries] : groups) settle_group(entries, input, problems);
}

}  // namespace ccl
