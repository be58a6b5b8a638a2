#include "exchange/model_groups.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace ccl {
namespace {

using RankLists = std::vector<std::vector<std::int32_t>>;

RankLists known_groups(const Groups& groups, std::initializer_list<Dimension> dimensions) {
  std::set<std::vector<std::int32_t>> lists;
  for (const Group& group : groups.groups)
    if (group.members_complete && group.size > 1 &&
        std::find(dimensions.begin(), dimensions.end(), group.dimension) != dimensions.end())
      lists.insert(group.members);
  return {lists.begin(), lists.end()};
}

/// Pipelines by process groups. Megatron's embedding groups (first and last stage) lie within longer ones.
RankLists longest(RankLists lists) {
  std::size_t most = 0;
  for (const auto& list : lists) most = std::max(most, list.size());
  lists.erase(std::remove_if(lists.begin(), lists.end(), [&](const auto& list) { return list.size() < most; }),
              lists.end());
  return lists;
}

RankLists pipelines_of_mesh(const Mesh& mesh) {
  RankLists lists;
  if (!mesh.known() || mesh.pp < 2) return lists;
  const auto stride = static_cast<std::int32_t>(mesh.world() / mesh.pp);
  for (std::int32_t first = 0; first < stride; ++first) {
    lists.emplace_back();
    for (std::int32_t stage = 0; stage < mesh.pp; ++stage) lists.back().push_back(first + stage * stride);
  }
  return lists;
}

/// dp lies between tp·cp inside and pp outside, in TorchTitan's and Megatron's rank order.
RankLists replicas_of_mesh(const Mesh& mesh) {
  RankLists lists;
  if (!mesh.known()) return lists;
  const std::int64_t inner = std::int64_t{mesh.tp} * mesh.cp, data = std::int64_t{mesh.dp_replicate} * mesh.dp_shard;
  lists.resize(static_cast<std::size_t>(data));
  for (std::int64_t rank = 0; rank < mesh.world(); ++rank)
    lists[static_cast<std::size_t>(rank / inner % data)].push_back(static_cast<std::int32_t>(rank));
  return lists;
}

RankLists connected(const RankLists& groups, std::size_t world) {
  std::vector<std::size_t> parent(world);
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t at) {
    while (parent[at] != at) at = parent[at] = parent[parent[at]];
    return at;
  };
  for (const auto& group : groups)
    for (const std::int32_t rank : group) {
      if (rank < 0 || static_cast<std::size_t>(rank) >= world) continue;
      const std::size_t a = root(static_cast<std::size_t>(rank)), b = root(static_cast<std::size_t>(group.front()));
      parent[std::max(a, b)] = std::min(a, b);
    }
  std::map<std::size_t, std::vector<std::int32_t>> lists;
  for (std::size_t rank = 0; rank < world; ++rank) lists[root(rank)].push_back(static_cast<std::int32_t>(rank));
  RankLists out;
  for (auto& [first, list] : lists) out.push_back(std::move(list));
  return out;
}

}  // namespace

ModelPlace ModelGroups::of(RankId rank) const {
  return rank.known() && static_cast<std::size_t>(rank.value) < places.size()
             ? places[static_cast<std::size_t>(rank.value)]
             : ModelPlace();
}

ModelGroups model_groups(const Ranks& ranks, const Groups& groups, const Workload& workload) {
  ModelGroups out;
  std::int64_t world = ranks.expected;
  for (const RankEntry& entry : ranks.entries) world = std::max<std::int64_t>(world, entry.rank.value + 1);
  out.places.resize(static_cast<std::size_t>(std::max<std::int64_t>(world, 0)));
  for (std::size_t i = 0; i < out.places.size(); ++i) out.places[i].rank = static_cast<std::int32_t>(i);
  for (const RankEntry& entry : ranks.entries)
    if (entry.rank.known()) out.places[static_cast<std::size_t>(entry.rank.value)].present = true;

  RankLists pipelines = workload.megatron_pp;
  out.pipelines_source = "megatron";
  if (pipelines.empty()) pipelines = longest(known_groups(groups, {Dimension::pp})), out.pipelines_source = "process groups";
  if (pipelines.empty()) pipelines = pipelines_of_mesh(workload.mesh), out.pipelines_source = "mesh";
  if (pipelines.empty()) out.pipelines_source.clear();

  RankLists replicas = workload.megatron_model;
  out.replicas_source = "megatron";
  if (replicas.empty()) replicas = replicas_of_mesh(workload.mesh), out.replicas_source = "mesh";
  if (replicas.empty()) {
    replicas = connected(known_groups(groups, {Dimension::tp, Dimension::pp, Dimension::cp}), out.places.size());
    out.replicas_source = "process groups";
  }
  const auto each = [&](const RankLists& lists, auto set) {
    for (std::size_t g = 0; g < lists.size(); ++g) {
      bool complete = true;
      for (const std::int32_t rank : lists[g]) complete = complete && out.of(RankId(rank)).present;
      for (std::size_t i = 0; i < lists[g].size(); ++i)
        if (out.of(RankId(lists[g][i])).rank >= 0)
          set(out.places[static_cast<std::size_t>(lists[g][i])], static_cast<std::int32_t>(g), static_cast<std::int32_t>(i), complete);
    }
  };
  each(pipelines, [](ModelPlace& place, std::int32_t group, std::int32_t stage, bool complete) {
    place.pipeline = group, place.stage = stage, place.pipeline_complete = complete;
  });
  each(replicas, [](ModelPlace& place, std::int32_t group, std::int32_t, bool complete) {
    place.replica = group, place.replica_complete = complete;
  });
  return out;
}

}  // namespace ccl
