// variability: how steady the steps are, from rank to rank and from step to step.
// Definition: cv = std (n − 1) / mean of the step period and of the compute time len(K), across ranks within a step and
// across steps within a rank. The period is evened out by synchronisation; compute is not.
// Merge: keys are disjoint. Headline: largest cv of the period across steps over ranks.
#include <cmath>
#include <map>

#include "core/statistics.hpp"
#include "metrics/pooled.hpp"
#include "metrics/trace_views.hpp"

namespace ccl {
namespace {

struct Variability {
  static MetricInfo info() {
    return {.name = "variability",
            .unit = "% (cv)",
            .question = "How steady are the steps, from rank to rank and from step to step?",
            .definition = "Coefficient of variation (std with n - 1 / mean) of the step period across the steps of a "
                          "rank, largest over ranks; also of the compute time, and of both across ranks within a step.",
            .needs = "at least two steps of a rank, or two ranks of a step",
            .section = PageSection::further,
            .aliases = {},
            .wants = {}};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t period_ns = 0, compute_ns = 0;
    auto key() const { return std::tuple(step, rank, device, replica); }
    static TableInfo table() { return {"rows", "period and compute time of each step on each rank and device"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("period_ns", &Row::period_ns, "ns", "gap + GPU window"));
      all.push_back(column("compute_ns", &Row::compute_ns, "ns", "union of compute kernels, len(K)"));
      return all;
    }
  };
  using Tables = RowTables<Row>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    for_each_step(trace, context.views->busy(), [&](const StepBusy& at) {
      Row row;
      row.step.step = at.step.number;
      row.device = at.device;
      row.period_ns = at.period_ns();
      row.compute_ns = at.sums.budget.compute_ns;
      out.of<Row>().push_back(row);
    });
  }

  static void report(const Tables& tables, const ReportContext&, Report& out) {
    const auto& rows = tables.of<Row>();
    if (rows.empty()) return out.absent("no GPU event belongs to a step");
    std::map<RankKey, Spread> ranks;
    std::map<StepId, Spread> steps;
    for (const Row& row : rows) {
      ranks[{row.replica, row.rank}].add(row);
      steps[row.step].add(row);
    }
    std::vector<OfRank> by_rank;
    for (const auto& [key, spread] : ranks) by_rank.push_back({key.second, key.first, spread.cvs()});
    std::vector<OfStep> by_step;
    for (const auto& [step, spread] : steps) by_step.push_back({step, spread.cvs()});
    out.extra_tables.push_back(make_table("by_rank", "variation across the steps of each rank", columns<OfRank>("steps"), by_rank));
    out.extra_tables.push_back(make_table("by_step", "variation across the ranks of each step", columns<OfStep>("ranks"), by_step));
    const auto period_steps = largest(by_rank, &Cvs::period), compute_steps = largest(by_rank, &Cvs::compute);
    const auto period_ranks = largest(by_step, &Cvs::period), compute_ranks = largest(by_step, &Cvs::compute);
    if (std::isnan(period_steps.first) && std::isnan(period_ranks.first))
      return out.not_applicable("one step of one rank: nothing to compare");
    out.value("period_across_steps_cv_max_ratio", period_steps.first, "largest over ranks");
    out.value("compute_across_steps_cv_max_ratio", compute_steps.first, "largest over ranks");
    out.value("period_across_ranks_cv_max_ratio", period_ranks.first, "largest over steps");
    out.value("compute_across_ranks_cv_max_ratio", compute_ranks.first, "largest over steps");
    std::string line;
    if (!std::isnan(period_steps.first)) {
      const OfRank& worst = by_rank[period_steps.second];
      out.value("period_across_steps_cv_max_rank", worst.rank.value, "rank with the largest");
      line = "across steps: period cv up to " + percent(period_steps.first) + " (" + rank_name(worst.replica, worst.rank) +
             "), compute " + percent(compute_steps.first);
    }
    if (!std::isnan(period_ranks.first))
      line += std::string(line.empty() ? "" : "; ") + "across ranks: period " + percent(period_ranks.first) +
              ", compute " + (std::isnan(compute_ranks.first) ? "unknown" : percent(compute_ranks.first));
    add_line(out.page, "variability", line);
    CappedLines lines;
    for (const OfRank& row : by_rank)
      lines.add([&] {
        return "  " + rank_name(row.replica, row.rank) + " over " + std::to_string(row.cvs.values_count) +
               " steps: period cv " + shown(row.cvs.period) + ", compute cv " + shown(row.cvs.compute);
      });
    for (const OfStep& row : by_step)
      lines.add([&] {
        return "  " + step_name(row.step) + " over " + std::to_string(row.cvs.values_count) +
               " ranks: period cv " + shown(row.cvs.period) + ", compute cv " + shown(row.cvs.compute);
      });
    lines.add_to(out.details);
  }

 private:
  struct Cvs {
    std::int64_t values_count = 0;
    double period = 0, compute = 0;
  };
  struct OfRank {
    RankId rank;
    std::int32_t replica;
    Cvs cvs;
  };
  struct OfStep {
    StepId step;
    Cvs cvs;
  };
  struct Spread {
    std::vector<double> period, compute;
    void add(const Row& row) {
      period.push_back(static_cast<double>(row.period_ns));
      compute.push_back(static_cast<double>(row.compute_ns));
    }
    Cvs cvs() const {
      return {static_cast<std::int64_t>(period.size()), ratio(standard_deviation(period), mean(period)),
              ratio(standard_deviation(compute), mean(compute))};
    }
  };

  static std::string shown(double cv) { return std::isnan(cv) ? "unknown" : percent(cv); }

  // Largest known value and its row; NaN if none is known.
  template <class Of>
  static std::pair<double, std::size_t> largest(const std::vector<Of>& rows, double Cvs::*member) {
    std::pair<double, std::size_t> out{std::nan(""), 0};
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (const double cv = rows[i].cvs.*member; !std::isnan(cv) && !(cv <= out.first)) out = {cv, i};
    return out;
  }

  template <class Of>
  static std::vector<ColumnSpec<Of>> columns(const std::string& over) {
    std::vector<ColumnSpec<Of>> all = key_columns<Of>();
    all.push_back(integer_column<Of>(over + "_count", "", "values: " + over + ", each device", {},
                                     [](const Of& row) { return row.cvs.values_count; }));
    all.push_back(derived<Of>("period_cv_ratio", "", "std / mean of period_ns across " + over,
                              [](const Of& row) { return row.cvs.period; }));
    all.push_back(derived<Of>("compute_cv_ratio", "", "std / mean of compute_ns across " + over,
                              [](const Of& row) { return row.cvs.compute; }));
    return all;
  }
};

}  // namespace

std::unique_ptr<Metric> variability() { return define_metric<Variability>(); }

}  // namespace ccl
