// pipeline_bubble: how much of a pipeline's time its stages have nothing to do.
// Definition: P = window of the pipeline in a step, common to its ranks on
// the corrected clock; bubble(r) = len(P) − len((K ∪ C_nonPP ∪ M) ∩ P), so waiting inside a pipeline kernel is bubble;
// pp_wait = the part of it with a pipeline kernel, idle = the rest. ratio = Σ bubble / (stages · len(P)).
// P = from the first start of a forward to the last end of a backward compute kernel of any of its ranks; where a rank
// does not tell its phases apart, from the first to the last compute kernel of all (window_by_compute).
// C_unknown, messages of which nobody says for which parallelism they are, may be either: it counts as work in bubble(r),
// and unknown(r) = len((C_unknown \ (C_PP ∪ the other work)) ∩ P) is by how much that may be too short.
// Merge: keys are disjoint. Headline: the ratio; absent if the clock residual, or what is unknown, exceeds 1 % of P.
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/collective_math.hpp"
#include "core/lower_case.hpp"
#include "core/statistics.hpp"
#include "exchange/clock_error.hpp"
#include "metrics/busy.hpp"
#include "metrics/clock_unknown.hpp"
#include "metrics/pipeline_stage.hpp"
#include "metrics/pooled.hpp"

namespace ccl {
namespace {

struct PipelineBubble {
  static MetricInfo info() {
    return {.name = "pipeline_bubble",
            .unit = "% of the pipeline's time",
            .question = "How much of a pipeline's time do its stages have nothing to do?",
            .definition = "Sum over stages of the time without compute, copies or communication other than the "
                          "pipeline's own / (stages x window); the window goes from the first forward to the last "
                          "backward kernel of the pipeline's ranks in the step, on the corrected clock. Ideal of "
                          "GPipe, 1F1B (v = 1) and interleaved 1F1B: (p - 1) / (v m + p - 1); absent for other schedules. "
                          "Absent where it depends by more than 1 % of the window on messages of unknown parallelism.",
            .needs = "pipeline parallelism (a process group of it, or a mesh with pp above 1)",
            .section = PageSection::overlap,
            .aliases = {},
            .wants = {.annotations = true, .cpu_ops = true, .python = true},
            .needs_matching = true,
            .needs_records = true,
            .needs_segments = true,
            .purpose = Purpose::training,
            .needs_work_windows = true};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t replica = -1;
    std::int32_t stage = -1, stages_count = 0, stages_seen_count = 0, pipeline = -1;  // pipeline: its lowest rank
    std::int64_t window_ns = 0, bubble_ns = 0, pp_wait_ns = 0, unknown_ns = 0;
    bool window_by_compute = true;
    auto key() const { return std::tuple(step, rank, replica); }
    static TableInfo table() { return {"rows", "bubble of each step on each rank"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("stage", &Row::stage, "", "stage of the pipeline"));
      all.push_back(column("stages_count", &Row::stages_count, "", "stages of the pipeline"));
      all.push_back(column("stages_seen_count", &Row::stages_seen_count, "", "of them with a trace of this step"));
      all.push_back(column("pipeline", &Row::pipeline, "", "first rank of the pipeline"));
      all.push_back(column("window_ns", &Row::window_ns, "ns", "common window of the pipeline in this step"));
      all.push_back(column("bubble_ns", &Row::bubble_ns, "ns", "window without compute, copies or other communication"));
      all.push_back(column("pp_wait_ns", &Row::pp_wait_ns, "ns", "part of the bubble inside pipeline kernels"));
      all.push_back(integer_column<Row>("idle_ns", "ns", "bubble_ns - pp_wait_ns", {}, [](const Row& row) { return row.bubble_ns - row.pp_wait_ns; }));
      all.push_back(column("unknown_ns", &Row::unknown_ns, "ns", "window with nothing but messages of unknown parallelism, not counted as bubble"));
      all.push_back(column("window_by_compute", &Row::window_by_compute, "", "1 = a rank does not tell forward from backward: from first to last compute kernel"));
      all.push_back(derived<Row>("bubble_ratio", "", "bubble_ns / window_ns", [](const Row& row) {
        return ratio(static_cast<double>(row.bubble_ns), static_cast<double>(row.window_ns));
      }));
      return all;
    }
  };
  using Tables = RowTables<Row>;

  using Shared = PipelineStages;
  static Shared shared(const ClosingContext& context) { return {context.groups, context.workload.mesh}; }

