// Sorting what is nearly in order: a merge of the ascending runs that are there already. In: rows as a trace has them,
// best with those of one queue together. Out: the same rows sorted. Cost: n log(runs); many runs are left to std::sort.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace ccl {

/// Rows that are in order, or two such lists one behind the other, cost one pass.
template <class Row, class Less>
void sort_rows(std::vector<Row>& rows, Less less) {
  const auto second = std::is_sorted_until(rows.begin(), rows.end(), less);
  if (std::is_sorted_until(second, rows.end(), less) != rows.end()) std::sort(rows.begin(), rows.end(), less);
  else std::inplace_merge(rows.begin(), second, rows.end(), less);
}

/// Equal rows may end in any order: where less is a total order, the result is that of any other sort.
template <class Row, class Less>
void sort_runs(std::vector<Row>& rows, Less less) {
  std::vector<std::size_t> borders{0};
  const std::size_t most_runs = rows.size() / 16 + 1;
  for (std::size_t i = 1; i < rows.size() && borders.size() <= most_runs; ++i)
    if (less(rows[i], rows[i - 1])) borders.push_back(i);
  if (borders.size() > most_runs) return std::sort(rows.begin(), rows.end(), less);
  borders.push_back(rows.size());
  std::vector<Row> merged(borders.size() > 2 ? rows.size() : 0);
  while (borders.size() > 2) {
    std::vector<std::size_t> left{0};
    const auto at = [&](std::size_t border) { return rows.begin() + static_cast<std::ptrdiff_t>(borders[border]); };
    for (std::size_t run = 0; run + 1 < borders.size(); run += 2) {
      const std::size_t end = std::min(run + 2, borders.size() - 1);
      std::merge(at(run), at(run + 1), at(run + 1), at(end),
                 merged.begin() + static_cast<std::ptrdiff_t>(borders[run]), less);
      left.push_back(borders[end]);
    }
    rows.swap(merged);
    borders = std::move(left);
  }
}

}  // namespace ccl
