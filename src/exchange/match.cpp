// match(): the whole of stage "match" on one worker. Where records go (route), what their owner makes of them
// (assemble.cpp), whose clock is how far off (clock.cpp), and what every member is told about its own collectives.
#include "exchange/match.hpp"
#include "exchange/split_lists.hpp"

#include <algorithm>

#include "core/collective_math.hpp"
#include "exchange/clock.hpp"
#include "exchange/match_parts.hpp"
#include "exchange/sequence_steps.hpp"

namespace ccl {
namespace {

std::int64_t bytes_to_others(std::span<const std::size_t> rows, int me, std::size_t row_bytes) {
  std::size_t total = 0;
  for (std::size_t worker = 0; worker < rows.size(); ++worker)
    if (worker != static_cast<std::size_t>(me)) total += rows[worker];
  return static_cast<std::int64_t>(total * row_bytes);
}

template <class T>
std::vector<T> exchange_counted(std::vector<std::vector<T>> out, const Comm& comm, std::int64_t& bytes) {
  std::vector<std::size_t> rows;
  for (const auto& list : out) rows.push_back(list.size());
  bytes += bytes_to_others(rows, comm.worker(), sizeof(T));
  return exchange_rows(comm, std::move(out));
}

/// What each member of a credible match learns; one list per worker.
std::vector<std::vector<RecordVerdict>> verdicts_of(const MatchedCollectives& matched, const ClockModel& clock,
                                                    const Ranks& ranks, int num_workers) {
  std::vector<std::vector<RecordVerdict>> out(static_cast<std::size_t>(num_workers));
  for (const MatchedInstance& instance : matched.instances) {
    if (!instance.credible) continue;
    const std::span<const MatchedMember> members(matched.members.data() + instance.first_member,
                                                 static_cast<std::size_t>(instance.members_seen));
    RecordVerdict verdict;
    verdict.last_rank = instance.last_rank;
    verdict.transfer_ns = instance.transfer_ns;
    verdict.lag_ns = instance.lag_ns;
    for (const MatchedMember& m : members) {
      const std::int32_t host = ranks.entries[static_cast<std::size_t>(m.rank_row)].host_index;
      if (m.rank.value == instance.last_rank)
        verdict.last_start_ns = host < 0 ? m.start_ns : clock.corrected(host, m.start_ns);
    }
    for (const MatchedMember& m : members) {
      verdict.local = m.local;
      out[static_cast<std::size_t>(m.worker)].push_back(verdict);
    }
  }
  return out;
}

}  // namespace

namespace {

/// Who matches a collective. The steps of a group go round all workers: what it does in a step is one worker's. Where
/// sequence numbers decide and steps share them, all steps of the group are.
class Owners {
 public:
  Owners(const Groups& groups, const SequenceSteps& sequences, int num_workers)
      : groups_(groups), sequences_(sequences), num_workers_(static_cast<std::size_t>(num_workers)) {}
  /// -1: of no known group.
  int of(const CollectiveRecord& record) {
    const GroupInIteration key(record.group, record.iteration, record.replica);
    if (!known_ || key != key_) {
      known_ = true;
      key_ = key;
      group_ = groups_.find(record.group);
      steps_ = sequences_.steps_of(key);
      home_ = home_of(key, num_workers_);
    }
    if (group_ == nullptr) return -1;
    std::int64_t step = record.step;
    if (is_numbered(record, *group_)) step = steps_ == nullptr ? outside_step : step_by_sequence(record, *steps_);
    return static_cast<int>((home_ + static_cast<std::size_t>(step - outside_step)) % num_workers_);
  }

