// what_if: how long would a step take if its operations ran as they do on their peers?
// Definition (ByteDance's what-if study, peers-formulas-hardware D.7; decisions): the step's dependency graph is replayed
// with ideal durations: compute the median over peers (--what-if-ideal mean: the published form), communication the median
// transfer of its kind, launch gaps at most the median over peers. S = replayed / ideal, both from the replay; absent where
// the replay of the measured times is more than 1 % off the step. Merge: keys are disjoint, a step has one owner.
#include <algorithm>
#include <limits>
#include <map>

#include "core/statistics.hpp"
#include "exchange/graph_ideal.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"
#include "metrics/pipeline_stage.hpp"

namespace ccl {

enum class WhatIfSubject : std::uint8_t { compute, communication, launch, rank, stage, dimension };
std::string_view to_text(WhatIfSubject subject) {
  constexpr std::string_view names[] = {"compute", "communication", "launch", "rank", "stage", "dimension"};
  return names[static_cast<std::size_t>(subject)];
}

namespace {

// Above this share of unmatched communication the numbers are said to be incomplete.
constexpr double unmatched_most = 0.01;
// Ranks of a large job: only those with the most excess are asked about one by one.
constexpr std::size_t ranks_asked = 16, ranks_all = 64;

struct WhatIf {
  static MetricInfo info() {
    return {.name = "what_if",
            .unit = "ratio",
            .question = "How much shorter would a step be if no operation took longer than on its peers?",
            .definition =
                "Replay of each step's dependency graph with ideal durations: compute = median over peers (same stage, "
                "kernel and number; mean with --what-if-ideal mean), communication = median of its operation, dimension, "
                "size and bytes, launch gaps at most the peers' median. S = replayed / ideal, pooled over steps.",
            .needs = "GPU events with steps of at least two ranks; collectives matched across ranks",
            .section = PageSection::answer,
            .aliases = {},
            .wants = {},
            .needs_matching = true,
            .needs_chains = true};
  }

  struct Row {
    StepId step;
    std::int32_t replica = -1;
    std::int64_t ranks_count = 0, measured_ns = 0, replayed_ns = -1, ideal_ns = -1;
    std::int64_t communication_ns = 0, unmatched_ns = 0;  // summed over ranks
    bool ok = false;  // the replay gives the measured step back
    auto key() const { return std::tuple(step, replica); }
    static TableInfo table() { return {"rows", "measured, replayed and ideal length of each step"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("ranks_count", &Row::ranks_count, "", "ranks in the graph"));
      all.push_back(column("measured_ns", &Row::measured_ns, "ns", "the run's step window"));
      all.push_back(column("replayed_ns", &Row::replayed_ns, "ns", "replay with the measured durations", -1));
      all.push_back(column("ideal_ns", &Row::ideal_ns, "ns", "replay with ideal durations", -1));
      all.push_back(column("communication_ns", &Row::communication_ns, "ns", "communication kernels of all ranks"));
      all.push_back(column("unmatched_ns", &Row::unmatched_ns, "ns", "of them not matched: their waits stay as measured"));
      all.push_back(derived<Row>("slowdown_ratio", "ratio", "S = replayed_ns / ideal_ns", [](const Row& row) {
        return row.ok ? ratio(static_cast<double>(row.replayed_ns), static_cast<double>(row.ideal_ns))
                      : std::numeric_limits<double>::quiet_NaN();
      }));
      return all;
    }
  };
  /// Of one step: subject and number say whose operations are changed.
  struct Case {
    StepId step;
    std::int32_t replica = -1;
    WhatIfSubject subject = WhatIfSubject::compute;
    std::int32_t number = -1;
    Dimension dimension = Dimension::unknown;
    std::int64_t replayed_ns = 0, ideal_ns = 0, fixed_ns = 0, only_ns = -1;
    auto key() const { return std::tuple(step, replica, subject, number, dimension); }
    static TableInfo table() { return {"cases", "length of each step with only some operations changed"}; }
    static std::vector<ColumnSpec<Case>> columns(const Resolver&) {
      std::vector<ColumnSpec<Case>> all = key_columns<Case>();
      all.push_back(column("subject", &Case::subject, "", "compute, communication, launch, rank, stage or dimension"));
      all.push_back(column("number", &Case::number, "", "of the rank or stage", -1));
      all.push_back(column("dimension", &Case::dimension, "", "of the subject dimension"));
      all.push_back(column("fixed_ns", &Case::fixed_ns, "ns",
                           "step if only these were ideal (dimension: if its transfers took no time)"));
      all.push_back(column("only_ns", &Case::only_ns, "ns", "step if all but these were ideal", -1));
      all.push_back(integer_column<Case>("gain_ns", "ns", "replayed_ns - fixed_ns", {},
                                         [](const Case& row) { return row.replayed_ns - row.fixed_ns; }));
      all.push_back(derived<Case>("slowdown_ratio", "ratio", "S of the subject = only_ns / ideal_ns", [](const Case& row) {
        return row.only_ns < 0 ? std::numeric_limits<double>::quiet_NaN()
                               : ratio(static_cast<double>(row.only_ns), static_cast<double>(row.ideal_ns));
      }));
      return all;
    }
  };
  using Tables = RowTables<Row, Case>;

