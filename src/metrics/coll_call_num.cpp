// coll_call_num: how many communication kernels a step runs, and how many collectives those are.
// Definition: KCOMM kernels per rank, step, operation, dimension and group; CPU operations and annotations are never
// counted. A logical collective = one matched instance, however many members it has.
// Merge: sums. Headline: kernels per step of rank 0 and of the mean rank.
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/recently_found.hpp"
#include "core/statistics.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"
#include "metrics/no_steps.hpp"

namespace ccl {
namespace {

struct CollCallNum {
  static MetricInfo info() {
    return {.name = "coll_call_num",
            .unit = "kernels per step",
            .question = "How many communication kernels does a step run, and of which kind?",
            .definition =
                "Communication kernels launched in a step, per rank; one kernel = one call of one rank. "
                "Collectives = matched instances over ranks.",
            .needs = "GPU kernels; traces of several ranks for collectives",
            .section = PageSection::further,
            .aliases = {},
            .wants = {},
            .needs_matching = true};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t replica = -1;
    std::int64_t calls_count = 0;
    auto key() const { return std::tuple(step, rank, replica); }
    static TableInfo table() { return {"rows", "communication kernels of each step on each rank"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("calls_count", &Row::calls_count, "", "communication kernels launched in the step"));
      return all;
    }
  };
  struct ByGroup {
    StepId step;  // −1: kernels outside every step
    RankId rank;
    std::int32_t replica = -1;
    GroupId group;
    CollectiveOp op = CollectiveOp::unknown;
    Dimension dimension = Dimension::unknown;
    std::int64_t calls_count = 0;
    auto key() const { return std::tuple(step, rank, replica, group, op); }
    void combine(const ByGroup& other) { calls_count += other.calls_count; }
    static TableInfo table() { return {"by_group", "the same by operation, dimension and process group"}; }
    static std::vector<ColumnSpec<ByGroup>> columns(const Resolver& resolver) {
      std::vector<ColumnSpec<ByGroup>> all = key_columns<ByGroup>();
      all.push_back(column("op", &ByGroup::op, "", "operation"));
      all.push_back(column("dimension", &ByGroup::dimension, "", "parallelism the group serves"));
      all.push_back(group_column<ByGroup>(resolver));
      all.push_back(column("calls_count", &ByGroup::calls_count, "", "communication kernels"));
      return all;
    }
  };
  struct Whole {
    std::int32_t iteration = -1;
    RankId rank;
    std::int32_t replica = -1;
    std::int64_t calls_count = 0, outside_count = 0, with_arguments_count = 0;
    auto key() const { return std::tuple(iteration, rank, replica); }
    static TableInfo table() { return {"whole", "communication kernels of the whole file"}; }
    static std::vector<ColumnSpec<Whole>> columns(const Resolver&) {
      std::vector<ColumnSpec<Whole>> all = key_columns<Whole>();
      all.push_back(column("calls_count", &Whole::calls_count, "", "communication kernels"));
      all.push_back(column("outside_count", &Whole::outside_count, "", "of them outside every step"));
      all.push_back(column("with_arguments_count", &Whole::with_arguments_count, "", "of them with arguments"));
      return all;
    }
  };
  struct Logical {
    StepId step;
    GroupId group;
    CollectiveOp op = CollectiveOp::unknown;
    std::int64_t collectives_count = 0, incomplete_count = 0, suspect_count = 0, members_count = 0;
    auto key() const { return std::tuple(step, group, op); }
    void combine(const Logical& other) {
      collectives_count += other.collectives_count;
      incomplete_count += other.incomplete_count;
      suspect_count += other.suspect_count;
      members_count += other.members_count;
    }
    static TableInfo table() { return {"logical", "collectives: kernels of several ranks matched into one"}; }
    static std::vector<ColumnSpec<Logical>> columns(const Resolver& resolver) {
      std::vector<ColumnSpec<Logical>> all = key_columns<Logical>();
      all.push_back(group_column<Logical>(resolver));
      all.push_back(column("op", &Logical::op, "", "operation"));
      all.push_back(column("collectives_count", &Logical::collectives_count, "", "matched instances"));
      all.push_back(column("incomplete_count", &Logical::incomplete_count, "", "of them without some members"));
      all.push_back(column("suspect_count", &Logical::suspect_count, "", "of them whose ends disagree"));
      all.push_back(column("members_count", &Logical::members_count, "", "kernels in them"));
      return all;
    }
  };
  using Tables = RowTables<Row, ByGroup, Whole, Logical>;