 private:
  const Groups& groups_;
  const SequenceSteps& sequences_;
  const std::size_t num_workers_;
  bool known_ = false;
  GroupInIteration key_;  // of the record before: they come in runs
  const Group* group_ = nullptr;
  const std::vector<StepSequences>* steps_ = nullptr;
  std::size_t home_ = 0;
};

}  // namespace

std::vector<std::vector<CollectiveRecord>> route(const std::vector<CollectiveRecord>& records, const Groups& groups,
                                                 const SequenceSteps& sequences, int num_workers) {
  Owners owners(groups, sequences, num_workers);
  std::vector<std::vector<CollectiveRecord>> out(static_cast<std::size_t>(num_workers));
  if (num_workers == 1) out.front().reserve(records.size());  // lists that double copy themselves to fresh memory
  for (const CollectiveRecord& record : records)
    if (const int owner = owners.of(record); owner >= 0)
      out[static_cast<std::size_t>(owner)].push_back(record);
  return out;
}

std::vector<SplitWords> route_splits(const SplitWords& splits, const std::vector<CollectiveRecord>& records,
                                     const Groups& groups, const SequenceSteps& sequences, int num_workers) {
  Owners owners(groups, sequences, num_workers);
  std::vector<SplitWords> out(static_cast<std::size_t>(num_workers));
  for_each_split_list(splits, [&](const SplitList& list, std::span<const std::uint32_t> words) {
    const int owner = owners.of(records[list.record]);
    if (owner < 0) return;
    SplitWords& to = out[static_cast<std::size_t>(owner)];
    to.insert(to.end(), words.begin(), words.end());
  });
  return out;
}

namespace {

/// What this worker is to match.
struct Owned {
  RecordRefs refs;  // to its own records, or to those that came
  std::vector<CollectiveRecord> came;
  SplitWords splits;
};

/// Whether all ranks are one worker's, as where several read one file. Then nothing needs to travel.
bool one_has_all(const Ranks& ranks) {
  const auto differs = [](const RankEntry& a, const RankEntry& b) { return a.facts.worker != b.facts.worker; };
  return std::adjacent_find(ranks.entries.begin(), ranks.entries.end(), differs) == ranks.entries.end();
}

Owned exchange_records(const std::vector<CollectiveRecord>& records, const Ranks& ranks, const Groups& groups,
                       const Comm& comm, const SplitWords& splits, std::int64_t& bytes) {
  Owned owned;
  if (one_has_all(ranks)) {
    owned.splits = splits;
    for (const CollectiveRecord& record : records)
      if (groups.row_of(record.group) >= 0) owned.refs.push_back(&record);
    return owned;
  }
  const SequenceSteps sequences = agree_on_sequences(records, groups, comm, bytes);
  owned.splits = exchange_counted(route_splits(splits, records, groups, sequences, comm.num_workers()), comm, bytes);
  owned.came = exchange_counted(route(records, groups, sequences, comm.num_workers()), comm, bytes);
  for (const CollectiveRecord& record : owned.came) owned.refs.push_back(&record);
  return owned;
}

}  // namespace

Matched match(const std::vector<CollectiveRecord>& records, const Ranks& ranks, const Groups& groups,
              const Comm& comm, Problems& problems) {
  return match(records, ranks, groups, comm, problems, {});
}

Matched match(const std::vector<CollectiveRecord>& records, const Ranks& ranks, const Groups& groups,
              const Comm& comm, Problems& problems, const SplitWords& splits) {
  Matched matched;
  {
    Owned owned = exchange_records(records, ranks, groups, comm, splits, matched.bytes_out);
    together(comm, [&] { matched.mine = assemble(std::move(owned.refs), ranks, groups, problems, owned.splits); });
  }
  matched.clock = fit_clocks(matched.mine, ranks, comm, problems);
  keep_causality(matched.mine, ranks, comm, matched.clock, problems);
  apply_clock(matched.mine, matched.clock, ranks, groups, problems);

  matched.verdicts.resize(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) matched.verdicts[i].local = static_cast<std::uint32_t>(i);
  auto verdicts = verdicts_of(matched.mine, matched.clock, ranks, comm.num_workers());
  const bool stay = one_has_all(ranks);
  for (const RecordVerdict& verdict :
       stay ? std::move(verdicts[static_cast<std::size_t>(comm.worker())])
            : exchange_counted(std::move(verdicts), comm, matched.bytes_back))
    matched.verdicts[verdict.local] = verdict;
  return matched;
}

}  // namespace ccl
