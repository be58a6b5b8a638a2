// training_phases: where the GPU time of a step goes: forward, recompute, backward, gradient clipping, optimizer,
// other. Definition: the phase of a GPU event is that of its launch (phases.hpp); union, sum and communication per
// phase; shares divide by period = gap + len(GPU window). Phases overlap on the GPU where
// their events do (prefetch), so that shares can add to more than 1, none being above 1. Merge: keys are disjoint.
#include <array>
#include <map>

#include "core/sort_runs.hpp"
#include "metrics/layers.hpp"
#include "metrics/pooled.hpp"
#include "metrics/trace_views.hpp"

namespace ccl {
namespace {

struct TrainingPhases {
  static MetricInfo info() {
    return {.name = "training_phases",
            .unit = "%",
            .question = "How much of a step do forward, backward and optimizer take on the GPU?",
            .definition =
                "Union of the GPU events launched by a phase / step period, pooled over ranks, devices and steps. The "
                "phase comes from the CPU slices around the launch, its thread and its place between backward and "
                "optimizer, never from CPU durations.",
            .needs = "CPU annotations and autograd operators (user_annotation, cpu_op); launches",
            .section = PageSection::further,
            .aliases = {},
            .wants = {.annotations = true, .cpu_ops = true, .python = true},
            .purpose = Purpose::training};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t period_ns = 0;
    std::array<std::int64_t, phase_count> union_ns{};
    auto key() const { return std::tuple(step, rank, device, replica); }
    static TableInfo table() { return {"rows", "GPU time of each phase in each step on each rank and device"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("period_ns", &Row::period_ns, "ns", "gap + GPU window of the step"));
      for (std::size_t p = 0; p < phase_count; ++p) {
        const std::string name(to_text(static_cast<Phase>(p)));
        all.push_back(integer_column<Row>(name + "_ns", "ns", "union of the GPU events launched in " + name, {},
                                          [p](const Row& row) { return row.union_ns[p]; }));
      }
      return all;
    }
  };

  struct ByPhase {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    Phase phase = Phase::other;
    std::int64_t events_count = 0, union_ns = 0, sum_ns = 0, communication_ns = 0, compute_ns = 0, cpu_wall_ns = -1;
    std::int64_t period_ns = 0;
    auto key() const { return std::tuple(step, rank, device, replica, phase); }
    static TableInfo table() { return {"by_phase", "time of one phase in one step on one rank and device"}; }
    static std::vector<ColumnSpec<ByPhase>> columns(const Resolver&) {
      std::vector<ColumnSpec<ByPhase>> all = key_columns<ByPhase>();
      all.push_back(column("phase", &ByPhase::phase, "", "phase of the launch"));
      all.push_back(column("events_count", &ByPhase::events_count, "", "GPU events launched in the phase"));
      all.push_back(column("union_ns", &ByPhase::union_ns, "ns", "union of these events"));
      all.push_back(column("sum_ns", &ByPhase::sum_ns, "ns", "sum of their durations"));
      all.push_back(column("communication_ns", &ByPhase::communication_ns, "ns", "union of the communication kernels"));
      all.push_back(column("compute_ns", &ByPhase::compute_ns, "ns", "union of the compute kernels"));
      all.push_back(column("cpu_wall_ns", &ByPhase::cpu_wall_ns, "ns",
                           "CPU time from each launch to the next one of the rank, by the phase of the first; on the "
                           "rank's first device",
                           -1));
      all.push_back(derived<ByPhase>("share_ratio", "", "union_ns / step period", [](const ByPhase& row) {
        return ratio(static_cast<double>(row.union_ns), static_cast<double>(row.period_ns));
      }));
      return all;
    }
  };

