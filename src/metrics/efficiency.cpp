// efficiency: how well the GPUs are used together, and whether imbalance or communication is to blame.
// Definition (the POP project's multiplicative efficiencies): useful = union of compute kernels of a GPU within the
// run's step window R(N) = [min over ranks of G start, max of G end] on the corrected clock; LB = mean / max useful,
// CommE = max useful / len(R), PE = LB × CommE = mean useful / len(R). Per step, and in 20 equal windows of each step.
// CommE = SerE × TE: SerE = max useful / length of the step replayed with transfers of length 0, TE = that length /
// len(R). Merge: sums and maxima.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/statistics.hpp"
#include "core/wide.hpp"
#include "exchange/measured_graph.hpp"
#include "metrics/clock_unknown.hpp"
#include "metrics/corrected_list.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"
#include "metrics/whole_steps.hpp"

namespace ccl {
namespace {

constexpr std::int32_t windows_count = 20;
// Of communication not matched with all its ranks: above one in so many transfers are not told from waits. A replay may be
// as much longer than what it replays.
constexpr std::int64_t most_unknown = 100;

struct Efficiency {
  static MetricInfo info() {
    return {.name = "efficiency",
            .unit = "ratio",
            .question = "How well are all GPUs used together: is it imbalance or communication that costs?",
            .definition =
                "POP: useful = union of compute kernels of a GPU within the run's step window R; load balance = mean / "
                "max useful, communication efficiency = max useful / len(R), parallel efficiency = their product = "
                "mean useful / len(R). Communication efficiency = serialisation (max useful / step replayed with transfers of "
                "length 0) x transfer (that step / len(R)); these two are absent where more than 1 % of the communication is "
                "not matched with all its ranks, or the replay does not cover the step's window, is longer than it or "
                "shorter than max useful. "
                "Headline: pooled over steps. Above 0.8 is acceptable.",
            .needs = "GPU events with steps; for several hosts collectives that align their clocks to a tenth of a step",
            .section = PageSection::further,
            .aliases = {},
            .wants = {},
            .needs_matching = true,
            .needs_records = true,
            .needs_segments = true,
            .needs_chains = true,
            .graph_of_several = true};
  }

  struct Sums {
    std::int64_t useful_sum_ns = 0, useful_max_ns = 0, gpus_count = 0;
    void combine(const Sums& other) {
      useful_sum_ns += other.useful_sum_ns;
      useful_max_ns = std::max(useful_max_ns, other.useful_max_ns);
      gpus_count += other.gpus_count;
    }
    double mean_ns() const { return ratio(static_cast<double>(useful_sum_ns), static_cast<double>(gpus_count)); }
  };

  template <class Row>
  static void add_columns(std::vector<ColumnSpec<Row>>& all) {
    all.push_back(column("length_ns", &Row::length_ns, "ns", "length of the window"));
    all.push_back(integer_column<Row>("gpus_count", "", "GPUs with a trace", {},
                                      [](const Row& row) { return row.sums.gpus_count; }));
    all.push_back(integer_column<Row>("useful_sum_ns", "ns", "sum over GPUs of the union of compute kernels", {},
                                      [](const Row& row) { return row.sums.useful_sum_ns; }));
    all.push_back(integer_column<Row>("useful_max_ns", "ns", "largest over GPUs", {},
                                      [](const Row& row) { return row.sums.useful_max_ns; }));
    all.push_back(derived<Row>("load_balance_ratio", "ratio", "mean / max useful", [](const Row& row) {
      return ratio(row.sums.mean_ns(), static_cast<double>(row.sums.useful_max_ns));
    }));
    all.push_back(derived<Row>("communication_efficiency_ratio", "ratio", "max useful / length", [](const Row& row) {
      return ratio(static_cast<double>(row.sums.useful_max_ns), static_cast<double>(row.length_ns));
    }));
    all.push_back(derived<Row>("parallel_efficiency_ratio", "ratio", "mean useful / length", [](const Row& row) {
      return ratio(row.sums.mean_ns(), static_cast<double>(row.length_ns));
    }));
  }

