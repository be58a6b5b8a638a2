#include "metrics/straggler_causes.hpp"

#include <algorithm>

#include "core/collective_math.hpp"
#include "core/wide.hpp"
#include "exchange/model_groups.hpp"
#include "metrics/format.hpp"

namespace ccl::straggler {

std::string_view to_text(Cause cause) {
  switch (cause) {
    case Cause::compute: return "slow_compute";
    case Cause::launch: return "late_launch";
    case Cause::before: return "late_before_step";
    case Cause::stalled: return "stalled";
    case Cause::link: return "slow_link";
    case Cause::communication: return "communication";
    case Cause::pipeline: return "pipeline_order";
    case Cause::unexplained: break;
  }
  return "unexplained";
}

void CauseSums::combine(const CauseSums& other) {
  for (std::int64_t CauseSums::*member :
       {&CauseSums::instances_count, &CauseSums::last_count, &CauseSums::incomplete_count,
        &CauseSums::lasting_count, &CauseSums::compute_ns,
        &CauseSums::communication_ns, &CauseSums::launch_ns, &CauseSums::stalled_ns, &CauseSums::delay_ns,
        &CauseSums::by_compute_ns, &CauseSums::by_communication_ns,
        &CauseSums::by_launch_ns, &CauseSums::by_stalled_ns, &CauseSums::behind_ns, &CauseSums::late_ns,
        &CauseSums::lasting_ns, &CauseSums::first_ns, &CauseSums::lost_ns, &CauseSums::kept_ns})
    this->*member += other.*member;
}

std::vector<ColumnSpec<Elsewhere>> Elsewhere::columns(const Resolver& resolver) {
  std::vector<ColumnSpec<Elsewhere>> all = key_columns<Elsewhere>();
  all.push_back(group_column<Elsewhere>(resolver));
  all.push_back(integer_column<Elsewhere>("other_group", "", "row of /process_groups it was in meanwhile", -1,
                                          [find = resolver.group_row](const Elsewhere& r) { return find(r.other); }));
  all.push_back(column("for_rank", &Elsewhere::for_rank, "", "whom it waited for there; -1 = transfer", -1));
  all.push_back(column("time_ns", &Elsewhere::time_ns, "ns", "time waited or transferred there"));
  all.push_back(column("count", &Elsewhere::count, "", "communication kernels there"));
  return all;
}

std::vector<ColumnSpec<Transfer>> Transfer::columns(const Resolver& resolver) {
  std::vector<ColumnSpec<Transfer>> all = key_columns<Transfer>();
  all.push_back(group_column<Transfer>(resolver));
  all.push_back(column("dimension", &Transfer::dimension, "", "parallelism the group serves"));
  all.push_back(column("rank_a", &Transfer::rank_a, "", "of messages: lower rank of the pair; -1 = a collective", -1));
  all.push_back(column("rank_b", &Transfer::rank_b, "", "of messages: higher rank of the pair; -1 = a collective", -1));
  all.push_back(column("op", &Transfer::op, "", "operation"));
  all.push_back(column("link_class", &Transfer::link_class, "", "intra: members on one host; inter: on several"));
  all.push_back(column("group_size", &Transfer::group_size, "", "ranks in the group", -1));
  all.push_back(column("payload_bytes", &Transfer::payload_bytes, "bytes", "payload S of one collective", -1));
  all.push_back(column("transfer_ns", &Transfer::transfer_ns, "ns", "sum of transfer_ns of /collectives/instances"));
  all.push_back(column("count", &Transfer::count, "", "collectives"));
  return all;
}

Stages::Stages(const Ranks& ranks, const Groups& groups, const Workload& workload) {
  for (const ModelPlace& place : model_groups(ranks, groups, workload).places) by_rank_.push_back(place.stage);
}

std::int32_t Stages::of(RankId rank) const {
  return rank.known() && static_cast<std::size_t>(rank.value) < by_rank_.size()
             ? by_rank_[static_cast<std::size_t>(rank.value)]
             : -1;
}

bool Stages::alone(const Group& group, RankId rank) const {
  if (of(rank) < 0) return group.dimension == Dimension::pp;
  bool others = false;
  for (const std::int32_t member : group.members) {
    if (member == rank.value) continue;
    if (of(RankId(member)) == of(rank)) return false;
    others = true;
  }
  return others;
}

namespace {

/// What a member of an instance had before it of one number, beyond the median of its peers: the other members of its stage.
/// Of an even number the lower of two middle ones; 0 without peers.
class BeyondPeers {
 public:
  BeyondPeers(std::span<const MatchedMember> members, const MatchedMember& member, const Stages& stages,
              std::vector<std::uint32_t>& room)
      : members_(members), member_(member), stages_(stages), stage_(stages.of(member.rank)), numbers_(room) {}
  std::int64_t of(std::uint32_t BeforeCollective::*number) {
    const std::int64_t own = member_.before.*number;
    if (own == 0) return 0;
    numbers_.clear();
    for (const MatchedMember& other : members_)
      if (&other != &member_ && stages_.of(other.rank) == stage_) numbers_.push_back(other.before.*number);
    if (numbers_.empty()) return 0;
    const auto middle = numbers_.begin() + static_cast<std::ptrdiff_t>((numbers_.size() - 1) / 2);
    std::nth_element(numbers_.begin(), middle, numbers_.end());
    return std::max<std::int64_t>(0, own - *middle);
  }

