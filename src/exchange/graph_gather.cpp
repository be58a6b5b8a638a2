// The way of the chains to the owners of the steps.
#include <algorithm>
#include <span>

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

/// One list of what is here and what came, each by rank: the graph is linked in this order, so that nothing is moved again.
std::vector<GraphOp> by_rank(std::vector<GraphOp> mine, std::vector<Bytes> parcels) {
  std::vector<std::span<const GraphOp>> rest{mine};
  for (const Bytes& parcel : parcels)
    rest.emplace_back(reinterpret_cast<const GraphOp*>(parcel.data()), parcel.size() / sizeof(GraphOp));
  std::erase_if(rest, [](const auto& ops) { return ops.empty(); });
  if (rest.size() == 1 && !mine.empty()) return mine;
  std::size_t count = 0;
  for (const auto& ops : rest) count += ops.size();
  std::vector<GraphOp> all;
  all.reserve(count);
  while (!rest.empty()) {
    const auto next = std::min_element(rest.begin(), rest.end(), [](const auto& a, const auto& b) {
      return a.front().rank_row < b.front().rank_row;
    });
    const auto end = std::find_if(next->begin(), next->end(), [&](const GraphOp& op) { return op.rank_row != next->front().rank_row; });
    all.insert(all.end(), next->begin(), end);
    *next = {end, next->end()};
    if (next->empty()) rest.erase(next);
  }
  return all;
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

template <class Put>
void GraphGather::add_step(const RankChain& chain, std::size_t step_row, Put put) const {
  const RankEntry& entry = ranks_.entries[static_cast<std::size_t>(chain.rank_row)];
  const bool moved = moves_times(matched_.clock, entry.host_index);
  const auto corrected = [&](std::int64_t t_ns) {
    return moved ? matched_.clock.corrected(entry.host_index, t_ns) : t_ns;
  };
  std::int32_t order = 0;
  chain.chain.for_each(step_row, [&](const ChainOp& from) {
    GraphOp op;
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
    put(op);
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
  std::vector<GraphOp> mine;
  std::vector<Bytes> out(workers);  // of others
  for (std::size_t place = first; place < last; ++place) {
    const auto [from, to] = std::equal_range(parts_.begin(), parts_.end(), StepPart{static_cast<std::uint32_t>(place)},
                                             [](const StepPart& a, const StepPart& b) { return a.step < b.step; });
    std::size_t count = 0;
    for (auto part = from; part != to; ++part) count += chains_[part->chain].chain.events_count(part->row);
    Bytes& parcel = out[place - first];
    if (place - first == own) mine.reserve(count);
    else parcel.reserve(count * sizeof(GraphOp));
    for (auto part = from; part != to; ++part) {
      const RankChain& chain = chains_[part->chain];
      if (place - first == own) add_step(chain, part->row, [&](const GraphOp& op) { mine.push_back(op); });
      else add_step(chain, part->row, [&](const GraphOp& op) {
          const auto* at = reinterpret_cast<const std::byte*>(&op);
          parcel.insert(parcel.end(), at, at + sizeof op);
        });
    }
  }
  for (const Bytes& parcel : out) bytes_sent_ += static_cast<std::int64_t>(parcel.size());
  std::vector<GraphOp> ops = workers == 1 ? std::move(mine) : by_rank(std::move(mine), comm_.exchange(std::move(out)));
  return {first + own < last ? steps_[first + own] : StepKey{}, std::move(ops)};
}

}  // namespace ccl
