#include "metrics/step_tokens.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace ccl {

namespace {

/// GPUs of the traces per rank with a trace: a process may drive several. A device on which a rank of its host works alone is
/// that rank's: others touch it when they start.
double gpus_per_rank(const Ranks& ranks) {
  std::map<std::pair<std::int32_t, RankId>, std::set<std::int32_t>> devices;  // replica and rank
  std::map<std::pair<std::int32_t, RankId>, std::int32_t> hosts;
  for (const RankEntry& entry : ranks.entries) {
    std::set<std::int32_t>& own = devices[{entry.replica, entry.rank}];
    hosts[{entry.replica, entry.rank}] = entry.host_index;
    for (const Step& step : entry.facts.steps)
      for (const DeviceWindow& window : step.devices)
        if (window.gpu_start_ns != absent_ns) own.insert(window.device);
  }
  std::set<std::pair<std::int32_t, std::int32_t>> taken;  // host, device
  for (const auto& [rank, own] : devices)
    if (own.size() == 1) taken.emplace(hosts[rank], *own.begin());
  std::size_t count = 0;
  for (const auto& [rank, own] : devices) {
    const auto free = std::count_if(own.begin(), own.end(),
                                    [&](std::int32_t device) { return !taken.contains({hosts[rank], device}); });
    count += own.size() <= 1 ? 1 : static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, free));
  }
  return devices.empty() ? 1 : static_cast<double>(count) / static_cast<double>(devices.size());
}

}  // namespace

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
  out.ranks_count = context.ranks.world_size > 0 ? context.ranks.world_size
                    : workload.mesh.known()      ? workload.mesh.world()
                                                 : context.ranks.expected;
  out.gpus_count = std::llround(static_cast<double>(out.ranks_count) * gpus_per_rank(context.ranks));
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
