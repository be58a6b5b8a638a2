// Pooled ratios: Σ numerator / Σ denominator over all rows, and the smallest and largest over ranks, each pooled over
// the rank's steps and devices. Report stage, on worker 0.
#pragma once
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/sort_runs.hpp"
#include "core/statistics.hpp"
#include "core/wide.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"

namespace ccl {

/// (replica, rank): who a row belongs to over all iterations.
using RankKey = std::pair<std::int32_t, RankId>;

struct PooledRatio {
  double value = std::numeric_limits<double>::quiet_NaN();
  double smallest = std::numeric_limits<double>::quiet_NaN();
  double largest = std::numeric_limits<double>::quiet_NaN();
  RankKey smallest_rank, largest_rank;  // ties: the lowest
  std::size_t ranks_count = 0;          // with a denominator above 0
};

/// numerator(row), denominator(row): int64. Rows whose denominator is 0 or less count in nothing.
template <class Row, class Numerator, class Denominator>
PooledRatio pooled_ratio(const std::vector<Row>& rows, Numerator numerator, Denominator denominator) {
  struct Sum {
    RankKey rank;
    Wide above = 0, below = 0;  // windows of clocks that are years apart are summed over all ranks
    const RankKey& key() const { return rank; }
    void combine(const Sum& more) {
      above += more.above;
      below += more.below;
    }
  };
  std::vector<Sum> ranks;  // step after step, each by rank
  Sum all;
  for (const Row& row : rows) {
    if (denominator(row) <= 0) continue;
    const Sum sum{{row.replica, row.rank}, numerator(row), denominator(row)};
    all.combine(sum);
    if (!ranks.empty() && ranks.back().rank == sum.rank) ranks.back().combine(sum);
    else ranks.push_back(sum);
  }
  sort_runs(ranks, [](const Sum& a, const Sum& b) { return a.rank < b.rank; });
  sort_and_fold(ranks);
  PooledRatio out;
  out.ranks_count = ranks.size();
  if (ranks.empty()) return out;
  out.value = ratio(static_cast<double>(all.above), static_cast<double>(all.below));
  for (const Sum& sum : ranks) {
    const double value = ratio(static_cast<double>(sum.above), static_cast<double>(sum.below));
    if (!(value >= out.smallest)) out.smallest = value, out.smallest_rank = sum.rank;
    if (!(value <= out.largest)) out.largest = value, out.largest_rank = sum.rank;
  }
  return out;
}

/// Headlines <name>_ratio, <name>_min_ratio, <name>_min_rank, <name>_max_ratio, <name>_max_rank.
inline void add_pooled(Report& out, const std::string& name, const PooledRatio& pooled, const std::string& what) {
  out.value(name + "_ratio", pooled.value, what + ", over all ranks and steps");
  out.value(name + "_min_ratio", pooled.smallest, "smallest over ranks");
  out.value(name + "_min_rank", pooled.smallest_rank.second.value, "rank with the smallest");
  out.value(name + "_max_ratio", pooled.largest, "largest over ranks");
  out.value(name + "_max_rank", pooled.largest_rank.second.value, "rank with the largest");
}

/// " (10.0 % on rank 3 to 20.0 % on rank 0)", " (on every rank)" where they read the same; empty for one rank.
inline std::string span_over_ranks(const PooledRatio& pooled) {
  if (pooled.ranks_count < 2) return "";
  if (percent(pooled.smallest) == percent(pooled.largest)) return " (on every rank)";
  return " (" + percent(pooled.smallest) + " on " + rank_name(pooled.smallest_rank.first, pooled.smallest_rank.second) +
         " to " + percent(pooled.largest) + " on " + rank_name(pooled.largest_rank.first, pooled.largest_rank.second) +
         ")";
}

}  // namespace ccl
