// communication: what communication costs, by operation and message size, and how fast it is.
// Definition: per rank, step and operation: calls, Σ duration, union, exposed part, payload, wire bytes, algbw and
// busbw from the own duration (waiting included) and from the transfer time (shortest duration over the members)
// (nccl-tests' PERFORMANCE.md). Only GPU kernels count, never their CPU side. Merge: sums. Headline: communication and
// exposed communication as shares of the step period.
#include "metrics/communication.hpp"

#include <bit>
#include <map>

#include "core/collective_math.hpp"
#include "metrics/moved.hpp"
#include "metrics/summed.hpp"
#include "metrics/trace_views.hpp"

namespace ccl {
namespace {

using namespace communicating;

struct Communication {
  static MetricInfo info() {
    return {.name = "communication",
            .unit = "% of the step period",
            .question = "What does communication cost, by operation and message size, and how fast is it?",
            .definition = "Union of the communication kernels / step period, over ranks and steps; per operation: calls, "
                          "time, payload, wire bytes, and bandwidth by nccl-tests (busbw = payload x bus factor / time) "
                          "from the own duration and from the transfer time: the shortest duration over the members, or "
                          "of a message the end of the recv - the later start, where this is longer by more than twice "
                          "what the clocks leave (see clock).",
            .needs = "communication kernels; message sizes for bytes; several ranks' traces for transfer times",
            .section = PageSection::further,
            .aliases = {},
            .wants = {},
            .needs_matching = true,
            .needs_busy_parts = true};
  }
  using Tables = communicating::Tables;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    const BusyTrace& busy = context.views->busy();
    for_each_step(trace, busy, [&](const StepBusy& at) {
      const Budget& budget = at.sums.budget;
      Row row;
      row.step.step = at.step.number;
      row.period_ns = at.period_ns();
      row.busy = {budget.communication_ns, budget.exposed_ns};
      out.of<Row>().push_back(row);
    });
    for (const BusyPart<CollectiveOp>& part : busy.parts().by_op) {
      ByOp row;
      row.step.step = trace.steps[part.step_row].number;
      row.op = part.kind;
      row.busy.union_ns = part.communication_ns;
      row.busy.exposed_ns = part.communication_ns - part.overlap_ns;
      out.of<ByOp>().push_back(row);
    }
  }

  using Shared = Links;
  static Shared shared(const ClosingContext& context) { return {context.ranks, context.groups}; }

  static void closing(const ClosingRank& rank, const ClosingContext& context, Shared& links, Tables& out) {
    Summed<Row> steps;
    Summed<ByOp> ops;
    Summed<BySize> sizes;
    for (std::size_t i = 0; i < rank.records.size(); ++i) {
      const CollectiveRecord& record = rank.records[i];
      if (record.step == outside_step) continue;
      const std::int64_t transfer_ns = i < rank.verdicts.size() ? rank.verdicts[i].transfer_ns : -1;
      const Moved moved = moved_by(record, context.groups);
      const Work work = work_of(record, moved, transfer_ns);
      Row row;
      row.step = {rank.entry.iteration, record.step};
      row.rank = rank.entry.rank;
      row.replica = rank.entry.replica;
      row.work = work;
      steps.add(row);
      ops.add({row.step, row.rank, row.replica, record.op, {}, work});
      if (!moved.known()) continue;
      BySize size;
      size.op = record.op;
      size.link_class = links.of(record, rank.entry);
      size.group_size = is_point_to_point(record.op) ? 2 : record.group_size;
      size.hosts_count = is_point_to_point(record.op) ? (size.link_class == LinkClass::inter ? 2 : 1)
                                                      : links.of_group(record.group, rank.entry).hosts_count;
      size.size_log2 = static_cast<std::int32_t>(std::bit_width(static_cast<std::uint64_t>(moved.payload_bytes))) - 1;
      size.work = work;
      sizes.add(size);
    }
    steps.move_to(out.of<Row>());
    ops.move_to(out.of<ByOp>());
    sizes.move_to(out.of<BySize>());
    out.fold_all_when_doubled();
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    write_communication_report(tables, context, out);
  }

 private:
  static Work work_of(const CollectiveRecord& record, const Moved& moved, std::int64_t transfer_ns) {
    Work out;
    out.calls_count = 1;
    out.sum_ns = record.dur_ns;
    if (!moved.known()) {
      out.unknown_bytes_count = 1;
      return out;
    }
    out.payload_bytes = moved.payload_bytes;
    out.wire_bytes = moved.bus_bytes;
    if (moved.bus_bytes <= 0) return out;
    out.timed_count = 1;
    out.timed_payload_bytes = moved.payload_bytes;
    out.timed_bus_bytes = moved.bus_bytes;
    out.timed_ns = record.dur_ns;
    if (transfer_ns <= 0) return out;
    out.matched_count = 1;
    out.matched_payload_bytes = moved.payload_bytes;
    out.matched_bus_bytes = moved.bus_bytes;
    out.transfer_ns = transfer_ns;
    return out;
  }
};

}  // namespace

std::unique_ptr<Metric> communication() { return define_metric<Communication>(); }

}  // namespace ccl
