#include "discover/gate_log.hpp"

#include <charconv>
#include <cmath>

#include "parse/json_text.hpp"

namespace ccl {
namespace {

constexpr std::size_t most_experts = 1 << 16;

/// Adds a list of loads; false if it holds anything else.
bool add_list(std::string_view list, GateLog& log) {
  std::size_t expert = 0;
  JsonWalk walk(list);
  while (walk.next()) {
    const std::string_view text = walk.value().text;
    double load = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), load);
    if (walk.value().type != JsonType::scalar || read.ec != std::errc() || read.ptr != text.data() + text.size() ||
        !std::isfinite(load) || load < 0 || expert == most_experts)
      return false;
    if (expert == log.loads.size()) log.loads.push_back(0);
    log.loads[expert++] += load;
  }
  if (expert > 0) ++log.entries_count;
  return !walk.damaged();
}

}  // namespace

bool is_gate_log_name(std::string_view name) {
  return name.ends_with(".json") &&
         (name.starts_with("gate_logs_") || name.starts_with("gates_logs_") || name.starts_with("moe_assignments"));
}

std::optional<GateLog> read_gate_log(std::string_view text) {
  GateLog log;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return std::nullopt;
  JsonWalk walk(text.substr(first));
  while (walk.next()) {
    if (walk.value().type != JsonType::array) continue;
    if (walk.key() == "token_counts" && !add_list(walk.value().text, log)) return std::nullopt;
    if (walk.key() != "expert_loads") continue;
    JsonWalk steps(walk.value().text);
    while (steps.next())
      if (steps.value().type != JsonType::array || !add_list(steps.value().text, log)) return std::nullopt;
    if (steps.damaged()) return std::nullopt;
  }
  if (walk.damaged() || log.entries_count == 0) return std::nullopt;
  return log;
}

}  // namespace ccl
