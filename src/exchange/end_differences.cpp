#include "exchange/end_differences.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "core/collective_math.hpp"
#include "core/fetch.hpp"
#include "core/sort_runs.hpp"
#include "exchange/robust.hpp"

namespace ccl {
namespace {

using HostEnd = std::pair<std::int32_t, std::int64_t>;

/// Instances that clocks are fitted to, in the order in which their first members end: the pairs' ends then ascend,
/// or nearly.
std::vector<std::uint32_t> instances_in_time(const MatchedCollectives& matched) {
  const auto end_ns = [&](std::uint32_t i) {
    const MatchedMember& first = matched.members[matched.instances[i].first_member];
    return first.start_ns + first.dur_ns;
  };
  std::vector<std::pair<std::int64_t, std::uint32_t>> ends;
  for (std::uint32_t i = 0; i < matched.instances.size(); ++i) {
    const MatchedInstance& instance = matched.instances[i];
    if (tells_clocks(instance)) ends.emplace_back(end_ns(i), i);
  }
  sort_runs(ends, std::less<>());
  std::vector<std::uint32_t> order;
  order.reserve(ends.size());
  for (const auto& [end, i] : ends) order.push_back(i);
  return order;
}

/// Ends by host, one each; none where the host is unknown. of_host: room to work in.
void join_hosts(std::vector<HostEnd>& ends, std::vector<std::int64_t>& of_host) {
  std::erase_if(ends, [](const HostEnd& end) { return end.first < 0; });
  const auto by_host = [](const HostEnd& a, const HostEnd& b) { return a.first < b.first; };
  if (!std::is_sorted(ends.begin(), ends.end(), by_host)) std::sort(ends.begin(), ends.end(), by_host);
  const auto joined = [](const HostEnd& a, const HostEnd& b) { return a.first == b.first; };
  if (std::adjacent_find(ends.begin(), ends.end(), joined) == ends.end()) return;
  std::size_t kept = 0;
  for (std::size_t first = 0, end = 0; first < ends.size(); first = end) {
    of_host.clear();
    while (end < ends.size() && ends[end].first == ends[first].first) of_host.push_back(ends[end++].second);
    ends[kept++] = {ends[first].first, middle_of(of_host)};
  }
  ends.resize(kept);
}

}  // namespace

bool tells_clocks(const MatchedInstance& instance) { return is_symmetric(instance.op) && instance.credible && !instance.suspect; }

EndDifferences end_differences(const MatchedCollectives& matched, const Ranks& ranks) {
  EndDifferences differences;
  std::vector<HostEnd> ends;
  std::vector<std::int64_t> of_host;
  const std::vector<std::int32_t> hosts = ranks.hosts_by_row();
  const std::vector<std::uint32_t> order = instances_in_time(matched);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i + 2 * fetch_ahead < order.size()) fetch_of(order[i + 2 * fetch_ahead], matched.instances);
    if (i + fetch_ahead < order.size()) fetch_of(matched.instances[order[i + fetch_ahead]].first_member, matched.members);
    const MatchedInstance& instance = matched.instances[order[i]];
    ends.clear();
    for (const MatchedMember& m :
         std::span(matched.members.data() + instance.first_member, static_cast<std::size_t>(instance.members_seen)))
      ends.emplace_back(hosts[static_cast<std::size_t>(m.rank_row)], m.start_ns + m.dur_ns);
    join_hosts(ends, of_host);
    auto at = differences.begin();
    for (std::size_t host = 1; host < ends.size(); ++host) {  // each pair is found beside the one before
      const HostPair pair{instance.iteration, ends[0].first, ends[host].first};
      at = differences.try_emplace(at, pair);
      (at++)->second.push_back({ends[0].second, ends[host].second});
    }
  }
  for (auto& [pair, list] : differences) sort_runs(list, std::less<>());
  return differences;
}

EndDifferences to_pair_owners(EndDifferences mine, const Comm& comm) {
  const auto workers = static_cast<std::size_t>(comm.num_workers()), me = static_cast<std::size_t>(comm.worker());
  std::vector<ByteWriter> out(workers);
  for (auto at = mine.begin(); at != mine.end();) {
    const auto& [pair, ends] = *at;
    const std::size_t owner = hash_combine(static_cast<std::uint64_t>(pair.host_a), static_cast<std::uint64_t>(pair.host_b)) % workers;
    if (owner == me) {
      ++at;
      continue;
    }
    out[owner].value(pair);
    out[owner].array(ends);
    at = mine.erase(at);
  }
  std::vector<Bytes> parcels;
  for (ByteWriter& parcel : out) parcels.push_back(parcel.take());
  for (const Bytes& parcel : comm.exchange(std::move(parcels)))
    for (ByteReader in(parcel); !in.at_end();) {
      std::vector<PairEnds>& all = mine[in.value<HostPair>()];
      const std::vector<PairEnds> ends = in.array<PairEnds>();
      all.insert(all.end(), ends.begin(), ends.end());
    }
  for (auto& [pair, ends] : mine) sort_runs(ends, std::less<>());
  return mine;
}

}  // namespace ccl
