// What a match says: sizes, transfer, wait, lag, who was last.
#include <algorithm>

#include "core/collective_math.hpp"
#include "exchange/match_parts.hpp"

namespace ccl {
namespace {

bool is_all_to_all(CollectiveOp op) { return op == CollectiveOp::all_to_all || op == CollectiveOp::all_to_allv; }

void fill_symmetric(MatchedInstance& instance, std::span<MatchedMember> members) {
  const MatchedMember* last = &members[0];
  const MatchedMember* first = &members[0];
  std::int64_t latest_start = members[0].start_ns, earliest_start = latest_start;
  for (const MatchedMember& m : members) {  // by rank: ties go to the lowest
    if (m.dur_ns < last->dur_ns) last = &m;
    if (m.dur_ns > first->dur_ns) first = &m;
    latest_start = std::max(latest_start, m.start_ns);
    earliest_start = std::min(earliest_start, m.start_ns);
  }
  instance.transfer_ns = last->dur_ns;
  instance.lag_ns = first->dur_ns - last->dur_ns;
  instance.last_rank = last->rank.value;
  instance.first_rank = first->rank.value;
  instance.start_spread_file_ns = latest_start - earliest_start;
  instance.wait_sum_ns = 0;
  std::int64_t second_ns = INT64_MAX;
  for (MatchedMember& m : members) {
    m.wait_ns = m.dur_ns - instance.transfer_ns;
    instance.wait_sum_ns += m.wait_ns;
    if (&m != last) second_ns = std::min(second_ns, m.dur_ns);
  }
  instance.delay_ns = second_ns - instance.transfer_ns;
  instance.tie = instance.delay_ns == 0;
}

void fill_sizes(MatchedInstance& instance, std::span<MatchedMember> members,
                std::span<const CollectiveRecord* const> records) {
  const bool all_to_all = is_all_to_all(instance.op);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const CollectiveRecord& record = *records[i];
    members[i].payload_bytes = payload_of(record, instance.group_size);
    const std::int64_t larger =
        all_to_all ? std::max(record.in_bytes, record.out_bytes) : members[i].payload_bytes;
    instance.payload_bytes = std::max(instance.payload_bytes, larger);
  }
  if (instance.group_size > 0 || is_point_to_point(instance.op))
    instance.wire_bytes = wire_bytes(instance.op, instance.payload_bytes, std::max(2, instance.group_size));
}

/// Link classes of the sets of ranks of one group in one iteration, which repeat from instance to instance.
class LinkClasses {
 public:
  explicit LinkClasses(const Ranks& ranks) : ranks_(ranks) {}
  LinkClass of(const MatchedInstance& instance, const Group& group, std::span<const MatchedMember> members) {
    const bool same_ranks = std::equal(members.begin(), members.end(), last_seen_.begin(), last_seen_.end(),
                                       [](const MatchedMember& m, std::int32_t rank) { return m.rank.value == rank; });
    // A missing member on another host would make the link inter: only a full list says intra.
    const bool whole = is_point_to_point(instance.op) || !group.members_complete;
    if (same_ranks && whole == whole_) return last_;
    last_seen_.clear();
    for (const MatchedMember& m : members) last_seen_.push_back(m.rank.value);
    last_ = ranks_.link_class(instance.iteration, instance.replica, last_seen_);
    if (last_ != LinkClass::inter && !whole && last_seen_.size() < group.members.size())
      last_ = ranks_.link_class(instance.iteration, instance.replica, group.members);
    whole_ = whole;
    return last_;
  }

 private:
  const Ranks& ranks_;
  std::vector<std::int32_t> last_seen_;
  bool whole_ = false;
  LinkClass last_ = LinkClass::unknown;
};

/// "rank 3 and 2 others of it are missing"; empty where the members are not known.
std::string missing_text(const Group& group, std::span<const MatchedMember> members) {
  std::int32_t first = -1, count = 0;
  for (const std::int32_t rank : group.members) {
    const auto is_it = [&](const MatchedMember& m) { return m.rank.value == rank; };
    if (std::any_of(members.begin(), members.end(), is_it)) continue;
    if (count++ == 0 || rank < first) first = rank;
  }
  if (count == 0) return "";
  return "rank " + std::to_string(first) + (count == 1 ? " of it is missing" : " and " + std::to_string(count - 1) + " more of it are missing");
}

}  // namespace

