// Command line of ccl-synth: a preset, and every part of the job that can be set over it.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "job.hpp"

namespace synth {

struct Options {
  Job job;  // valid after resolve()
  std::string truth;
  std::string big_file;      // only this file, of rank 0
  std::string big_snapshot;  // only this memory snapshot
  double big_gigabytes = 1;

  std::string preset = "tiny", output, style, mesh, schedule, layout, format, tensor_parallel, data_parallel;
  std::uint64_t seed = 1;
  std::optional<int> steps, first_step, steps_per_iteration, layers, microbatches, local_batch, chunks, ranks_per_host,
      repeat, memory_ring, memory_oom, experts, hidden, ffn, heads, kv_heads, vocab, seq;
  std::optional<double> mb_per_rank, clock_offset_us, clock_drift_ppm, end_skew_us, jitter_ratio;
  bool gzip = false, plain = false, memory = false, recompute = false, fine = false, coarse = false, no_faults = false;
  bool batched_messages = false, execution_traces = false, memory_events = false;
  std::vector<std::string> faults;
};

void describe_options(CLI::App& app, Options& options);
/// Lays the options over the preset and checks the job. Throws std::invalid_argument.
void resolve(Options& options);

}  // namespace synth
