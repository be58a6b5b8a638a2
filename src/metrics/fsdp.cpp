// fsdp: what sharding parameters costs: its communication, its copies, its host work, and whether prefetch hides it.
// Definition: host = self time of FSDP slices; communication = all-gather, reduce-scatter and
// all-reduce kernels of FSDP, union and exposed (without K); copies = GPU time launched inside the copy slices;
// overhead = len((exposed communication) ∪ (copies on the compute stream)) / period; prefetch efficiency = 1 − Σ stall
// / Σ all-gather. The compute stream is the lane with the most compute time of its device. Merge: keys are disjoint.
#include <map>

#include "metrics/busy.hpp"
#include "metrics/fsdp_gathers.hpp"
#include "metrics/fsdp_tables.hpp"
#include "metrics/pooled.hpp"
#include "metrics/trace_views.hpp"

namespace ccl {
namespace {

struct Fsdp {
  static MetricInfo info() {
    return {.name = "fsdp",
            .unit = "%",
            .question = "What does sharding the parameters (FSDP) cost, and does prefetch hide it?",
            .definition =
                "Exposed communication of FSDP and its copies on the compute stream, as a union / step period, pooled "
                "over ranks, devices and steps. Beside it prefetch efficiency = 1 - time the compute stream stands "
                "still for an all-gather / all-gather time, and the self time of FSDP slices on the CPU.",
            .needs = "FSDP annotations (FSDP::…, fsdp::…) on the CPU; launches",
            .section = PageSection::further,
            .aliases = {},
            .wants = {.annotations = true, .cpu_ops = true},
            .purpose = Purpose::training,
            .needs_busy_lists = true};
  }
  using Row = FsdpRow;
  using Tables = RowTables<FsdpRow, FsdpByOp, FsdpByModule>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    const LaunchContext& launches = context.views->launches();
    const FsdpSlices slices = fsdp_slices(trace);
    if (!slices.any) return;
    Collected all(trace);
    all.add_events(launches, slices);
    const BusyTrace& busy = context.views->busy();
    all.add_gathers(fsdp_gathers(trace, launches, slices, context.views->phases(), all.device_of_lane, busy));
    all.add_slices(launches, slices);
    all.write(context, busy, out);
  }

  static void report(const Tables& tables, const ReportContext&, Report& out) {
    const auto& rows = tables.of<Row>();
    if (rows.empty()) return out.not_applicable("no trace has FSDP slices: parameters are not sharded by FSDP");
    const auto period = [](const Row& row) { return row.period_ns; };
    const auto overhead = pooled_ratio(
        rows, [](const Row& row) { return row.overhead_ns; }, period);
    const auto exposed = pooled_ratio(
        rows, [](const Row& row) { return row.exposed_ns; }, period);
    const auto copies = pooled_ratio(
        rows, [](const Row& row) { return row.copy_ns; }, period);
    const auto stalled = pooled_ratio(
        rows, [](const Row& row) { return row.stall_ns; }, [](const Row& row) { return row.matched_gather_ns; });
    const auto hidden = pooled_ratio(
        rows, [](const Row& row) { return row.hidden_ns; }, [](const Row& row) { return row.gather_ns; });
    const auto stalled_inner = pooled_ratio(
        rows, [](const Row& row) { return row.inner_stall_ns; }, [](const Row& row) { return row.inner_gather_ns; });
    std::int64_t gathers = 0, early = 0, unmatched = 0, self_ns = 0;
    for (const Row& row : rows) {
      gathers += row.gathers_count;
      early += row.prefetched_count;
      unmatched += row.unmatched_count;
      self_ns += std::max<std::int64_t>(row.cpu_self_ns, 0);
    }
    add_pooled(out, "overhead", overhead, "exposed communication and copies on the compute stream, of the period");
    add_pooled(out, "exposed", exposed, "FSDP communication without compute, of the period");
    add_pooled(out, "copy", copies, "copies of FSDP, of the period");
    out.value("prefetch_efficiency_ratio", 1 - stalled.value, "1 - stall / all-gather time, all all-gathers");
    out.value("prefetch_efficiency_inner_ratio", 1 - stalled_inner.value,
              "the same without the first all-gather of forward and of backward, which nothing can hide");
    out.value("gather_hidden_ratio", hidden.value, "part of the all-gather time that lies under compute");
    out.value("gathers_count", static_cast<double>(gathers), "all-gathers launched in FSDP slices");
    out.value("prefetched_count", static_cast<double>(early), "of them launched before the earlier work ran out");
    out.value("unmatched_count", static_cast<double>(unmatched), "of them without a copy-out, in no efficiency");
    out.value("cpu_self_ns", static_cast<double>(self_ns), "self time of FSDP slices, all ranks and steps");
    std::string prefetch = "no all-gather in FSDP slices";
    if (gathers > 0)
      prefetch = percent(hidden.value) + " of the all-gathers lie under compute, prefetch efficiency " +
                 (stalled.ranks_count == 0 ? "unknown (no copy-out slices)"
                                           : percent(1 - stalled.value) + " (" + percent(1 - stalled_inner.value) +
                                                 " without the first ones)");
    add_line(
        out.page, "FSDP",
        "overhead " + percent(overhead.value) + " of the step period" + span_over_ranks(overhead) + "; " + prefetch);
    CappedLines lines;
    for (const Row& row : rows)
      lines.add([&] {
        return "  " + step_name(row.step) + ", " + rank_name(row.replica, row.rank) + " GPU " +
               std::to_string(row.device) + ": communication " + time(row.communication_ns) + ", exposed " +
               time(row.exposed_ns) + ", copies " + time(row.copy_ns) + ", all-gathers " + time(row.gather_ns) +
               ", of it stalled " + time(row.stall_ns);
      });
    lines.add_to(out.details);
  }

