// The stragglers as rows: what a script needs of the answer. Report stage.
#include "core/statistics.hpp"
#include "metrics/straggler_lag.hpp"

namespace ccl::straggler {

ResultTable stragglers_table(const std::vector<Named>& rows, const Groups& groups) {
  std::vector<ColumnSpec<Named>> all;
  const auto integer = [&all](const char* name, const char* unit, const char* what, std::optional<std::int64_t> absent,
                              std::function<std::int64_t(const Named&)> value) {
    all.push_back(integer_column<Named>(name, unit, what, absent, std::move(value)));
  };
  const auto text = [&all](const char* name, const char* what, std::function<std::string(const Named&)> value) {
    all.push_back(text_column<Named>(name, what, std::move(value)));
  };
  const auto step_of = [](const std::optional<StepId>& step) { return step ? step->step : -1; };
  all.push_back(column("rank", &Named::rank, "", "the rank"));
  all.push_back(column("replica", &Named::replica, "", "replica folder the rank belongs to; -1 = none", -1));
  text("host", "host of the rank, as in /ranks; empty = unknown", [](const Named& row) { return row.host; });
  integer("since_iteration", "", "iteration folder of since_step; -1 = none", -1,
          [](const Named& row) { return std::int64_t{row.since ? row.since->iteration : -1}; });
  integer("since_step", "", "first step of the delay; -1 = from the first step seen, or not lasting", -1,
          [step_of](const Named& row) { return step_of(row.since); });
  integer("steps_count", "", "steps in which it meets its peers", {},
          [](const Named& row) { return row.persistence.steps_count; });
  integer("affected_steps_count", "", "of them: the delay is at least 1 % of the period", {},
          [](const Named& row) { return row.persistence.affected_count; });
  integer("first_affected_step", "", "first of these steps; -1 = none", -1,
          [step_of](const Named& row) { return step_of(row.persistence.first); });
  integer("last_affected_step", "", "last of these steps; -1 = none", -1,
          [step_of](const Named& row) { return step_of(row.persistence.last); });
  integer("delay_ns", "ns",
          "by how much it delays its group in a step, mean from since_step on; without it of the affected steps. At most so "
          "much is gained if it arrives with the next to last",
          {}, [](const Named& row) { return static_cast<std::int64_t>(row.delay_ns); });
  integer("period_ns", "ns", "mean step period of the rank over these steps", {},
          [](const Named& row) { return static_cast<std::int64_t>(row.period_ns); });
  all.push_back(derived<Named>("gain_most_ratio", "ratio", "delay_ns / period_ns: the most that mending it brings",
                               [](const Named& row) { return ratio(row.delay_ns, row.period_ns); }));
  integer("group", "", "row of /process_groups with the largest part of the delay", -1,
          [&groups](const Named& row) { return std::int64_t{groups.row_of(row.group)}; });
  add_group_texts(groups, all);
  all.push_back(derived<Named>("group_ratio", "ratio", "that group's part of the delay",
                               [](const Named& row) { return row.group_share; }));
  text("cause", "what most of the delay comes from, as in own_blame",
       [](const Named& row) { return std::string(to_text(row.cause)); });
  text("why", "the cause in words, where it shows and how sure that is", [](const Named& row) { return row.why; });
  integer("last_count", "", "matched symmetric collectives it arrives last at", {},
          [](const Named& row) { return row.last_count; });
  integer("instances_count", "", "matched symmetric collectives it takes part in", {},
          [](const Named& row) { return row.instances_count; });
  integer("others_wait_ns", "ns", "sum of the others' waits where it is last", {},
          [](const Named& row) { return row.others_wait_ns; });
  return make_table("stragglers", "ranks that stand out, the largest delay in all first: the first 64", all, rows);
}

}  // namespace ccl::straggler
