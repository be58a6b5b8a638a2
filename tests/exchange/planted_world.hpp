// A small run made by hand: ranks on hosts, groups, and collectives with planted arrivals, for matching and clocks.
#pragma once
#include <algorithm>
#include <numeric>
#include <random>

#include "exchange/match.hpp"

namespace ccl::test {

struct PlantedWorld {
  Ranks ranks;
  Groups groups;
  std::vector<CollectiveRecord> records;
  std::vector<std::int64_t> host_offset_ns;     // what a host's clock shows beyond the true time
  std::vector<std::int64_t> host_drift_ppb;
  std::int64_t drift_from_ns = 0;

  /// rank r lives on host hosts[r]; every rank has the steps given.
  explicit PlantedWorld(const std::vector<std::int32_t>& hosts, const std::vector<std::int64_t>& steps = {0}) {
    const std::int32_t count = *std::max_element(hosts.begin(), hosts.end()) + 1;
    for (std::int32_t h = 0; h < count; ++h) ranks.hosts.push_back("host" + std::to_string(h));
    host_offset_ns.assign(static_cast<std::size_t>(count), 0);
    host_drift_ppb.assign(static_cast<std::size_t>(count), 0);
    for (std::size_t r = 0; r < hosts.size(); ++r) {
      RankEntry entry;
      entry.rank = RankId(static_cast<std::int32_t>(r));
      entry.host_index = hosts[r];
      entry.host = ranks.hosts[static_cast<std::size_t>(hosts[r])];
      entry.host_source = HostSource::content;
      for (const std::int64_t number : steps) entry.facts.steps.push_back({number, 0, 1, StepSource::marker, {}});
      ranks.entries.push_back(entry);
    }
    ranks.world_size = static_cast<std::int64_t>(hosts.size());
  }

  GroupId add_group(const std::string& name, std::vector<std::int32_t> members, std::int32_t size = -1) {
    Group group;
    group.id = GroupId(stable_hash(name));
    group.name = name;
    group.size = size < 0 ? static_cast<std::int32_t>(members.size()) : size;
    group.members = std::move(members);
    group.members_complete = static_cast<std::int32_t>(group.members.size()) == group.size;
    groups.groups.push_back(group);
    return group.id;
  }

  CollectiveRecord& add(GroupId group, std::int32_t rank, std::int64_t start_ns, std::int64_t end_ns,
                        CollectiveOp op = CollectiveOp::all_reduce, std::int64_t bytes = 1024) {
    CollectiveRecord record;
    record.group = group;
    record.rank = RankId(rank);
    record.rank_row = rank;
    record.step = 0;
    record.start_ns = on_clock_of(rank, start_ns);
    record.dur_ns = end_ns - start_ns;
    record.in_bytes = record.out_bytes = bytes;
    record.group_size = groups.groups[static_cast<std::size_t>(groups.row_of(group))].size;
    record.op = op;
    record.dtype = Dtype::uint8;
    record.has_arguments = record.launched = true;
    records.push_back(record);
    return records.back();
  }

  /// One symmetric collective: member i arrives at starts_ns[i], all leave at end_ns (+ skews_ns[i]).
  void collective(GroupId group, const std::vector<std::int64_t>& starts_ns, std::int64_t end_ns,
                  CollectiveOp op = CollectiveOp::all_reduce, std::int64_t bytes = 1024, std::int64_t step = 0) {
    const std::vector<std::int32_t> members = groups.groups[static_cast<std::size_t>(groups.row_of(group))].members;
    for (std::size_t i = 0; i < starts_ns.size(); ++i)
      add(group, members[i], starts_ns[i], end_ns, op, bytes).step = step;
  }

  std::int64_t on_clock_of(std::int32_t rank, std::int64_t true_ns) const {
    const auto host = static_cast<std::size_t>(ranks.entries[static_cast<std::size_t>(rank)].host_index);
    return true_ns + host_offset_ns[host] + host_drift_ppb[host] * (true_ns - drift_from_ns) / 1'000'000'000;
  }

  /// Says of every rank which worker read it, as shares() deals records.
  void deal_ranks(int workers) {
    for (RankEntry& entry : ranks.entries) entry.facts.worker = entry.rank.value % workers;
  }

