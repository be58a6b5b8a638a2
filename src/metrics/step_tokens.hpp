// Tokens of a training step and the time it takes: the common part of throughput_tokens and mfu.
// tokens per step = global batch · sequence length, both from the workload, never a default; time of a step = the
// longest CPU step over the ranks.
#pragma once
#include <string>
#include <vector>

#include "metrics/format.hpp"
#include "metrics/metric.hpp"

namespace ccl {

/// One CPU step of one rank. Not written as it is.
struct StepTime {
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  std::int64_t step_ns = 0;
  auto key() const { return std::tuple(step, rank, replica); }
  static TableInfo table() { return {}; }
  static std::vector<ColumnSpec<StepTime>> columns(const Resolver&) { return {}; }
};

/// Steps that have a ProfilerStep marker.
void add_step_times(const RankTrace& trace, std::vector<StepTime>& out);

struct StepLength {
  StepId step;
  std::int64_t step_ns = 0;  // of the slowest rank
};
/// rows: sorted by step.
std::vector<StepLength> slowest_of_steps(const std::vector<StepTime>& rows);

struct TokenRate {
  std::string missing;            // why there is no rate; empty if there is one
  std::int64_t batch_count = 0, seq_len_count = 0, tokens_per_step_count = 0, ranks_count = 0, gpus_count = 0;
  std::string inputs;             // "global batch 8 (toml) x sequence length 2048 (toml)"
  std::vector<StepLength> steps;
  double total_ns = 0, tokens_per_s = 0;
};
TokenRate token_rate(const std::vector<StepTime>& rows, const ReportContext& context);

}  // namespace ccl