void Drafts::add(const RecordRefs& members_of_one, MatchRule rule, CollectiveOp op, std::int64_t step,
                 std::int32_t ordinal, std::int64_t sequence) {
  const CollectiveRecord& first = *members_of_one[0];
  MatchedInstance instance;
  instance.group = first.group;
  instance.iteration = first.iteration;
  instance.replica = first.replica;
  instance.step = step;
  instance.sequence = sequence;
  instance.ordinal = ordinal;
  instance.rule = rule;
  instance.op = op;
  instance.dtype = first.dtype;
  instance.first_member = static_cast<std::uint32_t>(members.size());
  instance.members_seen = static_cast<std::int32_t>(members_of_one.size());
  for (const CollectiveRecord* r : members_of_one) {
    instance.group_size = std::max(instance.group_size, r->group_size);
    instance.coalesced = instance.coalesced || r->coalesced;
    members.push_back(r);
  }
  if (!is_point_to_point(op))
    std::sort(members.end() - instance.members_seen, members.end(),
              [](const CollectiveRecord* a, const CollectiveRecord* b) { return a->rank < b->rank; });
  instances.push_back(instance);
}

void check_exchange(const MatchedInstance& instance, std::span<const CollectiveRecord* const> records,
                    const Group& group, const SplitIndex& splits, MatchCounts& counts) {
  if (group.members_complete && !splits.empty())
    if (const auto worst = find_dispute(records, group.members, splits))
      return counts.dispute(instance, Unmatched::pair_disagrees, worst->difference(), worst->text());
  std::int64_t sent = 0, received = 0;
  for (const CollectiveRecord* r : records) {
    if (r->in_bytes < 0 || r->out_bytes < 0) return;
    sent += r->in_bytes;
    received += r->out_bytes;
  }
  if (!instance.incomplete && sent != received)
    counts.dispute(instance, Unmatched::sums_disagree, std::max(sent, received) - std::min(sent, received),
                   "members send " + std::to_string(sent) + " bytes in all and receive " + std::to_string(received));
}

void finish_drafts(Drafts& drafts, const Ranks& ranks, const Group& group, const SplitIndex& splits,
                   MatchedCollectives& matched, MatchCounts& counts) {
  const auto key = [&](const MatchedInstance& i) {
    return std::tuple(i.step, i.sequence, i.ordinal, i.op, drafts.members[i.first_member]->rank,
                      drafts.members[i.first_member + 1]->rank);
  };
  std::sort(drafts.instances.begin(), drafts.instances.end(),
            [&](const MatchedInstance& a, const MatchedInstance& b) { return key(a) < key(b); });
  LinkClasses links(ranks);
  for (const MatchedInstance& draft : drafts.instances) {
    MatchedInstance& instance = matched.instances.emplace_back(draft);
    const std::span<const CollectiveRecord* const> records(drafts.members.data() + instance.first_member,
                                                           static_cast<std::size_t>(instance.members_seen));
    instance.first_member = static_cast<std::uint32_t>(matched.members.size());
    for (const CollectiveRecord* r : records) {
      MatchedMember& member = matched.members.emplace_back();
      member.rank_row = r->rank_row;
      member.rank = r->rank;
      member.start_ns = r->start_ns;
      member.dur_ns = r->dur_ns;
      member.worker = r->worker;
      member.local = r->local;
      member.before = r->before;
    }
    const std::span<MatchedMember> members(matched.members.data() + instance.first_member, records.size());
    if (group.size > 0) instance.group_size = group.size;
    const std::int64_t expected = is_point_to_point(instance.op) ? 2
                                  : instance.group_size > 0    ? instance.group_size
                                                               : static_cast<std::int64_t>(group.members.size());
    instance.incomplete = instance.members_seen < expected;
    if (instance.incomplete) counts.instance(instance, Code::collective_incomplete, missing_text(group, members));
    fill_sizes(instance, members, records);
    if (is_all_to_all(instance.op)) check_exchange(instance, records, group, splits, counts);
    instance.link_class = links.of(instance, group, members);
    if (is_symmetric(instance.op))
      fill_symmetric(instance, members);
    else
      instance.transfer_ns = std::min_element(members.begin(), members.end(), [](const auto& a, const auto& b) {
                               return a.dur_ns < b.dur_ns;
                             })->dur_ns;
  }
  drafts.instances.clear();
  drafts.members.clear();
}

}  // namespace ccl