 private:
  static std::string time(std::int64_t ns) { return milliseconds(static_cast<double>(ns)); }

  struct Device {
    FsdpRow row;
    Intervals communication, copies, stream_copies;
  };
  struct ModuleKey {
    std::size_t at;
    std::string_view module;
    auto operator<=>(const ModuleKey&) const = default;
  };

  struct Collected {
    explicit Collected(const RankTrace& of)
        : trace(of), device_of_lane(device_rows(of)), by_device(of.steps.size() * of.devices.size()) {}

    void add_events(const LaunchContext& launches, const FsdpSlices& slices) {
      const EventTable& events = trace.events;
      const std::vector<bool> computes = compute_lanes();
      std::size_t next = 0;
      for (std::size_t i = 0; i < events.size(); ++i) {
        while (next < trace.collectives.size() && trace.collectives[next].event < i) ++next;
        if (events.step[i] < 0) continue;
        const std::size_t at = row_of(events.step[i], device_of_lane[events.lane[i]]);
        Device& device = by_device[at];
        const Interval event{events.start_ns[i], events.end_ns(i)};
        const std::int32_t around =
            launches.find(trace, i, [&](const CpuSlice& slice) { return slices.of(slice) != FsdpOp::none; });
        if (events.kind[i] == EventKind::communication) {
          const bool known = next < trace.collectives.size() && trace.collectives[next].event == i;
          if (!known || !is_fsdp_communication(trace, trace.collectives[next], around >= 0)) continue;
          append_merged(device.communication, event);
          device.row.communication_sum_ns += events.dur_ns[i];
          ++device.row.kernels_count;
          if (FsdpByModule* module = module_of(launches, i, at))
            (trace.collectives[next].op == CollectiveOp::all_gather ? module->gather_ns : module->reduce_ns) +=
                events.dur_ns[i];
          continue;
        }
        const bool copy = launches.find(trace, i, [&](const CpuSlice& slice) { return copies(slices.of(slice)); }) >= 0;
        if (!copy) continue;
        append_merged(device.copies, event);
        device.row.copy_sum_ns += events.dur_ns[i];
        if (computes[events.lane[i]]) append_merged(device.stream_copies, event);
        if (FsdpByModule* module = module_of(launches, i, at)) module->copy_ns += events.dur_ns[i];
      }
    }

    void add_gathers(const std::vector<FsdpGather>& gathers) {
      for (const FsdpGather& gather : gathers) {
        const std::size_t at = row_of(trace.events.step[gather.event], device_of_lane[trace.events.lane[gather.event]]);
        FsdpRow& row = by_device[at].row;
        const std::int64_t length = trace.events.dur_ns[gather.event];
        ++row.gathers_count;
        if (gather.prefetched) ++row.prefetched_count;
        row.hidden_ns += gather.hidden_ns;
        row.gather_ns += length;
        if (gather.stall_ns < 0) {
          ++row.unmatched_count;
          continue;
        }
        row.matched_gather_ns += length;
        row.stall_ns += gather.stall_ns;
        if (!gather.first) row.inner_gather_ns += length, row.inner_stall_ns += gather.stall_ns;
        const std::string_view module = fsdp_module_in(trace.strings.text(gather.module));
        if (!module.empty()) {
          FsdpByModule& into = modules[{at, module}];
          ++into.gathers_count;
          into.stall_ns += gather.stall_ns;
        }
      }
    }

