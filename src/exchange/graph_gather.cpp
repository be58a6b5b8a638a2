// Chains: what is kept of each trace, and its way to the owner of the step.
#include <algorithm>
#include <tuple>

#include "core/collective_math.hpp"
#include "exchange/graph.hpp"
#include "exchange/match_parts.hpp"

namespace ccl {

std::vector<ChainOp> chain_of(const RankTrace& trace, StringTable& strings) {
  std::vector<StringId> names(trace.strings.size());
  std::vector<std::int8_t> device_row(trace.lanes.size());
  for (std::size_t lane = 0; lane < trace.lanes.size(); ++lane)
    device_row[lane] = static_cast<std::int8_t>(
        std::lower_bound(trace.devices.begin(), trace.devices.end(), trace.lanes[lane].device) - trace.devices.begin());
  std::vector<ChainOp> chain;
  const EventTable& events = trace.events;
  chain.reserve(events.size());  // what stays empty is never touched
  std::size_t next = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    while (next < trace.collectives.size() && trace.collectives[next].event < i) ++next;
    if (events.step[i] < 0) continue;
    StringId& name = names[events.name[i]];
    if (!name.known()) name = strings.intern(trace.strings.text(events.name[i]));
    const bool has_record = next < trace.collectives.size() && trace.collectives[next].event == i;
    chain.push_back({events.start_ns[i], events.dur_ns[i], events.launch_ns[i], name, events.step[i],
                     has_record ? static_cast<std::int32_t>(next) : -1, events.lane[i], events.kind[i],
                     device_row[events.lane[i]]});
  }
  return chain;
}

namespace {

/// Ids of matches that members know alike, whoever owns them: the owner's number and the place among its instances.
std::vector<std::uint64_t> instances_of(const Matched& matched, std::size_t records_count, const Comm& comm) {
  struct Told {
    std::uint32_t local = 0, unused = 0;
    std::uint64_t instance = 0;
  };
  std::vector<std::vector<Told>> out(static_cast<std::size_t>(comm.num_workers()));
  for (std::size_t i = 0; i < matched.mine.instances.size(); ++i) {
    const MatchedInstance& instance = matched.mine.instances[i];
    const bool together = is_symmetric(instance.op) || is_point_to_point(instance.op);
    if (!instance.credible || !together || instance.members_seen < 2) continue;
    const std::uint64_t id = (static_cast<std::uint64_t>(comm.worker()) << 40) + i + 1;
    for (std::int32_t m = 0; m < instance.members_seen; ++m) {
      const MatchedMember& member = matched.mine.members[instance.first_member + static_cast<std::size_t>(m)];
      out[static_cast<std::size_t>(member.worker)].push_back({member.local, 0, id});
    }
  }
  std::vector<std::uint64_t> by_record(records_count, 0);
  for (const Told& told : exchange_rows(comm, std::move(out))) by_record[told.local] = told.instance;
  return by_record;
}

auto step_key(const GraphOp& op) { return std::tuple(op.iteration, op.replica, op.step); }

GraphOp settled(const ChainOp& from, const RankEntry& entry, const ClockModel& clock) {
  const auto corrected = [&](std::int64_t t_ns) {
    return entry.host_index < 0 ? t_ns : clock.corrected(entry.host_index, t_ns);
  };
  GraphOp op;
  op.start_ns = corrected(from.start_ns);
  op.end_ns = corrected(from.start_ns + from.dur_ns);
  op.launch_ns = from.launch_ns == absent_ns ? absent_ns : corrected(from.launch_ns);
  op.name = from.name;
  op.iteration = entry.iteration;
  op.replica = entry.replica;
  op.rank = entry.rank;
  op.lane = from.lane;
  op.kind = from.kind;
  op.device_row = from.device_row;
  return op;
}

}  // namespace

std::vector<std::vector<GraphOp>> gather_graph_ops(std::vector<RankChain> chains,
                                                   const std::vector<CollectiveRecord>& records,
                                                   const Matched& matched, const Ranks& ranks, const Groups& groups,
                                                   const Comm& comm, std::int64_t& bytes_sent) {
  const std::vector<std::uint64_t> instance = instances_of(matched, records.size(), comm);
  std::vector<std::vector<GraphOp>> out(static_cast<std::size_t>(comm.num_workers()));
  for (RankChain& chain : chains) {
    const RankEntry& entry = ranks.entries[static_cast<std::size_t>(chain.rank_row)];
    std::int32_t order = 0;
    for (const ChainOp& from : chain.ops) {
      GraphOp op = settled(from, entry, matched.clock);
      op.step = chain.step_numbers[static_cast<std::size_t>(from.step)];
      op.rank_row = chain.rank_row;
      op.order = order++;
      if (from.record >= 0) {
        const std::size_t at = chain.first_record + static_cast<std::size_t>(from.record);
        const CollectiveRecord& record = records[at];
        const std::int32_t group = groups.row_of(record.group);
        op.instance = instance[at];
        op.group = record.group;
        op.op = record.op;
        op.payload_bytes = payload_of(record, record.group_size);
        op.group_size = record.group_size;
        if (group >= 0) op.dimension = groups.groups[static_cast<std::size_t>(group)].dimension;
      }
      std::uint64_t owner = hash_combine(static_cast<std::uint64_t>(op.iteration + 1), static_cast<std::uint64_t>(op.step));
      owner = hash_combine(owner, static_cast<std::uint64_t>(op.replica + 1));
      out[static_cast<std::size_t>(owner % static_cast<std::uint64_t>(comm.num_workers()))].push_back(op);
    }
    chain.ops = {};
  }
  bytes_sent = 0;
  for (std::size_t worker = 0; worker < out.size(); ++worker)
    if (worker != static_cast<std::size_t>(comm.worker()))
      bytes_sent += static_cast<std::int64_t>(out[worker].size() * sizeof(GraphOp));
  std::vector<GraphOp> mine = exchange_rows(comm, std::move(out));
  out = {};
  std::stable_sort(mine.begin(), mine.end(), [](const GraphOp& a, const GraphOp& b) { return step_key(a) < step_key(b); });
  std::vector<std::vector<GraphOp>> steps;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (i == 0 || step_key(mine[i - 1]) != step_key(mine[i])) steps.emplace_back();
    steps.back().push_back(mine[i]);
  }
  return steps;
}

}  // namespace ccl
