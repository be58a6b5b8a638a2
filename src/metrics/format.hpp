// Lines of the page, and the columns that every keyed row starts with.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/number_list.hpp"
#include "core/result_table.hpp"
#include "core/wording.hpp"
#include "exchange/groups.hpp"

namespace ccl {

std::string group_name(const Groups& groups, GroupId id);  // "'default_pg' (dp, 4 ranks)"
/// Puts "label         text" at the end of lines, wrapped at 100 columns and indented to the text.
void add_line(std::vector<std::string>& lines, const std::string& label, const std::string& text);
/// At most `most` of the more lines, then how many were left out and that the file has them.
void add_capped(std::vector<std::string>& lines, const std::vector<std::string>& more, std::size_t most = 64);

/// The same for a line of each rank or row: of thousands, only those that are shown are made.
class CappedLines {
 public:
  explicit CappedLines(std::size_t most = 64) : most_(most) {}
  template <class Line>
  void add(Line line) {
    if (shown_.size() < most_) shown_.push_back(line());
    else ++left_out_;
  }
  void add_to(std::vector<std::string>& lines) const;

 private:
  std::size_t most_, left_out_ = 0;
  std::vector<std::string> shown_;
};

/// Dimension of a group; expert-parallel kernels (dispatch, combine) without a known group are ep.
Dimension dimension_of(const Groups& groups, GroupId id, CollectiveOp op);

/// The process group of a row as row number of /process_groups.
template <class Row>
ColumnSpec<Row> group_column(const Resolver& resolver) {
  return integer_column<Row>("group", "", "row of /process_groups", -1,
                             [find = resolver.group_row](const Row& row) { return find(row.group); });
}

/// iteration, step, rank, device, replica as far as Row has them, in this order.
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
  if constexpr (requires(const Row& row) { row.replica; })
    all.push_back(column("replica", &Row::replica, "", "replica folder the rank belongs to; -1 = none", -1));
  return all;
}

}  // namespace ccl
