#include "exchange/model_groups.hpp"
#include "store/run_tables.hpp"

namespace ccl {

ResultTable model_group_table(const Results& results) {
  const ModelGroups groups = model_groups(results.ranks, results.groups, results.input.workload);
  using R = ModelPlace;
  const std::vector<ColumnSpec<R>> columns{
      column("rank", &R::rank, "", "rank of the training run"),
      column("present", &R::present, "", "it has a trace"),
      column("pipeline", &R::pipeline, "", "number of its pipeline", -1),
      column("stage", &R::stage, "", "its place in the pipeline", -1),
      column("pipeline_complete", &R::pipeline_complete, "", "all ranks of the pipeline have traces"),
      column("model_replica", &R::replica, "", "number of its model replica: ranks that hold one copy of the model", -1),
      column("replica_complete", &R::replica_complete, "", "all ranks of the replica have traces"),
      text_column<R>("pipeline_source", "what told the pipelines",
                     [&groups](const R&) { return groups.pipelines_source; }),
      text_column<R>("replica_source", "what told the replicas", [&groups](const R&) { return groups.replicas_source; })};
  return make_table("model_groups", "pipeline, stage and model replica of every rank", columns, groups.places);
}

}  // namespace ccl
