// blocking_comm: how much of a step passes without compute because a collective is waited for.
// Definition (of the step period = gap + GPU window): every stretch without compute, from the end of the compute before
// it even where that lies in the step before, is launch-starved if the next compute kernel was launched at its begin or
// later. Else its producers are followed back: the operation that ended last of those launched before the kernel, then
// in the same way what that one waited for, until the stretch began. Time under producers that are communication is
// blocking, under copies copying; the rest is dependency-stalled. Kineto has no event edges: order of launches and ends
// stands for them. The chain is needed: FSDP puts a copy of 3 us between a gather and the kernel that waits for it.
// Merge: keys are disjoint. Headline: blocking / period.
#include <algorithm>
#include <span>

#include "metrics/pooled.hpp"
#include "metrics/step_rows.hpp"
#include "metrics/trace_views.hpp"

namespace ccl {
namespace {

struct BlockingComm {
  static MetricInfo info() {
    return {.name = "blocking_comm",
            .unit = "ratio",
            .question = "How much of a step does the GPU wait for communication, launches or dependencies?",
            .definition =
                "Time without compute in the step period (gap + GPU window), split exactly: launch-starved (the next "
                "compute kernel was launched when the stretch began or later), else by what that kernel waits for, "
                "followed back from the operation that ended last among those launched before it to what that one "
                "waited for: blocking (time under communication on that chain), copying (under copies on it), "
                "dependency-stalled (the rest). Headline: blocking / period.",
            .needs = "GPU events with steps; launches for launch-starved",
            .section = PageSection::further,
            .aliases = {},
            .wants = {},
            .needs_busy_lists = true};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t period_ns = 0, compute_ns = 0, starved_ns = 0, blocking_ns = 0, copying_ns = 0, stalled_ns = 0;
    std::int64_t lead_in_ns = 0, starved_communication_ns = 0;  // parts of starved_ns, which may overlap
    bool launches_known = false;
    auto key() const { return std::tuple(step, rank, device, replica); }
    static TableInfo table() { return {"rows", "time without compute of each step by what it waits for"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("period_ns", &Row::period_ns, "ns", "gap before the step + GPU window"));
      all.push_back(column("compute_ns", &Row::compute_ns, "ns", "union of compute kernels"));
      all.push_back(integer_column<Row>("compute_absent_ns", "ns", "period_ns - compute_ns", {},
                                        [](const Row& row) { return row.period_ns - row.compute_ns; }));
      all.push_back(column("launch_starved_ns", &Row::starved_ns, "ns", "next compute kernel not yet launched"));
      all.push_back(column("blocking_ns", &Row::blocking_ns, "ns", "waiting for communication that runs"));
      all.push_back(column("copying_ns", &Row::copying_ns, "ns", "waiting for a copy that runs"));
      all.push_back(column("dependency_stalled_ns", &Row::stalled_ns, "ns", "launched, and nothing it waits for runs"));
      all.push_back(column("lead_in_ns", &Row::lead_in_ns, "ns",
                           "of launch_starved_ns: before the step's first compute kernel (data loading, host work)"));
      all.push_back(column("starved_communication_ns", &Row::starved_communication_ns, "ns",
                           "of launch_starved_ns: communication runs meanwhile (the host may be waiting for it)"));
      all.push_back(column("launches_known", &Row::launches_known, "", "the file has launches"));
      all.push_back(derived<Row>("blocking_ratio", "ratio", "blocking_ns / period_ns", [](const Row& row) {
        return ratio(static_cast<double>(row.blocking_ns), static_cast<double>(row.period_ns));
      }));
      return all;
    }
  };
  using Tables = RowTables<Row>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    const BusyTrace& busy = context.views->busy();
    const StepRows rows(trace, busy.devices_count);
    const std::vector<std::int64_t> next = first_launches_after(trace, rows, busy.devices_count);
    std::vector<std::int64_t> compute_end_ns(busy.devices_count, absent_ns);  // of the steps before
    for (std::size_t s = 0; s < trace.steps.size(); ++s)
      for (std::size_t d = 0; d < busy.devices_count; ++d) {
        const DeviceWindow& window = trace.steps[s].devices[d];
        if (window.gpu_start_ns == absent_ns) continue;
        Row row;
        row.step.step = trace.steps[s].number;
        row.device = window.device;
        row.launches_known = trace.has_launches();
        const BusyLists& lists = busy.step(s, d);
        split(trace, rows.of(s, d), lists,
              {.period = {window.gpu_start_ns - window.gap_ns, window.gpu_end_ns},
               .compute_end_ns = compute_end_ns[d],
               .next_launch_ns = next[s * busy.devices_count + d]},
              row);
        if (!lists.compute.empty()) compute_end_ns[d] = lists.compute.back().end_ns;
        out.of<Row>().push_back(row);
      }
  }

