// assign_dimensions(): which parallelism a process group serves. Evidence in order: its description as TorchTitan's
// DeviceMesh and Megatron write it, then its member ranks against the configured mesh (metric-definitions 1.5).
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

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
  std::string text(description);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
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

void assign(ProcessGroup& group, std::int64_t world_size, const Mesh& mesh) {
  const auto set = [&](Dimension dimension, std::string source) {
    group.dimension = dimension;
    group.dimension_source = dimension == Dimension::unknown ? "" : std::move(source);
  };
  if (const Dimension dimension = from_description(group.description); dimension != Dimension::unknown)
    return set(dimension, "description");
  const std::int64_t world = world_size > 0 ? world_size : mesh.known() ? mesh.world() : -1;
  const bool fits = mesh.known() && mesh.world() == world;
  if (group.description == "default_pg" || (world > 0 && group.size == world)) {
    if (!fits) return set(Dimension::world, group.description == "default_pg" ? "description" : "size");
    return set(only_dimension(mesh), "mesh: " + mesh.source);
  }
  const auto in_world = [&](std::int32_t rank) { return rank >= 0 && rank < world; };
  if (fits && group.members_complete() && std::all_of(group.members.begin(), group.members.end(), in_world))
    return set(from_grid(group.members, mesh), "mesh: " + mesh.source);
  set(Dimension::unknown, "");
}

}  // namespace

void assign_dimensions(RankTrace& trace, const Mesh& mesh) {
  for (ProcessGroup& group : trace.groups) assign(group, trace.world_size, mesh);
}

}  // namespace ccl
