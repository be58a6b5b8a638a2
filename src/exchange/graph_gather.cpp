// Chains: what is kept of each trace, and its way to the owner of the step.
#include <algorithm>
#include <map>
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

/// Iteration, replica, step -> the operations of that step.
using StepOps = std::map<std::tuple<std::int32_t, std::int32_t, std::int64_t>, std::vector<GraphOp>>;

std::size_t owner_of(const StepOps::key_type& key, std::size_t workers) {
  const auto& [iteration, replica, step] = key;
  std::uint64_t owner = hash_combine(static_cast<std::uint64_t>(iteration + 1), static_cast<std::uint64_t>(step));
  owner = hash_combine(owner, static_cast<std::uint64_t>(replica + 1));
  return static_cast<std::size_t>(owner % workers);
}

/// The steps of a chain, with room for its operations in each.
std::vector<std::vector<GraphOp>*> steps_of(const RankChain& chain, const RankEntry& entry, StepOps& steps) {
  std::vector<std::size_t> counts(chain.step_numbers.size());
  for (const ChainOp& op : chain.ops) ++counts[static_cast<std::size_t>(op.step)];
  std::vector<std::vector<GraphOp>*> found;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    found.push_back(counts[s] == 0 ? nullptr : &steps[{entry.iteration, entry.replica, chain.step_numbers[s]}]);
    // No less than doubled: several chains meet in a step.
    if (counts[s] > 0 && found[s]->size() + counts[s] > found[s]->capacity())
      found[s]->reserve(std::max(found[s]->size() + counts[s], found[s]->empty() ? 0 : 2 * found[s]->capacity()));
  }
  return found;
}

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
  StepOps steps;
  for (RankChain& chain : chains) {
    const RankEntry& entry = ranks.entries[static_cast<std::size_t>(chain.rank_row)];
    const std::vector<std::vector<GraphOp>*> step_of = steps_of(chain, entry, steps);
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
      step_of[static_cast<std::size_t>(from.step)]->push_back(op);
    }
    chain.ops = {};
  }
  // Steps of others go; those of this worker stay where they are.
  const auto workers = static_cast<std::size_t>(comm.num_workers()), me = static_cast<std::size_t>(comm.worker());
  bytes_sent = 0;
  std::vector<std::vector<GraphOp>> out(workers);
  for (auto at = steps.begin(); at != steps.end();) {
    const std::size_t owner = owner_of(at->first, workers);
    if (owner == me) {
      ++at;
      continue;
    }
    bytes_sent += static_cast<std::int64_t>(at->second.size() * sizeof(GraphOp));
    out[owner].insert(out[owner].end(), at->second.begin(), at->second.end());
    at = steps.erase(at);
  }
  for (const GraphOp& op : exchange_rows(comm, std::move(out))) steps[{op.iteration, op.replica, op.step}].push_back(op);
  std::vector<std::vector<GraphOp>> mine;
  for (auto& [key, ops] : steps) mine.push_back(std::move(ops));
  return mine;
}

}  // namespace ccl
