// Which rows of two runs may be compared where a rank of one lacks steps: those of the rank-steps that both have. A run
// whose slowest rank is damaged would look faster. In: which ranks have which steps. Out: a filter for rows of tables.
#pragma once
#include <set>

#include "compare/stored_run.hpp"

namespace ccl {

/// Of the rows of one of the two runs; keeps all if no rank lacks a step that another rank has.
class RowFilter {
 public:
  /// Keeps every row.
  RowFilter() = default;
  RowFilter(const RanksByStep& own, const RanksByStep& other);

  bool keeps_all() const { return !filters_; }
  bool keeps(const StepKey& step, const RankKey& rank) const {
    if (!filters_) return true;
    const auto at = kept_.find(step);
    return at != kept_.end() && at->second.count(rank) != 0;
  }
  /// A row over all ranks: only if the same ranks have the step in both runs.
  bool keeps_step(const StepKey& step) const { return !filters_ || same_.count(step) != 0; }
  /// A row of a whole file: its rank lacks no step in either run.
  bool keeps_rank(const RankKey& rank) const { return !filters_ || lacking_.count(rank) == 0; }

 private:
  bool filters_ = false;
  RanksByStep kept_;            // ranks whose own rows of the step are kept
  std::set<StepKey> same_;      // steps that the same ranks have
  std::set<RankKey> lacking_;
};

/// Why nothing is compared where the filters keep no row of a table.
inline constexpr const char* nothing_in_common = "no step has the same ranks in both runs";

struct RowFilters {
  RowFilter first, second;
};

}  // namespace ccl
