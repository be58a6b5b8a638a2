// Why a metric that is told per step has nothing to tell. Report stage.
#pragma once
#include <algorithm>
#include <string>

#include "exchange/ranks.hpp"

namespace ccl {

inline std::string no_steps_text(const Ranks& ranks) {
  const bool lost = std::any_of(ranks.entries.begin(), ranks.entries.end(),
                                [](const RankEntry& entry) { return entry.facts.lost_steps(); });
  return lost ? "every step lost events with the damage of its file" : "no trace has a step";
}

}  // namespace ccl
