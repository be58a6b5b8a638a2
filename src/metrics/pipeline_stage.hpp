// Which pipeline a rank belongs to, and which of its stages it is. From the pipeline's process group; else from the mesh,
// whose outermost dimension is pp (TorchTitan and Megatron alike). Pure.
#pragma once
#include <vector>

#include "discover/workload.hpp"
#include "exchange/groups.hpp"
#include "exchange/ranks.hpp"

namespace ccl {

struct PipelineStage {
  std::int32_t stage = -1;            // position in the pipeline; −1: no pipeline known
  std::vector<std::int32_t> members;  // global ranks by stage
  bool known() const { return stage >= 0; }
};

PipelineStage pipeline_stage(const RankEntry& entry, const Groups& groups, const Mesh& mesh);

}  // namespace ccl
