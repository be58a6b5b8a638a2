// straggler: which rank computes longer than its peers, and what synchronising costs.
// Definition: x = mean over steps of len(K), compared within a pipeline stage (StepsOfStage: over like steps);
// flagged if x / median ≥ 1.05 and 0.6745·(x − median)/MAD > 3.5 (MAD = 0: the ratio alone), absent
// for fewer than three ranks. load_imbalance = (max − mean)/mean; sync_overhead = mean over ranks of Σ wait per step.
// The length of a step carries no signal: synchronous ranks all have the same. Merge: sums.
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/statistics.hpp"
#include "metrics/not_judged.hpp"
#include "metrics/pipeline_stage.hpp"
#include "metrics/pooled.hpp"
#include "metrics/summed.hpp"
#include "metrics/trace_views.hpp"

namespace ccl {
namespace {

struct Straggler {
  static MetricInfo info() {
    return {.name = "straggler",
            .unit = "% (load imbalance)",
            .question = "Which rank computes longer than its peers, and what does synchronising cost?",
            .definition = "Compute len(K) of a step, mean over steps, compared with the ranks of the same pipeline stage "
                          "(a rank that has other steps than most of them against their medians in the steps that it shares): "
                          "(max - mean) / mean; a rank is flagged at 1.05 x median and a robust z above 3.5. What of it "
                          "communication overlaps does not count: a rank that never waits overlaps nothing. Synchronisation = sum of the waits in matched collectives. Who makes the others "
                          "wait is answered by straggler_lag.",
            .needs = "GPU kernels inside steps; three ranks of a stage for a verdict, matched collectives for waits",
            .section = PageSection::further,
            .aliases = {"load_imbalance_ratio"},
            .wants = {},
            .needs_matching = true};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t replica = -1;
    std::int64_t compute_ns = 0, compute_only_ns = 0, period_ns = 0, wait_ns = 0, matched_count = 0;
    auto key() const { return std::tuple(step, rank, replica); }
    void combine(const Row& other) {
      compute_ns += other.compute_ns;
      compute_only_ns += other.compute_only_ns;
      period_ns += other.period_ns;
      wait_ns += other.wait_ns;
      matched_count += other.matched_count;
    }
    static TableInfo table() { return {"rows", "compute and waiting of each step on each rank"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("compute_ns", &Row::compute_ns, "ns", "union of its compute kernels, devices added"));
      all.push_back(column("compute_only_ns", &Row::compute_only_ns, "ns", "compute without communication, devices added"));
      all.push_back(column("period_ns", &Row::period_ns, "ns", "gap + GPU window, devices added"));
      all.push_back(integer_column<Row>("wait_ns", "ns", "sum of its waits in matched collectives", -1,
                                        [](const Row& row) { return row.matched_count == 0 ? -1 : row.wait_ns; }));
      all.push_back(column("matched_count", &Row::matched_count, "", "matched symmetric collectives"));
      return all;
    }
  };
  using Tables = RowTables<Row>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    for_each_step(trace, context.views->busy(), [&](const StepBusy& at) {
      Row row;
      row.step.step = at.step.number;
      row.compute_ns = at.sums.budget.compute_ns;
      row.compute_only_ns = at.sums.budget.compute_only_ns;
      row.period_ns = at.period_ns();
      out.of<Row>().push_back(row);
    });
  }