  struct ByLayer {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1, layer = -1;
    Phase phase = Phase::other;
    std::int64_t events_count = 0, union_ns = 0, sum_ns = 0, communication_ns = 0;
    auto key() const { return std::tuple(step, rank, device, replica, layer, phase); }
    static TableInfo table() { return {"layers", "GPU time launched inside slices that name a layer (layers.N)"}; }
    static std::vector<ColumnSpec<ByLayer>> columns(const Resolver&) {
      std::vector<ColumnSpec<ByLayer>> all = key_columns<ByLayer>();
      all.push_back(column("layer", &ByLayer::layer, "", "N of layers.N in the innermost slice that has one"));
      all.push_back(column("phase", &ByLayer::phase, "", "phase of the launch"));
      all.push_back(column("events_count", &ByLayer::events_count, "", "GPU events"));
      all.push_back(column("union_ns", &ByLayer::union_ns, "ns", "union of these events"));
      all.push_back(column("sum_ns", &ByLayer::sum_ns, "ns", "sum of their durations"));
      all.push_back(column("communication_ns", &ByLayer::communication_ns, "ns", "sum of the communication kernels"));
      return all;
    }
  };
  using Tables = RowTables<Row, ByPhase, ByLayer>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    const TracePhases& phases = context.views->phases();
    if (!phases.known) return;
    add_phases(trace, phases, out);
    add_layers(trace, context.views->launches(), phases, out);
  }

  static void report(const Tables& tables, const ReportContext&, Report& out) {
    const auto& rows = tables.of<Row>();
    if (rows.empty())
      return out.absent("no trace has autograd, backward or optimizer slices on the CPU (record CPU activities)");
    std::string line;
    for (std::size_t p = 0; p < phase_count; ++p) {
      const auto pooled = pooled_ratio(
          rows, [p](const Row& row) { return row.union_ns[p]; }, [](const Row& row) { return row.period_ns; });
      const std::string name(to_text(static_cast<Phase>(p)));
      add_pooled(out, name, pooled, "GPU events launched in " + name + ", of the step period");
      const bool always = p == 0 || p == 2 || p == 4;
      if (always || pooled.value >= 0.0005)
        line += (line.empty() ? "" : ", ") + (name == "grad_clip" ? "gradient clipping" : name) + " " +
                percent(pooled.value);
    }
    line += " of the step period (GPU; phases may overlap)";
    // Where nothing in the trace marks it, a forward that is run again lies in the backward's slices.
    const auto recomputed = [](const Row& row) { return row.union_ns[static_cast<std::size_t>(Phase::recompute)] > 0; };
    if (std::none_of(rows.begin(), rows.end(), recomputed))
      line += "; recomputation, if there is any, is not marked and counts as backward";
    add_line(out.page, "phases", line);
    CappedLines lines;
    for (const ByPhase& row : tables.of<ByPhase>())
      lines.add([&] {
        return "  " + step_name(row.step) + ", " + rank_name(row.replica, row.rank) + " GPU " +
               std::to_string(row.device) + ", " + std::string(to_text(row.phase)) + ": " +
               milliseconds(static_cast<double>(row.union_ns)) + " (" +
               percent(ratio(static_cast<double>(row.union_ns), static_cast<double>(row.period_ns))) +
               "), communication " + milliseconds(static_cast<double>(row.communication_ns));
      });
    lines.add_to(out.details);
  }

 private:
  struct PhaseLists {
    MergedLength all, communication, compute;
    std::int64_t events_count = 0, sum_ns = 0;
  };

