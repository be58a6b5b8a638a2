// microbatch: how long forward and backward of each micro-batch take, and what of it is communication.
// Definition: micro-batches, phases and categories of microbatches.hpp. Per (step, rank, device, micro-batch, category):
// hull = last end - first start, union, sum of durations. Per direction of a micro-batch: wall = hull of compute and of
// tp, ep and cp communication; overlap = len(C & K). Merge: keys are disjoint.
#include <array>
#include <map>

#include "core/statistics.hpp"
#include "metrics/busy.hpp"
#include "metrics/microbatch_tables.hpp"
#include "metrics/step_rows.hpp"
#include "metrics/trace_views.hpp"

namespace ccl {
namespace {

bool is_communication(WorkCategory category) {
  return category >= WorkCategory::dp_communication && category <= WorkCategory::other_communication;
}

bool is_inner_communication(WorkCategory category) {
  return category == WorkCategory::tp_communication || category == WorkCategory::ep_communication ||
         category == WorkCategory::cp_communication;
}

struct Collected {
  MergedLength all;
  std::int64_t events_count = 0, sum_ns = 0, start_ns = 0, end_ns = 0;
};

struct Part {
  Intervals compute, communication, recompute;
};

struct Microbatch {
  static MetricInfo info() {
    return {.name = "microbatch",
            .unit = "ms",
            .question = "How long do forward and backward of a micro-batch take, and how much of that is communication?",
            .definition =
                "Median over ranks, steps, micro-batches and virtual stages of the span (first start to last end) of "
                "compute and of tensor, expert and context parallel communication, by direction. Micro-batches are "
                "slices of configs/megatron.yaml and torchtitan.yaml; without any, stretches of launches between "
                "forward and backward threads and pipeline messages. Numbers come from names, else from the order of "
                "the schedule. Recompute is told by frames, repeated annotations, or operators that count gradients "
                "inside an autograd node; where a trace has none of these it reads as backward.",
            .needs = "CPU annotations, Python functions or autograd operators; launches",
            .section = PageSection::further,
            .aliases = {},
            .wants = {.annotations = true, .cpu_ops = true, .python = true}};
  }
  using Row = MicroBatchRow;
  using Tables = RowTables<MicroBatchRow, MicroBatchPhaseRow, MicroBatchOverlapRow, MicroBatchEvidenceRow>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    const EventRoles& roles = context.views->roles(context.workload);
    if (!roles.known) return;
    const std::vector<std::size_t> device_of_lane = device_rows(trace);
    add_rows(trace, roles, device_of_lane, out);
    const StepRows rows(trace, trace.devices.size());
    for (std::size_t s = 0; s < trace.steps.size(); ++s)
      for (std::size_t d = 0; d < trace.devices.size(); ++d) {
        add_parts(trace, roles, rows.of(s, d), d, out);
        add_overlap(trace, roles, rows.of(s, d), {s, d}, out);
      }
    add_evidence(trace, roles, out);
  }

