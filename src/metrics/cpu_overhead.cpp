// cpu_overhead: does the GPU wait for the CPU? Launch-starved time, launch delay, queue depth, synchronising calls.
// Definition: a stretch in which a device is idle ends at the start of an event; the part of it before that event's
// launch call began is launch-starved; launch delay = start of the event - start of its launch call; queue depth at a
// launch = events launched before it that have not started. Shares divide by the step period.
// Merge: keys are disjoint. Headline: Σ starved / Σ period.
#include "core/launch_context.hpp"
#include "core/sort_runs.hpp"
#include "metrics/pooled.hpp"
#include "metrics/step_rows.hpp"

namespace ccl {
namespace {

struct CpuOverhead {
  static MetricInfo info() {
    return {.name = "cpu_overhead",
            .unit = "%",
            .question = "Does the GPU wait for the CPU to launch work?",
            .definition =
                "Launch-starved share of the step period: device-idle time before the launch call of the event that "
                "ends it, pooled over ranks, devices and steps. Beside it launch delay (start of the event - start of "
                "its launch call), queue depth and the calls that synchronise.",
            .needs = "launch records (cuda_runtime, cuda_driver)",
            .section = PageSection::further,
            .aliases = {},
            .wants = {.runtime_calls = true}};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t period_ns = 0, idle_ns = 0, starved_ns = 0, launches_count = 0, queue_depth_max = 0;
    std::int64_t empty_queue_count = 0, sync_calls_count = -1, sync_ns = -1;
    double delay_p50_ns = 0, delay_p95_ns = 0, queue_depth_mean = 0;
    auto key() const { return std::tuple(step, rank, device, replica); }
    static TableInfo table() { return {"rows", "launches of each step on each rank and device"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("period_ns", &Row::period_ns, "ns", "gap + GPU window of the step"));
      all.push_back(column("idle_ns", &Row::idle_ns, "ns", "device idle before events of the step, gap included"));
      all.push_back(column("starved_ns", &Row::starved_ns, "ns", "part of it before the launch of what ended it"));
      all.push_back(derived<Row>("starved_ratio", "", "starved_ns / period_ns", [](const Row& row) {
        return ratio(static_cast<double>(row.starved_ns), static_cast<double>(row.period_ns));
      }));
      all.push_back(column("launches_count", &Row::launches_count, "", "GPU events of the step with a launch"));
      all.push_back(column("delay_p50_ns", &Row::delay_p50_ns, "ns", "median of start - start of the launch call"));
      all.push_back(column("delay_p95_ns", &Row::delay_p95_ns, "ns", "95th percentile of the same"));
      all.push_back(column("queue_depth_mean", &Row::queue_depth_mean, "", "events waiting to start, at each launch"));
      all.push_back(column("queue_depth_max", &Row::queue_depth_max, "", "largest of the same"));
      all.push_back(column("empty_queue_count", &Row::empty_queue_count, "", "launches that found nothing waiting"));
      all.push_back(column("sync_calls_count", &Row::sync_calls_count, "",
                           "synchronising calls that began in the CPU step; on the rank's first device", -1));
      all.push_back(column("sync_ns", &Row::sync_ns, "ns", "sum of their durations; on the rank's first device", -1));
      return all;
    }
  };
  struct ByCall {
    StepId step;
    RankId rank;
    std::int32_t replica = -1;
    StringId call;
    std::int64_t calls_count = 0, sum_ns = 0;
    auto key() const { return std::tuple(step, rank, replica, call); }
    void combine(const ByCall& other) { calls_count += other.calls_count, sum_ns += other.sum_ns; }
    static TableInfo table() { return {"by_call", "calls that wait for the GPU, by name"}; }
    static std::vector<ColumnSpec<ByCall>> columns(const Resolver& resolver) {
      std::vector<ColumnSpec<ByCall>> all = key_columns<ByCall>();
      all.push_back(text_column<ByCall>("call", "runtime or driver function",
                                        [text = resolver.text](const ByCall& row) { return text(row.call); }));
      all.push_back(column("calls_count", &ByCall::calls_count, "", "calls"));
      all.push_back(column("sum_ns", &ByCall::sum_ns, "ns", "sum of their durations on the CPU"));
      return all;
    }
  };
  using Tables = RowTables<Row, ByCall>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    if (!trace.has_launches()) return;
    std::vector<std::vector<Found>> found(trace.devices.size());
    for (std::size_t d = 0; d < found.size(); ++d) {
      found[d].resize(trace.steps.size());
      add_idle(trace, d, found[d]);
      add_queue(trace, d, found[d]);
    }
    const std::vector<ByCall> calls = synchronising_calls(trace, context);
    const StepRows rows(trace, trace.devices.size());
    for (std::size_t s = 0; s < trace.steps.size(); ++s)
      for (std::size_t d = 0; d < found.size(); ++d) {
        const DeviceWindow& window = trace.steps[s].devices[d];
        Found& of = found[d][s];
        if (window.gpu_start_ns == absent_ns || of.row.launches_count == 0) continue;
        Row row = of.row;
        row.step.step = trace.steps[s].number;
        row.device = trace.devices[d];
        row.period_ns = window.gap_ns + window.gpu_end_ns - window.gpu_start_ns;
        row.queue_depth_mean = ratio(static_cast<double>(of.depth_sum), static_cast<double>(row.launches_count));
        std::vector<double> delays;
        for (const std::uint32_t i : rows.of(s, d))
          if (trace.events.launch_ns[i] != absent_ns)
            delays.push_back(static_cast<double>(trace.events.start_ns[i] - trace.events.launch_ns[i]));
        row.delay_p50_ns = percentile(delays, 50);
        row.delay_p95_ns = percentile(std::move(delays), 95);
        if (d == 0 && trace.steps[s].source == StepSource::marker) {
          row.sync_calls_count = row.sync_ns = 0;
          for (const ByCall& call : calls)
            if (call.step.step == row.step.step) row.sync_calls_count += call.calls_count, row.sync_ns += call.sum_ns;
        }
        out.of<Row>().push_back(row);
      }
    out.of<ByCall>().insert(out.of<ByCall>().end(), calls.begin(), calls.end());
  }

