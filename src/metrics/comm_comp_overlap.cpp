// comm_comp_overlap: how much communication is hidden behind compute, and how much is exposed.
// Definition: overlap = len(C ∩ K), exposed = len(C) − len(C ∩ K) per (step, rank, device), on the events of the step;
// shares of the step divide by period = gap + len(GPU window).
// Merge: keys are disjoint. Headline: Σ overlap / Σ communication.
#include "metrics/pooled.hpp"
#include "metrics/trace_views.hpp"

namespace ccl {
namespace {

struct CommCompOverlap {
  static MetricInfo info() {
    return {.name = "comm_comp_overlap",
            .unit = "%",
            .question = "How much of the communication is hidden behind compute, and how much is exposed?",
            .definition =
                "Sum of len(C & K) / sum of len(C) over ranks, devices and steps; C, K = unions of the "
                "communication and compute kernels of a step. Exposed = len(C) - len(C & K).",
            .needs = "GPU kernels; ProfilerStep markers for values by step",
            .section = PageSection::overlap,
            .aliases = {"overlap", "communication_fraction"},
            .wants = {},
            .needs_busy_parts = true};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t gap_ns = 0;
    Budget budget;
    auto key() const { return std::tuple(step, rank, device, replica); }
    std::int64_t period_ns() const { return gap_ns + budget.window_ns; }
    static TableInfo table() { return {"rows", "time budget of each step on each rank and device"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(integer_column<Row>("period_ns", "ns", "gap_ns + window_ns", {},
                                        [](const Row& row) { return row.period_ns(); }));
      all.push_back(column("gap_ns", &Row::gap_ns, "ns", "device idle before the first GPU event of the step"));
      add_budget_columns(all);
      all.push_back(
          derived<Row>("overlap_of_communication_ratio", "", "overlap_ns / communication_ns",
                       [](const Row& row) { return share(row.budget.overlap_ns, row.budget.communication_ns); }));
      all.push_back(derived<Row>("overlap_of_compute_ratio", "", "overlap_ns / compute_ns",
                                 [](const Row& row) { return share(row.budget.overlap_ns, row.budget.compute_ns); }));
      all.push_back(derived<Row>("exposed_of_period_ratio", "", "exposed_ns / period_ns",
                                 [](const Row& row) { return share(row.budget.exposed_ns, row.period_ns()); }));
      return all;
    }
  };

  // Whole file: events outside every step too.
  struct Whole {
    std::int32_t iteration = -1;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t first_ns = 0, last_ns = 0;
    std::int64_t kernels_count = 0, communication_count = 0, memory_count = 0;
    std::int64_t compute_sum_ns = 0, communication_sum_ns = 0, memory_sum_ns = 0;
    Budget budget;
    auto key() const { return std::tuple(iteration, rank, device, replica); }
    static TableInfo table() { return {"whole", "time budget of the whole file, events outside every step included"}; }
    static std::vector<ColumnSpec<Whole>> columns(const Resolver&) {
      std::vector<ColumnSpec<Whole>> all = key_columns<Whole>();
      all.push_back(column("gpu_start_ns", &Whole::first_ns, "ns", "start of the first GPU event, clock of the file"));
      all.push_back(column("gpu_end_ns", &Whole::last_ns, "ns", "end of the last GPU event, clock of the file"));
      add_budget_columns(all);
      all.push_back(integer_column<Whole>("kernels_busy_ns", "ns", "len(C | K)", {}, [](const Whole& row) {
        return row.budget.busy_ns - row.budget.memory_only_ns;
      }));
      all.push_back(
          column("communication_sum_ns", &Whole::communication_sum_ns, "ns", "sum of durations: work, not time"));
      all.push_back(column("compute_sum_ns", &Whole::compute_sum_ns, "ns", "sum of durations: work, not time"));
      all.push_back(column("memory_sum_ns", &Whole::memory_sum_ns, "ns", "sum of durations: work, not time"));
      all.push_back(column("communication_count", &Whole::communication_count, "", "communication kernels"));
      all.push_back(column("compute_count", &Whole::kernels_count, "", "compute kernels"));
      all.push_back(column("memory_count", &Whole::memory_count, "", "copies and sets"));
      return all;
    }
  };

  // One part of the communication, by operation or by dimension. Parts overlap each other: unions do not add up.
  template <class Kind, int Which>
  struct Part {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    Kind kind{};
    std::int64_t calls_count = 0, sum_ns = 0, communication_ns = 0, overlap_ns = 0;
    auto key() const { return std::tuple(step, rank, device, replica, kind); }
    static constexpr const char* kind_name = std::is_same_v<Kind, Dimension> ? "dimension" : "op";
    static TableInfo table() {
      if (Which == 2) return {"whole_by_op", "communication of each operation in the whole file (step is -1)"};
      return {std::string("by_") + kind_name, std::string("communication of each step by ") + kind_name};
    }
    static std::vector<ColumnSpec<Part>> columns(const Resolver&) {
      std::vector<ColumnSpec<Part>> all = key_columns<Part>();
      all.push_back(column(kind_name, &Part::kind, "", "part of the communication"));
      all.push_back(column("calls_count", &Part::calls_count, "", "communication kernels"));
      all.push_back(column("sum_ns", &Part::sum_ns, "ns", "sum of their durations"));
      all.push_back(column("communication_ns", &Part::communication_ns, "ns", "their union, len(C_x)"));
      all.push_back(column("overlap_ns", &Part::overlap_ns, "ns", "len(C_x & K)"));
      all.push_back(integer_column<Part>("exposed_ns", "ns", "communication_ns - overlap_ns", {},
                                         [](const Part& row) { return row.communication_ns - row.overlap_ns; }));
      return all;
    }
  };
  using ByOp = Part<CollectiveOp, 0>;
  using ByDimension = Part<Dimension, 1>;
  using WholeByOp = Part<CollectiveOp, 2>;
  using Tables = RowTables<Row, Whole, ByOp, ByDimension, WholeByOp>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    const BusyTrace& busy = context.views->busy();
    for_each_step(trace, busy, [&](const StepBusy& at) {
      Row row;
      row.step.step = at.step.number;
      row.device = at.device;
      row.gap_ns = at.window.gap_ns;
      row.budget = at.sums.budget;
      out.of<Row>().push_back(row);
    });
    for (std::size_t d = 0; d < trace.devices.size(); ++d) {
      const BusyLists& lists = busy.whole()[d];
      Whole row;
      row.device = trace.devices[d];
      row.first_ns = lists.window.start_ns;
      row.last_ns = lists.window.end_ns;
      row.communication_count = lists.events_count[0];
      row.kernels_count = lists.events_count[1];
      row.memory_count = lists.events_count[2];
      row.communication_sum_ns = lists.sum_ns[0];
      row.compute_sum_ns = lists.sum_ns[1];
      row.memory_sum_ns = lists.sum_ns[2];
      row.budget = lists.whole_budget();
      out.of<Whole>().push_back(row);
    }
    for (const auto& part : busy.whole_by_op()) out.of<WholeByOp>().push_back(row_of<WholeByOp>(trace, part, outside_step));
    const auto step = [&](const auto& part) { return trace.steps[part.step_row].number; };
    for (const auto& part : busy.parts().by_op) out.of<ByOp>().push_back(row_of<ByOp>(trace, part, step(part)));
    for (const auto& part : busy.parts().by_dimension)
      out.of<ByDimension>().push_back(row_of<ByDimension>(trace, part, step(part)));
  }

