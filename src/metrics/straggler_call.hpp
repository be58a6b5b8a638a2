// Blame per rank -> is there a straggler, and since when. Pure; report stage.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
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
  std::int64_t lasting_count = 0;          // of last_count: late only by lag that counts already
  std::int64_t last_incomplete_count = 0;  // of last_count: members are missing
  std::int64_t members_seen = 0;           // the most in an instance where it is last
  std::int64_t periods_ns = 0;             // its summed step periods; 0 unknown
  std::int64_t steps_count = 0;
  std::vector<std::pair<StepId, std::int64_t>> blame_by_step;  // ascending
};

/// Of the step periods: what a rank's own blame must reach.
constexpr double least_share_of_period = 0.01;
constexpr std::int64_t least_times_last = 3;

/// In which steps a rank is late enough to matter.
struct Persistence {
  std::int64_t steps_count = 0, affected_count = 0;
  bool at_a_stretch = false;        // the affected steps follow each other
  bool to_the_end = false;          // the last step seen is affected
  std::optional<StepId> first, last;  // of the affected
  bool always() const { return affected_count == steps_count; }
};
/// Affected: at least relevant_ns. blame_by_step: ascending.
Persistence persistence_of(const std::vector<std::pair<StepId, std::int64_t>>& blame_by_step, double relevant_ns);
/// "since step 8 (3 of 6 steps)", "in all 6 steps", "in steps 10-11 only (2 of 4)", "in step 11, the last one seen
/// (1 of 6)", "in 12 of 20 steps", "in the one step seen".
std::string persistence_text(const Persistence& persistence, const std::optional<StepId>& onset);
/// The step that this text says it lasts since: the onset, or the first of two or more affected ones up to the last seen.
/// Nothing: from the first step seen, or not lasting.
std::optional<StepId> since_of(const Persistence& persistence, const std::optional<StepId>& onset);

struct StragglerCall {
  std::size_t largest = 0;      // who has the largest blame (ties: lowest replica, rank)
  double share_of_period = 0;   // its blame / summed step periods; NaN unknown
  bool stands_out = false;      // is called a straggler
  std::optional<StepId> onset;  // nothing: from the first step seen
  double relevant_ns = 0;       // what a step's blame must reach to count
  Persistence persistence;
  /// Whether a step is one of those that its blame per step is the mean of.
  bool counts(StepId step, std::int64_t blame_ns) const {
    return onset ? !(step < *onset) : persistence.affected_count == 0 || static_cast<double>(blame_ns) >= relevant_ns;
  }
};

/// ranks: not empty, ordered by (replica, rank). residual_ns: of the run, −1 unknown (then it limits nothing).
StragglerCall call_straggler(const std::vector<RankBlame>& ranks, std::int64_t residual_ns);
/// What its blame must be above: twice the error at each collective that is a claim of its own.
std::int64_t noise_ns(const RankBlame& rank, std::int64_t residual_ns);
/// All that stand out, largest blame first; `largest` is the rank of each.
std::vector<StragglerCall> call_stragglers(const std::vector<RankBlame>& ranks, std::int64_t residual_ns);

/// First step from which the values stay above 3 × the median of the earlier ones and at least at `relevant_ns`;
/// nothing if that is one of the first three steps, if more than a fifth of the earlier steps are as late, or as many of them
/// in a row as there are from it on (then it comes and goes), or if there is none.
std::optional<StepId> onset_of(const std::vector<std::pair<StepId, std::int64_t>>& blame_by_step, double relevant_ns);

}  // namespace ccl
