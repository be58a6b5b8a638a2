#include "metrics/pipeline_stage.hpp"

#include <algorithm>

namespace ccl {

PipelineStage pipeline_stage(const RankEntry& entry, const Groups& groups, const Mesh& mesh) {
  PipelineStage out;
  const std::int32_t rank = entry.rank.value;
  // The largest one: Megatron's embedding groups hold only the first and the last stage.
  for (const Group& group : groups.groups) {
    if (group.dimension != Dimension::pp || group.size < 2 || !group.members_complete) continue;
    if (group.replica >= 0 && group.replica != entry.replica) continue;
    const auto at = std::find(group.members.begin(), group.members.end(), rank);
    if (at == group.members.end() || group.members.size() <= out.members.size()) continue;
    out.members = group.members;
    out.stage = static_cast<std::int32_t>(at - group.members.begin());
  }
  if (out.known() || !mesh.known() || mesh.pp < 2 || rank < 0 || rank >= mesh.world()) return out;
  const auto ranks_per_stage = static_cast<std::int32_t>(mesh.world() / mesh.pp);
  out.stage = rank / ranks_per_stage;
  for (std::int32_t stage = 0; stage < mesh.pp; ++stage) out.members.push_back(rank % ranks_per_stage + stage * ranks_per_stage);
  return out;
}

}  // namespace ccl
