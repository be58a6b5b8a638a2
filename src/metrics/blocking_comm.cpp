// blocking_comm: how much of a step passes without compute because a collective is waited for.
// Definition (of the step period = gap + GPU window): every stretch without compute is
// launch-starved if the next compute kernel was launched after it began; else, if an operation ends in it before that
// kernel starts, the last such operation is what was waited for: where it is communication the time under
// communication is blocking, where it is a copy the time under copies; the rest is dependency-stalled. Kineto has no
// event edges, so the producer is the operation that ended last. Merge: keys are disjoint. Headline: blocking / period.
#include <algorithm>
#include <span>

#include "metrics/pooled.hpp"
#include "metrics/trace_views.hpp"

namespace ccl {
namespace {

/// Event rows of each step and device, by start. 4 bytes an event.
class StepRows {
 public:
  StepRows(const RankTrace& trace, std::size_t devices_count)
      : devices_count_(devices_count), first_(trace.steps.size() * devices_count + 1) {
    const std::vector<std::size_t> device_of_lane = device_rows(trace);
    const EventTable& events = trace.events;
    const auto at = [&](std::size_t i) {
      return static_cast<std::size_t>(events.step[i]) * devices_count + device_of_lane[events.lane[i]];
    };
    for (std::size_t i = 0; i < events.size(); ++i)
      if (events.step[i] >= 0) ++first_[at(i) + 1];
    for (std::size_t s = 1; s < first_.size(); ++s) first_[s] += first_[s - 1];
    rows_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::size_t i = 0; i < events.size(); ++i)
      if (events.step[i] >= 0) rows_[next[at(i)]++] = static_cast<std::uint32_t>(i);
  }
  std::span<const std::uint32_t> of(std::size_t step, std::size_t device) const {
    const std::size_t at = step * devices_count_ + device;
    return std::span(rows_).subspan(first_[at], first_[at + 1] - first_[at]);
  }

 private:
  std::size_t devices_count_;
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> rows_;
};

struct BlockingComm {
  static MetricInfo info() {
    return {.name = "blocking_comm",
            .unit = "ratio",
            .question = "How much of a step does the GPU wait for communication, launches or dependencies?",
            .definition =
                "Time without compute in the step period (gap + GPU window), split exactly: launch-starved (the next "
                "compute kernel was launched after the stretch began), blocking (launched; the operation that ended "
                "last in it is communication: the time under communication), copying (likewise for copies), "
                "dependency-stalled (the rest). Headline: blocking / period.",
            .needs = "GPU events with steps; launches for launch-starved",
            .section = PageSection::further,
            .aliases = {},
            .wants = {}};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t period_ns = 0, compute_ns = 0, starved_ns = 0, blocking_ns = 0, copying_ns = 0, stalled_ns = 0;
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
    for (std::size_t s = 0; s < trace.steps.size(); ++s)
      for (std::size_t d = 0; d < busy.devices_count; ++d) {
        const DeviceWindow& window = trace.steps[s].devices[d];
        if (window.gpu_start_ns == absent_ns) continue;
        Row row;
        row.step.step = trace.steps[s].number;
        row.device = window.device;
        row.launches_known = trace.has_launches();
        split(trace, rows.of(s, d), busy.step(s, d),
              {window.gpu_start_ns - window.gap_ns, window.gpu_end_ns}, row);
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
    const bool launches = std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.launches_known; });
    if (!launches) out.status = Status::partial, out.reason = "some files have no launches: launch-starved unknown there";
    add_line(out.page, "blocking",
             percent(blocking.value) + " of the step period waits for communication" + span_over_ranks(blocking) +
                 ", " + percent(starved.value) + " for launches, " + percent(copying.value) + " for copies, " +
                 percent(stalled.value) + " for other dependencies");
    std::vector<std::string> lines;
    for (const Row& row : rows)
      lines.push_back("  " + step_name(row.step) + ", " + rank_name(row.replica, row.rank) + ": communication " +
                      milliseconds(static_cast<double>(row.blocking_ns)) + ", launches " +
                      milliseconds(static_cast<double>(row.starved_ns)) + ", copies " +
                      milliseconds(static_cast<double>(row.copying_ns)) + ", other dependencies " +
                      milliseconds(static_cast<double>(row.stalled_ns)) + " of " +
                      milliseconds(static_cast<double>(row.period_ns)));
    add_capped(out.details, lines);
  }

 private:
  // Stretches without compute within the period, one after the other; events come by start.
  static void split(const RankTrace& trace, std::span<const std::uint32_t> own, const BusyLists& busy, Interval period,
                    Row& row) {
    row.period_ns = period.length_ns();
    row.compute_ns = length_ns(busy.compute);
    const EventTable& events = trace.events;
    std::vector<std::uint32_t> others;  // by end
    for (const std::uint32_t event : own)
      if (events.kind[event] != EventKind::compute) others.push_back(event);
    std::stable_sort(others.begin(), others.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return events.end_ns(a) < events.end_ns(b); });
    std::size_t compute = 0, other = 0;  // next compute event at or after the stretch; others that end in it or before
    for (const Interval& stretch : subtract(std::vector<Interval>{period}, busy.compute)) {
      while (compute < own.size() && (events.kind[own[compute]] != EventKind::compute || events.dur_ns[own[compute]] == 0 ||
                                      events.start_ns[own[compute]] < stretch.end_ns))
        ++compute;
      if (compute < own.size() && events.launch_ns[own[compute]] != absent_ns &&
          events.launch_ns[own[compute]] >= stretch.start_ns) {
        row.starved_ns += stretch.length_ns();
        continue;
      }
      while (other < others.size() && events.end_ns(others[other]) <= stretch.end_ns) ++other;
      const bool waits = other > 0 && events.end_ns(others[other - 1]) > stretch.start_ns;
      const bool communicates = waits && events.kind[others[other - 1]] == EventKind::communication;
      const std::int64_t under_ns =
          waits ? length_ns(clip(communicates ? busy.communication : busy.memory, stretch)) : 0;
      (communicates ? row.blocking_ns : row.copying_ns) += under_ns;
      row.stalled_ns += stretch.length_ns() - under_ns;
    }
  }
};

}  // namespace

std::unique_ptr<Metric> blocking_comm() { return define_metric<BlockingComm>(); }

}  // namespace ccl
