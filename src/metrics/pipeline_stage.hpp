// Which pipeline a rank belongs to, and which of its stages it is. From the pipeline's process group; else from the mesh,
// whose outermost dimension is pp (TorchTitan and Megatron alike). Pure.
#pragma once
#include <utility>
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

/// Of any rank. Looks through the groups once: for each rank anew would cost ranks × groups. Groups must outlive it.
class PipelineStages {
 public:
  PipelineStages(const Groups& groups, const Mesh& mesh);
  PipelineStage of(const RankEntry& entry) const;

 private:
  const Groups& groups_;
  Mesh mesh_;
  std::vector<std::pair<std::int32_t, std::uint32_t>> pipelines_;  // member and row of its group, sorted
};

}  // namespace ccl
