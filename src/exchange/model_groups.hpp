// Pipelines and model replicas of the run, and which of them are whole in the input. From Megatron's group file, else
// from process groups, else from the mesh. Pure; the same on every worker.
#pragma once
#include <string>
#include <vector>

#include "discover/workload.hpp"
#include "exchange/groups.hpp"
#include "exchange/ranks.hpp"

namespace ccl {

struct ModelPlace {
  std::int32_t rank = -1;
  std::int32_t pipeline = -1, stage = -1;  // −1: in no pipeline
  std::int32_t replica = -1;               // model replica: the ranks that hold one copy of the parameters between them
  bool present = false, pipeline_complete = false, replica_complete = false;
};

struct ModelGroups {
  std::string pipelines_source, replicas_source;  // "megatron", "process groups", "mesh"; empty = none
  std::vector<ModelPlace> places;                 // by rank of the run, 0 …
  /// Of a rank; a default place for one outside the run.
  ModelPlace of(RankId rank) const;
};

/// A model replica of process groups is what tensor, pipeline and context parallel groups connect.
ModelGroups model_groups(const Ranks& ranks, const Groups& groups, const Workload& workload);

}  // namespace ccl