  static void add_phases(const RankTrace& trace, const TracePhases& phases, Tables& out) {
    const EventTable& events = trace.events;
    const std::vector<std::size_t> device_of_lane = device_rows(trace);
    const std::size_t devices = trace.devices.size();
    std::vector<std::array<PhaseLists, phase_count>> lists(trace.steps.size() * devices);
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events.step[i] < 0) continue;
      const std::size_t at = static_cast<std::size_t>(events.step[i]) * devices + device_of_lane[events.lane[i]];
      PhaseLists& list = lists[at][static_cast<std::size_t>(phases.by_event[i])];
      const Interval event{events.start_ns[i], events.end_ns(i)};
      list.all.add(event);
      if (events.kind[i] == EventKind::communication) list.communication.add(event);
      if (events.kind[i] == EventKind::compute) list.compute.add(event);
      ++list.events_count;
      list.sum_ns += event.length_ns();
    }
    const auto walls = cpu_walls(trace, phases);
    for (std::size_t s = 0; s < trace.steps.size(); ++s)
      for (std::size_t d = 0; d < devices; ++d) {
        const DeviceWindow& window = trace.steps[s].devices[d];
        if (window.gpu_start_ns == absent_ns) continue;
        Row row;
        row.step.step = trace.steps[s].number;
        row.device = trace.devices[d];
        row.period_ns = window.gap_ns + window.gpu_end_ns - window.gpu_start_ns;
        for (std::size_t p = 0; p < phase_count; ++p) {
          const PhaseLists& list = lists[s * devices + d][p];
          row.union_ns[p] = list.all.length_ns();
          if (list.events_count == 0) continue;
          out.of<ByPhase>().push_back({.step = row.step,
                                       .rank = {},
                                       .device = row.device,
                                       .phase = static_cast<Phase>(p),
                                       .events_count = list.events_count,
                                       .union_ns = row.union_ns[p],
                                       .sum_ns = list.sum_ns,
                                       .communication_ns = list.communication.length_ns(),
                                       .compute_ns = list.compute.length_ns(),
                                       .cpu_wall_ns = d == 0 ? walls[s][p] : -1,
                                       .period_ns = row.period_ns});
        }
        out.of<Row>().push_back(row);
      }
  }

  // By step: the time from each launch of the step to the next one, whatever the thread, goes to the first one's phase.
  static std::vector<std::array<std::int64_t, phase_count>> cpu_walls(const RankTrace& trace,
                                                                      const TracePhases& phases) {
    const EventTable& events = trace.events;
    std::vector<std::uint32_t> order = launched_events(trace);
    std::erase_if(order, [&](std::uint32_t i) { return events.step[i] < 0; });
    sort_runs(order, [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(events.step[a], events.launch_ns[a], a) < std::tuple(events.step[b], events.launch_ns[b], b);
    });
    std::vector<std::array<std::int64_t, phase_count>> walls(trace.steps.size());
    for (std::size_t k = 0; k + 1 < order.size(); ++k) {
      const std::uint32_t now = order[k], next = order[k + 1];
      if (events.step[now] != events.step[next]) continue;
      walls[static_cast<std::size_t>(events.step[now])][static_cast<std::size_t>(phases.by_event[now])] +=
          events.launch_ns[next] - events.launch_ns[now];
    }
    return walls;
  }

  static void add_layers(const RankTrace& trace, const LaunchContext& launches, const TracePhases& phases,
                         Tables& out) {
    const EventTable& events = trace.events;
    const LayerNames layers(trace);
    if (layers.none()) return;
    const std::vector<std::size_t> device_of_lane = device_rows(trace);
    struct Sum {
      MergedLength all;
      std::int64_t events_count = 0, sum_ns = 0, communication_ns = 0;
    };
    std::map<std::tuple<std::int32_t, std::size_t, std::int32_t, Phase>, Sum> sums;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events.step[i] < 0) continue;
      const std::int32_t at = launches.find(trace, i, [&](const CpuSlice& slice) { return layers.of(slice) >= 0; });
      if (at < 0) continue;
      const std::int32_t layer = layers.of(trace.slices[static_cast<std::size_t>(at)]);
      Sum& sum = sums[{events.step[i], device_of_lane[events.lane[i]], layer, phases.by_event[i]}];
      sum.all.add({events.start_ns[i], events.end_ns(i)});
      ++sum.events_count;
      sum.sum_ns += events.dur_ns[i];
      if (events.kind[i] == EventKind::communication) sum.communication_ns += events.dur_ns[i];
    }
    for (const auto& [key, sum] : sums) {
      ByLayer row;
      row.step.step = trace.steps[static_cast<std::size_t>(std::get<0>(key))].number;
      row.device = trace.devices[std::get<1>(key)];
      row.layer = std::get<2>(key);
      row.phase = std::get<3>(key);
      row.events_count = sum.events_count;
      row.union_ns = sum.all.length_ns();
      row.sum_ns = sum.sum_ns;
      row.communication_ns = sum.communication_ns;
      out.of<ByLayer>().push_back(row);
    }
  }
};

}  // namespace

std::unique_ptr<Metric> training_phases() { return define_metric<TrainingPhases>(); }

}  // namespace ccl