  static void closing(const ClosingRank& rank, const ClosingContext&, Tables& out) {
    Summed<Row> steps;
    for (std::size_t i = 0; i < rank.verdicts.size(); ++i) {
      const RecordVerdict& verdict = rank.verdicts[i];
      if (verdict.last_rank < 0 || verdict.transfer_ns < 0 || rank.records[i].step == outside_step) continue;
      Row row;
      row.step = {rank.entry.iteration, rank.records[i].step};
      row.rank = rank.entry.rank;
      row.replica = rank.entry.replica;
      row.wait_ns = rank.records[i].dur_ns - verdict.transfer_ns;
      row.matched_count = 1;
      steps.add(row);
    }
    steps.move_to(out.of<Row>());
    out.fold_when_doubled<Row>();
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const auto& rows = tables.of<Row>();
    if (rows.empty()) return out.absent("no GPU event belongs to a step");
    std::vector<OfRank> ranks = ranks_of(rows, context);
    const double imbalance = compare_within_stages(ranks);
    out.extra_tables.push_back(make_table("by_rank", "compute of each rank against its stage", columns(), ranks));
    const PooledRatio waiting = pooled_ratio(rows, [](const Row& r) { return r.wait_ns; },
                                             [](const Row& r) { return r.matched_count > 0 ? r.period_ns : 0; });
    if (std::isnan(imbalance)) return out.not_applicable("one rank of a stage: nothing to compare");
    const auto worst = std::max_element(ranks.begin(), ranks.end(), [](const OfRank& a, const OfRank& b) {
      return (std::isnan(a.ratio_to_median) ? 0 : a.ratio_to_median) < (std::isnan(b.ratio_to_median) ? 0 : b.ratio_to_median);
    });
    std::int64_t flagged = 0, judged = 0;
    std::string names;
    for (const OfRank& rank : ranks) {
      judged += rank.judged ? 1 : 0;
      if (!rank.flagged) continue;
      if (++flagged <= 3) names += (names.empty() ? "" : ", ") + rank_name(rank.replica, rank.rank) + fmt::format(" ({:.2f} x median)", rank.ratio_to_median);
    }
    out.value("load_imbalance_ratio", imbalance, "(max - mean) / mean of compute, the largest over stages");
    out.value("stragglers_count", judged == 0 ? std::nan("") : static_cast<double>(flagged), "ranks flagged");
    out.value("worst_rank", worst->rank.value, "rank with the largest compute against its stage's median");
    out.value("worst_to_median_ratio", worst->ratio_to_median, "its compute / median of its stage");
    out.value("sync_overhead_of_period_ratio", waiting.value, "waits in matched collectives, of the step period");
    out.value("sync_overhead_per_step_ns", wait_per_step(rows), "mean over ranks and steps of the summed waits");
    std::string line = judged == 0 ? "fewer than three ranks of a stage: no verdict" : flagged == 0 ? "no rank computes longer than its peers" : "longer than its peers: " + names;
    line += "; load imbalance " + percent(imbalance) + fmt::format(" (largest: {}, {:.2f} x median)", rank_name(worst->replica, worst->rank), worst->ratio_to_median);
    if (waiting.ranks_count > 0) line += "; waiting " + percent(waiting.value) + " of the step period";
    add_line(out.page, "compute", line);
    // That no rank is flagged says nothing of those that were not looked at; the line "late" says it of lags.
    const NotJudged left = not_judged(context.ranks, StepsBy::rank_alone);
    const std::string& names_left = flagged > 0 ? left.with_trace : left.all;
    if (judged > 0 && !names_left.empty()) add_line(out.page, "", "not judged: " + names_left);
    CappedLines lines;
    for (const OfRank& rank : ranks)
      lines.add([&] {
        return fmt::format("  {}{}: compute {} per step, {:.3f} x median, robust z {:.2f}{}", rank_name(rank.replica, rank.rank),
                           rank.stage < 0 ? "" : fmt::format(" (stage {})", rank.stage), milliseconds(rank.compute_ns),
                           rank.ratio_to_median, rank.robust_z, rank.flagged ? ", flagged" : "");
      });
    lines.add_to(out.details);
  }

 private:
  struct OfRank {
    RankId rank;
    std::int32_t replica = -1, stage = -1;
    std::int64_t steps_count = 0;
    double compute_ns = 0;   // mean over its steps
    double compared_ns = 0;  // what is compared: mean over the steps of its stage
    bool compared = true;    // it shares a step with another rank of its stage
    double ratio_to_median = 0, robust_z = 0;
    bool judged = false, flagged = false;
  };

  static std::vector<OfRank> ranks_of(const std::vector<Row>& rows, const ReportContext& context) {
    std::map<RankKey, std::vector<const Row*>> by_rank;
    for (const Row& row : rows)
      if (row.period_ns != 0) by_rank[{row.replica, row.rank}].push_back(&row);
    std::map<RankKey, std::int32_t> stages;
    std::set<RankKey> own_numbers;
    const PipelineStages places(context.groups, context.workload.mesh);
    for (const RankEntry& entry : context.ranks.entries) {
      stages.try_emplace({entry.replica, entry.rank}, places.of(entry).stage);
      if (!entry.takes_part) own_numbers.insert({entry.replica, entry.rank});
    }
    std::vector<OfRank> out;
    std::map<std::int32_t, StepsOfStage> steps;
    for (const auto& [key, own] : by_rank) {
      OfRank rank{.rank = key.second, .replica = key.first, .stage = stages[key], .steps_count = std::ssize(own)};
      double sum = 0;
      for (const Row* row : own) sum += static_cast<double>(row->compute_ns);
      rank.compute_ns = rank.compared_ns = ratio(sum, static_cast<double>(own.size()));
      out.push_back(rank);
      if (!own_numbers.contains(key)) steps[rank.stage].add(own);
    }
    for (OfRank& rank : out)
      if (const RankKey key{rank.replica, rank.rank}; !own_numbers.contains(key)) steps[rank.stage].compare(by_rank[key], rank);
    return out;
  }