  static void closing(const ClosingRank& rank, const ClosingContext& context, Tables& out) {
    const RankEntry& entry = rank.entry;
    std::map<std::int64_t, std::int64_t> calls_of_step;
    for (const Step& step : entry.facts.steps)
      if (step.has_gpu_events()) calls_of_step[step.number + entry.step_shift] = 0;
    Whole whole{.iteration = entry.iteration, .rank = entry.rank, .replica = entry.replica};
    std::map<std::tuple<GroupId, CollectiveOp, std::int64_t>, std::int64_t> parts;  // by group, operation and step
    RecentlyFound step_calls(calls_of_step);
    RecentlyFound part_calls(parts);
    for (const CollectiveRecord& record : rank.records) {
      ++whole.calls_count;
      whole.with_arguments_count += record.has_arguments ? 1 : 0;
      if (record.step == outside_step)
        ++whole.outside_count;
      else
        ++step_calls(record.step, 0);
      ++part_calls({record.group, record.op, record.step}, record.group.value + static_cast<std::size_t>(record.op));
    }
    out.of<Whole>().push_back(whole);
    for (const auto& [step, calls] : calls_of_step)
      out.of<Row>().push_back({{entry.iteration, step}, entry.rank, entry.replica, calls});
    for (const auto& [part, calls] : parts) {
      const auto& [group, op, step] = part;
      out.of<ByGroup>().push_back({{entry.iteration, step},
                                   entry.rank,
                                   entry.replica,
                                   group,
                                   op,
                                   dimension_of(context.groups, group, op),
                                   calls});
    }
  }

  static void matched(const MatchedCollectives& collectives, const ClosingContext&, Tables& out) {
    for (const MatchedInstance& instance : collectives.instances)
      out.of<Logical>().push_back({{instance.iteration, instance.step},
                                   instance.group,
                                   instance.op,
                                   1,
                                   instance.incomplete ? 1 : 0,
                                   instance.suspect ? 1 : 0,
                                   instance.members_seen});
    sort_and_fold(out.of<Logical>());
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    std::int64_t calls = 0, steps = 0, calls_of_0 = 0, steps_of_0 = 0, all_calls = 0, collectives = 0;
    for (const Whole& row : tables.of<Whole>()) all_calls += row.calls_count;
    for (const Row& row : tables.of<Row>()) {
      calls += row.calls_count;
      ++steps;
      calls_of_0 += row.rank == RankId(0) ? row.calls_count : 0;
      steps_of_0 += row.rank == RankId(0) ? 1 : 0;
    }
    if (steps == 0) return out.absent(no_steps_text(context.ranks));
    if (all_calls == 0) return out.not_applicable("no communication kernels");
    const double mean_rank = ratio(static_cast<double>(calls), static_cast<double>(steps));
    const double of_0 = ratio(static_cast<double>(calls_of_0), static_cast<double>(steps_of_0));
    std::map<CollectiveOp, std::int64_t> by_op;
    for (const ByGroup& row : tables.of<ByGroup>())
      if (row.step.step != outside_step) by_op[row.op] += row.calls_count;
    for (const Logical& row : tables.of<Logical>()) collectives += row.collectives_count;
    out.value("calls_per_step_count", mean_rank, "communication kernels per step, mean over ranks");
    out.value("calls_per_step_rank_0_count", of_0, "communication kernels per step of rank 0");
    out.value("calls_count", static_cast<double>(all_calls), "all communication kernels of all ranks");
    out.value("collectives_count", static_cast<double>(collectives), "matched collectives");
    std::string line = number(mean_rank) + " communication kernels per step and rank";
    if (steps_of_0 > 0) line += " (rank 0: " + number(of_0) + ")";
    std::string kinds;
    for (const auto& [op, count] : by_op)
      kinds += (kinds.empty() ? ": " : ", ") + number(static_cast<double>(count) / static_cast<double>(steps)) + " " +
               std::string(to_text(op));
    add_line(out.page, "calls", line + kinds + "; " + std::to_string(collectives) + " collectives matched");
    CappedLines lines;
    for (const ByGroup& row : tables.of<ByGroup>())
      lines.add([&] {
        return "  " + step_name(row.step) + ", " + rank_name(row.replica, row.rank) + ": " +
               std::to_string(row.calls_count) + " " + std::string(to_text(row.op)) + " on " +
               group_name(context.groups, row.group);
      });
    lines.add_to(out.details);
  }

 private:
  static std::string number(double value) {
    const double rounded = std::round(value * 10) / 10;
    if (value > 0 && rounded < 0.1) return value < 0.005 ? "below 0.01" : fmt::format("{:.2f}", value);
    std::string text = fmt::format("{:.1f}", rounded);
    return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
  }
};

}  // namespace

std::unique_ptr<Metric> coll_call_num() { return define_metric<CollCallNum>(); }

}  // namespace ccl