  static void add_rows(const RankTrace& trace, const EventRoles& roles, const std::vector<std::size_t>& device_of_lane,
                       Tables& out) {
    const EventTable& events = trace.events;
    using Key = std::tuple<std::int32_t, std::size_t, std::int32_t, std::int32_t, TrainingPhase, WorkCategory>;
    std::map<Key, Collected> all;
    std::array<std::map<Key, Collected>::iterator, category_count> last;  // by category: most are like the one before
    last.fill(all.end());
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events.step[i] < 0) continue;
      const std::int32_t m = roles.microbatch[i];
      const std::int32_t number = m < 0 ? -1 : roles.microbatches[static_cast<std::size_t>(m)].number;
      const std::int32_t chunk = m < 0 ? -1 : roles.microbatches[static_cast<std::size_t>(m)].chunk;
      const Key wanted{events.step[i], device_of_lane[events.lane[i]], number, chunk, roles.phase[i], roles.category[i]};
      auto& at = last[static_cast<std::size_t>(roles.category[i])];
      if (at == all.end() || at->first != wanted) at = all.try_emplace(wanted).first;
      Collected& c = at->second;
      c.all.add({events.start_ns[i], events.end_ns(i)});
      if (c.events_count == 0) c.start_ns = events.start_ns[i];
      c.end_ns = c.events_count == 0 ? events.end_ns(i) : std::max(c.end_ns, events.end_ns(i));
      c.sum_ns += events.dur_ns[i];
      ++c.events_count;
    }
    for (const auto& [key, c] : all) {
      Row row;
      row.step.step = trace.steps[static_cast<std::size_t>(std::get<0>(key))].number;
      row.device = trace.devices[std::get<1>(key)];
      row.microbatch = std::get<2>(key);
      row.chunk = std::get<3>(key);
      row.phase = std::get<4>(key);
      row.category = std::get<5>(key);
      row.events_count = c.events_count;
      row.start_ns = c.start_ns;
      row.end_ns = c.end_ns;
      row.union_ns = c.all.length_ns();
      row.sum_ns = c.sum_ns;
      out.of<Row>().push_back(row);
    }
  }

  /// rows: the events of one step and device.
  static void add_parts(const RankTrace& trace, const EventRoles& roles, std::span<const std::uint32_t> rows,
                        std::size_t device, Tables& out) {
    const EventTable& events = trace.events;
    std::map<std::int32_t, Part> parts;  // by micro-batch
    for (const std::uint32_t i : rows) {
      if (roles.microbatch[i] < 0) continue;
      Part& part = parts[roles.microbatch[i]];
      const Interval event{events.start_ns[i], events.end_ns(i)};
      if (is_inner_communication(roles.category[i])) append_merged(part.communication, event);
      if (events.kind[i] == EventKind::compute) append_merged(part.compute, event);
      if (roles.category[i] == WorkCategory::recompute) append_merged(part.recompute, event);
    }
    for (const auto& [number, part] : parts) {
      const Intervals both = unite(part.compute, part.communication);
      if (both.empty()) continue;
      const MicroBatch& m = roles.microbatches[static_cast<std::size_t>(number)];
      MicroBatchPhaseRow row;
      row.step.step = trace.steps[static_cast<std::size_t>(m.step)].number;
      row.device = trace.devices[device];
      row.microbatch = m.number;
      row.chunk = m.chunk;
      row.direction = m.direction;
      row.number_source = roles.numbers;
      row.start_ns = both.front().start_ns;
      row.wall_ns = both.back().end_ns - both.front().start_ns;
      row.compute_ns = length_ns(part.compute);
      row.communication_ns = length_ns(part.communication);
      row.overlap_ns = overlap_ns(part.compute, part.communication);
      row.recompute_ns = length_ns(part.recompute);
      out.of<MicroBatchPhaseRow>().push_back(row);
    }
  }

  struct Place {
    std::size_t step, device;
  };
  /// rows: the events of one step and device.
  static void add_overlap(const RankTrace& trace, const EventRoles& roles, std::span<const std::uint32_t> rows,
                          Place place, Tables& out) {
    std::array<Intervals, category_count> lists;
    for (const std::uint32_t i : rows)
      append_merged(lists[static_cast<std::size_t>(roles.category[i])], {trace.events.start_ns[i], trace.events.end_ns(i)});
    for (std::size_t c = 0; c < category_count; ++c) {
      const Intervals& communication = lists[c];
      if (communication.empty() || !is_communication(static_cast<WorkCategory>(c))) continue;
      for (std::size_t k = 0; k < category_count; ++k) {
        const auto kind = static_cast<WorkCategory>(k);
        if (lists[k].empty() || is_communication(kind) || kind == WorkCategory::memory) continue;
        MicroBatchOverlapRow row;
        row.step.step = trace.steps[place.step].number;
        row.device = trace.devices[place.device];
        row.communication = static_cast<WorkCategory>(c);
        row.compute = kind;
        row.communication_ns = length_ns(communication);
        row.overlap_ns = overlap_ns(communication, lists[k]);
        out.of<MicroBatchOverlapRow>().push_back(row);
      }
    }
  }

  static void add_evidence(const RankTrace& trace, const EventRoles& roles, Tables& out) {
    std::map<std::pair<std::int32_t, Evidence>, MicroBatchEvidenceRow> all;
    auto at = all.end();
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const std::int32_t step = trace.events.step[i];
      if (step < 0) continue;
      const std::pair wanted(step, roles.evidence[i]);
      if (at == all.end() || at->first != wanted) at = all.try_emplace(wanted).first;
      MicroBatchEvidenceRow& row = at->second;
      row.step.step = trace.steps[static_cast<std::size_t>(step)].number;
      row.evidence = roles.evidence[i];
      ++row.events_count;
      row.without_microbatch_count += roles.microbatch[i] < 0 ? 1 : 0;
      row.unclassified_count += roles.phase[i] == TrainingPhase::unclassified ? 1 : 0;
    }
    for (const auto& [key, row] : all) out.of<MicroBatchEvidenceRow>().push_back(row);
  }

  static void report(const Tables& tables, const ReportContext&, Report& out) {
    const auto& evidence = tables.of<MicroBatchEvidenceRow>();
    if (evidence.empty()) return out.absent("no trace tells forward and backward apart (no annotation, Python or autograd slice)");
    std::array<std::int64_t, evidence_count> by_evidence{};
    std::int64_t events = 0, unclassified = 0;
    for (const MicroBatchEvidenceRow& row : evidence) {
      by_evidence[static_cast<std::size_t>(row.evidence)] += row.events_count;
      events += row.events_count;
      unclassified += row.unclassified_count;
    }
    const auto& parts = tables.of<MicroBatchPhaseRow>();
    const Spans forward = spans(parts, Direction::forward), backward = spans(parts, Direction::backward);
    if (parts.empty()) out.absent("no micro-batch is told apart; /metrics/microbatch/rows has the phases");
    out.value("forward_ns", forward.median_ns, "median span of a forward");
    out.value("backward_ns", backward.median_ns, "median span of a backward, recompute included");
    out.value("forward_count", static_cast<double>(forward.count), "forwards over all ranks and steps");
    out.value("backward_count", static_cast<double>(backward.count), "backwards over all ranks and steps");
    out.value("unclassified_count", static_cast<double>(unclassified), "GPU events of steps that nothing tells about");
    out.value("events_count", static_cast<double>(events), "GPU events of steps");
    std::string known;
    for (std::size_t e = 0; e < evidence_count; ++e) {
      if (by_evidence[e] == 0) continue;
      known += (known.empty() ? "" : ", ") + std::string(to_text(static_cast<Evidence>(e))) + " " +
               percent(ratio(static_cast<double>(by_evidence[e]), static_cast<double>(events)));
    }
    out.note("evidence", known, "by what the phase of the events is known");
    out.details.push_back("evidence of the " + std::to_string(events) + " GPU events in steps: " + known + "; " +
                          std::to_string(unclassified) + " unclassified");
    if (parts.empty()) return;
    std::string line = spans_text("forward", forward);
    if (backward.count > 0) line += "; " + spans_text("backward", backward);
    if (unclassified > 0) line += "; " + std::to_string(unclassified) + " of " + std::to_string(events) + " events unclassified";
    add_line(out.page, "micro-batch", line);
    add_categories(tables.of<Row>(), out);
  }

 private:
  struct Spans {
    double median_ns = 0;
    std::int64_t count = 0, wall_ns = 0, compute_ns = 0, communication_ns = 0, overlap_ns = 0, recompute_ns = 0;
  };

  static Spans spans(const std::vector<MicroBatchPhaseRow>& rows, Direction direction) {
    Spans out;
    std::vector<double> walls;
    for (const MicroBatchPhaseRow& row : rows) {
      if (row.direction != direction) continue;
      walls.push_back(static_cast<double>(row.wall_ns));
      ++out.count;
      out.wall_ns += row.wall_ns;
      out.compute_ns += row.compute_ns;
      out.communication_ns += row.communication_ns;
      out.overlap_ns += row.overlap_ns;
      out.recompute_ns += row.recompute_ns;
    }
    out.median_ns = median(walls);
    return out;
  }

  static std::string spans_text(const std::string& name, const Spans& spans) {
    if (spans.count == 0) return "no " + name;
    const auto share = [&](std::int64_t ns) {
      return percent(ratio(static_cast<double>(ns), static_cast<double>(spans.wall_ns)));
    };
    std::string text = name + " " + milliseconds(spans.median_ns) + " (median of " + std::to_string(spans.count) +
                       "; compute " + share(spans.compute_ns) + ", tp/ep/cp communication " +
                       share(spans.communication_ns) + ", overlap " + share(spans.overlap_ns);
    if (spans.recompute_ns > 0) text += ", recompute " + share(spans.recompute_ns);
    return text + ")";
  }

  static void add_categories(const std::vector<Row>& rows, Report& out) {
    std::map<WorkCategory, std::pair<std::int64_t, std::int64_t>> sums;
    std::int64_t total = 0;
    for (const Row& row : rows) {
      sums[row.category].first += row.events_count;
      sums[row.category].second += row.sum_ns;
      total += row.sum_ns;
    }
    for (const auto& [category, sum] : sums)
      out.details.push_back("  " + std::string(to_text(category)) + ": " + std::to_string(sum.first) + " events, " +
                            percent(ratio(static_cast<double>(sum.second), static_cast<double>(total))) +
                            " of the GPU time");
  }
};

}  // namespace

std::unique_ptr<Metric> microbatch() { return define_metric<Microbatch>(); }

}  // namespace ccl
