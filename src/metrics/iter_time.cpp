// iter_time: how long a training step takes, by CPU marker and by GPU window.
// Definition: step_ns = duration of the CPU ProfilerStep#N; gpu_span_ns = len of the step's GPU window;
// period_ns = gap + gpu_span, the gap of the first step since its CPU marker.
// Merge: keys are disjoint. Statistics over steps of the maximum over ranks: exact, from the rows.
#include "core/statistics.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"

namespace ccl {
namespace {

struct IterTime {
  static MetricInfo info() {
    return {.name = "iter_time",
            .unit = "ms",
            .question = "How long does a training step take?",
            .definition =
                "Mean over steps of the longest CPU step (ProfilerStep#N) over ranks; beside it the period "
                "on the GPU: device-idle gap before the step's first kernel (of the first step in the trace: since the "
                "CPU marker) plus its GPU window.",
            .needs = "ProfilerStep markers for step_ns; GPU events for the period",
            .section = PageSection::step_time,
            .aliases = {"avg_step_time"},
            .wants = {}};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t step_ns = -1, gpu_span_ns = -1, gap_ns = -1;
    auto key() const { return std::tuple(step, rank, device, replica); }
    std::int64_t period_ns() const { return gpu_span_ns < 0 ? -1 : gap_ns + gpu_span_ns; }
    static TableInfo table() { return {"rows", "duration of each step on each rank and device"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("step_ns", &Row::step_ns, "ns", "duration of the CPU step ProfilerStep#N", -1));
      all.push_back(
          column("gpu_span_ns", &Row::gpu_span_ns, "ns", "first start to last end of the step's GPU events", -1));
      all.push_back(
          column("gap_ns", &Row::gap_ns, "ns",
                 "device idle between everything earlier and the first GPU event; where the trace holds nothing earlier, "
                 "between the CPU marker and that event", -1));
      all.push_back(integer_column<Row>("period_ns", "ns", "gap_ns + gpu_span_ns", -1,
                                        [](const Row& row) { return row.period_ns(); }));
      return all;
    }
  };
  using Tables = RowTables<Row>;
  /// The longest over ranks and devices; -1: none has it.
  struct ByStep {
    StepId step;
    std::int64_t step_ns = -1, period_ns = -1;
  };

  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    for (const Step& step : trace.steps)
      for (const DeviceWindow& window : step.devices) {
        Row row;
        row.step.step = step.number;
        row.device = window.device;
        if (step.source == StepSource::marker) row.step_ns = step.end_ns - step.start_ns;
        if (window.gpu_start_ns != absent_ns) {
          row.gpu_span_ns = window.gpu_end_ns - window.gpu_start_ns;
          row.gap_ns = window.gap_ns;
        }
        out.of<Row>().push_back(row);
      }
  }

  static void report(const Tables& tables, const ReportContext&, Report& out) {
    const auto& rows = tables.of<Row>();
    const std::vector<ByStep> steps = largest_per_step(rows);
    const std::vector<double> step_ns = known(steps, &ByStep::step_ns), period_ns = known(steps, &ByStep::period_ns);
    out.show(step_table(steps));
    if (step_ns.empty() && period_ns.empty()) return out.absent("no step has a duration");
    CappedLines lines;
    const std::vector<double>& shown = step_ns.empty() ? period_ns : step_ns;
    add_statistics(out, "step", step_ns);
    add_statistics(out, "period", period_ns);
    if (step_ns.empty()) out.status = Status::partial, out.reason = "no ProfilerStep markers: GPU period only";
    std::string line = milliseconds(mean(shown)) + " mean of the slowest rank over " + counted(shown.size(), "step");
    if (shown.size() > 1)
      line += " (p50 " + milliseconds(percentile(shown, 50)) + ", p95 " + milliseconds(percentile(shown, 95)) + ")";
    if (!step_ns.empty() && !period_ns.empty()) line += "; GPU period " + milliseconds(mean(period_ns));
    add_line(out.page, "step time", line);
    for (const Row& row : rows)
      lines.add([&] {
        return "  " + step_name(row.step) + ", " + rank_name(row.replica, row.rank) + ": step " +
               (row.step_ns < 0 ? "unknown" : milliseconds(static_cast<double>(row.step_ns))) + ", GPU period " +
               (row.gpu_span_ns < 0 ? "unknown" : milliseconds(static_cast<double>(row.period_ns())));
      });
    lines.add_to(out.details);
  }

 private:
  // In step order. Rows are sorted by step.
  static std::vector<ByStep> largest_per_step(const std::vector<Row>& rows) {
    std::vector<ByStep> out;
    for (const Row& row : rows) {
      if (out.empty() || out.back().step != row.step) out.push_back({row.step});
      out.back().step_ns = std::max(out.back().step_ns, row.step_ns);
      out.back().period_ns = std::max(out.back().period_ns, row.period_ns());
    }
    return out;
  }

  static std::vector<double> known(const std::vector<ByStep>& steps, std::int64_t ByStep::*value) {
    std::vector<double> out;
    for (const ByStep& step : steps)
      if (step.*value >= 0) out.push_back(static_cast<double>(step.*value));
    return out;
  }

  static ResultTable step_table(const std::vector<ByStep>& steps) {
    std::vector<ColumnSpec<ByStep>> all = key_columns<ByStep>();
    all.push_back(column("step_ns", &ByStep::step_ns, "ns", "longest CPU step over ranks", -1));
    all.push_back(column("period_ns", &ByStep::period_ns, "ns", "longest period on the GPU over ranks and devices", -1));
    return make_table("by_step", "duration of each step on the slowest rank", all, steps);
  }

  static void add_statistics(Report& out, const std::string& what, const std::vector<double>& values) {
    if (values.empty()) return;
    const std::string of = " over steps of the largest over ranks";
    out.value(what + "_mean_ns", mean(values), "mean" + of);
    out.value(what + "_min_ns", *std::min_element(values.begin(), values.end()), "minimum" + of);
    out.value(what + "_max_ns", *std::max_element(values.begin(), values.end()), "maximum" + of);
    out.value(what + "_p50_ns", percentile(values, 50), "median" + of);
    out.value(what + "_p95_ns", percentile(values, 95), "95th percentile" + of);
    out.value(what + "_p99_ns", percentile(values, 99), "99th percentile" + of);
    out.value(what + "_std_ns", standard_deviation(values), "standard deviation (n - 1)" + of);
    out.value(what + "_inner_mean_ns", inner_mean(values), "mean without the first and the last step" + of);
  }
};

}  // namespace

std::unique_ptr<Metric> iter_time() { return define_metric<IterTime>(); }

}  // namespace ccl
