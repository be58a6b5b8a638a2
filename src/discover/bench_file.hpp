// Result files of serving benchmarks (vLLM, SGLang: one JSON object, or one per line, the last counts). In: the text.
// Out: latencies and rates in seconds.
#pragma once
#include <optional>
#include <string_view>

#include "discover/workload.hpp"

namespace ccl {

/// By name: *.latency.json, *bench*.json, *bench*.jsonl, results_json, results.json.
bool is_bench_file_name(std::string_view name);
/// Nothing if the text holds none of the values.
std::optional<BenchResult> read_bench_result(std::string_view text);

}  // namespace ccl
