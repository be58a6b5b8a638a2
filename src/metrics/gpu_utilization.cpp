// gpu_utilization: how much of a step the GPU is busy, and how much of it computes.
// Definition: busy = len(C ∪ K ∪ M), compute = len(K), copies = len(M) per (step, rank, device); shares divide by
// period = gap + len(GPU window). A GPU that waits in a collective is busy.
// Merge: keys are disjoint. Headline: Σ busy / Σ period, Σ compute / Σ period.
#include "metrics/pooled.hpp"
#include "metrics/trace_views.hpp"

namespace ccl {
namespace {

struct GpuUtilization {
  static MetricInfo info() {
    return {.name = "gpu_utilization",
            .unit = "%",
            .question = "How much of a step is the GPU busy, and how much of it does it compute?",
            .definition =
                "Sum of len(C | K | M) / sum of the step periods over ranks, devices and steps; beside it "
                "len(K) for compute. Waiting inside a collective counts as busy, not as compute.",
            .needs = "GPU events",
            .section = PageSection::further,
            .aliases = {},
            .wants = {}};
  }

  template <class Row>
  static void add_columns(std::vector<ColumnSpec<Row>>& all) {
    all.push_back(column("period_ns", &Row::period_ns, "ns", "step: gap + GPU window; whole file: GPU window"));
    all.push_back(column("busy_ns", &Row::busy_ns, "ns", "any kernel, copy or set runs"));
    all.push_back(column("compute_ns", &Row::compute_ns, "ns", "union of compute kernels"));
    all.push_back(column("communication_ns", &Row::communication_ns, "ns", "union of communication kernels"));
    all.push_back(column("memory_ns", &Row::memory_ns, "ns", "union of copies and sets"));
    all.push_back(integer_column<Row>("idle_ns", "ns", "period_ns - busy_ns", {},
                                      [](const Row& row) { return row.period_ns - row.busy_ns; }));
    all.push_back(column("kernels_count", &Row::kernels_count, "", "compute and communication kernels"));
    all.push_back(column("memory_count", &Row::memory_count, "", "copies and sets"));
    all.push_back(derived<Row>("busy_ratio", "", "busy_ns / period_ns", [](const Row& row) {
      return ratio(static_cast<double>(row.busy_ns), static_cast<double>(row.period_ns));
    }));
    all.push_back(derived<Row>("compute_ratio", "", "compute_ns / period_ns", [](const Row& row) {
      return ratio(static_cast<double>(row.compute_ns), static_cast<double>(row.period_ns));
    }));
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t period_ns = 0, busy_ns = 0, compute_ns = 0, communication_ns = 0, memory_ns = 0;
    std::int64_t kernels_count = 0, memory_count = 0;
    auto key() const { return std::tuple(step, rank, device, replica); }
    static TableInfo table() { return {"rows", "busy time of each step on each rank and device"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      add_columns(all);
      return all;
    }
  };
  struct Whole {
    std::int32_t iteration = -1;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t period_ns = 0, busy_ns = 0, compute_ns = 0, communication_ns = 0, memory_ns = 0;
    std::int64_t kernels_count = 0, memory_count = 0;
    auto key() const { return std::tuple(iteration, rank, device, replica); }
    static TableInfo table() { return {"whole", "busy time of the whole file, events outside every step included"}; }
    static std::vector<ColumnSpec<Whole>> columns(const Resolver&) {
      std::vector<ColumnSpec<Whole>> all = key_columns<Whole>();
      add_columns(all);
      return all;
    }
  };
  using Tables = RowTables<Row, Whole>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    const BusyTrace& busy = context.views->busy();
    for_each_step(trace, busy, [&](const StepBusy& at) {
      Row row;
      row.step.step = at.step.number;
      fill(row, at.sums.budget, at.sums.events_count, at.device, at.window.gap_ns);
      out.of<Row>().push_back(row);
    });
    for (std::size_t d = 0; d < trace.devices.size(); ++d) {
      Whole whole;
      fill(whole, busy.whole()[d].whole_budget(), busy.whole()[d].events_count, trace.devices[d], 0);
      out.of<Whole>().push_back(whole);
    }
  }

  static void report(const Tables& tables, const ReportContext&, Report& out) {
    const auto& rows = tables.of<Row>();
    if (tables.of<Whole>().empty()) return out.absent("no trace has GPU events");
    if (rows.empty()) return out.absent("no GPU event belongs to a step");
    const auto period = [](const Row& row) { return row.period_ns; };
    const auto busy = pooled_ratio(
        rows, [](const Row& row) { return row.busy_ns; }, period);
    const auto compute = pooled_ratio(
        rows, [](const Row& row) { return row.compute_ns; }, period);
    const auto memory = pooled_ratio(
        rows, [](const Row& row) { return row.memory_ns; }, period);
    add_pooled(out, "busy", busy, "GPU busy, of the step period");
    add_pooled(out, "compute", compute, "compute kernels running, of the step period");
    add_pooled(out, "memory", memory, "copies and sets running, of the step period");
    add_line(out.page, "GPU",
             "busy " + percent(busy.value) + " of the step period" + span_over_ranks(busy) + ", compute " +
                 percent(compute.value) + span_over_ranks(compute) + ", copies " + percent(memory.value));
    CappedLines lines;
    for (const Row& row : rows)
      lines.add([&] {
        return "  " + step_name(row.step) + ", " + rank_name(row.replica, row.rank) + " GPU " +
               std::to_string(row.device) + ": busy " + share(row.busy_ns, row.period_ns) + ", compute " +
               share(row.compute_ns, row.period_ns) + ", copies " + share(row.memory_ns, row.period_ns) +
               " of " + milliseconds(static_cast<double>(row.period_ns));
      });
    lines.add_to(out.details);
  }

 private:
  static std::string share(std::int64_t a, std::int64_t b) {
    return percent(ratio(static_cast<double>(a), static_cast<double>(b)));
  }

  template <class AnyRow>
  static void fill(AnyRow& row, const Budget& budget, const std::array<std::int64_t, 3>& events_count,
                   std::int32_t device, std::int64_t gap_ns) {
    row.device = device;
    row.period_ns = gap_ns + budget.window_ns;
    row.busy_ns = budget.busy_ns;
    row.compute_ns = budget.compute_ns;
    row.communication_ns = budget.communication_ns;
    row.memory_ns = budget.memory_ns;
    row.kernels_count = events_count[0] + events_count[1];
    row.memory_count = events_count[2];
  }
};

}  // namespace

std::unique_ptr<Metric> gpu_utilization() { return define_metric<GpuUtilization>(); }

}  // namespace ccl
