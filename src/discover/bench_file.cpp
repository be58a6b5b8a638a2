#include "discover/bench_file.hpp"

#include <charconv>
#include <cmath>

#include "parse/json_text.hpp"

namespace ccl {
namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// The last line that is an object of its own; the whole text if no line is.
std::string_view last_object(std::string_view text) {
  std::string_view found = text;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    while (!line.empty() && static_cast<unsigned char>(line.back()) <= ' ') line.remove_suffix(1);
    if (line.size() > 2 && line.front() == '{' && line.back() == '}') found = line;
    at = end + 1;
  }
  while (!found.empty() && static_cast<unsigned char>(found.front()) <= ' ') found.remove_prefix(1);
  return found;
}

double number(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && std::isfinite(value) && value >= 0 ? value : std::nan("");
}

}  // namespace

bool is_bench_file_name(std::string_view name) {
  const bool json = ends_with(name, ".json") || ends_with(name, ".jsonl");
  return name == "results_json" || name == "results.json" || ends_with(name, ".latency.json") ||
         (json && name.find("bench") != std::string_view::npos);
}

std::optional<BenchResult> read_bench_result(std::string_view text) {
  const std::string_view object = last_object(text);
  if (object.empty() || object.front() != '{') return std::nullopt;
  BenchResult out;
  double tokens = std::nan(""), seconds = std::nan(""), requests = std::nan("");
  for (JsonWalk walk(object); walk.next();) {
    const std::string_view key = walk.key();
    if (walk.value().type != JsonType::scalar) continue;
    const double value = number(walk.value().text);
    if (key == "mean_ttft_ms") out.mean_ttft_s = value / 1e3;
    if (key == "median_ttft_ms") out.median_ttft_s = value / 1e3;
    if (key == "mean_tpot_ms") out.mean_tpot_s = value / 1e3;
    if (key == "median_tpot_ms") out.median_tpot_s = value / 1e3;
    if (key == "output_throughput") out.output_tokens_per_s = value;
    if (key == "request_throughput") out.requests_per_s = value;
    if (key == "avg_latency") out.mean_latency_s = value;
    if (key == "total_output_tokens") tokens = value;
    if (key == "duration") seconds = value;
    if (key == "completed") requests = value;
  }
  if (std::isnan(out.output_tokens_per_s) && seconds > 0) out.output_tokens_per_s = tokens / seconds;
  if (std::isnan(out.requests_per_s) && seconds > 0) out.requests_per_s = requests / seconds;
  for (const double value : {out.mean_ttft_s, out.median_ttft_s, out.mean_tpot_s, out.median_tpot_s,
                             out.output_tokens_per_s, out.requests_per_s, out.mean_latency_s})
    if (!std::isnan(value)) return out;
  return std::nullopt;
}

}  // namespace ccl
