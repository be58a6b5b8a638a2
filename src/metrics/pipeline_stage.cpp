#include "metrics/pipeline_stage.hpp"

#include <algorithm>

namespace ccl {

PipelineStages::PipelineStages(const Groups& groups, const Mesh& mesh) : groups_(groups), mesh_(mesh) {
  for (std::uint32_t row = 0; row < groups.groups.size(); ++row) {
    const Group& group = groups.groups[row];
    if (group.dimension != Dimension::pp || group.size < 2 || !group.members_complete) continue;
    for (const std::int32_t member : group.members) pipelines_.emplace_back(member, row);
  }
  std::sort(pipelines_.begin(), pipelines_.end());
}

PipelineStage PipelineStages::of(const RankEntry& entry) const {
  PipelineStage out;
  const std::int32_t rank = entry.rank.value;
  // The largest one: Megatron's embedding groups hold only the first and the last stage.
  auto at = std::lower_bound(pipelines_.begin(), pipelines_.end(), std::pair(rank, std::uint32_t{0}));
  for (; at != pipelines_.end() && at->first == rank; ++at) {
    const Group& group = groups_.groups[at->second];
    if (group.replica >= 0 && group.replica != entry.replica) continue;
    if (group.members.size() <= out.members.size()) continue;
    out.members = group.members;
    out.stage = static_cast<std::int32_t>(std::find(group.members.begin(), group.members.end(), rank) - group.members.begin());
  }
  if (out.known() || !mesh_.known() || mesh_.pp < 2 || rank < 0 || rank >= mesh_.world()) return out;
  const auto ranks_per_stage = static_cast<std::int32_t>(mesh_.world() / mesh_.pp);
  out.stage = rank / ranks_per_stage;
  for (std::int32_t stage = 0; stage < mesh_.pp; ++stage) out.members.push_back(rank % ranks_per_stage + stage * ranks_per_stage);
  return out;
}

}  // namespace ccl
