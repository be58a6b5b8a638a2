// Numbers over all ranks of a step, where a rank lacks some of the steps that others have (damage took them, or it was not
// traced then): without its slowest rank a step would pass for a quick one. Report stage.
#pragma once
#include <algorithm>
#include <optional>
#include <set>

#include "core/wording.hpp"
#include "exchange/coverage.hpp"
#include "metrics/metric.hpp"

namespace ccl {

/// What is told of a run: the rows of the steps that no rank lacks. Where there are none, of all steps.
template <class Row, class... Rows>
class WholeSteps {
 public:
  using Tables = RowTables<Row, Rows...>;
  /// tables: used as long as this object. The first list has one row a step.
  WholeSteps(const Tables& tables, const Ranks& ranks) : all_(tables) {
    const std::set<StepId> lacked = steps_not_of_all(ranks);
    const auto is_lacked = [&](const auto& row) { return lacked.contains(row.step); };
    const std::vector<Row>& rows = tables.template of<Row>();
    const auto count = static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), is_lacked));
    if (count == 0 || count == rows.size()) return;
    left_out_count_ = count;
    whole_.emplace().lists = tables.lists;
    whole_->for_each([&](auto& list) { std::erase_if(list, is_lacked); });
  }
  const Tables& tables() const { return whole_ ? *whole_ : all_; }
  /// Of a metric that has told its numbers.
  void tell_left_out(Report& out) const {
    if (left_out_count_ == 0 || (out.status != Status::ok && out.status != Status::partial)) return;
    out.status = Status::partial;
    out.reason += (out.reason.empty() ? "" : "; ") + counted(left_out_count_, "step") + " left out that a rank lacks";
  }

 private:
  const Tables& all_;
  std::optional<Tables> whole_;
  std::size_t left_out_count_ = 0;
};

}  // namespace ccl