  static void report(const Tables& tables, const ReportContext&, Report& out) {
    const auto& rows = tables.of<Row>();
    if (rows.empty()) return out.absent("no trace has launch records of GPU events in a step");
    const auto period = [](const Row& row) { return row.period_ns; };
    const auto starved = pooled_ratio(
        rows, [](const Row& row) { return row.starved_ns; }, period);
    add_pooled(out, "starved", starved, "device idle before the launch of what ended the idleness, of the period");
    std::vector<double> p50, p95;
    std::int64_t calls = 0, wait_ns = 0, deepest = 0;
    bool any_calls = false;
    for (const Row& row : rows) {
      p50.push_back(row.delay_p50_ns);
      p95.push_back(row.delay_p95_ns);
      deepest = std::max(deepest, row.queue_depth_max);
      if (row.sync_calls_count < 0) continue;
      any_calls = true;
      calls += row.sync_calls_count;
      wait_ns += row.sync_ns;
    }
    out.value("delay_p50_ns", median(p50), "median over rows of the median launch delay");
    out.value("delay_p95_ns", median(p95), "median over rows of the 95th percentile of the launch delay");
    out.value("queue_depth_max_count", static_cast<double>(deepest), "most events that waited to start");
    if (any_calls) {
      out.value("sync_calls_count", static_cast<double>(calls), "synchronising calls, over all ranks and steps");
      out.value("sync_ns", static_cast<double>(wait_ns), "sum of their durations");
    }
    add_line(out.page, "CPU",
             "GPU waits for launches " + percent(starved.value) + " of the step period" + span_over_ranks(starved) +
                 "; launch to start p50 " + microseconds(median(p50)) + ", p95 " + microseconds(median(p95)) +
                 (any_calls ? "; " + counted(static_cast<std::size_t>(calls), "synchronising call") : ""));
    CappedLines lines;
    for (const Row& row : rows)
      lines.add([&] {
        return "  " + step_name(row.step) + ", " + rank_name(row.replica, row.rank) + " GPU " +
               std::to_string(row.device) + ": idle " + milliseconds(static_cast<double>(row.idle_ns)) +
               ", of it launch-starved " + milliseconds(static_cast<double>(row.starved_ns)) +
               "; launch to start p50 " + microseconds(row.delay_p50_ns) + ", p95 " +
               microseconds(row.delay_p95_ns) + "; at most " + std::to_string(row.queue_depth_max) + " waiting";
      });
    lines.add_to(out.details);
  }

