// The way of the chains to the owners of the steps.
#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/collective_math.hpp"
#include "core/recently_found.hpp"
#include "exchange/clock.hpp"
#include "exchange/graph.hpp"
#include "exchange/match_parts.hpp"

namespace ccl {
namespace {

/// Whether the members of a match leave it together, and are known.
bool is_in_graph(const MatchedInstance& instance) {
  const bool together = is_symmetric(instance.op) || is_point_to_point(instance.op);
  return instance.credible && !instance.suspect && together && instance.members_seen >= 2;
}

/// Ids of matches that members know alike, whoever owns them: the owner's number and a place, those of a step one behind
/// the other.
std::vector<std::uint64_t> instances_of(const Matched& matched, std::size_t records_count, const Comm& comm) {
  struct Told {
    std::uint32_t local = 0, unused = 0;
    std::uint64_t instance = 0;
  };
  std::map<StepKey, std::size_t> places;  // of the next instance of a step
  RecentlyFound found(places);
  const auto place_of = [&](const MatchedInstance& instance) -> std::size_t& {
    return found(StepKey{{instance.iteration, instance.step}, instance.replica});
  };
  for (const MatchedInstance& instance : matched.mine.instances)
    if (is_in_graph(instance)) ++place_of(instance);
  std::size_t first = 0;
  for (auto& [key, next] : places) first += std::exchange(next, first);
  std::vector<std::vector<Told>> out(static_cast<std::size_t>(comm.num_workers()));
  for (const MatchedInstance& instance : matched.mine.instances) {
    if (!is_in_graph(instance)) continue;
    const std::uint64_t id = instance_id(comm.worker(), place_of(instance)++);
    for (std::int32_t m = 0; m < instance.members_seen; ++m) {
      const MatchedMember& member = matched.mine.members[instance.first_member + static_cast<std::size_t>(m)];
      out[static_cast<std::size_t>(member.worker)].push_back({member.local, 0, id});
    }
  }
  std::vector<std::uint64_t> by_record(records_count, 0);
  for (const Told& told : exchange_rows(comm, std::move(out))) by_record[told.local] = told.instance;
  return by_record;
}

/// Parts of a step that came from one worker, by rank.
struct Arrived {
  explicit Arrived(const Bytes& parcel) : in(parcel) {}
  void to_next() { rank_row = in.at_end() ? nobody : in.value<std::int32_t>(); }
  static constexpr std::int32_t nobody = INT32_MAX;
  ByteReader in;
  std::int32_t rank_row = nobody;  // of the next part
};

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

std::vector<int> GraphGather::owners(std::size_t round) const {
  const auto workers = static_cast<std::size_t>(comm_.num_workers());
  std::vector<int> owners(std::min(workers, steps_.size() - round * workers));
  for (std::size_t i = 0; i < owners.size(); ++i) owners[i] = static_cast<int>(i * workers / owners.size());
  return owners;
}

GraphCommunication GraphGather::of_record(std::size_t at) const {
  const CollectiveRecord& record = records_[at];
  const Group* group = groups_.find(record.group);
  GraphCommunication of;
  of.instance = instance_[at];
  of.payload_bytes = payload_of(record, record.group_size);
  of.group_size = record.group_size;
  of.op = record.op;
  if (group != nullptr) of.dimension = group->dimension;
  return of;
}

template <class Of>
void GraphGather::add_step(std::int32_t rank_row, const ChainStep& step, Of of, StepOps& out) const {
  const RankEntry& entry = ranks_.entries[static_cast<std::size_t>(rank_row)];
  const bool moved = moves_times(matched_.clock, entry.host_index);
  const auto corrected = [&](std::int64_t t_ns) {
    return moved ? matched_.clock.corrected(entry.host_index, t_ns) : t_ns;
  };
  step.for_each([&](const ChainOp& from) {
    GraphOp& op = out.ops.emplace_back();
    op.start_ns = corrected(from.start_ns);
    op.end_ns = corrected(from.start_ns + from.dur_ns);
    op.launch_ns = from.launch_ns == absent_ns ? absent_ns : corrected(from.launch_ns);
    op.name = from.name;
    op.rank_row = rank_row;
    op.lane = from.lane;
    op.kind = from.kind;
    op.device_row = from.device_row;
    if (from.record < 0) return;
    op.communication = static_cast<std::int32_t>(out.communications.size());
    out.communications.push_back(of(from.record));
  });
}

void GraphGather::add_own(const StepPart& part, StepOps& out) const {
  const RankChain& chain = chains_[part.chain];
  add_step(chain.rank_row, chain.chain.step(part.row),
           [&](std::int32_t record) { return of_record(chain.first_record + static_cast<std::size_t>(record)); }, out);
}

void GraphGather::add_arrived(std::int32_t rank_row, ByteReader& in, StepOps& out) const {
  const ArrivedStep arrived(in);
  const auto records = in.array<GraphCommunication>();
  auto next = records.begin();
  add_step(rank_row, arrived.step(), [&](std::int32_t) { return *next++; }, out);
}

std::size_t GraphGather::events_count(std::span<const StepPart> parts) const {
  std::size_t count = 0;
  for (const StepPart& part : parts) count += chains_[part.chain].chain.events_count(part.row);
  return count;
}

void GraphGather::pack(std::span<const StepPart> parts, ByteWriter& out) const {
  out.value<std::uint64_t>(events_count(parts));
  std::vector<GraphCommunication> records;
  for (const StepPart& part : parts) {
    const RankChain& chain = chains_[part.chain];
    const ChainStep step = chain.chain.step(part.row);
    records.clear();
    step.for_each([&](const ChainOp& op) {
      if (op.record >= 0) records.push_back(of_record(chain.first_record + static_cast<std::size_t>(op.record)));
    });
    out.value(chain.rank_row);
    step.pack(out);
    out.array(records);
  }
}

std::pair<StepKey, StepOps> GraphGather::step_of(std::size_t round) {
  const auto workers = static_cast<std::size_t>(comm_.num_workers());
  const std::size_t first = round * workers;
  const std::vector<int> owner_of = owners(round);
  StepKey key;
  std::span<const StepPart> mine;
  std::vector<Bytes> out(workers);  // of others
  for (std::size_t i = 0; i < owner_of.size(); ++i) {
    const auto [from, to] = std::equal_range(parts_.begin(), parts_.end(), StepPart{static_cast<std::uint32_t>(first + i)},
                                             [](const StepPart& a, const StepPart& b) { return a.step < b.step; });
    const std::span<const StepPart> parts(from, to);
    if (owner_of[i] == comm_.worker()) {
      key = steps_[first + i];
      mine = parts;
      continue;
    }
    ByteWriter parcel;
    pack(parts, parcel);
    Bytes& to_owner = out[static_cast<std::size_t>(owner_of[i])];
    to_owner = parcel.take();
    bytes_sent_ += static_cast<std::int64_t>(to_owner.size());
  }
  const std::vector<Bytes> came = workers == 1 ? std::vector<Bytes>() : comm_.exchange(std::move(out));
  std::size_t count = events_count(mine);
  std::vector<Arrived> others;
  for (const Bytes& parcel : came) {
    if (parcel.empty()) continue;
    Arrived& other = others.emplace_back(parcel);
    count += other.in.value<std::uint64_t>();
    other.to_next();
  }
  // By rank: the graph is linked in this order, so that nothing is moved again.
  StepOps step;
  step.ops.reserve(count);
  const auto less = [](const Arrived& a, const Arrived& b) { return a.rank_row < b.rank_row; };
  while (step.ops.size() < count) {
    const auto next = std::min_element(others.begin(), others.end(), less);
    const std::int32_t theirs = next == others.end() ? Arrived::nobody : next->rank_row;
    if (!mine.empty() && chains_[mine.front().chain].rank_row <= theirs) {
      add_own(mine.front(), step);
      mine = mine.subspan(1);
    } else {
      add_arrived(theirs, next->in, step);
      next->to_next();
    }
  }
  return {key, std::move(step)};
}

}  // namespace ccl
