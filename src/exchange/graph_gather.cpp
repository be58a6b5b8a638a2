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
  for (std::uint32_t c = 0; c < chains_.size(); ++c) {
    const RankEntry& entry = ranks.entries[static_cast<std::size_t>(chains_[c].rank_row)];
    for (std::uint32_t row = 0; row < chains_[c].step_numbers.size(); ++row) {
      const StepKey key{{entry.iteration, chains_[c].step_numbers[row]}, entry.replica};
      const auto at = std::lower_bound(steps_.begin(), steps_.end(), key);
      if (at != steps_.end() && *at == key) parts_.push_back({static_cast<std::uint32_t>(at - steps_.begin()), c, row});
    }
  }
  std::stable_sort(parts_.begin(), parts_.end(), [](const StepPart& a, const StepPart& b) { return a.step < b.step; });
}

std::size_t GraphGather::rounds_count() const {
  const auto workers = static_cast<std::size_t>(comm_.num_workers());
  return (steps_.size() + workers - 1) / workers;
}

void GraphGather::add_step(const RankChain& chain, std::size_t step_row, std::vector<GraphOp>& to) const {
  const RankEntry& entry = ranks_.entries[static_cast<std::size_t>(chain.rank_row)];
  const bool moved = moves_times(matched_.clock, entry.host_index);
  const auto corrected = [&](std::int64_t t_ns) {
    return moved ? matched_.clock.corrected(entry.host_index, t_ns) : t_ns;
  };
  std::int32_t order = 0;
  chain.chain.for_each(step_row, [&](const ChainOp& from) {
    GraphOp& op = to.emplace_back();
    op.order = order++;
    op.start_ns = corrected(from.start_ns);
    op.end_ns = corrected(from.start_ns + from.dur_ns);
    op.launch_ns = from.launch_ns == absent_ns ? absent_ns : corrected(from.launch_ns);
    op.name = from.name;
    op.rank_row = chain.rank_row;
    op.rank = entry.rank;
    op.lane = from.lane;
    op.kind = from.kind;
    op.device_row = from.device_row;
    if (from.record >= 0) add_record(chain.first_record + static_cast<std::size_t>(from.record), op);
  });
}

void GraphGather::add_record(std::size_t at, GraphOp& op) const {
  const CollectiveRecord& record = records_[at];
  const std::int32_t group = groups_.row_of(record.group);
  op.instance = instance_[at];
  op.op = record.op;
  op.payload_bytes = payload_of(record, record.group_size);
  op.group_size = record.group_size;
  if (group >= 0) op.dimension = groups_.groups[static_cast<std::size_t>(group)].dimension;
}

std::pair<StepKey, std::vector<GraphOp>> GraphGather::step_of(std::size_t round) {
  const auto workers = static_cast<std::size_t>(comm_.num_workers()), own = static_cast<std::size_t>(comm_.worker());
  const std::size_t first = round * workers, last = std::min(first + workers, steps_.size());
  std::vector<std::vector<GraphOp>> out(workers);
  for (std::size_t place = first; place < last; ++place) {
    const auto [from, to] = std::equal_range(parts_.begin(), parts_.end(), StepPart{static_cast<std::uint32_t>(place)},
                                             [](const StepPart& a, const StepPart& b) { return a.step < b.step; });
    std::size_t count = 0;
    for (auto part = from; part != to; ++part) count += chains_[part->chain].chain.events_count(part->row);
    out[place - first].reserve(count);
    for (auto part = from; part != to; ++part) add_step(chains_[part->chain], part->row, out[place - first]);
  }
  for (std::size_t worker = 0; worker < workers; ++worker)
    if (worker != own) bytes_sent_ += static_cast<std::int64_t>(out[worker].size() * sizeof(GraphOp));
  std::vector<GraphOp> mine = exchange_rows(comm_, std::move(out));
  return {first + own < last ? steps_[first + own] : StepKey{}, std::move(mine)};
}

}  // namespace ccl
