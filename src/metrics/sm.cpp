// sm: how much of the GPU the kernels fill while they run.
// Definition: coverage = Σ dur · min(1, blocks per SM) / Σ dur; occupancy = Σ dur · est. achieved occupancy / Σ dur
// over the kernels that state one above 0 (the profiler writes 0 for unknown). With and without communication kernels,
// which hold few SMs for a long time. Merge: keys are disjoint. Headline: compute coverage.
#include <algorithm>
#include <cmath>
#include <map>

#include "metrics/busy.hpp"
#include "metrics/pooled.hpp"

namespace ccl {
namespace {

struct Fill {
  // In ps: many kernels last a few us and cover a hundredth of the GPU, where whole ns would add up to an error.
  std::int64_t shaped_ps = 0, covered_ps = 0;  // kernels with a shape; the same weighted by coverage
  std::int64_t rated_ps = 0, occupied_ps = 0;  // kernels with an occupancy; weighted by it
  void add(std::int64_t dur_ns, const KernelShape& shape) {
    const auto weighted = [&](double by) { return std::llround(static_cast<double>(dur_ns) * 1000 * by); };
    if (std::isfinite(shape.blocks_per_sm)) {
      shaped_ps += dur_ns * 1000;
      covered_ps += weighted(std::clamp(static_cast<double>(shape.blocks_per_sm), 0.0, 1.0));
    }
    if (std::isfinite(shape.occupancy_percent) && shape.occupancy_percent > 0) {
      rated_ps += dur_ns * 1000;
      occupied_ps += weighted(std::min(static_cast<double>(shape.occupancy_percent), 100.0) / 100);
    }
  }
};

struct Sm {
  static MetricInfo info() {
    return {.name = "sm",
            .unit = "%",
            .question = "How much of the GPU do the kernels fill while they run?",
            .definition = "Sum of duration x min(1, blocks per SM) / sum of duration over the compute kernels; beside it "
                          "the estimated achieved occupancy, and both with communication kernels included.",
            .needs = "launch shapes of kernels (`blocks per SM` in Kineto traces)",
            .section = PageSection::further,
            .aliases = {},
            .wants = {.kernel_shapes = true}};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    Fill compute, all;
    auto key() const { return std::tuple(step, rank, device, replica); }
    static TableInfo table() { return {"rows", "how far the kernels of each step fill the GPU"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      add(all, "compute", &Row::compute, "compute kernels");
      add(all, "all", &Row::all, "compute and communication kernels");
      return all;
    }

   private:
    static void add(std::vector<ColumnSpec<Row>>& columns, const std::string& name, Fill Row::*fill, const std::string& of) {
      const auto part = [&](const char* what, std::int64_t Fill::*member, const std::string& text) {
        columns.push_back(integer_column<Row>(name + what, "ns", text + of, {},
                                              [=](const Row& row) { return (row.*fill.*member + 500) / 1000; }));
      };
      part("_shaped_ns", &Fill::shaped_ps, "summed duration with known blocks per SM of ");
      part("_covered_ns", &Fill::covered_ps, "the same x min(1, blocks per SM) of ");
      part("_rated_ns", &Fill::rated_ps, "summed duration with a known occupancy of ");
      part("_occupied_ns", &Fill::occupied_ps, "the same x occupancy of ");
      const auto ratio_of = [&](const char* what, std::int64_t Fill::*a, std::int64_t Fill::*b, const std::string& text) {
        columns.push_back(derived<Row>(name + what, "", text + of, [=](const Row& row) {
          return ratio(static_cast<double>(row.*fill.*a), static_cast<double>(row.*fill.*b));
        }));
      };
      ratio_of("_coverage_ratio", &Fill::covered_ps, &Fill::shaped_ps, "covered / shaped of ");
      ratio_of("_occupancy_ratio", &Fill::occupied_ps, &Fill::rated_ps, "occupied / rated of ");
    }
  };
  using Tables = RowTables<Row>;

  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    const std::vector<std::size_t> device_of_lane = device_rows(trace);
    std::map<std::pair<std::int32_t, std::size_t>, Row> rows;
    for (const KernelShape& shape : trace.kernel_shapes) {
      const std::int32_t step = trace.events.step[shape.event];
      if (step < 0) continue;
      Row& row = rows[{step, device_of_lane[trace.events.lane[shape.event]]}];
      const std::int64_t dur_ns = trace.events.dur_ns[shape.event];
      row.all.add(dur_ns, shape);
      if (trace.events.kind[shape.event] == EventKind::compute) row.compute.add(dur_ns, shape);
    }
    for (auto& [key, row] : rows) {
      row.step.step = trace.steps[static_cast<std::size_t>(key.first)].number;
      row.device = trace.devices[key.second];
      out.of<Row>().push_back(row);
    }
  }

  static void report(const Tables& tables, const ReportContext&, Report& out) {
    const auto& rows = tables.of<Row>();
    const auto pooled = [&](Fill Row::*fill, std::int64_t Fill::*a, std::int64_t Fill::*b) {
      return pooled_ratio(rows, [=](const Row& r) { return r.*fill.*a; }, [=](const Row& r) { return r.*fill.*b; });
    };
    const PooledRatio compute = pooled(&Row::compute, &Fill::covered_ps, &Fill::shaped_ps);
    const PooledRatio all = pooled(&Row::all, &Fill::covered_ps, &Fill::shaped_ps);
    const PooledRatio compute_occupancy = pooled(&Row::compute, &Fill::occupied_ps, &Fill::rated_ps);
    const PooledRatio all_occupancy = pooled(&Row::all, &Fill::occupied_ps, &Fill::rated_ps);
    if (all.ranks_count == 0 && all_occupancy.ranks_count == 0)
      return out.absent("no kernel inside a step states its blocks per SM or its occupancy");
    add_pooled(out, "compute_coverage", compute, "SM coverage of compute kernels");
    add_pooled(out, "all_coverage", all, "SM coverage of all kernels");
    out.value("compute_occupancy_ratio", compute_occupancy.value, "estimated achieved occupancy of compute kernels");
    out.value("all_occupancy_ratio", all_occupancy.value, "estimated achieved occupancy of all kernels");
    add_line(out.page, "SM", "compute kernels cover " + shown(compute) + " of the SMs" + span_over_ranks(compute) +
                                 ", with communication " + shown(all) + "; occupancy " + shown(compute_occupancy));
    CappedLines lines;
    for (const Row& row : rows)
      lines.add([&] {
        return "  " + step_name(row.step) + ", " + rank_name(row.replica, row.rank) + " GPU " +
               std::to_string(row.device) + ": compute " + share(row.compute) + ", all " + share(row.all);
      });
    lines.add_to(out.details);
  }

 private:
  static std::string shown(const PooledRatio& pooled) { return pooled.ranks_count == 0 ? "unknown" : percent(pooled.value); }
  static std::string share(const Fill& fill) {
    if (fill.shaped_ps == 0) return "unknown";
    return percent(ratio(static_cast<double>(fill.covered_ps), static_cast<double>(fill.shaped_ps)));
  }
};

}  // namespace

std::unique_ptr<Metric> sm() { return define_metric<Sm>(); }

}  // namespace ccl
