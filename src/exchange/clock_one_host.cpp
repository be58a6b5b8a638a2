#include "exchange/clock_one_host.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <tuple>
#include <utility>

#include "core/sort_runs.hpp"
#include "core/wording.hpp"
#include "exchange/end_differences.hpp"
#include "exchange/match_parts.hpp"
#include "exchange/robust.hpp"

namespace ccl {
namespace {

// On real hosts of eight H100 the usual difference of two ranks is at most 3 us, where ends vary by up to 11 us around it;
// clocks of two hosts are apart by hundreds. What varies by less than a tenth of itself is an offset, not late members.
constexpr std::int64_t least_apart_ns = 50'000;
constexpr std::int64_t deviations_apart = 10;
constexpr std::int64_t least_instances = 3;
constexpr std::int64_t least_jump_ns = 1'000'000;  // in one communicator and step, which have fewer ends than all
constexpr std::int64_t a_year_ns = std::int64_t{365} * 24 * 3600 * 1'000'000'000;

/// Ends of two ranks of one host in a communicator and step, or in all of an iteration.
struct PairOnHost {
  std::int32_t host = -1, row_a = -1, row_b = -1, unused = 0;  // rows of /ranks
  std::int64_t middle_ns = 0;                                  // usual end of b − end of a
  std::int64_t deviation_ns = 0;                               // usual distance from it
  std::int64_t count = 0;
  auto key() const { return std::tuple(host, row_a, row_b); }
  bool apart() const {
    return count >= least_instances &&
           std::abs(middle_ns) > std::max(least_apart_ns, deviations_apart * deviation_ns);
  }
};

/// End of a member after the end of another, in one instance.
struct EndDifference {
  std::int32_t row_a = -1, row_b = -1;
  std::int64_t ns = 0;
  auto rows() const { return std::pair(row_a, row_b); }
};

/// From the lowest rank of each host among the members to its others. lowest: by host, null before and after.
void add_differences(std::span<const MatchedMember> members, const std::vector<std::int32_t>& hosts,
                     std::vector<const MatchedMember*>& lowest, std::vector<EndDifference>& differences) {
  const auto host_of = [&](const MatchedMember& member) { return hosts[static_cast<std::size_t>(member.rank_row)]; };
  for (const MatchedMember& member : members) {
    if (host_of(member) < 0) continue;
    const MatchedMember*& first = lowest[static_cast<std::size_t>(host_of(member))];
    if (first != nullptr)
      differences.push_back({first->rank_row, member.rank_row,
                             member.start_ns + member.dur_ns - first->start_ns - first->dur_ns});
    else
      first = &member;
  }
  for (const MatchedMember& member : members)
    if (host_of(member) >= 0) lowest[static_cast<std::size_t>(host_of(member))] = nullptr;
}

/// By communicator and step.
std::vector<PairOnHost> pairs_of(const MatchedCollectives& matched, const Ranks& ranks) {
  const std::vector<std::int32_t> hosts = ranks.hosts_by_row();
  std::vector<PairOnHost> pairs;
  std::vector<EndDifference> differences;
  std::vector<std::int64_t> of_pair;
  std::vector<const MatchedMember*> lowest(ranks.hosts.size());
  const std::vector<MatchedInstance>& instances = matched.instances;
  for (std::size_t first = 0, end = 0; first < instances.size(); first = end) {
    differences.clear();
    for (; end < instances.size() && same_step(instances[end], instances[first]); ++end) {
      const MatchedInstance& instance = instances[end];
      if (tells_clocks(instance))
        add_differences({&matched.members[instance.first_member], static_cast<std::size_t>(instance.members_seen)}, hosts,
                        lowest, differences);
    }
    sort_runs(differences, [](const EndDifference& a, const EndDifference& b) { return a.rows() < b.rows(); });
    for (auto from = differences.cbegin(), until = from; from != differences.cend(); from = until) {
      of_pair.clear();
      for (; until != differences.cend() && until->rows() == from->rows(); ++until) of_pair.push_back(until->ns);
      PairOnHost pair{hosts[static_cast<std::size_t>(from->row_a)], from->row_a, from->row_b};
      pair.count = static_cast<std::int64_t>(of_pair.size());
      pair.middle_ns = middle_of(of_pair);
      for (std::int64_t& d : of_pair) d = std::abs(d - pair.middle_ns);
      pair.deviation_ns = middle_of(of_pair);
      pairs.push_back(pair);
    }
  }
  return pairs;
}

/// Of the pairs of a host each over all its communicators and steps.
PairOnHost joined(std::vector<PairOnHost>::const_iterator first, std::vector<PairOnHost>::const_iterator end) {
  PairOnHost all{first->host, first->row_a, first->row_b};
  std::vector<std::int64_t> middles, deviations;
  middles.reserve(static_cast<std::size_t>(end - first));
  deviations.reserve(static_cast<std::size_t>(end - first));
  for (auto at = first; at != end; ++at) {
    middles.push_back(at->middle_ns);
    deviations.push_back(at->deviation_ns);
    all.count += at->count;
  }
  all.middle_ns = middle_of(middles);
  for (std::int64_t& m : middles) m = std::abs(m - all.middle_ns);
  all.deviation_ns = std::max(middle_of(middles), middle_of(deviations));
  return all;
}

/// Of the pairs of a host all together; where only some steps show two clocks, as when one of them is set, the worst of those.
PairOnHost apart_most(std::vector<PairOnHost>::const_iterator first, std::vector<PairOnHost>::const_iterator end) {
  PairOnHost most = joined(first, end);
  if (most.apart()) return most;
  for (auto at = first; at != end; ++at)
    if (at->apart() && std::abs(at->middle_ns) >= std::max(least_jump_ns, std::abs(most.middle_ns))) most = *at;
  return most;
}

}  // namespace

std::vector<ClocksApart> clocks_apart(const MatchedCollectives& matched, const Ranks& ranks, const Comm& comm) {
  const auto workers = static_cast<std::size_t>(comm.num_workers());
  std::vector<std::vector<PairOnHost>> out(workers);
  for (const PairOnHost& pair : pairs_of(matched, ranks))
    out[static_cast<std::size_t>(pair.host) % workers].push_back(pair);
  std::vector<PairOnHost> pairs = exchange_rows(comm, std::move(out));
  std::stable_sort(pairs.begin(), pairs.end(), [](const PairOnHost& a, const PairOnHost& b) { return a.key() < b.key(); });
  std::vector<ClocksApart> worst;
  for (auto first = pairs.cbegin(), end = first; first != pairs.cend(); first = end) {
    end = std::find_if(first, pairs.cend(), [&](const PairOnHost& p) { return p.key() != first->key(); });
    const PairOnHost pair = apart_most(first, end);
    if (!pair.apart()) continue;
    const auto rank = [&](std::int32_t row) { return ranks.entries[static_cast<std::size_t>(row)].rank.value; };
    const ClocksApart found{pair.host, rank(pair.row_a), rank(pair.row_b), 0, std::abs(pair.middle_ns)};
    if (worst.empty() || worst.back().host != pair.host)
      worst.push_back(found);
    else if (found.apart_ns > worst.back().apart_ns)
      worst.back() = found;
  }
  worst = gather_all_rows(comm, worst);
  std::sort(worst.begin(), worst.end(), [](const ClocksApart& a, const ClocksApart& b) { return a.host < b.host; });
  return worst;
}

std::string clocks_apart_text(const ClocksApart& pair, const Ranks& ranks) {
  constexpr std::int64_t second_ns = 1'000'000'000;
  const std::string apart = pair.apart_ns < 10 * second_ns ? std::to_string((pair.apart_ns + 500) / 1000) + " us"
                                                           : milliseconds(static_cast<double>(pair.apart_ns));
  return "ranks " + std::to_string(pair.rank_a) + " and " + std::to_string(pair.rank_b) + " on " +
         host_text(ranks.hosts[static_cast<std::size_t>(pair.host)]) + " disagree by " +
         apart + ": probably not one host, or wrong times (" + host_map_advice(ranks, pair.rank_a, pair.rank_b) +
         (pair.apart_ns > a_year_ns ? "; or a file lacks its baseTimeNanoseconds)" : ")");
}

}  // namespace ccl
