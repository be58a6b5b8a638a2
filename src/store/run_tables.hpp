// The tables that describe the run itself, not one metric: /ranks, /steps, /workload, /process_groups,
// /process_group_members, /model_groups, /warnings/*, /timings/*. In: what the workers agreed on; out: ResultTables,
// on worker 0. Columns: store/schema.
#pragma once
#include <vector>

#include "store/results.hpp"

namespace ccl {

ResultTable rank_table(const Results& results);
ResultTable step_table(const Ranks& ranks);
ResultTable group_table(const Groups& groups);
ResultTable group_member_table(const Groups& groups);
/// One row per rank of the run: its pipeline, stage and model replica, and which of those are whole in the input.
ResultTable model_group_table(const Results& results);
/// One row per known value of the card, the training configuration and the trace; unknown ones have no row.
ResultTable workload_table(const Workload& workload);
ResultTable warning_count_table(const Problems& problems);  // every code, zeros too
ResultTable warning_row_table(const Problems& problems);

/// What one worker measured, as worker 0 needs it for the two tables.
struct WorkerTimings {
  std::int32_t worker = 0;
  Timings timings;
};
/// Collective; filled on every worker.
std::vector<WorkerTimings> gather_timings(const Timings& mine, const Comm& comm);
ResultTable stage_table(const std::vector<WorkerTimings>& workers);
ResultTable file_time_table(const std::vector<WorkerTimings>& workers, const Input& input);

/// Place of a rank in the mesh of the parallel dimensions; all −1 if the mesh is unknown or too small for the rank.
struct MeshPlace {
  std::int64_t pp = -1, dp_replicate = -1, dp_shard = -1, cp = -1, tp = -1, ep = -1;
};
MeshPlace mesh_place(const Mesh& mesh, RankId rank);

}  // namespace ccl
