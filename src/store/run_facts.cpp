#include "store/run_facts.hpp"

#include <set>
#include <tuple>

#include "store/json_text.hpp"

namespace ccl {
namespace {

template <class T>
std::vector<T> sorted(const std::set<T>& values) {
  return {values.begin(), values.end()};
}

void list(JsonText& json, const char* key, const std::vector<std::int64_t>& values) {
  json.key(key).open('[');
  for (const std::int64_t value : values) json.integer(value);
  json.close(']');
}

}  // namespace

std::string headline_unit(const Report& report) {
  return report.headlines.empty() ? "" : std::string(report.headlines.front().unit());
}

std::string config_json(const Config& config) {
  JsonText json;
  json.open('{');
  list(json, "iterations", config.input.iterations);
  list(json, "steps", config.input.steps);
  json.key("run").text(config.input.run);
  json.key("rank_regex").text(config.input.rank_regex);
  json.key("rank_from_name").boolean(config.input.rank_from_name);
  json.key("profile_mode").text(config.input.profile_mode);
  json.key("host_map_given").boolean(!config.input.host_map.empty());
  json.key("card_given").boolean(!config.input.card.empty());
  json.key("training_config_given").boolean(!config.input.training_config.empty());
  json.key("megatron_args_given").boolean(!config.input.megatron_args.empty());
  json.key("settings_files_count").integer(static_cast<std::int64_t>(config.settings_files.size()));
  json.key("metrics").open('[');
  for (const std::string& metric : config.metrics) json.text(metric);
  json.close(']');
  json.key("timeline_bins").integer(config.timeline_bins);
  json.key("window_start").text(config.window_start);
  json.key("window_end").text(config.window_end);
  json.key("mfu_convention").text(config.mfu_convention);
  json.key("what_if_ideal").text(config.what_if_ideal);
  json.key("peaks").open('{');
  for (const auto& [name, value] : config.peaks) json.key(name).number(value);
  json.close('}');
  json.key("members").boolean(config.output.members);
  json.key("events").boolean(config.output.events);
  json.key("strict").boolean(config.strict);
  return json.close('}').take();
}

std::string mesh_text(const Mesh& mesh) {
  if (!mesh.known()) return "";
  std::string text;
  const auto add = [&text](const char* name, std::int32_t size) {
    if (size > 1) text.append(text.empty() ? "" : " ").append(name).append(1, '=').append(std::to_string(size));
  };
  add("pp", mesh.pp);
  add("dp_replicate", mesh.dp_replicate);
  add("dp_shard", mesh.dp_shard);
  add("cp", mesh.cp);
  add("tp", mesh.tp);
  add("ep", mesh.ep);
  return text.empty() ? "one rank" : text;
}

RunFacts run_facts(const Results& results) {
  RunFacts facts;
  std::set<std::int32_t> iterations;
  std::set<std::pair<std::int32_t, std::int64_t>> steps;
  std::set<std::tuple<std::int32_t, RankId, std::int32_t>> gpus;
  std::set<std::string> names, formats, sources;
  for (const RankEntry& entry : results.ranks.entries) {
    iterations.insert(entry.iteration);
    sources.insert(std::string(to_text(entry.host_source)));
    if (!entry.facts.gpu.empty()) names.insert(entry.facts.gpu);
    for (const Step& step : entry.facts.steps) steps.emplace(entry.iteration, step.number + entry.step_shift);
    for (const std::int32_t device : entry.facts.devices) gpus.emplace(entry.replica, entry.rank, device);
  }
  for (const TraceFile& file : results.input.files) {
    formats.insert(std::string(to_text(file.format)));
    facts.input_bytes += file.bytes;
  }
  facts.iterations = sorted(iterations);
  facts.steps_count = static_cast<std::int64_t>(steps.size());
  facts.gpus_count = static_cast<std::int64_t>(gpus.size());
  facts.gpu_names = sorted(names);
  facts.formats = sorted(formats);
  facts.host_sources = sorted(sources);
  return facts;
}

}  // namespace ccl
