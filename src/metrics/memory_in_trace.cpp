// memory from traces: [memory] instant events of PyTorch's profiler (profile_memory=True), by step.
#include <algorithm>
#include <map>

#include "metrics/memory.hpp"

namespace ccl::memory_rows {
namespace {

/// Number of the step whose CPU time holds the moment.
std::int64_t step_at(const RankTrace& trace, std::int64_t time_ns) {
  for (const Step& step : trace.steps)
    if (step.source == StepSource::span || (time_ns >= step.start_ns && time_ns < step.end_ns)) return step.number;
  return outside_step;
}

}  // namespace

std::vector<ColumnSpec<InTrace>> InTrace::columns(const Resolver&) {
  std::vector<ColumnSpec<InTrace>> all = key_columns<InTrace>();
  all.push_back(column("peak_allocated_bytes", &InTrace::peak_allocated_bytes, "bytes", "most memory in use", -1));
  all.push_back(
      column("peak_reserved_bytes", &InTrace::peak_reserved_bytes, "bytes", "most taken from the device", -1));
  all.push_back(column("events_count", &InTrace::events_count, "", "allocations and frees reported"));
  return all;
}

void add_in_trace(const RankTrace& trace, std::vector<InTrace>& out) {
  std::map<std::pair<std::int64_t, std::int32_t>, InTrace> rows;
  for (const MemoryUsage& usage : trace.memory_usage) {
    const std::int64_t step = step_at(trace, usage.time_ns);
    InTrace& row = rows[{step, usage.device}];
    row.step.step = step;
    row.device = usage.device;
    row.peak_allocated_bytes = std::max(row.peak_allocated_bytes, usage.allocated_bytes);
    row.peak_reserved_bytes = std::max(row.peak_reserved_bytes, usage.reserved_bytes);
    ++row.events_count;
  }
  for (const auto& [key, row] : rows) out.push_back(row);
}

}  // namespace ccl::memory_rows
