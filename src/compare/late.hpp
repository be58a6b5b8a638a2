// Which ranks each of two runs calls late: what is slow in fewer than half of the steps moves no median, and a straggler
// is often that. In: /metrics/straggler_lag of a result file. Out: its stragglers with since when and how much.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "compare/stored_run.hpp"

namespace ccl {

struct LateRank {
  RankKey who;
  std::string text;  // "rank 5 since step 8 (4.35 ms a step)"
};

struct LateRanks {
  bool told = false;
  std::string why_untold;       // "straggler_lag is absent, the run has one rank in run.h5"
  std::vector<LateRank> ranks;  // the largest delay in all first
  std::set<double> lacking;     // ranks whose file is missing or lost something: none of them is known to be in time
  std::set<RankKey> judged;     // ranks that meet others in matched collectives
  bool has(const RankKey& who) const;
};
LateRanks late_ranks(const StoredRun& run);

/// "rank 5 since step 8 (4.35 ms a step); rank 3 ...", "none", "unknown (...)".
std::string text_of(const LateRanks& late);
/// "first none; second rank 5 since step 8 (4.35 ms a step)"; empty if both runs name the same ranks.
std::string late_difference(const LateRanks& first, const LateRanks& second);

struct NewStragglers {
  std::string found;       // late in the second run and not in the first, as text; empty if there are none
  std::string not_judged;  // why none may nevertheless be there; empty if there is no doubt
};
/// A rank that the second run lacks, or that meets no other there and did before, may be late there; one that the first
/// lacks may have been late before.
NewStragglers new_stragglers(const LateRanks& first, const LateRanks& second);

}  // namespace ccl
