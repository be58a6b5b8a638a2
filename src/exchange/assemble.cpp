// assemble(): from the records an owner got to matched collectives. Chooses the candidates of every group and step.
// assemble_own(): the same where nobody else has any, on several processors.
#include <algorithm>
#include <functional>
#include <tuple>

#include "core/collective_math.hpp"
#include "core/fetch.hpp"
#include "core/recently_found.hpp"
#include "core/shares.hpp"
#include "core/sort_runs.hpp"
#include "exchange/match_parts.hpp"

namespace ccl {
namespace {

/// How a rank's steps were found: ranks without markers share no step numbers with the others.
StepSource source_of(const RankEntry& entry) {
  return entry.facts.steps.empty() ? StepSource::marker : entry.facts.steps.front().source;
}

/// Steps that all present members of a group have.
class SharedSteps {
 public:
  SharedSteps(const Ranks& ranks, const Group& group, std::int32_t iteration, std::int32_t replica) {
    for (const std::int32_t rank : group.members) {
      const std::int32_t row = ranks.find(iteration, replica, RankId(rank));
      if (row < 0) continue;
      const RankEntry& entry = ranks.entries[static_cast<std::size_t>(row)];
      if (!entry.takes_part || entry.status == RankStatus::no_gpu_events || entry.facts.steps.empty()) continue;
      ++members_[source_of(entry)];
      for (const Step& step : entry.facts.steps) ++having_[{source_of(entry), step.number + entry.step_shift}];
    }
  }
  bool shared(StepSource source, std::int64_t step) const {
    const auto members = members_.find(source);
    if (members == members_.end()) return true;  // the group's members are not known: those with records decide
    const auto having = having_.find({source, step});
    return having != having_.end() && having->second == members->second;
  }