  static void closing(const ClosingRank& rank, const ClosingContext& context, const Shared& places, Tables& out) {
    const RankEntry& entry = rank.entry;
    const PipelineStage place = places.of(entry);
    if (!place.known() || rank.segments.empty()) return;
    const Busy busy = busy_of(rank, context.groups);
    for (const Step& step : entry.facts.steps) {
      if (step.work_start_ns == absent_ns) continue;
      Row row;
      row.step = {entry.iteration, step.number + entry.step_shift};
      row.rank = entry.rank;
      row.replica = entry.replica;
      row.stage = place.stage;
      row.stages_count = static_cast<std::int32_t>(place.members.size());
      row.pipeline = place.members.front();
      const Interval common = common_window(row, place, context);
      if (common.length_ns() <= 0) continue;
      // One shift for the whole step keeps the window's length the same on all ranks.
      const std::int64_t shift = context.clock.corrected(entry.host_index, step.work_start_ns) - step.work_start_ns;
      const Interval window{common.start_ns - shift, common.end_ns - shift};
      const Intervals working = clip(unite(busy.working, busy.unknown), window);
      row.window_ns = window.length_ns();
      row.bubble_ns = row.window_ns - length_ns(working);
      row.pp_wait_ns = length_ns(subtract(clip(busy.pipeline, window), working));
      row.unknown_ns = length_ns(subtract(clip(busy.unknown, window), unite(busy.working, busy.pipeline)));
      out.of<Row>().push_back(row);
    }
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const auto& rows = tables.of<Row>();
    if (rows.empty()) {
      const Mesh& mesh = context.workload.mesh;
      if (context.ranks.entries.empty()) return out.absent("no trace with a rank");
      return mesh.known() && mesh.pp > 1 ? out.absent("no step with GPU events on a rank of a pipeline")
                                         : out.not_applicable("no pipeline parallelism");
    }
    const auto window = [](const Row& row) { return row.window_ns; };
    const auto bubble = [](const Row& row) { return row.bubble_ns; };
    const PooledRatio pooled = pooled_ratio(rows, bubble, window);
    const PooledRatio wait = pooled_ratio(rows, [](const Row& row) { return row.pp_wait_ns; }, window);
    std::int64_t shortest_ns = rows.front().window_ns, missing = 0;
    std::set<StepId> steps, lacking;
    for (const Row& row : rows) {
      shortest_ns = std::min(shortest_ns, row.window_ns);
      missing = std::max<std::int64_t>(missing, row.stages_count - row.stages_seen_count);
      steps.insert(row.step);
      if (row.stages_seen_count < row.stages_count) lacking.insert(row.step);
    }
    const std::int64_t residual_ns = context.clock.residual_ns;
    if (tells_clock_error(context, "bubble", out)) return;
    if (has_several_clocks(context.ranks, context.clock) && residual_ns > shortest_ns / 100)
      return out.absent(fmt::format("the clocks are known to {} only, more than 1 % of the window ({})",
                                    microseconds(static_cast<double>(residual_ns)), milliseconds(static_cast<double>(shortest_ns))));
    const PooledRatio unknown = pooled_ratio(rows, [](const Row& row) { return row.unknown_ns; }, window);
    if (unknown.value > most_unknown_ratio)
      return out.absent(fmt::format("{} to {} of the pipeline's time: whether messages are the pipeline's own that take {} "
                                    "of it is not known",
                                    percent(pooled.value), percent(pooled.value + unknown.value), percent(unknown.value)));
    add_pooled(out, "bubble", pooled, "bubble, of the pipeline's time");
    out.value("pp_wait_ratio", wait.value, "part of it spent inside pipeline kernels");
    out.value("idle_ratio", pooled.value - wait.value, "part of it with nothing running");
    const double ideal = ideal_ratio(context.workload, rows.front().stages_count);
    out.value("ideal_1f1b_ratio", ideal,
              "(p - 1) / (v m + p - 1) of the workload's micro-batches; NaN for a schedule with another ideal");
    out.value("missing_stages_count", static_cast<double>(missing), "stages without a trace, at most in a step");
    std::string line = percent(pooled.value) + " of the pipeline's time" + span_over_ranks(pooled) + "; " +
                       percent(wait.value) + " waiting in pipeline kernels";
    if (!std::isnan(ideal)) line += "; ideal of " + schedule_of(context.workload) + " " + percent(ideal);
    const bool by_compute = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.window_by_compute; });
    if (by_compute) line += "; window from first to last compute kernel: phases are not told apart";
    if (missing > 0) {
      out.status = Status::partial;
      out.reason = "stages are missing: the window may be too short";
      line += ", " + counted(static_cast<std::size_t>(missing), "stage") + " missing";
      if (lacking.size() < steps.size())
        line += " in " + std::to_string(lacking.size()) + " of " + counted(steps.size(), "step");
    }
    add_line(out.page, "bubble", line);
    add_stages(rows, out);
  }

 private:
  static constexpr double most_unknown_ratio = 0.01;

  struct Busy {
    Intervals working;   // K ∪ C_nonPP ∪ M
    Intervals pipeline;  // C_PP
    Intervals unknown;   // C_unknown
  };

