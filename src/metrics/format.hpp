// How metrics write numbers into page lines, and the columns that every keyed row starts with.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/result_table.hpp"

namespace ccl {

std::string milliseconds(double ns);        // "12.34 ms"; µs below 0.1 ms, s above 10 s
std::string percent(double ratio);          // "12.3 %"
std::string gigabytes(double bytes);        // "1.23 GB" (1e9), MB, kB, B below
std::string gigabytes_per_s(double bytes_per_s);
std::string counted(std::size_t count, const std::string& thing);  // "1 step", "3 steps"
std::string step_name(StepId step);         // "step 9 (iteration_10)", "step 9"
/// "0–3, 7 and 12 more": ranks in a line; ranges folded, at most `most` ranges shown.
std::string rank_list(const std::vector<std::int32_t>& ranks, std::size_t most = 6);

/// iteration, step, rank, device as far as Row has them, in this order.
template <class Row>
std::vector<ColumnSpec<Row>> key_columns() {
  std::vector<ColumnSpec<Row>> all;
  if constexpr (requires(const Row& row) { row.step.iteration; }) {
    all.push_back(integer_column<Row>("iteration", "", "number of the iteration folder", -1,
                                      [](const Row& row) { return std::int64_t{row.step.iteration}; }));
    all.push_back(integer_column<Row>("step", "", "number of the ProfilerStep; -1 = outside every step", -1,
                                      [](const Row& row) { return row.step.step; }));
  } else if constexpr (requires(const Row& row) { row.iteration; }) {
    all.push_back(integer_column<Row>("iteration", "", "number of the iteration folder", -1,
                                      [](const Row& row) { return std::int64_t{row.iteration}; }));
  }
  if constexpr (requires(const Row& row) { row.rank; })
    all.push_back(column("rank", &Row::rank, "", "rank of the training run"));
  if constexpr (requires(const Row& row) { row.device; })
    all.push_back(column("device", &Row::device, "", "GPU ordinal"));
  return all;
}

}  // namespace ccl