 private:
  std::map<StepSource, std::int64_t> members_;
  std::map<std::pair<StepSource, std::int64_t>, std::int64_t> having_;
};

using Steps = std::map<std::pair<StepSource, std::int64_t>, std::vector<StepMember>>;

void append(std::vector<StepMember>& members, const CollectiveRecord& record) {
  if (members.empty() || members.back().rank != record.rank.value) {
    const std::size_t as_before = members.empty() ? 0 : members.back().records.size();  // members mostly have as many
    members.push_back({record.rank.value, {}});
    members.back().records.reserve(as_before);
  }
  members.back().records.push_back(&record);
}

/// Kernels queued before the profiler started have no arguments and no launch, and their number differs per rank:
/// where any kernel has arguments only those count, else only launched ones where any is.
void keep_candidates(std::vector<StepMember>& members) {
  bool arguments = false, launched = false;
  for (const StepMember& member : members)
    for (const CollectiveRecord* r : member.records) {
      arguments = arguments || r->has_arguments;
      launched = launched || r->launched;
    }
  for (StepMember& member : members)
    std::erase_if(member.records, [&](const CollectiveRecord* r) {
      return arguments ? !r->has_arguments : launched && !r->launched;
    });
  std::erase_if(members, [](const StepMember& member) { return member.records.empty(); });
}

void match_group(std::span<const CollectiveRecord* const> records, const Ranks& ranks, const Group& group, Drafts& drafts,
                 MatchCounts& counts) {
  std::vector<StepMember> numbered;  // by sequence number, whatever the step
  Steps steps;
  Steps::iterator last = steps.end();  // records of a rank come step by step
  const auto of_step = [&](const Steps::key_type& key) -> std::vector<StepMember>& {
    if (last == steps.end() || last->first != key) last = steps.try_emplace(key).first;
    return last->second;
  };
  bool takes_part = false;  // the rank whose records these are
  StepSource step_source{};
  for (std::size_t i = 0; i < records.size(); ++i) {
    const CollectiveRecord& record = *records[i];
    if (i == 0 || record.rank_row != records[i - 1]->rank_row) {
      const RankEntry& entry = ranks.entries[static_cast<std::size_t>(record.rank_row)];
      takes_part = entry.takes_part;
      step_source = source_of(entry);
    }
    if (!takes_part)
      counts.unmatched(record, Unmatched::takes_no_part);
    else if (group.sequence_everywhere && record.sequence >= 0 && !is_point_to_point(record.op))
      append(numbered, record);
    else
      append(of_step({step_source, record.step}), record);
  }
  match_by_sequence(numbered, drafts, counts);
  const SharedSteps shared(ranks, group, records.front()->iteration, records.front()->replica);
  for (auto& [key, members] : steps) {
    const auto& [source, step] = key;
    if (step == outside_step || !shared.shared(source, step)) {
      const auto cause = step == outside_step ? Unmatched::outside_steps : Unmatched::step_only_here;
      for (const StepMember& member : members)
        for (const CollectiveRecord* r : member.records)
          if ((r->has_arguments || r->launched) && r->ordinal >= 0) counts.unmatched(*r, cause);
      continue;
    }
    keep_candidates(members);
    match_collectives(members, drafts, counts);
    match_pairs(members, group, drafts, counts);
  }
}

/// By group, in the order of instances.
std::vector<RecordRefs> deal_to_groups(const RecordRefs& records) {
  std::map<std::tuple<std::int32_t, std::int32_t, GroupId>, RecordRefs> groups;
  RecentlyFound of(groups);
  for (const CollectiveRecord* const r : records) of({r->iteration, r->replica, r->group}).push_back(r);
  std::vector<RecordRefs> dealt;
  dealt.reserve(groups.size());
  for (auto& [key, of_group] : groups) dealt.push_back(std::move(of_group));
  return dealt;
}

/// The records of a group are far apart: those of the next come while one is matched, as many as a cache holds.
void fetch_first(const RecordRefs& of_group) {
  constexpr std::size_t most = 4096;
  for (const CollectiveRecord* const record : std::span(of_group).first(std::min(most, of_group.size()))) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(record);
    for (std::size_t at = 0; at < sizeof(CollectiveRecord); at += 64) fetch(bytes + at);
  }
}

/// By rank and time. A worker's records come in this order already, those of several workers are merged.
void sort_for_matching(RecordRefs& of_group) {
  sort_runs(of_group, [](const CollectiveRecord* a, const CollectiveRecord* b) {
    const auto time_key = [](const CollectiveRecord& r) { return std::tie(r.rank, r.start_ns, r.lane, r.local); };
    return time_key(*a) < time_key(*b);
  });
}

}  // namespace

MatchedCollectives assemble(std::vector<CollectiveRecord> records, const Ranks& ranks, const Groups& groups,
                            Problems& problems) {
  return assemble(std::move(records), ranks, groups, problems, {});
}

MatchedCollectives assemble(std::vector<CollectiveRecord> records, const Ranks& ranks, const Groups& groups,
                            Problems& problems, const SplitWords& splits) {
  RecordRefs refs;
  refs.reserve(records.size());
  for (const CollectiveRecord& record : records) refs.push_back(&record);
  return assemble(std::move(refs), ranks, groups, problems, splits);
}

MatchedCollectives assemble(RecordRefs records, const Ranks& ranks, const Groups& groups, Problems& problems,
                            const SplitWords& splits) {
  MatchedCollectives matched;
  matched.members.reserve(records.size());
  matched.instances.reserve(records.size() / 2);
  Drafts drafts;
  MatchCounts counts;
  const SplitIndex index(splits);
  // Group by group, all that is asked of its records while they are in the cache.
  std::vector<RecordRefs> dealt = deal_to_groups(records);
  for (std::size_t g = 0; g < dealt.size(); ++g) {
    if (g + 1 < dealt.size()) fetch_first(dealt[g + 1]);
    RecordRefs& of_group = dealt[g];
    const Group* const group = groups.find(of_group.front()->group);
    if (group == nullptr) continue;
    sort_for_matching(of_group);
    for (const CollectiveRecord* const record : of_group)
      if (record->splits_disagree || sizes_disagree(*record, record->group_size > 0 ? record->group_size : group->size))
        counts.inconsistent(*record);
    if (group->size != 1) match_group(of_group, ranks, *group, drafts, counts);  // one member has no partner
    const std::size_t first = matched.instances.size();
    finish_drafts(drafts, ranks, *group, index, matched, counts);
    check_ends(matched, first, counts);
    of_group = RecordRefs();
  }
  counts.report(groups, problems);
  return matched;
}

