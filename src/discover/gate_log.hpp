// What MoE routers logged of their choices: gate_logs_*.json (steps × experts) and moe_assignments*.json (one list for a
// rank). In: the text of one file. Out: tokens by expert, summed.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ccl {

bool is_gate_log_name(std::string_view name);

struct GateLog {
  std::vector<double> loads;       // tokens by expert
  std::int64_t entries_count = 0;  // lists that were summed
};
/// {"expert_loads": [[…], …]} or {"token_counts": […]}; nothing if the text has neither or holds what is no load.
std::optional<GateLog> read_gate_log(std::string_view text);

}  // namespace ccl