  static void graph(const StepGraph& step, const ClosingContext& context, Tables& out) {
    Row row{step.step, step.replica, 0, step.length_ns(), -1, -1, 0, 0, false};
    for (std::size_t i = 0; i < step.size(); ++i) {
      row.ranks_count += i == 0 || step.ops[i - 1].rank_row != step.ops[i].rank_row ? 1 : 0;
      if (step.ops[i].kind != EventKind::communication) continue;
      row.communication_ns += step.ops[i].length_ns();
      if (step.match[i] < 0) row.unmatched_ns += step.ops[i].length_ns();
    }
    const GraphTimes measured = measured_times(step);
    row.ok = row.ranks_count > 1 && replays(step, measured);
    if (row.ok) ask(step, measured, context, row, out);
    out.of<Row>().push_back(row);
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const auto& rows = tables.of<Row>();
    if (rows.empty()) return out.absent("no step has GPU events");
    double replayed_ns = 0, ideal_ns = 0, communication_ns = 0, unmatched_ns = 0;
    std::size_t ok_count = 0, alone_count = 0;
    for (const Row& row : rows) {
      alone_count += row.ranks_count < 2 ? 1 : 0;
      if (!row.ok) continue;
      ++ok_count;
      replayed_ns += static_cast<double>(row.replayed_ns);
      ideal_ns += static_cast<double>(row.ideal_ns);
      communication_ns += static_cast<double>(row.communication_ns);
      unmatched_ns += static_cast<double>(row.unmatched_ns);
      out.ranks_covered = std::max(out.ranks_covered, row.ranks_count);
    }
    if (alone_count == rows.size()) return out.not_applicable("one rank has no peers");
    if (ok_count == 0) return out.absent("the replay of the measured times does not give the measured steps back");
    if (ok_count < rows.size()) {
      out.status = Status::partial;
      out.reason = counted(rows.size() - ok_count, "step") + " could not be replayed";
    }
    const double unmatched = ratio(unmatched_ns, communication_ns);
    out.value("unmatched_ratio", unmatched, "communication time whose waits stay as measured, since it is not matched");
    if (unmatched > unmatched_most) {
      out.status = Status::partial;
      out.reason += (out.reason.empty() ? "" : "; ") + percent(unmatched) +
                    " of the communication time is not matched, its waits stay: S and gains are too small";
    }
    const double slowdown = ratio(replayed_ns, ideal_ns);
    out.value("slowdown_ratio", slowdown, "S = replayed / ideal, all steps");
    out.note("ideal_form", context.config.what_if_ideal, "how peers make the ideal compute time");
    report_cases(tables, replayed_ns, ideal_ns, ok_count, out);
    if (unmatched > unmatched_most) add_line(out.page, "", out.reason);
  }

