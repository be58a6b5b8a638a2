// Exact percentiles of values that stay on their workers. In: sorted lists, the same number of them on every worker. Out:
// the same on every worker. What travels are counts: a search by the digits of the value, for all questions at once.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "comm/comm.hpp"

namespace ccl {

/// Of the values of these lists together, on all workers.
struct Asked {
  std::vector<std::size_t> lists;
  double percent = 50;
};

/// Collective; every worker asks the same. By linear interpolation between order statistics, as core/statistics.hpp has
/// them; NaN for none. lists: each ascending, no NaN. Cost: 16 sums of 256 bytes a question.
std::vector<double> percentiles(std::span<const std::vector<double>> lists, const std::vector<Asked>& asked, const Comm& comm);

}  // namespace ccl
