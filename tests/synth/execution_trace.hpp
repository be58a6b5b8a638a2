// What PyTorch's execution trace observer would have written for one rank: no times, but what every communication call
// was given (Chakra schema).
#pragma once
#include "kineto_file.hpp"

namespace synth {

/// Beside the trace file, named torch_et_<rank>.json.
std::string execution_trace_path(const FilePlan& plan);
void write_execution_trace(const Job& job, const Topology& topology, const JobRun& run, const FilePlan& plan);

}  // namespace synth