 private:
  /// times with those of `changed` where wanted(op) holds, by compute or launch or both.
  template <class Wanted>
  static std::int64_t length_with(const StepGraph& step, const GraphTimes& times, const GraphTimes& changed,
                                  Wanted wanted) {
    const auto run = [&](std::size_t i) { return wanted(i, true); };
    const auto gap = [&](std::size_t i) { return wanted(i, false); };
    return replay(step, changed_times(times, changed, run, gap)).length_ns;
  }

  static void ask(const StepGraph& step, const GraphTimes& measured, const ClosingContext& context, Row& row,
                  Tables& out) {
    std::vector<std::int32_t> stage_of_row;
    for (const RankEntry& entry : context.ranks.entries)
      stage_of_row.push_back(pipeline_stage(entry, context.groups, context.workload.mesh).stage);
    const auto form = context.config.what_if_ideal == "mean" ? IdealForm::mean : IdealForm::median;
    const GraphTimes ideal = ideal_times(step, measured, peers_of(step, stage_of_row), form);
    row.replayed_ns = replay(step, measured).length_ns;
    row.ideal_ns = replay(step, ideal).length_ns;
    Case asked{step.step, step.replica, WhatIfSubject::compute, -1, Dimension::unknown, row.replayed_ns, row.ideal_ns, 0, -1};
    const auto add = [&](WhatIfSubject subject, std::int32_t number, auto wanted) {
      asked.subject = subject;
      asked.number = number;
      asked.fixed_ns = length_with(step, measured, ideal, wanted);
      asked.only_ns = length_with(step, ideal, measured, wanted);
      out.of<Case>().push_back(asked);
    };
    const auto own = [&](std::size_t i) { return step.match[i] < 0; };
    add(WhatIfSubject::compute, -1, [&](std::size_t i, bool run) { return run && own(i); });
    add(WhatIfSubject::communication, -1, [&](std::size_t i, bool run) { return run && !own(i); });
    add(WhatIfSubject::launch, -1, [&](std::size_t, bool run) { return !run; });
    for (const auto& [rank_row, rank] : ranks_to_ask(step, measured, ideal))
      add(WhatIfSubject::rank, rank, [&, r = rank_row](std::size_t i, bool run) {
        return step.ops[i].rank_row == r && (!run || own(i));
      });
    const std::int32_t stages = stage_of_row.empty() ? 0 : *std::max_element(stage_of_row.begin(), stage_of_row.end()) + 1;
    for (std::int32_t stage = 0; stage < stages; ++stage)
      add(WhatIfSubject::stage, stage, [&](std::size_t i, bool run) {
        return stage_of_row[static_cast<std::size_t>(step.ops[i].rank_row)] == stage && (!run || own(i));
      });
    hide_dimensions(step, measured, asked, out);
  }

  static void hide_dimensions(const StepGraph& step, const GraphTimes& measured, Case asked, Tables& out) {
    bool seen[dimension_count] = {};
    for (std::size_t i = 0; i < step.size(); ++i)
      if (step.match[i] >= 0) seen[static_cast<std::size_t>(step.ops[i].dimension)] = true;
    asked.subject = WhatIfSubject::dimension;
    asked.number = -1;
    asked.only_ns = -1;
    for (std::size_t d = 0; d < dimension_count; ++d) {
      if (!seen[d]) continue;
      asked.dimension = static_cast<Dimension>(d);
      GraphTimes hidden = measured;
      for (std::size_t i = 0; i < step.size(); ++i)
        if (step.match[i] >= 0 && step.ops[i].dimension == asked.dimension) hidden.run_ns[i] = 0;
      asked.fixed_ns = replay(step, hidden).length_ns;
      out.of<Case>().push_back(asked);
    }
  }

