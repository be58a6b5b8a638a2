#include "metrics/step_tokens.hpp"

#include <algorithm>

namespace ccl {

void add_step_times(const RankTrace& trace, std::vector<StepTime>& out) {
  for (const Step& step : trace.steps) {
    if (step.source != StepSource::marker || step.end_ns <= step.start_ns) continue;
    StepTime row;
    row.step.step = step.number;
    row.step_ns = step.end_ns - step.start_ns;
    out.push_back(row);
  }
}

std::vector<StepLength> slowest_of_steps(const std::vector<StepTime>& rows) {
  std::vector<StepLength> out;
  for (const StepTime& row : rows) {
    if (out.empty() || out.back().step != row.step) out.push_back({row.step, 0});
    out.back().step_ns = std::max(out.back().step_ns, row.step_ns);
  }
  return out;
}

TokenRate token_rate(const std::vector<StepTime>& rows, const ReportContext& context) {
  TokenRate out;
  const Workload& workload = context.workload;
  out.steps = slowest_of_steps(rows);
  out.gpus_count = context.ranks.world_size > 0 ? context.ranks.world_size
                   : workload.mesh.known()      ? workload.mesh.world()
                                                : context.ranks.expected;
  if (!workload.global_batch || !workload.seq_len) {
    const std::string what = !workload.global_batch && !workload.seq_len ? "global batch and sequence length are"
                             : !workload.global_batch                    ? "global batch is"
                                                                         : "sequence length is";
    out.missing = "the " + what + " unknown (give --card or --config)";
    return out;
  }
  if (out.steps.empty()) {
    out.missing = "no trace has a ProfilerStep marker";
    return out;
  }
  out.batch_count = *workload.global_batch.value;
  out.seq_len_count = *workload.seq_len.value;
  out.tokens_per_step_count = out.batch_count * out.seq_len_count;
  out.inputs = "global batch " + std::to_string(out.batch_count) + " (" + workload.global_batch.source +
               ") x sequence length " + std::to_string(out.seq_len_count) + " (" + workload.seq_len.source + ")";
  for (const StepLength& step : out.steps) out.total_ns += static_cast<double>(step.step_ns);
  out.tokens_per_s =
      static_cast<double>(out.tokens_per_step_count) * static_cast<double>(out.steps.size()) * 1e9 / out.total_ns;
  return out;
}

}  // namespace ccl
