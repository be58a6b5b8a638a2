// Blame per rank -> is there a straggler, and since when. Pure; report stage.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/ids.hpp"

namespace ccl {

/// One rank over all its steps.
struct RankBlame {
  std::int32_t replica = -1;
  RankId rank;
  std::int64_t blame_ns = 0, blamed_wait_ns = 0, wait_ns = 0;
  std::int64_t last_count = 0, instances_count = 0;
  std::int64_t last_incomplete_count = 0;  // of last_count: members are missing
  std::int64_t members_seen = 0;           // the most in an instance where it is last
  std::int64_t periods_ns = 0;             // its summed step periods; 0 unknown
  std::int64_t steps_count = 0;
  std::vector<std::pair<StepId, std::int64_t>> blame_by_step;  // ascending
};

struct StragglerCall {
  std::size_t largest = 0;      // who has the largest blame (ties: lowest replica, rank)
  double share_of_period = 0;   // its blame / summed step periods; NaN unknown
  bool stands_out = false;      // is called a straggler
  std::optional<StepId> onset;  // nothing: from the first step seen
};

/// ranks: not empty, ordered by (replica, rank). residual_ns: of the run, −1 unknown (then it limits nothing).
StragglerCall call_straggler(const std::vector<RankBlame>& ranks, std::int64_t residual_ns);
/// All that stand out, largest blame first; `largest` is the rank of each.
std::vector<StragglerCall> call_stragglers(const std::vector<RankBlame>& ranks, std::int64_t residual_ns);

/// First step from which the values stay above 3 × the median of the earlier ones and at least at `relevant_ns`;
/// nothing if that is one of the first three steps or there is none.
std::optional<StepId> onset_of(const std::vector<std::pair<StepId, std::int64_t>>& blame_by_step, double relevant_ns);

}  // namespace ccl