  static std::vector<std::pair<std::int32_t, std::int32_t>> ranks_to_ask(const StepGraph& step, const GraphTimes& measured,
                                                                         const GraphTimes& ideal) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> excess_ns;
    for (std::size_t i = 0; i < step.size(); ++i) {
      std::int64_t& sum = excess_ns[{step.ops[i].rank_row, step.ops[i].rank.value}];
      sum += measured.gap_ns[i] - ideal.gap_ns[i];
      if (step.match[i] < 0) sum += measured.run_ns[i] - ideal.run_ns[i];
    }
    std::vector<std::pair<std::int64_t, std::pair<std::int32_t, std::int32_t>>> by_excess;
    for (const auto& [rank, ns] : excess_ns) by_excess.push_back({-ns, rank});
    std::sort(by_excess.begin(), by_excess.end());
    if (by_excess.size() > ranks_all) by_excess.resize(ranks_asked);
    std::vector<std::pair<std::int32_t, std::int32_t>> out;
    for (const auto& [ns, rank] : by_excess) out.push_back(rank);
    return out;
  }

  static void report_cases(const Tables& tables, double replayed_ns, double ideal_ns, std::size_t steps_count,
                           Report& out) {
    std::map<std::tuple<WhatIfSubject, std::int32_t, std::int32_t, Dimension>, std::int64_t> gain_ns;
    for (const Case& row : tables.of<Case>())
      gain_ns[{row.subject, row.replica, row.number, row.dimension}] += row.replayed_ns - row.fixed_ns;
    const auto per_step = [&](double ns) { return milliseconds(ns / static_cast<double>(steps_count)); };
    std::vector<std::string> lines;
    std::string rank_text, dimension_text, best_rank;
    std::int64_t best_rank_ns = 0, best_dimension_ns = 0;
    for (const auto& [which, ns] : gain_ns) {
      const auto& [subject, replica, number, dimension] = which;
      const std::string saved = per_step(static_cast<double>(ns)) + " (" +
                                percent(ratio(static_cast<double>(ns), replayed_ns)) + ") of each step";
      std::string text = std::string(to_text(subject));
      if (subject == WhatIfSubject::rank) text = rank_name(replica, RankId(number));
      if (subject == WhatIfSubject::stage) text += " " + std::to_string(number);
      if (subject == WhatIfSubject::dimension)
        text = "transfers of " + std::string(to_text(dimension)) + " hidden: ";
      else
        text += " like its peers: ";
      lines.push_back("  " + text + saved);
      if (subject == WhatIfSubject::rank && ns > best_rank_ns)
        best_rank_ns = ns, rank_text = rank_name(replica, RankId(number)) + " alone like its peers saves " + saved;
      if (subject == WhatIfSubject::dimension && ns > best_dimension_ns)
        best_dimension_ns = ns, dimension_text = "hiding the transfers of " + std::string(to_text(dimension)) + " saves " + saved;
    }
    std::string line = "a step takes " + per_step(replayed_ns) + ", with every operation like its peers' " +
                       per_step(ideal_ns) + " (S = " + thousandths(ratio(replayed_ns, ideal_ns)) + ")";
    if (!rank_text.empty()) line += "; " + rank_text;
    if (!dimension_text.empty()) line += "; " + dimension_text;
    add_line(out.page, "what if", line);
    add_capped(out.details, lines);
  }

  static std::string thousandths(double value) {
    const auto rounded = static_cast<std::int64_t>(value * 1000 + 0.5);
    const std::string digits = std::to_string(rounded % 1000 + 1000);
    return std::to_string(rounded / 1000) + "." + digits.substr(1);
  }
};

}  // namespace

std::unique_ptr<Metric> what_if() { return define_metric<WhatIf>(); }

}  // namespace ccl