 private:
  struct Found {
    Row row;
    std::int64_t depth_sum = 0;
  };

  static bool on_device(const RankTrace& trace, std::size_t event, std::size_t device) {
    return trace.lanes[trace.events.lane[event]].device == trace.devices[device];
  }

  // Events come in start order: whatever starts later than everything before it ended, ends an idle stretch.
  static void add_idle(const RankTrace& trace, std::size_t device, std::vector<Found>& steps) {
    const EventTable& events = trace.events;
    std::int64_t until_ns = absent_ns;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!on_device(trace, i, device)) continue;
      const std::int32_t step = events.step[i];
      std::int64_t from_ns = until_ns;
      if (from_ns == absent_ns && step >= 0) from_ns = trace.steps[static_cast<std::size_t>(step)].start_ns;
      if (step >= 0 && from_ns != absent_ns && from_ns < events.start_ns[i]) {
        Row& row = steps[static_cast<std::size_t>(step)].row;
        row.idle_ns += events.start_ns[i] - from_ns;
        if (events.launch_ns[i] != absent_ns)
          row.starved_ns += std::clamp<std::int64_t>(events.launch_ns[i] - from_ns, 0, events.start_ns[i] - from_ns);
      }
      until_ns = std::max(until_ns, events.end_ns(i));
    }
  }

  // What started before a launch was launched before it: the queue is the launches so far minus the starts so far.
  static void add_queue(const RankTrace& trace, std::size_t device, std::vector<Found>& steps) {
    const EventTable& events = trace.events;
    const auto waits = [&](std::size_t i) { return events.launch_ns[i] != absent_ns && on_device(trace, i, device); };
    std::vector<std::uint32_t> by_launch = launched_events(trace);
    std::erase_if(by_launch, [&](std::uint32_t i) { return !on_device(trace, i, device); });
    sort_runs(by_launch, [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(events.launch_ns[a], a) < std::tuple(events.launch_ns[b], b);
    });
    std::size_t started = 0, next = 0;
    for (std::size_t launched = 0; launched < by_launch.size(); ++launched) {
      const std::uint32_t i = by_launch[launched];
      for (; next < events.size() && events.start_ns[next] <= events.launch_ns[i]; ++next) started += waits(next) ? 1 : 0;
      if (events.step[i] < 0) continue;
      Found& of = steps[static_cast<std::size_t>(events.step[i])];
      const auto depth = static_cast<std::int64_t>(launched - std::min(started, launched));
      of.depth_sum += depth;
      of.row.queue_depth_max = std::max(of.row.queue_depth_max, depth);
      if (depth == 0) ++of.row.empty_queue_count;
      ++of.row.launches_count;
    }
  }

  static std::vector<ByCall> synchronising_calls(const RankTrace& trace, const LocalContext& context) {
    std::vector<ByCall> out;
    for (const CpuSlice& slice : trace.slices) {
      if (slice.kind != SliceKind::runtime) continue;
      for (const Step& step : trace.steps)
        if (step.start_ns != absent_ns && step.start_ns <= slice.start_ns && slice.start_ns < step.end_ns) {
          ByCall row;
          row.step.step = step.number;
          row.call = context.strings.intern(trace.strings.text(slice.name));
          row.calls_count = 1;
          row.sum_ns = slice.end_ns - slice.start_ns;
          out.push_back(row);
          break;
        }
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<Metric> cpu_overhead() { return define_metric<CpuOverhead>(); }

}  // namespace ccl
