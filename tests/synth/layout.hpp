// Where the files of a job go, and the companions beside them: workload card, TorchTitan TOML, Megatron group file.
#pragma once
#include <string>
#include <vector>

#include "job.hpp"

namespace synth {

/// Index of the first step of each iteration folder, with the end as last entry.
std::vector<int> iteration_bounds(const Job& job);
/// Path of the trace of `rank` for the steps [from, until) (indexes); makes its folder.
std::string trace_path(const Job& job, int rank, int from, int until);
void write_companions(const Job& job);

}  // namespace synth