  /// Gives worker and local numbers as `workers` workers would, rank r on worker r % workers; returns the shares.
  std::vector<std::vector<CollectiveRecord>> shares(int workers) const {
    std::vector<std::vector<CollectiveRecord>> out(static_cast<std::size_t>(workers));
    std::vector<CollectiveRecord> sorted = records;
    std::stable_sort(sorted.begin(), sorted.end(), [](const CollectiveRecord& a, const CollectiveRecord& b) {
      return std::tuple(a.rank, a.start_ns) < std::tuple(b.rank, b.start_ns);
    });
    for (CollectiveRecord& record : sorted) {
      auto& share = out[static_cast<std::size_t>(record.rank.value % workers)];
      record.worker = record.rank.value % workers;
      record.local = static_cast<std::uint32_t>(share.size());
      share.push_back(record);
    }
    return out;
  }

  /// route() and assemble() as that many workers would do them, records arriving in an order made from `seed`.
  MatchedCollectives assemble_with(int workers, std::uint32_t seed, Problems& problems) const {
    std::vector<std::vector<CollectiveRecord>> owned(static_cast<std::size_t>(workers));
    std::vector<StepSequences> numbers;
    for (const auto& share : shares(workers))
      for (const StepSequences& row : sequences_of(share, groups)) numbers.push_back(row);
    const SequenceSteps sequences(numbers);
    for (const auto& share : shares(workers)) {
      const auto routed = route(share, groups, sequences, workers);
      for (std::size_t w = 0; w < routed.size(); ++w)
        for (const CollectiveRecord* const record : routed[w]) owned[w].push_back(*record);
    }
    MatchedCollectives all;
    std::mt19937 random(seed);
    for (auto& mine : owned) {
      std::shuffle(mine.begin(), mine.end(), random);
      const MatchedCollectives part = assemble(std::move(mine), ranks, groups, problems);
      for (MatchedInstance instance : part.instances) {
        instance.first_member += static_cast<std::uint32_t>(all.members.size());
        all.instances.push_back(instance);
      }
      all.members.insert(all.members.end(), part.members.begin(), part.members.end());
    }
    std::sort(all.instances.begin(), all.instances.end(), [&](const MatchedInstance& a, const MatchedInstance& b) {
      const auto key = [&](const MatchedInstance& i) {
        return std::tuple(i.iteration, i.replica, i.group, i.step, i.sequence, i.ordinal, i.op,
                          all.members[i.first_member].rank);
      };
      return key(a) < key(b);
    });
    return all;
  }
  MatchedCollectives assemble_alone(Problems& problems) const { return assemble_with(1, 0, problems); }
  MatchedCollectives assemble_alone() const {
    Problems problems;
    return assemble_alone(problems);
  }
};

inline std::vector<std::int32_t> ranks_up_to(std::int32_t count) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Everything that must not depend on the number of workers.
inline std::vector<std::int64_t> numbers_of(const MatchedCollectives& matched) {
  std::vector<std::int64_t> all;
  for (const MatchedInstance& i : matched.instances) {
    for (const std::int64_t value :
         {static_cast<std::int64_t>(i.group.value), i.step, i.sequence, std::int64_t{i.ordinal},
          static_cast<std::int64_t>(i.rule), static_cast<std::int64_t>(i.op), i.payload_bytes, i.wire_bytes,
          std::int64_t{i.group_size}, std::int64_t{i.members_seen}, i.transfer_ns, i.lag_ns, i.delay_ns, i.wait_sum_ns,
          i.start_spread_ns, i.start_spread_file_ns, i.end_spread_ns, i.first_arrival_ns, i.last_end_ns,
          std::int64_t{i.first_rank}, std::int64_t{i.last_rank}, std::int64_t{i.tie}, std::int64_t{i.suspect},
          std::int64_t{i.credible}, std::int64_t{i.incomplete}})
      all.push_back(value);
    for (std::int32_t m = 0; m < i.members_seen; ++m) {
      const MatchedMember& member = matched.members[i.first_member + static_cast<std::uint32_t>(m)];
      for (const std::int64_t value : {std::int64_t{member.rank.value}, member.start_ns, member.wait_ns}) all.push_back(value);
    }
  }
  return all;
}

}  // namespace ccl::test