 private:
  std::span<const MatchedMember> members_;
  const MatchedMember& member_;
  const Stages& stages_;
  std::int32_t stage_;
  std::vector<std::uint32_t>& numbers_;
};

// A collective that overlaps compute does not hold back its members: one that was behind before it still is, and has
// more kernels to run until the next one. Only the time per kernel tells slow compute.
void split_delay(const MatchedInstance& instance, const MatchedMember& last, BeyondPeers more, CauseSums& row) {
  const std::int64_t more_compute_ns = more.of(&BeforeCollective::compute_ns);
  const std::int64_t more_count = more.of(&BeforeCollective::kernels_count);
  const std::int64_t behind_ns =
      more_count == 0 ? 0
                      : std::min(more_compute_ns, scaled(last.before.compute_ns, more_count, last.before.kernels_count));
  const std::int64_t parts[] = {more_compute_ns - behind_ns, more.of(&BeforeCollective::communication_ns),
                                more.of(&BeforeCollective::starved_ns), more.of(&BeforeCollective::stalled_ns), behind_ns};
  std::int64_t sum_ns = 0;
  for (const std::int64_t part : parts) sum_ns += part;
  // More than the delay can not be explained, and less is left unexplained.
  const auto share = [&](std::int64_t part) {
    return sum_ns <= instance.delay_ns ? part : scaled(part, instance.delay_ns, sum_ns);
  };
  row.by_compute_ns = share(parts[0]);
  row.by_communication_ns = share(parts[1]);
  row.by_launch_ns = share(parts[2]);
  row.by_stalled_ns = share(parts[3]);
  row.behind_ns = share(parts[4]);
}

}  // namespace

void add_causes(const MatchedInstance& instance, std::span<const MatchedMember> members, const Stages& stages,
                std::vector<CauseSums>& out, std::vector<std::uint32_t>& room) {
  for (const MatchedMember& member : members) {
    CauseSums row;
    row.step = {instance.iteration, instance.step};
    row.rank = member.rank;
    row.replica = instance.replica;
    row.group = instance.group;
    row.instances_count = 1;
    row.compute_ns = member.before.compute_ns;
    row.communication_ns = member.before.communication_ns;
    row.launch_ns = member.before.starved_ns;
    row.stalled_ns = member.before.stalled_ns;
    if (member.rank.value == instance.last_rank) {
      row.last_count = 1;
      row.incomplete_count = instance.incomplete ? 1 : 0;
      row.delay_ns = instance.delay_ns;
      split_delay(instance, member, BeyondPeers(members, member, stages, room), row);
    }
    out.push_back(row);
  }
}

void add_transfer(const MatchedInstance& instance, std::span<const MatchedMember> members, Dimension dimension,
                  std::vector<Transfer>& out) {
  const bool message = is_point_to_point(instance.op);
  if (!message && instance.op != CollectiveOp::all_reduce && instance.op != CollectiveOp::all_gather &&
      instance.op != CollectiveOp::reduce_scatter)
    return;
  if (instance.payload_bytes < 0 || instance.transfer_ns < 0 || instance.incomplete) return;
  Transfer row;
  row.step = {instance.iteration, instance.step};
  row.replica = instance.replica;
  row.group = instance.group;
  if (message) std::tie(row.rank_a, row.rank_b) = std::minmax(members[0].rank.value, members[1].rank.value);
  row.dimension = dimension;
  row.op = instance.op;
  row.link_class = instance.link_class;
  row.group_size = instance.group_size;
  row.payload_bytes = instance.payload_bytes;
  row.transfer_ns = instance.transfer_ns;
  row.count = 1;
  out.push_back(row);
}

void add_elsewhere(const ClosingRank& rank, std::vector<Elsewhere>& out) {
  if (rank.verdicts.empty()) return;
  std::vector<Elsewhere> of_rank;  // no row is of two ranks: what one has is folded by itself
  const auto& records = rank.records;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const CollectiveRecord& late = records[i];
    if (late.step == outside_step || rank.verdicts[i].last_rank != rank.entry.rank.value) continue;
    const std::int64_t from_ns = late.start_ns - late.before.total_ns();
    // Records come by start: those before `late`, back to the first that can reach into the time looked at.
    for (std::size_t j = i; j-- > 0;) {
      const CollectiveRecord& other = records[j];
      if (other.group == late.group && other.lane == late.lane && is_symmetric(other.op)) break;
      const RecordVerdict& verdict = rank.verdicts[j];
      if (other.group == late.group || verdict.transfer_ns < 0 || other.end_ns() <= from_ns) continue;
      const std::int64_t end_ns = std::min(other.end_ns(), late.start_ns);
      const std::int64_t started_ns = std::max(other.start_ns, from_ns);
      // A kernel waits first and transfers then.
      const std::int64_t waited_until_ns =
          std::clamp(other.end_ns() - verdict.transfer_ns, started_ns, std::max(started_ns, end_ns));
      const std::int32_t whom = verdict.last_rank >= 0 ? verdict.last_rank : other.peer;
      const bool waits = whom >= 0 && whom != rank.entry.rank.value && waited_until_ns > started_ns;
      Elsewhere row;
      row.iteration = late.iteration;
      row.rank = late.rank;
      row.replica = late.replica;
      row.group = late.group;
      row.other = other.group;
      row.count = 1;
      if (waits) {
        row.for_rank = whom;
        row.time_ns = waited_until_ns - started_ns;
        of_rank.push_back(row);
      }
      row.for_rank = -1;
      row.time_ns = end_ns - (waits ? waited_until_ns : started_ns);
      if (row.time_ns > 0) of_rank.push_back(row);
    }
  }
  sort_and_fold(of_rank);
  out.insert(out.end(), of_rank.begin(), of_rank.end());
}

}  // namespace ccl::straggler
