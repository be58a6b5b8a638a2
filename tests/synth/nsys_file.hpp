// Writes what Nsight Systems would have exported to SQLite for one host: all its ranks in one file, NVTX ranges of the
// training program, NCCL's own ranges with binary payloads, and sampled GPU metrics.
#pragma once
#include <string>

#include "job.hpp"
#include "work.hpp"

namespace synth {

void write_nsys(const Job& job, const Topology& topology, const JobRun& run, int host, const std::string& path);

}  // namespace synth