  static void report(const Tables& tables, const ReportContext&, Report& out) {
    const auto& rows = tables.of<Row>();
    const auto share = [&](std::int64_t Row::*part) {
      return pooled_ratio(rows, [part](const Row& row) { return row.*part; },
                          [](const Row& row) { return row.period_ns; });
    };
    const PooledRatio blocking = share(&Row::blocking_ns), starved = share(&Row::starved_ns);
    if (blocking.ranks_count == 0) return out.absent("no GPU event lies in a step");
    const PooledRatio copying = share(&Row::copying_ns), stalled = share(&Row::stalled_ns);
    add_pooled(out, "blocking", blocking, "waiting for communication / period");
    add_pooled(out, "launch_starved", starved, "waiting for launches / period");
    add_pooled(out, "copying", copying, "waiting for copies / period");
    add_pooled(out, "dependency_stalled", stalled, "waiting for neither / period");
    const PooledRatio lead_in = share(&Row::lead_in_ns), meanwhile = share(&Row::starved_communication_ns);
    add_pooled(out, "lead_in", lead_in, "waiting for the launch of the step's first compute kernel / period");
    add_pooled(out, "starved_communication", meanwhile, "communication runs while a launch is waited for / period");
    const bool launches = std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.launches_known; });
    if (!launches) out.status = Status::partial, out.reason = "some files have no launches: launch-starved unknown there";
    add_line(out.page, "blocking",
             percent(blocking.value) + " of the step period waits for communication" + span_over_ranks(blocking) +
                 ", " + percent(starved.value) + " for launches (" + percent(lead_in.value) +
                 " before the first kernel; communication runs in " + percent(meanwhile.value) + "), " + percent(copying.value) + " for copies, " +
                 percent(stalled.value) + " for other dependencies");
    CappedLines lines;
    for (const Row& row : rows)
      lines.add([&] {
        return "  " + step_name(row.step) + ", " + rank_name(row.replica, row.rank) + ": communication " +
               milliseconds(static_cast<double>(row.blocking_ns)) + ", launches " +
               milliseconds(static_cast<double>(row.starved_ns)) + ", copies " +
               milliseconds(static_cast<double>(row.copying_ns)) + ", other dependencies " +
               milliseconds(static_cast<double>(row.stalled_ns)) + " of " +
               milliseconds(static_cast<double>(row.period_ns));
      });
    lines.add_to(out.details);
  }

 private:
  struct Bounds {
    Interval period;
    /// End of the last compute before the period; absent_ns if there is none.
    std::int64_t compute_end_ns;
    /// Launch of the first compute kernel after the period; absent_ns if there is none or it is unknown.
    std::int64_t next_launch_ns;
  };

  static bool computes(const EventTable& events, std::uint32_t event) {
    return events.kind[event] == EventKind::compute && events.dur_ns[event] > 0;
  }

  // By (step row, device row): launch of the first compute kernel of the steps behind it.
  static std::vector<std::int64_t> first_launches_after(const RankTrace& trace, const StepRows& rows,
                                                        std::size_t devices_count) {
    std::vector<std::int64_t> out(trace.steps.size() * devices_count, absent_ns), later(devices_count, absent_ns);
    for (std::size_t s = trace.steps.size(); s-- > 0;)
      for (std::size_t d = 0; d < devices_count; ++d) {
        out[s * devices_count + d] = later[d];
        const std::span<const std::uint32_t> own = rows.of(s, d);
        const auto first = std::find_if(own.begin(), own.end(), [&](auto event) { return computes(trace.events, event); });
        if (first != own.end()) later[d] = trace.events.launch_ns[*first];
      }
    return out;
  }

  // Stretches without compute within the period, one after the other; events come by start.
  static void split(const RankTrace& trace, std::span<const std::uint32_t> own, const BusyLists& busy,
                    const Bounds& bounds, Row& row) {
    row.period_ns = bounds.period.length_ns();
    row.compute_ns = length_ns(busy.compute);
    const EventTable& events = trace.events;
    std::vector<std::uint32_t> others;  // by end
    for (const std::uint32_t event : own)
      if (events.kind[event] != EventKind::compute) others.push_back(event);
    std::stable_sort(others.begin(), others.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return events.end_ns(a) < events.end_ns(b); });
    std::size_t compute = 0, ended = 0;  // next compute event at or after the stretch; others that end in it or before
    for (const Interval& stretch : subtract(std::vector<Interval>{bounds.period}, busy.compute)) {
      while (compute < own.size() &&
             (!computes(events, own[compute]) || events.start_ns[own[compute]] < stretch.end_ns))
        ++compute;
      const bool leads_in = stretch.start_ns == bounds.period.start_ns;
      const std::int64_t launch_ns = compute < own.size() ? events.launch_ns[own[compute]] : bounds.next_launch_ns;
      const std::int64_t since_ns =
          leads_in && bounds.compute_end_ns != absent_ns ? std::min(stretch.start_ns, bounds.compute_end_ns) : stretch.start_ns;
      if (launch_ns != absent_ns && launch_ns >= since_ns) {
        row.starved_ns += stretch.length_ns();
        if (leads_in) row.lead_in_ns += stretch.length_ns();
        row.starved_communication_ns += length_ns(clip(busy.communication, stretch));
        continue;
      }
      while (ended < others.size() && events.end_ns(others[ended]) <= stretch.end_ns) ++ended;
      follow_back(events, std::span(others).first(ended), stretch, launch_ns, row);
    }
  }

  // others: by end, none ends behind the stretch. Each looked at once, and only those that end in the stretch.
  static void follow_back(const EventTable& events, std::span<const std::uint32_t> others, const Interval& stretch,
                          std::int64_t launch_ns, Row& row) {
    row.stalled_ns += stretch.length_ns();
    std::int64_t until_ns = stretch.end_ns;
    for (auto other = others.rbegin(); other != others.rend() && events.end_ns(*other) > stretch.start_ns; ++other) {
      if (events.end_ns(*other) > until_ns) continue;  // ran beside the operation that was waited for
      const std::int64_t launched_ns = events.launch_ns[*other];
      if (launch_ns != absent_ns && launched_ns != absent_ns && launched_ns >= launch_ns) continue;
      const std::int64_t start_ns = std::max(events.start_ns[*other], stretch.start_ns);
      const std::int64_t under_ns = events.end_ns(*other) - start_ns;
      (events.kind[*other] == EventKind::communication ? row.blocking_ns : row.copying_ns) += under_ns;
      row.stalled_ns -= under_ns;
      until_ns = start_ns;
      launch_ns = launched_ns;
    }
  }
};

}  // namespace

std::unique_ptr<Metric> blocking_comm() { return define_metric<BlockingComm>(); }

}  // namespace ccl
