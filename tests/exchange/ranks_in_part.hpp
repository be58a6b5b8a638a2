// Ranks of one iteration of which some lost steps with the damage of their files.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "exchange/ranks.hpp"

namespace ccl::test {

/// A rank with GPU events in these steps, and steps that lost theirs.
inline RankEntry rank(std::int32_t number, std::vector<std::int64_t> steps, std::vector<std::int64_t> lost = {}) {
  RankEntry entry;
  entry.rank = RankId(number);
  entry.iteration = 10;
  for (const std::int64_t step : steps)
    entry.facts.steps.push_back({.number = step, .devices = {{.device = 0, .gpu_start_ns = 1, .gpu_end_ns = 2}}});
  for (const std::int64_t step : lost)
    entry.facts.steps.push_back({.number = step, .devices = {{.device = 0}}, .lost_events = true});
  if (!lost.empty()) entry.facts.loss = FileLoss::rest;
  return entry;
}

inline Ranks ranks_of(std::vector<RankEntry> entries) {
  Ranks ranks;
  ranks.entries = std::move(entries);
  ranks.expected = ranks.covered();
  return ranks;
}

}  // namespace ccl::test
