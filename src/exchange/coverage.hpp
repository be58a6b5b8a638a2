// Of which ranks the whole was read, and which steps of the others went with the damage of their files. In: the ranks
// that the workers agreed on; nothing moves.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exchange/ranks.hpp"

namespace ccl {

using StepNumbers = std::vector<std::int64_t>;  // as the run numbers them, ascending

/// The steps with GPU events, by rank and by dump (iteration, replica): what one rank lacks of a dump others have.
class CoveredSteps {
 public:
  explicit CoveredSteps(const Ranks& ranks);
  /// Those that any rank of its dump has, or has lost: all may have lost one.
  const StepNumbers& of_dump(std::int32_t iteration, std::int32_t replica) const { return all_.at({iteration, replica}); }
  const StepNumbers& of_dump(const RankEntry& entry) const { return of_dump(entry.iteration, entry.replica); }
  StepNumbers lacking(const RankEntry& entry) const;

 private:
  std::map<std::pair<std::int32_t, std::int32_t>, StepNumbers> all_;
};

struct RankInDump {
  std::int32_t iteration = -1, replica = -1, rank = -1;  // iteration −1: the trace stands for all
  friend auto operator<=>(const RankInDump&, const RankInDump&) = default;
};
/// Ranks that have a trace in another iteration of their replica, but none in this one; ascending.
std::vector<RankInDump> not_in_dump(const std::vector<RankInDump>& present);
std::vector<RankInDump> not_in_dump(const Ranks& ranks);

/// Steps that a rank of their dump lacks, though others have them; where it has no trace of a dump, all of it.
std::set<StepId> steps_not_of_all(const Ranks& ranks);

/// A rank of one dump whose file is damaged.
struct PartlyRead {
  const RankEntry* entry = nullptr;
  StepNumbers lost_steps;   // may be none: what was lost was in no step
  bool every_step = false;  // nothing of it is in any number that is told by step
};
/// In the order of the entries.
std::vector<PartlyRead> partly_read(const Ranks& ranks);

/// Ranks that something is told of: those with a trace that has GPU events, and has not lost some of every step.
std::int64_t analysed_ranks_count(const Ranks& ranks);

/// Of them those with a trace in every iteration, of which none is damaged.
std::int64_t whole_ranks_count(const Ranks& ranks);

/// "8 of 8 <analysed>, 1 of them in part: rank 5 (steps 8, 9 lost with the damage)"; also who has no GPU events or no
/// trace, and what files gave no rank. With the input it names copies of other traces, of which no warning tells.
std::string coverage_text(const Ranks& ranks, std::string_view analysed, const Input* input = nullptr);

/// "rank 5 (steps 8, 9 lost with the damage), rank 6 (no trace in iteration_20)"; "" where all were read whole.
std::string parts_text(const Ranks& ranks);

/// "step 8", "steps 8, 9, 12-20".
std::string step_list(const StepNumbers& steps);

}  // namespace ccl