  /// Compute of the ranks of a stage by step. One rank's file may begin a step earlier than the others', at a slow one.
  class StepsOfStage {
   public:
    void add(const std::vector<const Row*>& own) {
      ++ranks_count_;
      for (const Row* row : own) by_step_[row->step].push_back(static_cast<double>(row->compute_ns));
    }
    /// Where all have the same steps the mean over them is compared. Else the mean over the steps that it shares with a peer,
    /// as it were over the steps that half of the ranks have: times the mean of the stage's medians in these / in its own.
    void compare(const std::vector<const Row*>& own, OfRank& rank) {
      settle();
      if (all_have_all_) return;
      double sum = 0, medians = 0, count = 0;
      for (const Row* row : own) {
        const std::vector<double>& values = by_step_.at(row->step);
        if (values.size() < 2) continue;
        sum += static_cast<double>(row->compute_ns);
        medians += medians_.at(row->step);
        count += 1;
      }
      rank.compared = count > 0;
      rank.compared_ns = ratio(sum, count) * ratio(usual_ns_, ratio(medians, count));
    }

   private:
    void settle() {
      if (settled_) return;
      settled_ = true;
      double sum = 0, count = 0;
      for (const auto& [step, values] : by_step_) {
        all_have_all_ = all_have_all_ && values.size() == ranks_count_;
        const double middle = medians_[step] = median(values);
        if (2 * values.size() < ranks_count_) continue;
        sum += middle, count += 1;
      }
      for (const auto& [step, middle] : medians_)
        if (count == 0) usual_ns_ += middle / static_cast<double>(medians_.size());
      if (count > 0) usual_ns_ = sum / count;
    }

    std::size_t ranks_count_ = 0;
    bool settled_ = false, all_have_all_ = true;
    double usual_ns_ = 0;
    std::map<StepId, std::vector<double>> by_step_;
    std::map<StepId, double> medians_;
  };

  // Largest load imbalance over the stages with at least two ranks; NaN without one.
  static double compare_within_stages(std::vector<OfRank>& ranks) {
    std::map<std::int32_t, std::vector<double>> stages;
    for (const OfRank& rank : ranks)
      if (rank.compared) stages[rank.stage].push_back(rank.compared_ns);
    struct Usual {
      double middle, deviation;
    };
    std::map<std::int32_t, Usual> usual;  // once a stage: for each rank anew would cost ranks²
    for (const auto& [stage, peers] : stages) usual[stage] = {median(peers), median_absolute_deviation(peers)};
    for (OfRank& rank : ranks) {
      if (!rank.compared) {
        rank.ratio_to_median = rank.robust_z = std::nan("");
        continue;
      }
      const std::vector<double>& peers = stages[rank.stage];
      const auto [middle, deviation] = usual[rank.stage];
      rank.ratio_to_median = ratio(rank.compared_ns, middle);
      rank.robust_z = ratio(0.6745 * (rank.compared_ns - middle), deviation);
      rank.judged = peers.size() >= 3;
      rank.flagged = rank.judged && rank.ratio_to_median >= 1.05 && (deviation == 0 || rank.robust_z > 3.5);
    }
    double largest = std::nan("");
    for (const auto& [stage, peers] : stages) {
      if (peers.size() < 2) continue;
      const double imbalance = ratio(*std::max_element(peers.begin(), peers.end()) - mean(peers), mean(peers));
      if (!(imbalance <= largest)) largest = imbalance;
    }
    return largest;
  }

  static double wait_per_step(const std::vector<Row>& rows) {
    double sum = 0, count = 0;
    for (const Row& row : rows)
      if (row.matched_count > 0) sum += static_cast<double>(row.wait_ns), count += 1;
    return ratio(sum, count);
  }

  static std::vector<ColumnSpec<OfRank>> columns() {
    std::vector<ColumnSpec<OfRank>> all = key_columns<OfRank>();
    all.push_back(column("stage", &OfRank::stage, "", "stage of the pipeline", -1));
    all.push_back(column("steps_count", &OfRank::steps_count, "", "steps with GPU events"));
    all.push_back(column("compute_mean_ns", &OfRank::compute_ns, "ns", "mean over its steps of its compute"));
    all.push_back(column("compared_ns", &OfRank::compared_ns, "ns",
                         "the same over the steps that it shares with peers, as it were over the steps that half of the "
                         "stage's ranks have"));
    all.push_back(column("ratio_to_median", &OfRank::ratio_to_median, "", "compared_ns / median of the stage's ranks"));
    all.push_back(column("robust_z", &OfRank::robust_z, "", "0.6745 x (value - median) / MAD; NaN if MAD is 0"));
    all.push_back(column("judged", &OfRank::judged, "", "the stage has at least three ranks that share steps"));
    all.push_back(column("flagged", &OfRank::flagged, "", "computes longer than its peers"));
    return all;
  }
};

}  // namespace

std::unique_ptr<Metric> straggler() { return define_metric<Straggler>(); }

}  // namespace ccl