  struct Row {
    StepId step;
    std::int32_t replica = -1;
    std::int64_t start_ns = 0, length_ns = 0;
    Sums sums;
    std::int64_t ideal_ns = -1;  // -1: the replay does not give this window back, or transfers are not known
    /// A replay shorter than one GPU's compute lacks that GPU or lets its streams overlap: it tells nothing of waits. One that
    /// gets longer without transfers has wrong times.
    bool is_replayed() const {
      return ideal_ns >= 0 && ideal_ns >= sums.useful_max_ns && ideal_ns <= length_ns + length_ns / most_unknown;
    }
    auto key() const { return std::tuple(step, replica); }
    void combine(const Row& other) {
      if (start_ns != other.start_ns || length_ns != other.length_ns) return combine_windows(other);
      sums.combine(other.sums);
      ideal_ns = std::max(ideal_ns, other.ideal_ns);
    }
    // A graph without some of the ranks has a window of its own and tells nothing of this one.
    void combine_windows(const Row& other) {
      if (sums.gpus_count == 0) *this = other;
      ideal_ns = -1;
    }
    static TableInfo table() { return {"rows", "POP efficiencies of each step over all GPUs"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("start_ns", &Row::start_ns, "ns", "first GPU start over all ranks, corrected clock"));
      add_columns(all);
      all.push_back(column("ideal_network_ns", &Row::ideal_ns, "ns", "length of the step replayed without transfers", -1));
      all.push_back(derived<Row>("serialisation_efficiency_ratio", "ratio", "max useful / step without transfers",
                                 [](const Row& row) {
                                   return !row.is_replayed() ? std::numeric_limits<double>::quiet_NaN()
                                                           : ratio(static_cast<double>(row.sums.useful_max_ns),
                                                                   static_cast<double>(row.ideal_ns));
                                 }));
      all.push_back(derived<Row>("transfer_efficiency_ratio", "ratio", "step without transfers / length",
                                 [](const Row& row) {
                                   return !row.is_replayed() ? std::numeric_limits<double>::quiet_NaN()
                                                           : ratio(static_cast<double>(row.ideal_ns),
                                                                   static_cast<double>(row.length_ns));
                                 }));
      return all;
    }
  };
  struct Window {
    StepId step;
    std::int32_t replica = -1, window = 0;
    std::int64_t start_ns = 0, length_ns = 0;
    Sums sums;
    auto key() const { return std::tuple(step, replica, window); }
    void combine(const Window& other) { sums.combine(other.sums); }
    static TableInfo table() { return {"windows", "POP efficiencies in 20 equal windows of each step"}; }
    static std::vector<ColumnSpec<Window>> columns(const Resolver&) {
      std::vector<ColumnSpec<Window>> all = key_columns<Window>();
      all.push_back(column("window", &Window::window, "", "0 to 19, in time"));
      all.push_back(column("start_ns", &Window::start_ns, "ns", "begin of the window, corrected clock"));
      add_columns(all);
      return all;
    }
  };
  struct ByRank {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t useful_ns = 0;
    auto key() const { return std::tuple(step, rank, device, replica); }
    static TableInfo table() { return {"by_rank", "useful time of each GPU in the run's step window"}; }
    static std::vector<ColumnSpec<ByRank>> columns(const Resolver&) {
      std::vector<ColumnSpec<ByRank>> all = key_columns<ByRank>();
      all.push_back(column("useful_ns", &ByRank::useful_ns, "ns", "union of compute kernels in the window"));
      return all;
    }
  };
  struct Network {
    StepId step;
    std::int32_t replica = -1;
    std::int64_t measured_ns = 0, ideal_ns = 0;  // ideal 0: not known
    auto key() const { return std::tuple(step, replica); }
    static TableInfo table() { return {"ideal_network", "each step replayed with transfers of length 0"}; }
    static std::vector<ColumnSpec<Network>> columns(const Resolver&) {
      std::vector<ColumnSpec<Network>> all = key_columns<Network>();
      all.push_back(column("measured_ns", &Network::measured_ns, "ns", "length of the run's step window"));
      all.push_back(integer_column<Network>("ideal_ns", "ns", "its length when matched communication only synchronises", -1,
                                            [](const Network& row) { return row.ideal_ns > 0 ? row.ideal_ns : -1; }));
      return all;
    }
  };
  using Tables = RowTables<Row, Window, ByRank, Network>;