  static void report(const Tables& tables, const ReportContext&, Report& out) {
    const auto& rows = tables.of<Row>();
    if (tables.of<Whole>().empty()) return out.absent("no trace has GPU events");
    if (rows.empty()) return out.absent("no GPU event belongs to a step");
    const auto period = [](const Row& row) { return row.period_ns(); };
    const auto communication = [](const Row& row) { return row.budget.communication_ns; };
    const auto exposed = [](const Row& row) { return row.budget.exposed_ns; };
    const auto overlap = pooled_ratio(
        rows, [](const Row& row) { return row.budget.overlap_ns; }, communication);
    if (overlap.ranks_count == 0) return out.not_applicable("no communication kernels inside steps");
    const auto exposed_share = pooled_ratio(rows, exposed, period);
    const auto communication_share = pooled_ratio(rows, communication, period);
    add_pooled(out, "overlap", overlap, "communication hidden by compute, of communication");
    add_pooled(out, "exposed_of_period", exposed_share, "exposed communication, of the step period");
    add_pooled(out, "communication_of_period", communication_share, "communication, of the step period");
    add_line(out.page, "overlap",
             percent(overlap.value) + " of communication is hidden behind compute" + span_over_ranks(overlap));
    add_line(out.page, "exposed",
             percent(exposed_share.value) + " of the step period is exposed communication" +
                 span_over_ranks(exposed_share) + "; communication " + percent(communication_share.value));
    CappedLines lines;
    for (const Row& row : rows)
      lines.add([&] {
        return "  " + step_name(row.step) + ", " + rank_name(row.replica, row.rank) + " GPU " +
               std::to_string(row.device) + ": comm " + time(row.budget.communication_ns) + ", hidden " +
               time(row.budget.overlap_ns) + ", compute " + time(row.budget.compute_ns) + ", period " +
               time(row.period_ns());
      });
    lines.add_to(out.details);
  }

 private:
  static double share(std::int64_t a, std::int64_t b) { return ratio(static_cast<double>(a), static_cast<double>(b)); }
  static std::string time(std::int64_t ns) { return milliseconds(static_cast<double>(ns)); }

  template <class PartRow, class Kind>
  static PartRow row_of(const RankTrace& trace, const BusyPart<Kind>& part, std::int64_t step) {
    PartRow row;
    row.step.step = step;
    row.device = trace.devices[part.device_row];
    row.kind = part.kind;
    row.calls_count = part.calls_count;
    row.sum_ns = part.sum_ns;
    row.communication_ns = part.communication_ns;
    row.overlap_ns = part.overlap_ns;
    return row;
  }
};

}  // namespace

std::unique_ptr<Metric> comm_comp_overlap() { return define_metric<CommCompOverlap>(); }

}  // namespace ccl
