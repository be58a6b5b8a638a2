#include "exchange/ranks.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "core/number_list.hpp"
#include "core/sort_runs.hpp"
#include "exchange/coverage.hpp"
#include "exchange/rank_rules.hpp"

namespace ccl {
namespace {

std::tuple<std::int32_t, std::int32_t, RankId> key(const RankEntry& e) { return {e.iteration, e.replica, e.rank}; }

RankStatus status_of(const RankFacts& facts) {
  if (facts.gpu_events_count == 0) return RankStatus::no_gpu_events;
  return facts.damaged() ? RankStatus::partial : RankStatus::ok;
}

/// The host of a rank as a text that is equal exactly for equal hosts; empty if unknown.
std::string host_key(const Ranks& ranks, std::int32_t iteration, std::int32_t replica, std::int32_t rank) {
  const std::int32_t row = ranks.find(iteration, replica, RankId(rank));
  if (row >= 0) {
    const RankEntry& entry = ranks.entries[static_cast<std::size_t>(row)];
    return entry.host_source == HostSource::unknown ? std::string() : entry.host;
  }
  if (const auto mapped = ranks.host_map.find(rank); mapped != ranks.host_map.end()) return mapped->second;
  if (ranks.ranks_per_host <= 0) return {};
  const std::int64_t first = rank / ranks.ranks_per_host * ranks.ranks_per_host;
  // A neighbour in the block may carry a proper name.
  for (std::int64_t other = first; other < first + ranks.ranks_per_host; ++other) {
    const std::int32_t at = ranks.find(iteration, replica, RankId(static_cast<std::int32_t>(other)));
    if (at >= 0 && ranks.entries[static_cast<std::size_t>(at)].host_source != HostSource::unknown)
      return ranks.entries[static_cast<std::size_t>(at)].host;
  }
  return block_name(replica, first, ranks.ranks_per_host, ranks.world_size);
}

void settle_expected(const Workload& workload, Ranks& ranks, Problems& problems) {
  std::vector<std::int32_t> present;
  for (const RankEntry& e : ranks.entries) present.push_back(e.rank.value);
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  std::int64_t highest = present.empty() ? 0 : std::int64_t{present.back()} + 1;
  for (const RankEntry& e : ranks.entries) highest = std::max(highest, e.facts.least_world_size);
  const std::int64_t mesh = workload.mesh.known() ? workload.mesh.world() : -1;
  ranks.expected = ranks.world_size > 0 ? ranks.world_size : std::max(mesh, highest);
  for (std::int32_t rank = 0; rank < ranks.expected; ++rank)
    if (!std::binary_search(present.begin(), present.end(), rank)) ranks.missing.push_back(rank);
  const auto tell = [&](const std::vector<std::int32_t>& absent, std::int32_t iteration, const std::string& of) {
    Problem problem;
    problem.code = Code::missing_ranks;
    problem.iteration = iteration;
    problem.count = static_cast<std::int64_t>(absent.size());
    problem.detail = (absent.size() > 1 ? "ranks " : "rank ") + ranges_text(absent) + of;
    problems.add(std::move(problem));
  };
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::int32_t>> gaps;  // iteration, replica: ranks
  for (const RankInDump& gap : not_in_dump(ranks)) gaps[{gap.iteration, gap.replica}].push_back(gap.rank);
  for (const auto& [dump, absent] : gaps)
    tell(absent, dump.first,
         (dump.second >= 0 ? " of replica " + std::to_string(dump.second) : "") + ", with a trace in another iteration");
  if (!ranks.missing.empty()) tell(ranks.missing, -1, " of a run of " + std::to_string(ranks.expected));
}

void compare_with_mesh(const Workload& workload, const Ranks& ranks, Problems& problems) {
  if (ranks.world_size <= 0 || !workload.mesh.known() || workload.mesh.world() == ranks.world_size) return;
  Problem problem;
  problem.code = Code::card_disagrees;
  problem.file = workload.mesh.source == "card"   ? workload.card_file
                 : workload.mesh.source == "toml" ? workload.training_config_file
                                                  : workload.group_file;
  problem.detail = "the parallel sizes of the " + workload.mesh.source + " make " +
                   std::to_string(workload.mesh.world()) + " ranks, the traces say " + std::to_string(ranks.world_size);
  problems.add(std::move(problem));
}

void check_host_map(const Config& config, const Ranks& ranks, Problems& problems) {
  std::vector<std::int32_t> absent;
  for (const auto& [rank, host] : ranks.host_map)
    if (rank >= ranks.expected) absent.push_back(rank);
  const bool empty = !config.input.host_map.empty() && ranks.host_map.empty();
  if (absent.empty() && !empty) return;
  Problem problem;
  problem.code = Code::config_file_invalid;
  problem.file = config.input.host_map;
  problem.detail = empty ? "--host-map names no rank"
                         : "--host-map names " + std::string(absent.size() > 1 ? "ranks " : "rank ") + ranges_text(absent) +
                               ", the run has " + std::to_string(ranks.expected) + " ranks";
  problems.add(std::move(problem));
}

/// Of the warnings of all workers those that say why a file gave no rank.
Problems why_unread(const Problems& mine, const Comm& comm) {
  constexpr std::array codes{Code::unreadable_file, Code::json_invalid, Code::empty_file, Code::gzip_cut,
                             Code::file_cut,        Code::size_limit};
  Problems told, all;
  for (const Problem& row : mine.rows())
    if (std::find(codes.begin(), codes.end(), row.code) != codes.end() && !row.file.empty()) told.add(row);
  for (const Bytes& of_worker : comm.gather_all(told.pack())) all.unite(Problems::unpack(of_worker));
  return all;
}

std::vector<UnreadFile> unread_files(const Problems& why, const std::vector<RankFacts>& facts, const Input& input) {
  if (why.rows().empty()) return {};
  std::set<std::string> others;
  for (const TraceFile& file : input.files)
    if (is_companion(file.format)) others.insert(file.shown);
  for (const RankFacts& f : facts)
    if (f.file >= 0) others.insert(input.files[static_cast<std::size_t>(f.file)].shown);
  std::map<std::string, std::string> found;
  for (const Problem& row : why.rows())
    if (others.count(row.file) == 0)
      found.emplace(row.file, row.detail.empty() ? std::string(info(row.code).name) : row.detail);
  std::vector<UnreadFile> out;
  for (auto& [file, reason] : found) out.push_back({file, std::move(reason)});
  return out;
}

}  // namespace

std::int32_t Ranks::row_of(std::int32_t worker, std::int32_t local) const {
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (entries[i].facts.worker == worker && entries[i].facts.local == local) return static_cast<std::int32_t>(i);
  return -1;
}

std::int32_t Ranks::find(std::int32_t iteration, std::int32_t replica, RankId rank) const {
  const auto wanted = std::tuple(iteration, replica, rank);
  // Where all ranks of one iteration are there, the number is the row; a search goes through a dozen entries, each far from the others.
  if (const auto row = static_cast<std::size_t>(rank.value); rank.known() && row < entries.size() && key(entries[row]) == wanted)
    return rank.value;
  const auto at = std::lower_bound(entries.begin(), entries.end(), wanted,
                                   [](const RankEntry& e, const auto& k) { return key(e) < k; });
  return at != entries.end() && key(*at) == wanted ? static_cast<std::int32_t>(at - entries.begin()) : -1;
}

std::vector<std::int32_t> Ranks::hosts_by_row() const {
  std::vector<std::int32_t> by_row;
  by_row.reserve(entries.size());
  for (const RankEntry& entry : entries) by_row.push_back(entry.host_index);
  return by_row;
}

std::vector<int> Ranks::workers() const {
  std::set<int> workers;
  for (const RankEntry& entry : entries) workers.insert(entry.facts.worker);
  return {workers.begin(), workers.end()};
}

std::int64_t Ranks::covered() const {
  std::vector<RankId> present;
  present.reserve(entries.size());
  for (const RankEntry& e : entries) present.push_back(e.rank);
  sort_rows(present, std::less<>());
  return std::unique(present.begin(), present.end()) - present.begin();
}

LinkClass Ranks::link_class(std::int32_t iteration, std::int32_t replica, std::span<const std::int32_t> ranks) const {
  std::string first;
  bool several = false;
  for (const std::int32_t rank : ranks) {
    const std::string host = host_key(*this, iteration, replica, rank);
    if (host.empty()) return LinkClass::unknown;
    several = several || (!first.empty() && host != first);
    first = host;
  }
  return first.empty() ? LinkClass::unknown : several ? LinkClass::inter : LinkClass::intra;
}

std::string ranges_text(const std::vector<std::int32_t>& numbers) {
  return number_list({numbers.begin(), numbers.end()}, SIZE_MAX, 2);
}

Ranks resolve_ranks(std::vector<RankFacts> facts, const Input& input, const Config& config, Problems& problems) {
  Ranks ranks;
  settle_rank_numbers(std::move(facts), input, config, ranks, problems);
  for (RankEntry& entry : ranks.entries) entry.status = status_of(entry.facts);
  settle_hosts(input, ranks, problems);
  settle_steps(ranks, input, problems);
  settle_expected(input.workload, ranks, problems);
  compare_with_mesh(input.workload, ranks, problems);
  check_host_map(config, ranks, problems);
  return ranks;
}

Ranks agree_on_ranks(const std::vector<RankFacts>& mine, const Input& input, const Config& config, const Comm& comm,
                     Problems& problems) {
  ByteWriter out;
  for (const RankFacts& facts : mine) facts.pack(out);
  std::vector<RankFacts> all;
  const std::vector<Bytes> parts = comm.gather_all(out.take());
  for (std::size_t worker = 0; worker < parts.size(); ++worker) {
    for (ByteReader in(parts[worker]); !in.at_end();) {
      all.push_back(RankFacts::unpack(in));
      all.back().worker = static_cast<std::int32_t>(worker);
    }
  }
  std::vector<UnreadFile> unread = unread_files(why_unread(problems, comm), all, input);
  Problems elsewhere;
  Ranks ranks = resolve_ranks(std::move(all), input, config, comm.is_first() ? problems : elsewhere);
  ranks.unread = std::move(unread);
  return ranks;
}

}  // namespace ccl
