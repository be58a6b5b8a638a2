#include <algorithm>
#include <numeric>

#include "core/collective_math.hpp"
#include "exchange/match.hpp"
#include "exchange/match_parts.hpp"
#include "exchange/record_context.hpp"

namespace ccl {
namespace {

/// Splits of an all_to_allv are rows; In and Out must hold rows of one width (both lists whole and not empty).
bool splits_disagree(const RankTrace& trace, const Collective& collective) {
  if (collective.op != CollectiveOp::all_to_allv || collective.splits_cut) return false;
  if (collective.in_elements < 0 || collective.out_elements < 0) return false;
  const auto sum = [&](std::uint32_t first, std::uint32_t count) {
    const auto begin = trace.splits.begin() + first;
    return std::accumulate(begin, begin + count, std::int64_t{0});
  };
  const std::int64_t sent = sum(collective.first_split, collective.splits_count);
  const std::int64_t received = sum(collective.first_out_split, collective.out_splits_count);
  if (sent <= 0 || received <= 0) return false;
  return collective.in_elements % sent != 0 || collective.out_elements % received != 0 ||
         collective.in_elements / sent != collective.out_elements / received;
}

}  // namespace

std::vector<CollectiveRecord> make_records(const RankTrace& trace, std::int32_t local_trace) {
  return make_records(trace, local_trace, synchronised_before_ns(trace));
}

std::vector<CollectiveRecord> make_records(const RankTrace& trace, std::int32_t local_trace,
                                           std::span<const std::uint32_t> synchronised_ns) {
  std::vector<CollectiveRecord> records;
  records.reserve(trace.collectives.size());
  // Of an event that launches put into a step its own may be missing.
  const bool steps_tell = trace.has_launches() && !trace.steps.empty() && trace.steps.front().source == StepSource::marker;
  for (const Collective& collective : trace.collectives) {
    const std::size_t event = collective.event;
    const std::int32_t step = trace.events.step[event];
    CollectiveRecord record;
    record.group = GroupId(collective.group);
    record.step = step < 0 ? outside_step : trace.steps[static_cast<std::size_t>(step)].number;
    record.sequence = collective.sequence;
    record.start_ns = trace.events.start_ns[event];
    record.dur_ns = trace.events.dur_ns[event];
    record.in_bytes = collective.in_bytes();
    record.out_bytes = collective.out_bytes();
    record.iteration = trace.iteration;
    record.replica = trace.replica;
    record.rank_row = local_trace;
    record.rank = RankId(local_trace);
    record.local = static_cast<std::uint32_t>(records.size());
    record.group_size = collective.group_size > 0 ? collective.group_size : trace.groups[collective.group].size;
    record.peer = collective.peer;
    record.lane = trace.events.lane[event];
    record.op = collective.op;
    record.dtype = collective.dtype;
    record.has_arguments = collective.has_arguments;
    record.launched = trace.events.launch_ns[event] != absent_ns || (steps_tell && trace.events.step[event] >= 0);
    record.coalesced = collective.coalesced;
    record.splits_disagree = splits_disagree(trace, collective);
    records.push_back(record);
  }
  add_context(trace, synchronised_ns, records);
  return records;
}

bool sizes_disagree(const CollectiveRecord& record, std::int64_t n) {
  if (record.in_bytes < 0 || record.out_bytes < 0 || n < 1) return false;
  if (record.op == CollectiveOp::all_gather) return record.out_bytes != n * record.in_bytes;
  if (record.op == CollectiveOp::reduce_scatter) return record.in_bytes != n * record.out_bytes;
  return false;
}

std::int64_t payload_of(const CollectiveRecord& record, std::int64_t n) {
  if (sizes_disagree(record, n)) return std::max(record.in_bytes, record.out_bytes);
  if (n < 1 && (record.op == CollectiveOp::gather || record.op == CollectiveOp::scatter)) return -1;
  return payload_bytes(record.op, record.in_bytes, record.out_bytes, n);
}

std::uint64_t signature_of(const CollectiveRecord& record) {
  std::uint64_t hash = hash_combine(static_cast<std::uint64_t>(record.op), static_cast<std::uint64_t>(record.dtype));
  switch (record.op) {  // members may send different amounts
    case CollectiveOp::all_to_all: case CollectiveOp::all_to_allv: case CollectiveOp::gather:
    case CollectiveOp::scatter: case CollectiveOp::send: case CollectiveOp::recv: case CollectiveOp::send_recv:
      return hash;
    default: break;
  }
  return hash_combine(hash, static_cast<std::uint64_t>(payload_of(record, record.group_size)));
}

}  // namespace ccl
