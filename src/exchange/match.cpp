// match(): the whole of stage "match" on one worker. Where records go (route), what their owner makes of them
// (assemble.cpp), whose clock is how far off (clock.cpp), and what every member is told about its own collectives.
#include "exchange/match.hpp"
#include "exchange/split_lists.hpp"

#include <algorithm>
#include <cstring>

#include "comm/lending.hpp"
#include "core/collective_math.hpp"
#include "exchange/clock.hpp"
#include "exchange/match_parts.hpp"
#include "exchange/sequence_steps.hpp"

namespace ccl {
namespace {

/// Sends parcel i to worker i; what came from the others, none from this worker. bytes: grows by what went to others.
std::vector<Bytes> exchange_counted(std::vector<Bytes> out, const Comm& comm, std::int64_t& bytes) {
  const auto me = static_cast<std::size_t>(comm.worker());
  out[me].clear();
  for (const Bytes& parcel : out) bytes += static_cast<std::int64_t>(parcel.size());
  std::vector<Bytes> came = comm.exchange(std::move(out));
  came[me].clear();
  return came;
}

/// On a record's number on its way: the number of another record with the same verdict follows.
constexpr std::uint32_t more_records = std::uint32_t{1} << 31;

void tell(std::vector<RecordVerdict>& verdicts, std::uint32_t local, RecordVerdict verdict) {
  verdict.local = local;
  verdicts[local] = verdict;
}

/// Tells each member of a credible match: this worker's own at once; what the others are told is packed for each, a
/// verdict once an instance.
std::vector<Bytes> tell_members(const MatchedCollectives& matched, const ClockModel& clock, const Ranks& ranks,
                                const Comm& comm, std::vector<RecordVerdict>& own) {
  std::vector<ByteWriter> out(static_cast<std::size_t>(comm.num_workers()));
  std::vector<std::vector<std::uint32_t>> locals(out.size());  // of one instance
  const std::vector<std::int32_t> hosts = ranks.hosts_by_row();
  for (const MatchedInstance& instance : matched.instances) {
    if (!instance.credible) continue;
    const std::span<const MatchedMember> members(matched.members.data() + instance.first_member,
                                                 static_cast<std::size_t>(instance.members_seen));
    RecordVerdict verdict;
    verdict.last_rank = instance.last_rank;
    verdict.transfer_ns = instance.transfer_ns;
    verdict.lag_ns = instance.lag_ns;
    for (const MatchedMember& m : members) {
      if (m.rank.value != instance.last_rank) continue;
      const std::int32_t host = hosts[static_cast<std::size_t>(m.rank_row)];
      verdict.last_start_ns = host < 0 ? m.start_ns : clock.corrected(host, m.start_ns);
    }
    for (const MatchedMember& m : members)
      if (m.worker == comm.worker())
        tell(own, m.local, verdict);
      else
        locals[static_cast<std::size_t>(m.worker)].push_back(m.local);
    for (std::size_t worker = 0; worker < out.size(); ++worker) {
      const std::vector<std::uint32_t>& of_worker = locals[worker];
      for (std::size_t i = 0; i < of_worker.size(); ++i) {
        verdict.local = of_worker[i] | (i + 1 < of_worker.size() ? more_records : 0);
        if (i == 0)
          out[worker].value(verdict);
        else
          out[worker].value(verdict.local);
      }
      locals[worker].clear();
    }
  }
  std::vector<Bytes> parcels;
  for (ByteWriter& parcel : out) parcels.push_back(parcel.take());
  return parcels;
}

}  // namespace

namespace {

/// Who matches a collective. The steps of a group go round all workers: what it does in a step is one worker's. Where
/// sequence numbers decide and steps share them, all steps of the group are.
class Owners {
 public:
  Owners(const Groups& groups, const SequenceSteps& sequences, int num_workers)
      : groups_(groups), sequences_(sequences), num_workers_(static_cast<std::size_t>(num_workers)) {}
  /// -1: of no known group, or left out.
  int of(const CollectiveRecord& record) {
    if (record.ordinal == left_out_ordinal) return -1;
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

std::vector<RecordRefs> route(const std::vector<CollectiveRecord>& records, const Groups& groups,
                              const SequenceSteps& sequences, int num_workers) {
  Owners owners(groups, sequences, num_workers);
  std::vector<RecordRefs> out(static_cast<std::size_t>(num_workers));
  for (const CollectiveRecord& record : records)
    if (const int owner = owners.of(record); owner >= 0)
      out[static_cast<std::size_t>(owner)].push_back(&record);
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
  RecordRefs refs;  // to its own records where they are, and to those that came
  std::vector<std::vector<Bytes>> came;  // by worker
  SplitWords splits;
};

/// Records travel some at a time: what is packed for others stays small.
constexpr std::size_t records_a_round = std::size_t{1} << 14;

Bytes pack(std::span<const CollectiveRecord* const> refs) {
  Bytes parcel(refs.size() * sizeof(CollectiveRecord));
  for (std::size_t i = 0; i < refs.size(); ++i)
    std::memcpy(parcel.data() + i * sizeof(CollectiveRecord), refs[i], sizeof(CollectiveRecord));
  return parcel;
}

SplitWords exchange_splits(std::vector<SplitWords> out, const Comm& comm, std::int64_t& bytes) {
  for (std::size_t worker = 0; worker < out.size(); ++worker)
    if (worker != static_cast<std::size_t>(comm.worker()))
      bytes += static_cast<std::int64_t>(out[worker].size() * sizeof(out[worker][0]));
  return exchange_rows(comm, std::move(out));
}

Owned exchange_records(const std::vector<CollectiveRecord>& records, const Groups& groups, const Comm& comm,
                       const SplitWords& splits, std::int64_t& bytes) {
  Owned owned;
  const SequenceSteps sequences = agree_on_sequences(records, groups, comm, bytes);
  owned.splits = exchange_splits(route_splits(splits, records, groups, sequences, comm.num_workers()), comm, bytes);
  std::vector<RecordRefs> routed = route(records, groups, sequences, comm.num_workers());
  owned.refs = std::move(routed[static_cast<std::size_t>(comm.worker())]);
  routed[static_cast<std::size_t>(comm.worker())] = {};
  std::size_t count = 0;
  for (const RecordRefs& refs : routed) count += refs.size();
  owned.came.resize(routed.size());
  const auto rounds = static_cast<std::size_t>(comm.max(static_cast<std::int64_t>(count / records_a_round + 1)));
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<Bytes> out;
    for (const RecordRefs& refs : routed) {
      const std::size_t first = refs.size() * round / rounds, end = refs.size() * (round + 1) / rounds;
      out.push_back(pack(std::span(refs).subspan(first, end - first)));
    }
    std::vector<Bytes> came = exchange_counted(std::move(out), comm, bytes);
    for (std::size_t worker = 0; worker < came.size(); ++worker) owned.came[worker].push_back(std::move(came[worker]));
  }
  for (const std::vector<Bytes>& parcels : owned.came)  // in the order in which their worker has them
    for (const Bytes& parcel : parcels) {
      const auto* const first = reinterpret_cast<const CollectiveRecord*>(parcel.data());
      for (std::size_t i = 0; i < parcel.size() / sizeof(CollectiveRecord); ++i) owned.refs.push_back(first + i);
    }
  return owned;
}

/// Whether all ranks are one worker's, as where several read one file. Then nothing needs to travel.
bool one_has_all(const Ranks& ranks) { return ranks.workers().size() < 2; }

}  // namespace

Matched match(const std::vector<CollectiveRecord>& records, const Ranks& ranks, const Groups& groups,
              const Comm& comm, Problems& problems) {
  return match(records, ranks, groups, comm, problems, {});
}

Matched match(const std::vector<CollectiveRecord>& records, const Ranks& ranks, const Groups& groups,
              const Comm& comm, Problems& problems, const SplitWords& splits) {
  Matched matched;
  const bool alone = one_has_all(ranks);
  if (alone) {
    together(comm, [&] {
      const Lending lending = lend_to_busy(ranks.workers(), comm);
      matched.mine = assemble_own(records, ranks, groups, problems, splits, lending.processors());
    });
  } else {
    Owned owned = exchange_records(records, groups, comm, splits, matched.bytes_out);
    together(comm, [&] { matched.mine = assemble(std::move(owned.refs), ranks, groups, problems, owned.splits); });
  }
  matched.clock = fit_clocks(matched.mine, ranks, comm, problems);
  keep_causality(matched.mine, ranks, comm, matched.clock, problems);
  apply_clock(matched.mine, matched.clock, ranks, groups, problems);

  matched.verdicts.resize(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) matched.verdicts[i].local = static_cast<std::uint32_t>(i);
  std::vector<Bytes> told = tell_members(matched.mine, matched.clock, ranks, comm, matched.verdicts);
  if (alone) return matched;
  for (const Bytes& parcel : exchange_counted(std::move(told), comm, matched.bytes_back))
    for (ByteReader in(parcel); !in.at_end();) {
      const auto verdict = in.value<RecordVerdict>();
      std::uint32_t local = verdict.local;
      for (; (local & more_records) != 0; local = in.value<std::uint32_t>())
        tell(matched.verdicts, local & ~more_records, verdict);
      tell(matched.verdicts, local, verdict);
    }
  return matched;
}

}  // namespace ccl