  static Busy busy_of(const ClosingRank& rank, const Groups& groups) {
    Intervals pipeline, other, unknown;
    for (const CollectiveRecord& record : rank.records) {
      const Dimension dimension = dimension_of(groups, record.group, record.op);
      const bool could_be = is_point_to_point(record.op) || record.op == CollectiveOp::unknown;
      Intervals& of = dimension == Dimension::pp ? pipeline : dimension == Dimension::unknown && could_be ? unknown : other;
      append_merged(of, {record.start_ns, record.end_ns()});
    }
    // Records do not tell the device: of several, the one that communicates most is the pipeline's.
    const RankSegments& all = *std::max_element(rank.segments.begin(), rank.segments.end(), [](const auto& a, const auto& b) {
      return ccl::length_ns(a.communication) < ccl::length_ns(b.communication);
    });
    // Communication kernels may carry no record at all.
    unknown = unite(unknown, subtract(all.communication, unite(pipeline, other)));
    return {unite(unite(all.compute, all.memory), other), pipeline, unknown};
  }

  /// On the corrected clock, over the stages that have this step; fills what the row says of it.
  static Interval common_window(Row& row, const PipelineStage& place, const ClosingContext& context) {
    std::vector<std::pair<std::int32_t, const Step*>> seen;  // host, step
    row.window_by_compute = false;
    for (const std::int32_t member : place.members) {
      const std::int32_t at = context.ranks.find(row.step.iteration, row.replica, RankId(member));
      if (at < 0) continue;
      const RankEntry& other = context.ranks.entries[static_cast<std::size_t>(at)];
      const auto& steps = other.facts.steps;
      const auto step = std::find_if(steps.begin(), steps.end(), [&](const Step& s) {
        return s.number + other.step_shift == row.step.step;
      });
      if (step == steps.end() || step->work_start_ns == absent_ns) continue;
      if (!other.takes_part && other.rank != row.rank) continue;
      seen.emplace_back(other.host_index, &*step);
      row.window_by_compute = row.window_by_compute || !step->work_by_phases;
    }
    row.stages_seen_count = static_cast<std::int32_t>(seen.size());
    Interval out{INT64_MAX, INT64_MIN};
    for (const auto& [host, step] : seen) {
      out.start_ns = std::min(out.start_ns, context.clock.corrected(host, step->work_start_ns));
      out.end_ns = std::max(out.end_ns, context.clock.corrected(host, step->work_end_ns));
    }
    return out;
  }

  static std::string schedule_of(const Workload& workload) {
    const bool interleaved = workload.virtual_stages.value.value_or(1) > 1;
    return workload.pipeline_schedule.value.value_or(interleaved ? "interleaved 1F1B" : "1F1B");
  }

  /// Each schedule has an ideal of its own: of another one, as of those with zero bubbles, this formula says nothing.
  static double ideal_ratio(const Workload& workload, std::int32_t stages) {
    if (!workload.microbatches) return std::nan("");
    std::string schedule;
    for (const char c : lower_case(schedule_of(workload)))
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) schedule += c;
    const bool interleaved = schedule == "interleaved" || schedule == "interleaved1f1b" || schedule == "1f1binterleaved";
    const bool plain = schedule == "1f1b" || schedule == "gpipe" || schedule == "noninterleaved1f1b";
    if ((!interleaved && !plain) || (interleaved && !workload.virtual_stages)) return std::nan("");
    const auto virtual_stages = static_cast<double>(workload.virtual_stages.value.value_or(1));
    const double p = stages, m = static_cast<double>(*workload.microbatches.value);
    return (p - 1) / (virtual_stages * m + p - 1);
  }

  static void add_stages(const std::vector<Row>& rows, Report& out) {
    struct Stage {
      std::int32_t stage = -1;
      std::int64_t window_ns = 0, bubble_ns = 0, pp_wait_ns = 0;
    };
    std::map<std::int32_t, Stage> sums;
    for (const Row& row : rows) {
      Stage& stage = sums[row.stage];
      stage.stage = row.stage;
      stage.window_ns += row.window_ns;
      stage.bubble_ns += row.bubble_ns;
      stage.pp_wait_ns += row.pp_wait_ns;
    }
    std::vector<Stage> stages;
    std::vector<std::string> lines;
    for (const auto& [number, stage] : sums) {
      stages.push_back(stage);
      lines.push_back(fmt::format("  stage {}: bubble {}, waiting in pipeline kernels {}", number,
                                  percent(ratio(static_cast<double>(stage.bubble_ns), static_cast<double>(stage.window_ns))),
                                  percent(ratio(static_cast<double>(stage.pp_wait_ns), static_cast<double>(stage.window_ns)))));
    }
    const std::vector<ColumnSpec<Stage>> columns{
        column("stage", &Stage::stage, "", "stage of the pipeline"), column("window_ns", &Stage::window_ns, "ns", "summed over ranks and steps"),
        column("bubble_ns", &Stage::bubble_ns, "ns", "summed over ranks and steps"),
        column("pp_wait_ns", &Stage::pp_wait_ns, "ns", "summed over ranks and steps")};
    out.show(make_table("by_stage", "bubble of each stage over all pipelines and steps", columns, stages));
    add_capped(out.details, lines);
  }
};

}  // namespace

std::unique_ptr<Metric> pipeline_bubble() { return define_metric<PipelineBubble>(); }

}  // namespace ccl
