// Writes truth.json: what an analyzer must find in the files. Every key is defined in README.md beside this file.
#pragma once
#include <string>

#include "job.hpp"
#include "work.hpp"

namespace synth {

void write_truth(const Job& job, const Topology& topology, const JobRun& run, const std::string& path);

}  // namespace synth