  static void graph(const MeasuredGraph& step, const ClosingContext& context, Tables& out) {
    if (is_alone(context)) return;
    Network row{step.step, step.replica, step.length_ns(), 0};
    if (tells_transfers(step) && step.length_ns() > 0) {
      std::vector<std::int64_t> run_ns = step.measured.run_ns;
      for (std::size_t i = 0; i < step.size(); ++i)
        if (is_with_others(step, i)) run_ns[i] = step.unseen.of(i) < 0 ? 0 : run_ns[i] - step.unseen.of(i);
      row.ideal_ns = replayed_length_ns(step, step.measured.gap_ns, run_ns);
      out.of<Row>().push_back({step.step, step.replica, step.start_ns, step.length_ns(), {}, row.ideal_ns});
    }
    out.of<Network>().push_back(row);
  }

  static void closing(const ClosingRank& rank, const ClosingContext& context, Tables& out) {
    for (const RankSegments& segments : rank.segments) {
      const CorrectedList compute(segments.compute, rank.entry.host_index, context.clock);
      for (const Step& step : rank.entry.facts.steps) {
        if (step.lost_events) continue;  // what is left of its compute would pass for all of it
        const std::int64_t number = step.number + rank.entry.step_shift;
        const Interval run = run_window(out.of<Row>(), rank.entry, number, context);
        if (run.length_ns() <= 0) continue;
        Row row;
        row.step = {rank.entry.iteration, number};
        row.replica = rank.entry.replica;
        row.start_ns = run.start_ns;
        row.length_ns = run.length_ns();
        const std::int64_t useful_ns = within(compute.list(), run);
        row.sums = {useful_ns, useful_ns, 1};
        out.of<Row>().push_back(row);
        out.of<ByRank>().push_back({row.step, rank.entry.rank, segments.device, row.replica, useful_ns});
        for (std::int32_t w = 0; w < windows_count; ++w) {
          const auto edge = [&](std::int32_t i) {
            return run.start_ns + scaled(run.length_ns(), i, windows_count);
          };
          const Interval part{edge(w), edge(w + 1)};
          const std::int64_t part_ns = within(compute.list(), part);
          out.of<Window>().push_back(
              {row.step, row.replica, w, part.start_ns, part.length_ns(), {part_ns, part_ns, 1}});
        }
      }
    }
    if (is_alone(context)) add_alone(rank, context, out);
    out.fold_all_when_doubled();
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
    if (tells_clock_error(context, "efficiency", out)) return;
    double mean_ns = 0, max_ns = 0, length_ns = 0;
    for (const Row& row : rows) {
      mean_ns += row.sums.mean_ns();
      max_ns += static_cast<double>(row.sums.useful_max_ns);
      length_ns += static_cast<double>(row.length_ns);
    }
    const double balance = ratio(mean_ns, max_ns), communication = ratio(max_ns, length_ns);
    out.value("parallel_efficiency_ratio", ratio(mean_ns, length_ns), "mean useful / step window, pooled over steps");
    out.value("load_balance_ratio", balance, "mean / max useful, pooled over steps");
    out.value("communication_efficiency_ratio", communication, "max useful / step window, pooled over steps");
    std::string line = percent(ratio(mean_ns, length_ns)) + " of all GPU time in the steps computes = load balance " +
                       percent(balance) + " x communication efficiency " + percent(communication) +
                       add_network(rows, max_ns, length_ns, out);
    const bool uncorrected = std::any_of(context.clock.hosts.begin(), context.clock.hosts.end(),
                                         [](const HostClock& host) { return !host.corrected; });
    if (uncorrected) {
      out.status = Status::partial;
      out.reason = "hosts without a common clock: step windows over all ranks are too long";
      line += " (some clocks are uncorrected)";
    }
    add_line(out.page, "efficiency", line);
    std::vector<std::string> lines;
    for (const Row& row : rows) {
      const auto most_ns = static_cast<double>(row.sums.useful_max_ns), step_ns = static_cast<double>(row.length_ns);
      lines.push_back("  " + step_name(row.step) + ": parallel efficiency " + percent(ratio(row.sums.mean_ns(), step_ns)) +
                      " = load balance " + percent(ratio(row.sums.mean_ns(), most_ns)) +
                      " x communication efficiency " + percent(ratio(most_ns, step_ns)));
    }
    add_capped(out.details, lines);
  }

