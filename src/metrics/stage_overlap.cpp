// stage_overlap: how well the communication of each stage is hidden behind compute in the steady state.
// Definition (PithTrain's compute_overlap): kernels wholly in the window of the rank; communication = those on streams
// without compute kernels, by the stage around their launch; per kernel overlap = len(kernel & union of the compute
// kernels); exposed = sum of (duration - overlap); hidden = 1 - sum exposed / sum of durations, with the smallest and
// largest of single kernels. Beside it the unions, clipped to the window, in which two kernels at once count once.
// Communication on compute streams is a barrier in the stream's order and stands apart. Merge: keys are disjoint.
#include "metrics/stage_overlap.hpp"

#include <map>

namespace ccl {
namespace {

struct StageOverlap {
  static MetricInfo info() {
    return {.name = "stage_overlap",
            .unit = "%",
            .question = "How much of each stage's communication is hidden behind compute, and which stage is worst?",
            .definition =
                "Median over ranks of the hidden share of the worst stage = 1 - exposed / duration of the communication "
                "kernels launched in it, in the window of each rank (the middle overlapped chunk; else the middle step; "
                "or --start and --end). Beside it exposed time by rank and stage, barriers on compute streams, and the "
                "compute time of the pipeline's stages.",
            .needs = "ranges named by `stages` of configs/kernels.yaml; launches",
            .section = PageSection::overlap,
            .aliases = {},
            .wants = {.annotations = true}};
  }
  using Tables = RowTables<StageRow, StageRankRow>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    const StageOfEvent stages(trace, context.classifier);
    const SetupLabel label = setup_label(trace);
    if (!stages.any() && !label.found) return;
    const StageWindow window = stage_window(trace, context.config, context.classifier);
    for (const std::int32_t device : trace.devices) {
      StageRankRow rank = rank_row(trace, context, window, label);
      rank.device = device;
      if (window.time.start_ns != absent_ns) add_stages(trace, context, stages, window.time, rank, out);
      out.of<StageRankRow>().push_back(rank);
    }
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    report_stages(tables.of<StageRow>(), tables.of<StageRankRow>(), context, out);
  }

 private:
  static StageRankRow rank_row(const RankTrace& trace, const LocalContext& context, const StageWindow& window,
                               const SetupLabel& label) {
    StageRankRow row;
    row.pid = process_of(trace);
    row.label = label;
    const Mesh& mesh = context.workload.mesh;
    if (!label.found && mesh.known() && trace.rank.known() && trace.rank.value < mesh.world()) {
      row.label.pp = static_cast<std::int32_t>(trace.rank.value / (mesh.world() / mesh.pp));
      row.label.pp_size = mesh.pp;
    }
    row.window = window.time;
    row.window_source = context.strings.intern(window.source);
    row.window_name = context.strings.intern(window.name);
    row.candidates_count = window.candidates_count;
    return row;
  }

  static void add_stages(const RankTrace& trace, const LocalContext& context, const StageOfEvent& stages,
                         Interval window, StageRankRow& rank, Tables& out) {
    const EventTable& events = trace.events;
    const auto span = [&](std::size_t i) { return Interval{events.start_ns[i], events.end_ns(i)}; };
    const WindowKernels kernels = window_kernels(trace, rank.device, window);
    Intervals inside;
    for (const std::size_t i : kernels.compute) {
      append_merged(inside, span(i));
      rank.compute_ns += events.dur_ns[i];
    }
    rank.compute_union_ns = length_ns(inside);
    struct Stage {
      StageRow row;
      Intervals clipped;
    };
    std::map<std::string_view, Stage> found;
    for (const std::size_t i : kernels.communication) {
      StageRow& row = found[stages[i]].row;
      if (kernels.compute_lane[events.lane[i]]) {
        ++row.barriers_count;
        row.barrier_ns += events.dur_ns[i];
        rank.barrier_ns += events.dur_ns[i];
        continue;
      }
      const Interval own[] = {span(i)};
      row.add(events.dur_ns[i], overlap_ns(own, inside));
    }
    // What crosses an edge of the window counts with its part inside.
    Intervals compute;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Interval part{std::max(events.start_ns[i], window.start_ns), std::min(events.end_ns(i), window.end_ns)};
      if (trace.lanes[events.lane[i]].device != rank.device || part.end_ns <= part.start_ns) continue;
      if (events.kind[i] == EventKind::compute) append_merged(compute, part);
      if (events.kind[i] == EventKind::communication && !kernels.compute_lane[events.lane[i]])
        append_merged(found[stages[i]].clipped, part);
    }
    for (auto& [stage, of] : found) {
      of.row.device = rank.device;
      of.row.pid = rank.pid;
      of.row.stage = context.strings.intern(stage.empty() ? "none" : stage);
      of.row.union_communication_ns = length_ns(of.clipped);
      of.row.union_exposed_ns = of.row.union_communication_ns - overlap_ns(of.clipped, compute);
      out.of<StageRow>().push_back(of.row);
    }
  }
};

}  // namespace

std::unique_ptr<Metric> stage_overlap() { return define_metric<StageOverlap>(); }

}  // namespace ccl
