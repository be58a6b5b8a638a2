// Which ranks are not judged, and in which steps: part of their file is lost, or it begins later or ends earlier than
// those of others. Report stage.
#include "metrics/not_judged.hpp"

#include <algorithm>
#include <set>

#include "exchange/coverage.hpp"
#include "metrics/format.hpp"

namespace ccl {
namespace {

constexpr std::size_t most_places = 3;

/// " in steps 8-9", " in any step".
std::string where(const RankEntry& entry, const StepNumbers& lacking, bool all_of_them, bool one_iteration) {
  std::string text = " in " + (all_of_them ? "any step" : step_list(lacking));
  if (!one_iteration && entry.iteration >= 0) text += " of iteration_" + std::to_string(entry.iteration);
  return text;
}

/// A file may be damaged before the first of its steps: then none of them is on record as lost.
std::string why(const RankEntry& entry, const StepNumbers& lacking) {
  if (entry.facts.damaged()) return " (lost with the damage of the file)";  // its markers may have been, too
  if (!entry.no_steps.empty()) return " (" + std::string(entry.no_steps) + ")";
  if (!entry.takes_part) return " (its steps fit no other rank's)";
  const std::string them = lacking.size() == 1 ? "it" : "them";
  const std::int64_t outside = entry.facts.outside_events_count;
  if (outside > 0) return " (no GPU events known to be of " + them + "; " + std::to_string(outside) + " are in no step)";
  return " (no GPU events of " + them + " in the file)";
}

/// " (no trace)"; where files gave none, the ranks may be theirs.
std::string why_missing(const std::vector<UnreadFile>& unread) {
  if (unread.empty()) return " (no trace)";
  std::string text = " (no trace; " + unread.front().file + " could not be read: " + unread.front().why;
  if (unread.size() > 1) text += "; nor could " + counted(unread.size() - 1, "more file");
  return text + ")";
}

/// Ranks of one reason, by where they lack it: both in the order in which they came.
struct Reason {
  std::string why;
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> places;  // where, ranks
};

class Reasons {
 public:
  void add(const std::string& why, const std::string& where, const std::vector<std::int32_t>& ranks) {
    auto& places = of(why).places;
    auto at = std::find_if(places.begin(), places.end(), [&](const auto& place) { return place.first == where; });
    if (at == places.end()) at = places.insert(at, {where, {}});
    at->second.insert(at->second.end(), ranks.begin(), ranks.end());
  }
  std::string text() const {
    std::string line;
    std::size_t shown = 0;
    std::set<std::int32_t> more;
    for (const Reason& reason : all_) {
      std::string of_reason;
      for (const auto& [where, ranks] : reason.places) {
        if (shown++ < most_places)
          of_reason += (of_reason.empty() ? "" : ", ") + ranks_text(ranks) + where;
        else
          more.insert(ranks.begin(), ranks.end());
      }
      if (!of_reason.empty()) line += (line.empty() ? "" : "; ") + of_reason + reason.why;
    }
    return more.empty() ? line : line + "; and " + counted(more.size(), "more rank");
  }

 private:
  Reason& of(const std::string& why) {
    const auto at = std::find_if(all_.begin(), all_.end(), [&](const Reason& reason) { return reason.why == why; });
    return at != all_.end() ? *at : all_.emplace_back(Reason{why, {}});
  }
  std::vector<Reason> all_;
};

}  // namespace

NotJudged not_judged(const Ranks& ranks, StepsBy by) {
  const CoveredSteps covered(ranks);
  std::set<std::int32_t> iterations;
  for (const RankEntry& entry : ranks.entries) iterations.insert(entry.iteration);
  Reasons reasons;
  for (const RankEntry& entry : ranks.entries) {
    const StepNumbers lacking = covered.lacking(entry);
    if (lacking.empty()) continue;
    if (by == StepsBy::rank_alone && !entry.takes_part && entry.no_steps.empty() && !entry.facts.damaged()) continue;
    const bool all_of_them = lacking.size() == covered.of_dump(entry).size();
    reasons.add(why(entry, lacking), where(entry, lacking, all_of_them, iterations.size() == 1), {entry.rank.value});
  }
  for (const RankInDump& gap : not_in_dump(ranks))
    reasons.add(" (no trace there)", " in any step of iteration_" + std::to_string(gap.iteration), {gap.rank});
  NotJudged out;
  out.with_trace = reasons.text();
  if (!ranks.missing.empty()) reasons.add(why_missing(ranks.unread), "", ranks.missing);
  out.all = reasons.text();
  return out;
}

}  // namespace ccl