  static bool is_alone(const ClosingContext& context) { return context.ranks.entries.size() == 1; }
  /// What graph() says of several ranks: none of its communication with others is told apart into waits and transfers, and
  /// without any the step takes as long without transfers.
  static void add_alone(const ClosingRank& rank, const ClosingContext& context, Tables& out) {
    std::set<std::int64_t> with_others;  // steps
    for (const CollectiveRecord& record : rank.records)
      if (record.group_size != 1 && record.dur_ns > 0) with_others.insert(record.step);
    for (const Step& step : rank.entry.facts.steps) {
      if (step.lost_events) continue;
      const std::int64_t number = step.number + rank.entry.step_shift;
      const Interval run = run_window(out.of<Row>(), rank.entry, number, context);
      if (run.length_ns() <= 0) continue;
      const bool known = !with_others.contains(number);
      Network row{{rank.entry.iteration, number}, rank.entry.replica, run.length_ns(), known ? run.length_ns() : 0};
      if (known) out.of<Row>().push_back({row.step, row.replica, run.start_ns, run.length_ns(), {}, row.ideal_ns});
      out.of<Network>().push_back(row);
    }
  }
  /// Whether nearly all of the communication is told apart into waits and transfers.
  static bool tells_transfers(const MeasuredGraph& step) {
    std::int64_t communication_ns = 0, unknown_ns = 0;
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (!is_with_others(step, i)) continue;
      communication_ns += step.ops[i].length_ns();
      if (step.unseen.of(i) == 0) unknown_ns += step.ops[i].length_ns();
    }
    return unknown_ns <= communication_ns / most_unknown;
  }
  /// " (waiting for each other … x transfers …)"; empty if a step does not replay: the two factors are of the same windows
  /// as their product.
  static std::string add_network(const std::vector<Row>& rows, double max_useful_ns, double length_ns, Report& out) {
    double ideal_ns = 0;
    for (const Row& row : rows)
      ideal_ns += row.is_replayed() ? static_cast<double>(row.ideal_ns) : std::numeric_limits<double>::quiet_NaN();
    const double serialisation = ratio(max_useful_ns, ideal_ns), transfer = ratio(ideal_ns, length_ns);
    out.value("serialisation_efficiency_ratio", serialisation, "max useful / replay without transfers");
    out.value("transfer_efficiency_ratio", transfer, "replay without transfers / step window");
    if (std::isnan(serialisation) || std::isnan(transfer)) return "";
    return " (serialisation " + percent(serialisation) + ": waits and gaps without transfers; transfer " + percent(transfer) + ")";
  }
  static std::int64_t corrected(const ClosingContext& context, const RankEntry& entry, std::int64_t t_ns) {
    return entry.host_index < 0 ? t_ns : context.clock.corrected(entry.host_index, t_ns);
  }
  // Every worker knows the steps of every rank, so the window needs no exchange.
  static Interval run_window(const std::vector<Row>& rows, const RankEntry& own, std::int64_t number,
                             const ClosingContext& context) {
    // The rank before had the same steps: one look through all ranks per step, not one per rank and step.
    // graph()'s rows are no such: their window lacks ranks that take no part.
    const auto known = std::find_if(rows.rbegin(), rows.rend(), [&](const Row& row) {
      return row.sums.gpus_count > 0 && row.step == StepId{own.iteration, number} && row.replica == own.replica;
    });
    if (known != rows.rend()) return {known->start_ns, known->start_ns + known->length_ns};
    Interval run{INT64_MAX, INT64_MIN};
    for (const RankEntry& entry : context.ranks.entries) {
      if (entry.iteration != own.iteration || entry.replica != own.replica) continue;
      for (const Step& step : entry.facts.steps) {
        if (step.number + entry.step_shift != number) continue;
        for (const DeviceWindow& window : step.devices) {
          if (window.gpu_start_ns == absent_ns) continue;
          run.start_ns = std::min(run.start_ns, corrected(context, entry, window.gpu_start_ns));
          run.end_ns = std::max(run.end_ns, corrected(context, entry, window.gpu_end_ns));
        }
      }
    }
    return run.start_ns > run.end_ns ? Interval{} : run;
  }
  static std::int64_t within(const Intervals& merged, Interval window) {
    const auto first = std::partition_point(merged.begin(), merged.end(),
                                            [&](const Interval& i) { return i.end_ns <= window.start_ns; });
    std::int64_t total = 0;
    for (auto at = first; at != merged.end() && at->start_ns < window.end_ns; ++at)
      total += std::min(at->end_ns, window.end_ns) - std::max(at->start_ns, window.start_ns);
    return total;
  }
};

}  // namespace

std::unique_ptr<Metric> efficiency() { return define_metric<Efficiency>(); }

}  // namespace ccl