namespace {

/// By thread, what it matches: of a rank alone the steps are divided, what is left of a group in one then has no partner
/// in another. Several ranks are one thread's: their sequence numbers may lie in different steps.
std::vector<RecordRefs> share_steps(const std::vector<CollectiveRecord>& records, const Ranks& ranks, const Groups& groups,
                                    std::span<const Processors> lent) {
  const bool one_rank = ranks.entries.size() == 1 && !ranks.entries.front().facts.steps.empty();
  const RankEntry* const alone = one_rank ? &ranks.entries.front() : nullptr;
  if (alone == nullptr) lent = {};
  const std::size_t threads = lent.size() + 1;
  const std::int64_t first = alone == nullptr ? 0 : alone->facts.steps.front().number + alone->step_shift;
  const auto steps = alone == nullptr ? 1 : static_cast<std::int64_t>(alone->facts.steps.size());
  const auto thread_of = [&](std::int64_t step) {  // numbers that jump only make uneven shares
    return static_cast<std::size_t>(std::clamp<std::int64_t>(step - first, 0, steps - 1)) * threads / static_cast<std::size_t>(steps);
  };
  std::vector<std::vector<RecordRefs>> parts = results_of_shares(records.size(), lent, [&](Share share) {
    std::vector<RecordRefs> of_thread(threads);
    for (std::size_t i = share.begin; i < share.end; ++i)
      if (groups.row_of(records[i].group) >= 0 && records[i].ordinal != left_out_ordinal)
        of_thread[thread_of(records[i].step)].push_back(&records[i]);
    return of_thread;
  });
  std::vector<RecordRefs> all = std::move(parts.front());
  for (std::size_t part = 1; part < parts.size(); ++part)
    for (std::size_t thread = 0; thread < threads; ++thread)
      all[thread].insert(all[thread].end(), parts[part][thread].begin(), parts[part][thread].end());
  return all;
}

/// Behind what is there; each group's instances stay together, in their order.
void append_matched(const MatchedCollectives& more, MatchedCollectives& all) {
  const auto before = static_cast<std::uint32_t>(all.members.size());
  const auto middle = static_cast<std::ptrdiff_t>(all.instances.size());
  all.members.insert(all.members.end(), more.members.begin(), more.members.end());
  all.instances.insert(all.instances.end(), more.instances.begin(), more.instances.end());
  for (auto instance = all.instances.begin() + middle; instance != all.instances.end(); ++instance)
    instance->first_member += before;
  const auto key = [](const MatchedInstance& i) { return std::tie(i.iteration, i.replica, i.group); };
  std::inplace_merge(all.instances.begin(), all.instances.begin() + middle, all.instances.end(),
                     [&](const MatchedInstance& a, const MatchedInstance& b) { return key(a) < key(b); });
}

}  // namespace

MatchedCollectives assemble_own(const std::vector<CollectiveRecord>& records, const Ranks& ranks, const Groups& groups,
                                Problems& problems, const SplitWords& splits, std::span<const Processors> lent) {
  std::vector<RecordRefs> shares = share_steps(records, ranks, groups, lent);
  std::vector<MatchedCollectives> matched(shares.size());
  std::vector<Problems> found(shares.size());
  std::vector<std::function<void()>> tasks;
  for (std::size_t i = 0; i < shares.size(); ++i)
    tasks.emplace_back([&, i] { matched[i] = assemble(std::move(shares[i]), ranks, groups, found[i], splits); });
  side_by_side(lent, tasks);
  for (const Problems& some : found) problems.unite(some);
  for (std::size_t i = 1; i < matched.size(); ++i) append_matched(matched[i], matched.front());
  return std::move(matched.front());
}

}  // namespace ccl
