// The way of the chains to the owners of the steps.
#include <algorithm>

#include "core/collective_math.hpp"
#include "exchange/clock.hpp"
#include "exchange/graph.hpp"
#include "exchange/match_parts.hpp"

namespace ccl {
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

}  // namespace

GraphGather::GraphGather(std::vector<RankChain> chains, const std::vector<CollectiveRecord>& records,
                         const Matched& matched, const Ranks& ranks, const Groups& groups, const Comm& comm)
    : chains_(std::move(chains)),
      records_(records),
      matched_(matched),
      ranks_(ranks),
      groups_(groups),
      comm_(comm),
      instance_(instances_of(matched, records.size(), comm)) {
  std::sort(chains_.begin(), chains_.end(), [](const RankChain& a, const RankChain& b) { return a.rank_row < b.rank_row; });
  for (const RankEntry& entry : ranks.entries)
    if (entry.takes_part)
      for (const Step& step : entry.facts.steps)
        steps_.push_back({{entry.iteration, step.number + entry.step_shift}, entry.replica});
  std::sort(steps_.begin(), steps_.end());
  steps_.erase(std::unique(steps_.begin(), steps_.end()), steps_.end());
}

std::size_t GraphGather::rounds_count() const {
  const auto workers = static_cast<std::size_t>(comm_.num_workers());
  return (steps_.size() + workers - 1) / workers;
}

GraphOp GraphGather::settled(const RankChain& chain, const ChainOp& from) const {
  const RankEntry& entry = ranks_.entries[static_cast<std::size_t>(chain.rank_row)];
  const bool moved = moves_times(matched_.clock, entry.host_index);
  const auto corrected = [&](std::int64_t t_ns) {
    return moved ? matched_.clock.corrected(entry.host_index, t_ns) : t_ns;
  };
  GraphOp op;
  op.start_ns = corrected(from.start_ns);
  op.end_ns = corrected(from.start_ns + from.dur_ns);
  op.launch_ns = from.launch_ns == absent_ns ? absent_ns : corrected(from.launch_ns);
  op.name = from.name;
  op.rank_row = chain.rank_row;
  op.rank = entry.rank;
  op.lane = from.lane;
  op.kind = from.kind;
  op.device_row = from.device_row;
  if (from.record < 0) return op;
  const std::size_t at = chain.first_record + static_cast<std::size_t>(from.record);
  const CollectiveRecord& record = records_[at];
  const std::int32_t group = groups_.row_of(record.group);
  op.instance = instance_[at];
  op.op = record.op;
  op.payload_bytes = payload_of(record, record.group_size);
  op.group_size = record.group_size;
  if (group >= 0) op.dimension = groups_.groups[static_cast<std::size_t>(group)].dimension;
  return op;
}

std::pair<StepKey, std::vector<GraphOp>> GraphGather::step_of(std::size_t round) {
  const auto workers = static_cast<std::size_t>(comm_.num_workers()), own = static_cast<std::size_t>(comm_.worker());
  const std::size_t first = round * workers, last = std::min(first + workers, steps_.size());
  struct Part {
    const RankChain* chain = nullptr;
    std::size_t step_row = 0, owner = 0;
  };
  std::vector<Part> parts;
  std::vector<std::size_t> count(workers, 0);
  for (const RankChain& chain : chains_) {
    const RankEntry& entry = ranks_.entries[static_cast<std::size_t>(chain.rank_row)];
    for (std::size_t row = 0; row < chain.step_numbers.size(); ++row) {
      const StepKey key{{entry.iteration, chain.step_numbers[row]}, entry.replica};
      const auto at = std::lower_bound(steps_.begin(), steps_.end(), key);
      const auto place = static_cast<std::size_t>(at - steps_.begin());
      if (place < first || place >= last) continue;
      parts.push_back({&chain, row, place - first});
      count[place - first] += chain.chain.events_count(row);
    }
  }
  std::vector<std::vector<GraphOp>> out(workers);
  for (std::size_t worker = 0; worker < workers; ++worker) out[worker].reserve(count[worker]);
  for (const Part& part : parts) {
    std::int32_t order = 0;
    part.chain->chain.for_each(part.step_row, [&, &to = out[part.owner]](const ChainOp& op) {
      to.push_back(settled(*part.chain, op));
      to.back().order = order++;
    });
  }
  for (std::size_t worker = 0; worker < workers; ++worker)
    if (worker != own) bytes_sent_ += static_cast<std::int64_t>(out[worker].size() * sizeof(GraphOp));
  std::vector<GraphOp> mine = exchange_rows(comm_, std::move(out));
  return {first + own < last ? steps_[first + own] : StepKey{}, std::move(mine)};
}

}  // namespace ccl