    // CPU slices belong to the step they begin in; their time stands on the rank's first device.
    void add_slices(const LaunchContext& launches, const FsdpSlices& slices) {
      if (trace.devices.empty()) return;
      for (const auto& [row, self_ns] : fsdp_self(trace, launches, slices)) {
        const CpuSlice& slice = trace.slices[row];
        const FsdpOp op = slices.of(slice);
        for (std::size_t s = 0; s < trace.steps.size(); ++s) {
          const Step& step = trace.steps[s];
          const bool in =
              step.source == StepSource::span || (step.start_ns <= slice.start_ns && slice.start_ns < step.end_ns);
          if (!in) continue;
          FsdpByOp& by_op = ops[{s, op}];
          ++by_op.slices_count;
          by_op.self_ns += self_ns;
          const std::size_t at = s * trace.devices.size();
          by_device[at].row.cpu_self_ns = std::max<std::int64_t>(by_device[at].row.cpu_self_ns, 0) + self_ns;
          if (op == FsdpOp::prefetch) ++by_device[at].row.prefetch_calls_count;
          const std::string_view module = fsdp_module_in(trace.strings.text(slice.name));
          if (!module.empty()) modules[{at, module}].cpu_self_ns += self_ns;
          break;
        }
      }
    }

    void write(const LocalContext& context, const BusyTrace& busy, Tables& out) {
      const std::size_t devices = trace.devices.size();
      for (std::size_t at = 0; at < by_device.size(); ++at) {
        Device& device = by_device[at];
        const Step& step = trace.steps[at / devices];
        const DeviceWindow& window = step.devices[at % devices];
        if (window.gpu_start_ns == absent_ns) continue;
        FsdpRow& row = device.row;
        row.step.step = step.number;
        row.device = window.device;
        row.period_ns = window.gap_ns + window.gpu_end_ns - window.gpu_start_ns;
        const Intervals exposed = subtract(device.communication, busy.step(at / devices, at % devices).compute);
        row.communication_ns = length_ns(device.communication);
        row.exposed_ns = length_ns(exposed);
        row.copy_ns = length_ns(device.copies);
        row.stream_copy_ns = length_ns(device.stream_copies);
        row.overhead_ns = length_ns(unite(exposed, device.stream_copies));
        out.of<FsdpRow>().push_back(row);
      }
      for (auto& [key, row] : ops) {
        row.step.step = trace.steps[key.first].number;
        row.op = key.second;
        out.of<FsdpByOp>().push_back(row);
      }
      for (auto& [key, row] : modules) {
        row.step.step = trace.steps[key.at / devices].number;
        row.device = trace.devices[key.at % devices];
        row.module = context.strings.intern(key.module);
        out.of<FsdpByModule>().push_back(row);
      }
    }

    const RankTrace& trace;
    std::vector<std::size_t> device_of_lane;
    std::vector<Device> by_device;  // [step row × devices + device row]
    std::map<std::pair<std::size_t, FsdpOp>, FsdpByOp> ops;
    std::map<ModuleKey, FsdpByModule> modules;

   private:
    std::size_t row_of(std::int32_t step, std::size_t device) const {
      return static_cast<std::size_t>(step) * trace.devices.size() + device;
    }
    FsdpByModule* module_of(const LaunchContext& launches, std::size_t event, std::size_t at) {
      const auto named = [&](const CpuSlice& slice) {
        const std::string_view name = trace.strings.text(slice.name);
        return fsdp_op_in(name) != FsdpOp::none && !fsdp_module_in(name).empty();
      };
      const std::int32_t slice = launches.find(trace, event, named);
      if (slice < 0) return nullptr;
      return &modules[{at, fsdp_module_in(trace.strings.text(trace.slices[static_cast<std::size_t>(slice)].name))}];
    }
    std::vector<bool> compute_lanes() const {
      std::vector<std::int64_t> sums(trace.lanes.size());
      for (std::size_t i = 0; i < trace.events.size(); ++i)
        if (trace.events.kind[i] == EventKind::compute) sums[trace.events.lane[i]] += trace.events.dur_ns[i];
      std::vector<std::size_t> best(trace.devices.size(), SIZE_MAX);
      for (std::size_t lane = 0; lane < sums.size(); ++lane) {
        std::size_t& of = best[device_of_lane[lane]];
        if (of == SIZE_MAX || sums[lane] > sums[of]) of = lane;
      }
      std::vector<bool> out(sums.size());
      for (const std::size_t lane : best) out[lane] = true;
      return out;
    }
  };
};

}  // namespace

std::unique_ptr<Metric> fsdp() { return define_metric<Fsdp>(); }

}  // namespace ccl
