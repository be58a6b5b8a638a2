#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "discover/natural_order.hpp"
#include "exchange/rank_rules.hpp"

namespace ccl {
namespace {

void set_host(RankEntry& entry, std::string host, HostSource source) {
  entry.host = std::move(host);
  entry.host_source = source;
}

bool has_host(const RankEntry& entry) { return entry.host_source != HostSource::unknown; }

/// The number of ranks per host if the ranks' device ordinals lay them out in aligned blocks, else 0.
std::int64_t block_size(const std::vector<RankEntry>& entries) {
  std::int64_t size = gpus_in_node(entries).count;
  for (const RankEntry& e : entries) {
    if (!e.facts.devices.empty()) size = std::max<std::int64_t>(size, e.facts.devices.back() + 1);
  }
  bool any = false;
  std::vector<std::int32_t> ranks;
  for (const RankEntry& e : entries) {
    ranks.push_back(e.rank.value);
    if (e.facts.devices.empty()) continue;  // without GPU events there is nothing that could contradict
    if (e.facts.devices.size() != 1 || size == 0) return 0;
    const std::int64_t key = std::int64_t{e.rank.value} - e.facts.devices.front();
    if (key < 0 || key % size != 0) return 0;
    any = true;
  }
  const bool several = std::adjacent_find(ranks.begin(), ranks.end(), std::not_equal_to<>()) != ranks.end();
  return any && !(size == 1 && several) ? size : 0;
}

/// Hosts of `size` consecutive ranks for the entries that have none; a block where one host is known by name keeps it.
std::vector<std::string> block_hosts(const Ranks& ranks, std::int64_t size) {
  const auto block = [&](const RankEntry& e) { return std::pair(e.replica, e.rank.value / size); };
  std::map<std::pair<std::int32_t, std::int64_t>, std::string> named;
  for (const RankEntry& e : ranks.entries)
    if (has_host(e)) named.emplace(block(e), e.host);
  std::vector<std::string> hosts;
  for (const RankEntry& e : ranks.entries) {
    const auto known = named.find(block(e));
    if (has_host(e))
      hosts.push_back(e.host);
    else if (known != named.end())
      hosts.push_back(known->second);
    else
      hosts.push_back(block_name(e.replica, e.rank.value / size * size, size, ranks.world_size));
  }
  return hosts;
}

void place_in_blocks(Ranks& ranks, std::int64_t size, HostSource source, bool needs_device) {
  std::vector<std::string> hosts = block_hosts(ranks, size);
  for (std::size_t i = 0; i < ranks.entries.size(); ++i) {
    RankEntry& e = ranks.entries[i];
    if (!has_host(e) && !(needs_device && e.facts.devices.empty())) set_host(e, std::move(hosts[i]), source);
  }
}

/// Two ranks that blocks of `size` put on one host although they used the same device, as ranks dealt out to the hosts
/// in turn do: ranks of a job share no GPU. Where all ranks show the same ordinals each process sees only its own, and
/// they tell nothing.
std::optional<std::pair<const RankEntry*, const RankEntry*>> on_one_device(const Ranks& ranks, std::int64_t size) {
  const std::vector<std::string> hosts = block_hosts(ranks, size);
  std::map<std::tuple<std::int32_t, std::string, std::vector<std::int32_t>>, const RankEntry*> seen;
  std::optional<std::pair<const RankEntry*, const RankEntry*>> found;
  const std::vector<std::int32_t>* first = nullptr;
  bool differ = false;
  for (std::size_t i = 0; i < ranks.entries.size(); ++i) {
    const RankEntry& e = ranks.entries[i];
    if (e.facts.devices.empty()) continue;
    if (first == nullptr) first = &e.facts.devices;
    differ = differ || e.facts.devices != *first;
    const auto [at, is_new] = seen.emplace(std::tuple(e.iteration, hosts[i], e.facts.devices), &e);
    if (!is_new && !found && !(has_host(*at->second) && has_host(e))) found = std::pair(at->second, &e);
  }
  return differ ? found : std::nullopt;
}

/// Places the rest by the card's GPUs of a node, unless devices say otherwise.
void place_by_card(const Workload& workload, Ranks& ranks, Problems& problems) {
  const std::int64_t per_node = workload.gpus_per_node.value.value_or(0);
  if (per_node <= 0 || std::all_of(ranks.entries.begin(), ranks.entries.end(), has_host)) return;
  const auto clash = on_one_device(ranks, per_node);
  if (!clash) {
    if (ranks.ranks_per_host == 0) ranks.ranks_per_host = per_node;
    place_in_blocks(ranks, per_node, HostSource::card, false);
    return;
  }
  Problem problem;
  problem.code = Code::card_disagrees;
  problem.file = workload.card_file;
  const std::vector<std::int32_t>& devices = clash->first->facts.devices;
  problem.detail = "its " + std::to_string(per_node) + " GPUs in a node would put ranks " +
                   std::to_string(clash->first->rank.value) + " and " + std::to_string(clash->second->rank.value) +
                   " on one host, but both used GPU" + (devices.size() > 1 ? "s " : " ") + ranges_text(devices) +
                   ": hosts are unknown (" + host_map_advice(ranks, clash->first->rank.value, clash->second->rank.value) + ")";
  problems.add(std::move(problem));
}

}  // namespace

NodeGpus gpus_in_node(const std::vector<RankEntry>& entries) {
  NodeGpus found;
  std::map<std::int64_t, std::int64_t> of_damaged;  // how many files list so many
  for (const RankEntry& e : entries) {
    if (e.facts.gpus_in_node <= 0) continue;
    if (e.facts.damaged())
      ++of_damaged[e.facts.gpus_in_node];
    else
      found.count = std::max<std::int64_t>(found.count, e.facts.gpus_in_node);
  }
  if (found.count > 0) return found;
  std::int64_t most = 0;
  for (const auto& [count, files] : of_damaged)
    if (files > most) found = {count, true}, most = files;
  return found;
}

std::string host_text(const std::string& host) {
  if (host.starts_with('?')) {
    const std::size_t slash = host.find('/');
    if (slash == std::string::npos) return "the host of rank " + host.substr(1);
    return "the host of replica " + host.substr(1, slash - 1) + " rank " + host.substr(slash + 1);
  }
  return (host.find(' ') == std::string::npos ? "host " : "the host of ") + host;
}

std::string host_map_advice(const Ranks& ranks, std::int32_t a, std::int32_t b) {
  if (ranks.host_map.empty()) return "give --host-map";
  const bool mapped = ranks.host_map.contains(a) && ranks.host_map.contains(b);
  return mapped ? "correct --host-map" : "add them to --host-map";
}

std::string block_name(std::int32_t replica, std::int64_t first, std::int64_t size, std::int64_t world_size) {
  const std::string prefix = replica >= 0 ? "replica " + std::to_string(replica) + " " : "";
  const std::int64_t last = world_size > first ? std::min(first + size, world_size) - 1 : first + size - 1;
  if (last == first) return prefix + "rank " + std::to_string(first);
  return prefix + "ranks " + std::to_string(first) + "-" + std::to_string(last);
}

void settle_hosts(const Input& input, Ranks& ranks, Problems& problems) {
  ranks.host_map = input.host_map;
  for (RankEntry& e : ranks.entries) {
    const TraceFile& file = file_of(e.facts, input);
    if (const auto mapped = input.host_map.find(e.rank.value); mapped != input.host_map.end())
      set_host(e, mapped->second, HostSource::option);
    else if (!e.facts.host.empty())
      set_host(e, e.facts.host, HostSource::content);
    else if (!file.host_in_name.empty())
      set_host(e, file.host_in_name, HostSource::file_name);
  }
  const bool all = std::all_of(ranks.entries.begin(), ranks.entries.end(), has_host);
  if (!all) ranks.ranks_per_host = block_size(ranks.entries);
  if (ranks.ranks_per_host > 0) place_in_blocks(ranks, ranks.ranks_per_host, HostSource::block, true);
  place_by_card(input.workload, ranks, problems);
  for (RankEntry& e : ranks.entries)
    if (!has_host(e))
      e.host = std::string("?").append(e.replica >= 0 ? std::to_string(e.replica) + "/" : "").append(std::to_string(e.rank.value));
  for (const RankEntry& e : ranks.entries) ranks.hosts.push_back(e.host);
  std::sort(ranks.hosts.begin(), ranks.hosts.end(), [](const auto& a, const auto& b) { return natural_less(a, b); });
  ranks.hosts.erase(std::unique(ranks.hosts.begin(), ranks.hosts.end()), ranks.hosts.end());
  for (RankEntry& e : ranks.entries)
    e.host_index =
        static_cast<std::int32_t>(std::lower_bound(ranks.hosts.begin(), ranks.hosts.end(), e.host,
                                                   [](const auto& a, const auto& b) { return natural_less(a, b); }) -
                                  ranks.hosts.begin());
}

}  // namespace ccl
