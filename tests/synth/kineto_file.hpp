// Writes what PyTorch's profiler (Kineto) would have written for one rank, in Kineto's own text layout.
#pragma once
#include "job.hpp"
#include "work.hpp"

namespace synth {

/// One trace file: a rank, some of its steps, and how much CPU noise stands around each launch.
struct FilePlan {
  std::string path;
  int rank = 0;
  int first_step = 0, end_step = 0;  // index from 0, of the simulated steps
  double noise_per_op = 0;           // extra CPU events per GPU operation
};

/// Bytes of plain text. An empty path only counts.
std::int64_t write_kineto(const Job& job, const Topology& topology, const JobRun& run, const FilePlan& plan);

/// Noise that brings the file of `rank` to job.megabytes_per_rank (0 if it is already larger).
double noise_for_size(const Job& job, const Topology& topology, const JobRun& run, FilePlan plan);

}  // namespace synth
