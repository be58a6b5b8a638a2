// assign_dimensions(): which parallelism a process group serves. Evidence in order: its description as TorchTitan's
// DeviceMesh and Megatron write it, then its member ranks against the configured mesh.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "core/lower_case.hpp"
#include "parse/finish.hpp"

namespace ccl {
namespace {

struct Meaning {
  std::string_view description;
  Dimension dimension;
};

// Lower case, without the prefix "mesh_" and the suffix "_gloo".
constexpr Meaning described[] = {
    // PyTorch DeviceMesh and TorchTitan
    {"pp", Dimension::pp}, {"tp", Dimension::tp}, {"cp", Dimension::cp}, {"dp", Dimension::dp},
    {"dp_replicate", Dimension::dp}, {"dp_shard", Dimension::dp}, {"dp_shard_cp", Dimension::dp},
    {"dp_shard_mod_ep", Dimension::dp}, {"dp_shard_in_ep", Dimension::dp}, {"dp_mod_ep", Dimension::dp},
    {"dp_cp", Dimension::dp}, {"fsdp", Dimension::dp}, {"efsdp", Dimension::dp}, {"hsdp", Dimension::dp},
    {"batch", Dimension::dp}, {"loss", Dimension::dp}, {"ep", Dimension::ep}, {"ep_tp", Dimension::ep},
    {"etp", Dimension::tp}, {"world", Dimension::world},
    // Megatron group_desc
    {"data_parallel_group", Dimension::dp}, {"data_parallel_group_with_cp", Dimension::dp},
    {"intra_partial_data_parallel_group_with_cp", Dimension::dp},
    {"inter_partial_data_parallel_group_with_cp", Dimension::dp},
    {"context_parallel_group", Dimension::cp}, {"tensor_model_parallel_group", Dimension::tp},
    {"pipeline_model_parallel_group", Dimension::pp}, {"embedding_group", Dimension::pp},
    {"position_embedding_group", Dimension::pp}, {"model_parallel_group", Dimension::mixed},
    {"tensor_and_data_parallel_group", Dimension::mixed}, {"tensor_and_data_parallel_group_with_cp", Dimension::mixed},
    {"tensor_and_context_parallel_group", Dimension::mixed}, {"expert_model_parallel_group", Dimension::ep},
    {"expert_tensor_and_model_parallel_group", Dimension::ep}, {"expert_tensor_parallel_group", Dimension::tp},
    {"expert_tensor_model_pipeline_parallel_group", Dimension::mixed}, {"expert_data_parallel_group", Dimension::dp},
    {"intra_partial_expert_data_parallel_group", Dimension::dp},
    {"inter_partial_expert_data_parallel_group", Dimension::dp},
};

Dimension from_description(std::string_view description) {
  std::string text = lower_case(description);
  if (text.starts_with("mesh_")) text.erase(0, 5);
  if (text.ends_with("_gloo")) text.erase(text.size() - 5);
  if (text.starts_with("hierarchical_context_parallel_group")) return Dimension::cp;
  for (const Meaning& meaning : described)
    if (meaning.description == text) return meaning.dimension;
  return Dimension::unknown;
}

struct Axis {
  Dimension dimension;
  std::int32_t size;
};

/// Axes of the rank grid, innermost first. Megatron's default order is tp-cp-ep-dp-pp; in both, ep borrows ranks.
std::array<Axis, 5> axes(const Mesh& mesh) {
  return {{{Dimension::tp, mesh.tp}, {Dimension::cp, mesh.cp}, {Dimension::dp, mesh.dp_shard},
           {Dimension::dp, mesh.dp_replicate}, {Dimension::pp, mesh.pp}}};
}

/// The only dimension of the mesh larger than 1; world if there are several or none.
Dimension only_dimension(const Mesh& mesh) {
  Dimension only = Dimension::unknown;
  for (const Axis& axis : axes(mesh)) {
    if (axis.size <= 1 || axis.dimension == only) continue;
    if (only != Dimension::unknown) return Dimension::world;
    only = axis.dimension;
  }
  return only == Dimension::unknown ? Dimension::world : only;
}

/// Dimension along which the members differ; unknown if they are no part of the grid that has a name.
Dimension from_grid(const std::vector<std::int32_t>& members, const Mesh& mesh) {
  std::array<bool, dimension_count> varies{};
  std::int64_t box = 1;   // ranks in the sub-grid that the members span
  std::int64_t inner = 1;
  for (const Axis& axis : axes(mesh)) {
    const auto coordinate = [&](std::int32_t rank) { return rank / inner % axis.size; };
    const auto differs = [&](std::int32_t rank) { return coordinate(rank) != coordinate(members.front()); };
    if (std::any_of(members.begin(), members.end(), differs)) {
      varies[static_cast<std::size_t>(axis.dimension)] = true;
      box *= axis.size;
    }
    inner *= axis.size;
  }
  const auto varying = std::count(varies.begin(), varies.end(), true);
  const auto size = static_cast<std::int64_t>(members.size());
  const bool along = varies[static_cast<std::size_t>(Dimension::dp)] || varies[static_cast<std::size_t>(Dimension::cp)];
  if (mesh.ep > 1 && size == mesh.ep && size < box && along && !varies[static_cast<std::size_t>(Dimension::pp)])
    return Dimension::ep;
  if (varying == 0 || (varying > 1 && size != box)) return Dimension::unknown;
  if (varying > 1) {
    const bool dp_and_cp = varying == 2 && varies[static_cast<std::size_t>(Dimension::dp)] &&
                           varies[static_cast<std::size_t>(Dimension::cp)];
    return dp_and_cp ? Dimension::dp : Dimension::mixed;
  }
  for (std::size_t i = 0; i < varies.size(); ++i)
    if (varies[i]) return static_cast<Dimension>(i);
  return Dimension::unknown;
}

/// Ranks that differ from `rank` in these axes only, ascending.
std::vector<std::int32_t> sub_grid(std::int32_t rank, unsigned chosen, const Mesh& mesh) {
  std::vector<std::int32_t> members{0};
  std::int32_t inner = 1;
  unsigned bit = 1;
  for (const Axis& axis : axes(mesh)) {
    const std::int32_t own = rank / inner % axis.size;
    std::vector<std::int32_t> next;
    for (std::int32_t at = 0; at < axis.size; ++at)
      if ((chosen & bit) != 0 || at == own)
        for (const std::int32_t member : members) next.push_back(member + at * inner);
    members = std::move(next);
    inner *= axis.size;
    bit <<= 1;
  }
  return members;
}

/// Whether a list says what the ranks of one file say of their places in the group.
bool fits(const std::vector<std::int32_t>& members, const ProcessGroup& group) {
  return members.size() == static_cast<std::size_t>(group.size) &&
         std::all_of(group.places.begin(), group.places.end(), [&](const RankPlace& known) {
           const auto at = std::find(members.begin(), members.end(), known.rank);
           return known.place < 0 ? at == members.end()
                                  : at != members.end() && at - members.begin() == known.place;
         });
}

/// Of a group whose members are known in part: what all parts of the grid that fit have in common.
Dimension from_places(const ProcessGroup& group, const Mesh& mesh) {
  std::int32_t rank = -1;
  if (group.place < 0) return Dimension::unknown;
  for (const RankPlace& known : group.places)
    if (known.place == group.place) rank = known.rank;
  if (rank < 0 || rank >= mesh.world()) return Dimension::unknown;
  std::set<Dimension> found;
  constexpr unsigned cp_axis = 2, dp_axis = 4, every = 1U << 5;
  for (unsigned chosen = 1; chosen < every; ++chosen)
    if (const auto members = sub_grid(rank, chosen, mesh); fits(members, group)) found.insert(from_grid(members, mesh));
  if (mesh.ep > 1) {
    // Experts are shared out along cp and dp: neighbours hold different ones, every ep-th the same.
    const std::vector<std::int32_t> box = sub_grid(rank, cp_axis | dp_axis, mesh);
    const auto ep = static_cast<std::size_t>(mesh.ep);
    const auto own = static_cast<std::size_t>(std::find(box.begin(), box.end(), rank) - box.begin());
    std::vector<std::int32_t> block, stride;
    for (std::size_t i = 0; i < box.size(); ++i) {
      if (i / ep == own / ep) block.push_back(box[i]);
      if (i % ep == own % ep) stride.push_back(box[i]);
    }
    if (fits(stride, group)) found.insert(Dimension::dp);
    if (fits(block, group)) {
      const std::set<Dimension> alike{Dimension::dp, Dimension::ep};
      if (std::includes(alike.begin(), alike.end(), found.begin(), found.end()))
        return group.exchanges || found.count(Dimension::dp) == 0 ? Dimension::ep : Dimension::dp;
      found.insert(Dimension::ep);
    }
  }
  return found.size() == 1 ? *found.begin() : Dimension::unknown;
}

void assign(ProcessGroup& group, std::int64_t world_size, const Mesh& mesh) {
  const auto set = [&](Dimension dimension, std::string source) {
    group.dimension = dimension;
    group.dimension_source = dimension == Dimension::unknown ? "" : std::move(source);
  };
  if (const Dimension dimension = from_description(group.description); dimension != Dimension::unknown)
    return set(dimension, "description");
  const std::int64_t world = world_size > 0 ? world_size : mesh.known() ? mesh.world() : -1;
  const bool is_mesh = mesh.known() && mesh.world() == world;
  if (is_mesh && group.exchanges && from_places(group, mesh) == Dimension::ep)
    return set(Dimension::ep, "mesh: " + mesh.source + ", operation");
  if (group.description == "default_pg" || (world > 0 && group.size == world)) {
    if (!is_mesh) return set(Dimension::world, group.description == "default_pg" ? "description" : "size");
    return set(only_dimension(mesh), "mesh: " + mesh.source);
  }
  const auto in_world = [&](std::int32_t rank) { return rank >= 0 && rank < world; };
  if (is_mesh && group.members_complete() && std::all_of(group.members.begin(), group.members.end(), in_world))
    return set(from_grid(group.members, mesh), "mesh: " + mesh.source);
  if (is_mesh && group.place >= 0) return set(from_places(group, mesh), "mesh: " + mesh.source);
  set(Dimension::unknown, "");
}

}  // namespace

void assign_dimensions(RankTrace& trace, const Mesh& mesh) {
  for (ProcessGroup& group : trace.groups) assign(group, trace.world_size, mesh);
}

}  // namespace ccl
