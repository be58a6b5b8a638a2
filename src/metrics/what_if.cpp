// what_if: how long would a step take if its operations ran as they do on their peers?
// Definition (ByteDance's what-if study of stragglers): the step's dependency graph is replayed
// with ideal durations: compute the median over peers (--what-if-ideal mean: the published form), communication the
// median transfer of its kind, launches as far apart on the CPU as the median over peers. S = replayed / ideal, both
// from the replay; absent for a step of one rank. Merge: keys are
// disjoint, a step has one owner.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/collective_math.hpp"
#include "core/statistics.hpp"
#include "exchange/graph_alone.hpp"
#include "exchange/graph_ideal.hpp"
#include "exchange/graph_short.hpp"
#include "metrics/clock_unknown.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"
#include "metrics/pipeline_stage.hpp"
#include "metrics/whole_steps.hpp"

namespace ccl {

enum class WhatIfSubject { compute, communication, launch, rank, slowest_ranks, slow_ranks, stage, dimension, op };
std::string_view to_text(WhatIfSubject subject) {
  constexpr std::string_view names[] = {"compute",    "communication", "launch",    "rank",     "slowest_ranks",
                                        "slow_ranks", "stage",         "dimension", "operation"};
  return names[static_cast<std::size_t>(subject)];
}

namespace {

// Above this share of communication not matched with all its ranks the numbers are said to be incomplete.
constexpr double unmatched_most = 0.01;
// Ranks of a large job: only those with the most excess are asked about one by one.
constexpr std::size_t ranks_asked = 16, ranks_all = 64;
constexpr double longer_most = 0.1;  // by how much medians over peers that differ by chance may make a step longer
// A rank that loses this share of a step is slow; all such are asked about together, as one hides the other.
constexpr double slow_rank_ratio = 0.01;

struct WhatIf {
  static MetricInfo info() {
    return {.name = "what_if",
            .unit = "ratio",
            .question = "How much shorter would a step be if no operation took longer than on its peers?",
            .definition =
                "Replay of each step's dependency graph with ideal durations: compute = median over peers (same stage, kernel "
                "and number; mean with --what-if-ideal mean), communication = median of its operation, dimension, size and bytes "
                "(within a host and between hosts apart), CPU time from launch to launch at most the peers' median, added up; of "
                "an even number the lower middle. Communication not matched with all its ranks = median transfer of complete "
                "ones of its kind, at most as measured. A median does not tell that all of a kind are slow. S = replayed / "
                "ideal, pooled over steps; absent below 0.9: ideal operations do not make a step longer.",
            .needs = "GPU events with steps of at least two ranks; collectives matched across ranks; clocks known to a tenth of a step",
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
    std::int64_t communication_ns = 0, unmatched_ns = 0, one_group_ns = 0;  // summed over ranks
    std::int64_t compute_ns = 0, one_rank_ns = 0;
    bool ok = false;  // of several ranks: there are peers
    auto key() const { return std::tuple(step, replica); }
    static TableInfo table() { return {"rows", "measured, replayed and ideal length of each step"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("ranks_count", &Row::ranks_count, "", "ranks in the graph"));
      all.push_back(column("measured_ns", &Row::measured_ns, "ns", "the run's step window"));
      all.push_back(column("replayed_ns", &Row::replayed_ns, "ns", "replay with the measured durations", -1));
      all.push_back(column("ideal_ns", &Row::ideal_ns, "ns", "replay with ideal durations", -1));
      all.push_back(column("communication_ns", &Row::communication_ns, "ns", "communication kernels of all ranks"));
      all.push_back(column("unmatched_ns", &Row::unmatched_ns, "ns",
                           "of them not matched with all their ranks, and no complete one of their kind: their waits stay as "
                           "measured"));
      all.push_back(column("one_group_ns", &Row::one_group_ns, "ns",
                           "of them of operation, dimension, size and bytes that one group of ranks only has: no peers but "
                           "its own at other times"));
      all.push_back(column("compute_ns", &Row::compute_ns, "ns", "compute kernels of all ranks"));
      all.push_back(column("one_rank_ns", &Row::one_rank_ns, "ns", "of them on stages of one rank: no peers"));
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
    CollectiveOp op = CollectiveOp::unknown;
    std::int64_t replayed_ns = 0, ideal_ns = 0, fixed_ns = 0, only_ns = 0;
    bool slow = false;
    auto key() const { return std::tuple(step, replica, subject, number, dimension, op); }
    static TableInfo table() { return {"cases", "length of each step with only some operations changed"}; }
    static std::vector<ColumnSpec<Case>> columns(const Resolver&) {
      std::vector<ColumnSpec<Case>> all = key_columns<Case>();
      all.push_back(column("subject", &Case::subject, "", "whose operations: compute, communication, launch, rank, slowest_"
                                                          "ranks (3 % of all), slow_ranks (all that are slow), stage, "
                                                          "dimension or operation"));
      all.push_back(column("number", &Case::number, "", "of the rank or stage; how many slowest ranks", -1));
      all.push_back(column("slow", &Case::slow, "", "of a rank: it computes or launches 1 % of the step longer than its peers"));
      all.push_back(column("dimension", &Case::dimension, "", "of the subject dimension"));
      all.push_back(column("op", &Case::op, "", "of the subject operation"));
      all.push_back(column("fixed_ns", &Case::fixed_ns, "ns",
                           "step if only these were ideal (dimension: if its transfers took no time)"));
      all.push_back(column("only_ns", &Case::only_ns, "ns", "step if all but these were ideal"));
      all.push_back(integer_column<Case>("gain_ns", "ns", "replayed_ns - fixed_ns", {},
                                         [](const Case& row) { return row.replayed_ns - row.fixed_ns; }));
      all.push_back(derived<Case>("slowdown_ratio", "ratio", "S of the subject = only_ns / ideal_ns", [](const Case& row) {
        return ratio(static_cast<double>(row.only_ns), static_cast<double>(row.ideal_ns));
      }));
      return all;
    }
  };
  using Tables = RowTables<Row, Case>;

  static void graph(const MeasuredGraph& step, const ClosingContext& context, Tables& out) {
    Row row{step.step, step.replica, 0, step.length_ns(), -1, -1, 0, 0, one_group_ns(step), 0, 0, false};
    for (std::size_t i = 0; i < step.size(); ++i) {
      row.ranks_count += i == 0 || step.ops[i - 1].rank_row != step.ops[i].rank_row ? 1 : 0;
      if (!is_with_others(step, i)) continue;
      row.communication_ns += step.ops[i].length_ns();
      if (step.unseen.of(i) == 0) row.unmatched_ns += step.ops[i].length_ns();
    }
    row.ok = row.ranks_count > 1 && step.length_ns() > 0;
    if (row.ok) ask(step, context, row, out);
    out.of<Row>().push_back(row);
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const WholeSteps whole(tables, context.ranks);
    report_steps(whole.tables(), context, out);
    whole.tell_left_out(out);
  }

 private:
  static void report_steps(const Tables& tables, const ReportContext& context, Report& out) {
    const auto& rows = tables.of<Row>();
    if (rows.empty()) return out.absent("no step has GPU events");
    double replayed_ns = 0, ideal_ns = 0, communication_ns = 0, unmatched_ns = 0, alone_ns = 0, compute_ns = 0, one_rank_ns = 0;
    std::size_t ok_count = 0, alone_count = 0;
    for (const Row& row : rows) {
      alone_count += row.ranks_count < 2 ? 1 : 0;
      if (!row.ok) continue;
      ++ok_count;
      replayed_ns += static_cast<double>(row.replayed_ns);
      ideal_ns += static_cast<double>(row.ideal_ns);
      communication_ns += static_cast<double>(row.communication_ns);
      unmatched_ns += static_cast<double>(row.unmatched_ns);
      alone_ns += static_cast<double>(row.one_group_ns);
      compute_ns += static_cast<double>(row.compute_ns);
      one_rank_ns += static_cast<double>(row.one_rank_ns);
      out.ranks_covered = std::max(out.ranks_covered, row.ranks_count);
    }
    if (alone_count == rows.size()) return out.not_applicable("one rank has no peers");
    if (tells_clock_error(context, "what if", out)) return;
    if (ok_count == 0) return out.absent("no step of several ranks lasts any time");
    if (ok_count < rows.size()) {
      out.status = Status::partial;
      out.reason = counted(rows.size() - ok_count, "step") + " of one rank only";
    }
    const double slowdown = ratio(replayed_ns, ideal_ns);
    if (slowdown < 1 - longer_most) {
      const auto steps = static_cast<double>(ok_count);
      out.absent("with every operation like its peers' a step would take " + milliseconds(ideal_ns / steps) + ", longer than " +
                 "its " + milliseconds(replayed_ns / steps) + ": operations that are called alike have times that are not");
      return add_line(out.page, "what if", "unknown: " + out.reason);
    }
    out.value("slowdown_ratio", slowdown, "S = replayed / ideal, all steps");
    const double unmatched = ratio(unmatched_ns, communication_ns);
    out.value("unmatched_ratio", unmatched, "communication time whose waits stay as measured, since it is not matched with all its ranks");
    if (unmatched > unmatched_most) {
      out.status = Status::partial;
      out.reason += (out.reason.empty() ? "" : "; ") + percent(unmatched) +
                    " of the communication time is not matched with all its ranks, its waits stay: S and gains are too small";
    }
    out.note("ideal_form", context.config.what_if_ideal, "how peers make the ideal compute time");
    report_cases(tables, replayed_ns, ideal_ns, ok_count, out);
    if (unmatched > unmatched_most) add_line(out.page, "", out.reason);
    const double one_rank = ratio(one_rank_ns, compute_ns);
    out.value("one_rank_ratio", one_rank, "compute time on stages of one rank: without peers");
    if (one_rank > unmatched_most)
      add_line(out.page, "", percent(one_rank) + " of the compute time is on stages of one rank: without peers S does not tell "
                                                 "whether it is slow");
    const double alone = ratio(alone_ns, communication_ns);
    out.value("one_group_ratio", alone, "communication time of kinds that one group only has: compared with itself only");
    if (alone > unmatched_most)
      out.details.push_back("  " + percent(alone) +
                            " of the communication time is of a kind that one group of ranks only has: were all of it slow, "
                            "S would not tell");
  }

  static void ask(const MeasuredGraph& whole, const ClosingContext& context, Row& row, Tables& out) {
    std::vector<std::int32_t> stage_of_row;
    const PipelineStages places(context.groups, context.workload.mesh);
    for (const RankEntry& entry : context.ranks.entries) stage_of_row.push_back(places.of(entry).stage);
    const ComputeTime compute = compute_time(whole, stage_of_row);
    row.compute_ns = compute.all_ns, row.one_rank_ns = compute.one_rank_ns;
    const auto form = context.config.what_if_ideal == "mean" ? IdealForm::mean : IdealForm::median;
    const Peers peers = peers_of(whole, stage_of_row, context.ranks.hosts_by_row());
    const ShortGraph step = shorten(whole, ideal_times(whole, peers, form));
    CaseReplays replays(step, whole.lent);
    std::vector<std::pair<Case, std::size_t>> cases;  // with their number in the replays
    Case asked;
    asked.step = whole.step, asked.replica = whole.replica;
    const auto add = [&](WhatIfSubject subject, std::int32_t number, auto wanted, ShortChange change = ShortChange::ideal) {
      asked.subject = subject;
      asked.number = number;
      cases.push_back({asked, replays.add(change, wanted)});
    };
    const std::size_t nothing = replays.add(ShortChange::ideal, [](const ShortKind&, bool) { return false; });
    add(WhatIfSubject::compute, -1, [&](const ShortKind& op, bool run) { return run && !op.with_others; });
    add(WhatIfSubject::communication, -1, [&](const ShortKind& op, bool run) { return run && op.with_others; });
    add(WhatIfSubject::launch, -1, [&](const ShortKind&, bool run) { return !run; });
    row.replayed_ns = replays.of(nothing).fixed_ns;
    row.ideal_ns = replays.of(nothing).only_ns;
    const std::vector<SlowRank> slowest = by_excess(step, stage_of_row.size());
    std::vector<bool> is_slow(stage_of_row.size(), false);
    const auto of_slow = [&](const ShortKind& op, bool run) {
      return is_slow[static_cast<std::size_t>(op.rank_row)] && (!run || !op.with_others);
    };
    for (std::size_t r = 0; r < slowest.size(); ++r) {
      asked.slow = static_cast<double>(slowest[r].excess_ns) >= slow_rank_ratio * static_cast<double>(row.replayed_ns);
      is_slow[static_cast<std::size_t>(slowest[r].rank_row)] = asked.slow;
      if (r < ranks_asked || slowest.size() <= ranks_all)
        add(WhatIfSubject::rank, context.ranks.entries[static_cast<std::size_t>(slowest[r].rank_row)].rank.value, [rank_row = slowest[r].rank_row](const ShortKind& op, bool run) {
          return op.rank_row == rank_row && (!run || !op.with_others);
        });
    }
    asked.slow = false;
    add(WhatIfSubject::slow_ranks, -1, of_slow);
    const std::size_t few = (3 * slowest.size() + 99) / 100;
    is_slow.assign(is_slow.size(), false);
    for (std::size_t r = 0; r < few; ++r) is_slow[static_cast<std::size_t>(slowest[r].rank_row)] = true;
    add(WhatIfSubject::slowest_ranks, static_cast<std::int32_t>(few), of_slow);
    const std::int32_t last_stage = stage_of_row.empty() ? -1 : *std::max_element(stage_of_row.begin(), stage_of_row.end());
    for (std::int32_t stage = 0; stage <= last_stage; ++stage)
      add(WhatIfSubject::stage, stage, [&](const ShortKind& op, bool run) {
        return stage_of_row[static_cast<std::size_t>(op.rank_row)] == stage && (!run || !op.with_others);
      });
    // Transfers by what they do, like their peers; and those of a dimension without any time.
    std::set<CollectiveOp> ops;
    std::set<Dimension> dimensions;
    for (const ShortKind& op : step.kinds)
      if (op.with_others && op.transfer_known) {
        ops.insert(merged(op.op));
        dimensions.insert(op.dimension);
      }
    for (const CollectiveOp what : ops) {
      asked.op = what;
      add(WhatIfSubject::op, -1, [&](const ShortKind& op, bool run) { return run && op.with_others && merged(op.op) == what; });
    }
    asked.op = CollectiveOp::unknown;
    for (const Dimension dimension : dimensions) {
      asked.dimension = dimension;
      add(WhatIfSubject::dimension, -1,
          [&](const ShortKind& op, bool run) { return run && op.with_others && op.dimension == dimension; }, ShortChange::hidden);
    }
    for (auto& [of_case, number] : cases) {
      of_case.replayed_ns = row.replayed_ns;
      of_case.ideal_ns = row.ideal_ns;
      of_case.fixed_ns = replays.of(number).fixed_ns;
      of_case.only_ns = replays.of(number).only_ns;
      out.of<Case>().push_back(of_case);
    }
  }
  static CollectiveOp merged(CollectiveOp op) { return is_point_to_point(op) ? CollectiveOp::send_recv : op; }

  struct SlowRank {
    std::int32_t rank_row = -1;
    std::int64_t excess_ns = 0;  // of compute and launches over those of the peers
  };
  /// All ranks of the step, the slowest first.
  static std::vector<SlowRank> by_excess(const ShortGraph& step, std::size_t ranks_count) {
    std::vector<SlowRank> ranks(ranks_count);
    for (std::size_t i = 0; i < step.ops.size(); ++i) {
      const ShortKind& op = step.kinds[step.ops[i].kind];
      const ShortTimes times = step.times[i];
      SlowRank& rank = ranks[static_cast<std::size_t>(op.rank_row)];
      rank.rank_row = op.rank_row;
      rank.excess_ns += times.measured_gap_ns - times.ideal_gap_ns;
      if (!op.with_others) rank.excess_ns += times.measured_run_ns - times.ideal_run_ns;
    }
    std::erase_if(ranks, [](const SlowRank& rank) { return rank.rank_row < 0; });
    std::stable_sort(ranks.begin(), ranks.end(),
                     [](const SlowRank& a, const SlowRank& b) { return a.excess_ns > b.excess_ns; });
    return ranks;
  }

  struct Gain {
    WhatIfSubject subject = WhatIfSubject::compute;
    std::int32_t number = -1, replica = -1;
    Dimension dimension = Dimension::unknown;
    CollectiveOp op = CollectiveOp::unknown;
    double per_step_ns = 0, ratio = 0;
  };
  static ResultTable gains_table(std::vector<Gain> rows) {
    std::ranges::stable_sort(rows, std::ranges::greater(), &Gain::per_step_ns);
    const std::vector<ColumnSpec<Gain>> all{
        column("subject", &Gain::subject, "", "whose operations are like their peers', of a dimension: hidden; as in cases"),
        column("number", &Gain::number, "", "of the rank or stage; how many slowest ranks", -1),
        column("replica", &Gain::replica, "", "replica folder; -1 = none", -1),
        column("dimension", &Gain::dimension, "", "whose transfers are hidden"), column("op", &Gain::op, "", "of an operation"),
        column("gain_per_step_ns", &Gain::per_step_ns, "ns", "by how much a step is shorter, mean; < 0: longer"),
        column("gain_ratio", &Gain::ratio, "ratio", "part of the steps")};
    return make_table("gains", "what a step gains if only some operations change, the most first", all, rows);
  }

  static void report_cases(const Tables& tables, double replayed_ns, double ideal_ns, std::size_t steps_count, Report& out) {
    std::map<std::tuple<WhatIfSubject, std::int32_t, std::int32_t, Dimension, CollectiveOp>, std::int64_t> gain_ns;
    for (const Case& row : tables.of<Case>())
      gain_ns[{row.subject, row.replica, row.number, row.dimension, row.op}] += row.replayed_ns - row.fixed_ns;
    report_shares(tables, replayed_ns - ideal_ns, out);
    const auto steps = static_cast<double>(steps_count);
    const auto per_step = [&](double ns) { return milliseconds(ns / steps); };
    std::vector<Gain> gains;
    std::vector<std::string> lines;
    std::string rank_text, together_text, dimension_text;
    std::int64_t best_rank_ns = 0, best_dimension_ns = 0, together_ns = 0;
    const std::string slow_ranks = slow_ranks_text(tables);
    for (const auto& [which, ns] : gain_ns) {
      const auto& [subject, replica, number, dimension, op] = which;
      const double all_ns = static_cast<double>(ns), size_ns = std::abs(all_ns);
      gains.push_back({subject, number, replica, dimension, op, all_ns / steps, ratio(all_ns, replayed_ns)});
      const std::string saved = per_step(size_ns) + " (" + percent(ratio(size_ns, replayed_ns)) + ") of each step" +
                                (ns < 0 ? " lost: where it counts they run faster than their peers" : "");
      std::string text = std::string(to_text(subject));
      if (subject == WhatIfSubject::rank) text = rank_name(replica, RankId(number));
      if (subject == WhatIfSubject::stage) text.append(1, ' ').append(std::to_string(number));
      if (subject == WhatIfSubject::slow_ranks) text = slow_ranks;
      if (subject == WhatIfSubject::slowest_ranks) text = "the " + counted(static_cast<std::size_t>(number), "slowest rank");
      if (subject == WhatIfSubject::op) text.append(1, ' ').append(to_text(op));
      if (subject == WhatIfSubject::dimension)
        text = transfers_text(dimension) + " hidden: ";
      else
        text += subject == WhatIfSubject::slow_ranks ? " like their peers: " : " like its peers: ";
      lines.push_back("  " + text + saved);
      if (subject == WhatIfSubject::rank && ns > best_rank_ns)
        best_rank_ns = ns, rank_text = rank_name(replica, RankId(number)) + " alone like its peers saves " + saved;
      if (subject == WhatIfSubject::slow_ranks) together_ns = ns, together_text = slow_ranks + " like their peers save " + saved;
      if (subject == WhatIfSubject::dimension && ns > best_dimension_ns)
        best_dimension_ns = ns, dimension_text = "hiding the " + transfers_text(dimension) + " saves " + saved;
    }
    std::string line = "the GPU work of a step takes " + per_step(replayed_ns) + ", with every operation like its peers' " +
                       per_step(ideal_ns) + " (S = " + fmt::format("{:.3f}", ratio(replayed_ns, ideal_ns)) + ")";
    if (!rank_text.empty()) line += "; " + rank_text;
    if (100 * together_ns > 105 * best_rank_ns) line += "; " + together_text;
    if (!dimension_text.empty()) line += "; " + dimension_text;
    add_line(out.page, "what if", line);
    add_capped(out.details, lines);
    out.show(gains_table(std::move(gains)));
  }

  static std::string slow_ranks_text(const Tables& tables) {
    std::vector<std::int32_t> named;
    for (const Case& row : tables.of<Case>())
      if (row.subject == WhatIfSubject::rank && row.slow) named.push_back(row.number);
    return "all slow ranks (" + rank_list(named) + ") together";
  }

  static std::string transfers_text(Dimension dimension) {
    return dimension == Dimension::unknown ? "transfers (their dimension is unknown)"
                                           : "transfers of " + std::string(to_text(dimension));
  }

  /// Of the time by which the steps are longer than ideal.
  static void report_shares(const Tables& tables, double lost_ns, Report& out) {
    double slowest_ns = 0, stage_ns = 0;
    std::int32_t last_stage = -1;
    for (const Case& row : tables.of<Case>())
      if (row.subject == WhatIfSubject::stage) last_stage = std::max(last_stage, row.number);
    for (const Case& row : tables.of<Case>()) {
      const auto gain_ns = static_cast<double>(row.replayed_ns - row.fixed_ns);
      if (row.subject == WhatIfSubject::slowest_ranks) slowest_ns += gain_ns;
      if (row.subject == WhatIfSubject::stage && row.number == last_stage) stage_ns += gain_ns;
    }
    if (lost_ns <= 0) return;
    out.value("slowest_ranks_ratio", slowest_ns / lost_ns, "M_W: part of the loss that the slowest 3 % of ranks explain");
    if (last_stage >= 0) out.value("last_stage_ratio", stage_ns / lost_ns, "M_S: part that the last pipeline stage explains");
  }
};

}  // namespace

std::unique_ptr<Metric> what_if() { return define_metric<WhatIf>(); }

}  // namespace ccl
