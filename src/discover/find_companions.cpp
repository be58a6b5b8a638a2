#include "discover/find_companions.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>
#include <vector>

#include "core/file_trouble.hpp"
#include "discover/bench_file.hpp"
#include "discover/card.hpp"
#include "discover/companion.hpp"
#include "discover/gate_log.hpp"
#include "discover/megatron_files.hpp"
#include "discover/natural_order.hpp"
#include "discover/training_toml.hpp"

namespace fs = std::filesystem;

namespace ccl {
namespace {

constexpr std::int64_t most_bytes = 4 << 20, most_log_bytes = 256 << 20;
constexpr int levels_above = 3, above_the_run = 100;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}
bool is_yaml(std::string_view name) { return ends_with(name, ".yaml") || ends_with(name, ".yml"); }
bool is_companion(std::string_view name) {
  return is_yaml(name) || ends_with(name, ".toml") || is_group_file_name(name) || is_bench_file_name(name) ||
         is_gate_log_name(name);
}

/// Position in the order of exact names; 9 for other names.
int exactness(std::string_view name, std::string_view folder) {
  if (!folder.empty() && name == std::string(folder) + ".yaml") return 0;
  if (name == "workload_card.yaml") return 1;
  if (name.substr(0, 14) == "workload_card_" && is_yaml(name)) return 2;
  if (name == "train_config.toml") return 3;
  if (name == "trace_meta.yaml") return 4;
  if (name == "bench_results.jsonl") return 6;
  return is_group_file_name(name) ? 5 : 9;
}

struct Place {
  std::string path, shown;
  int distance = 0;  // folders from the run's folder
  int exact = 9;
};

bool nearer(const Place& a, const Place& b) {
  if (a.distance != b.distance) return a.distance < b.distance;
  if (a.exact != b.exact) return a.exact < b.exact;
  return natural_less(a.shown, b.shown);
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

std::int64_t depth(std::string_view folder) {
  return folder.empty() ? 0 : 1 + std::count(folder.begin(), folder.end(), '/');
}

bool is_or_lies_in(std::string_view folder, std::string_view outer) {
  return outer.empty() || folder == outer || folder.substr(0, outer.size() + 1) == std::string(outer) + "/";
}

void add_inside(const FileTree& tree, const std::string& run_folder, std::vector<Place>& places) {
  for (const FoundFile& file : tree.files) {
    const std::string_view name = file_name(file.shown);
    if (!is_companion(name) || file.bytes > (is_gate_log_name(name) ? most_log_bytes : most_bytes)) continue;
    const std::string folder = folder_of(file.shown);
    const bool below = is_or_lies_in(folder, run_folder);
    if (!below && !is_or_lies_in(run_folder, folder)) continue;  // beside another run
    // Above the run's folder counts as farther than anything below it.
    const std::int64_t away =
        below ? depth(folder) - depth(run_folder) : above_the_run + depth(run_folder) - depth(folder);
    const std::string base(file_name(folder.empty() ? std::string_view(tree.root) : std::string_view(folder)));
    places.push_back({file.path, file.shown, static_cast<int>(away), exactness(name, base)});
  }
}

void add_above(const FileTree& tree, std::vector<Place>& places) {
  fs::path folder = tree.root;
  std::string up;
  for (int level = 1; level <= levels_above && folder.has_relative_path(); ++level) {
    folder = folder.parent_path();
    up += "../";
    std::error_code ec;
    fs::directory_iterator at(folder, ec);
    for (const fs::directory_iterator end; !ec && at != end; at.increment(ec)) {
      const std::string name = at->path().filename().string();
      const int exact = exactness(name, folder.filename().string());
      std::error_code ignored;
      if (exact == 9 || !at->is_regular_file(ignored)) continue;
      if (exact >= 5 && level > 2) continue;
      places.push_back({at->path().string(), up + name, 1000 + level, exact});
    }
  }
}

void warn(Problems& problems, Code code, const std::string& file, const std::string& why) {
  Problem problem;
  problem.code = code;
  problem.file = file;
  problem.detail = why;
  problems.add(std::move(problem));
}

std::string relative_to(const std::string& root, const std::string& path) {
  return fs::path(absolute_path(path)).lexically_relative(root).generic_string();
}

/// "--card x.yaml" as the user wrote it; empty for files that were found. What he named must be usable.
[[noreturn]] void refuse(const std::string& named, const std::string& why) {
  throw FatalError(ExitCode::bad_request, named + " cannot be used (" + why + ")");
}

class Finder {
 public:
  Finder(std::vector<Place> places, Problems& problems) : places_(std::move(places)), problems_(problems) {}

  void read_card_file(const std::string& text, const std::string& shown, const std::string& named = "") {
    std::string why;
    found.card = read_card(text, why);
    if (!found.card && !named.empty()) refuse(named, why);
    if (!found.card) return warn(problems_, Code::card_invalid, shown, why);
    found.card->workload.card_file = shown;
    for (const std::string& value : found.card->unusable) warn(problems_, Code::card_invalid, shown, value);
    const std::vector<std::string> misspelt = misspelt_card_keys(text);
    if (!misspelt.empty() && !named.empty()) refuse(named, misspelt.front());
    for (const std::string& key : misspelt) warn(problems_, Code::card_disagrees, shown, key);
  }
  void read_toml_file(const std::string& text, const std::string& shown, const std::string& named = "") {
    std::string why;
    found.toml = read_training_toml(text, why);
    if (!found.toml && !named.empty()) refuse(named, why);
    if (!found.toml) return warn(problems_, Code::config_file_invalid, shown, why);
    found.toml->workload.training_config_file = shown;
    for (const std::string& value : found.toml->unusable) warn(problems_, Code::config_file_invalid, shown, value);
  }
  void find_card() {
    first([](std::string_view name, const std::string& text,
             int exact) { return is_yaml(name) && (exact <= 2 || looks_like_card(text)); },
          [this](const std::string& text, const Place& p) {
            read_card_file(text, p.shown);
            return found.card.has_value();
          });
  }
  void find_toml() {
    first([](std::string_view name, const std::string& text,
             int exact) { return ends_with(name, ".toml") && (exact == 3 || looks_like_training_toml(text)); },
          [this](const std::string& text, const Place& p) {
            read_toml_file(text, p.shown);
            return found.toml.has_value();
          });
  }
  void find_groups() {
    first([](std::string_view name, const std::string&, int) { return is_group_file_name(name); },
          [this](const std::string& text, const Place& p) {
            std::string why;
            found.megatron_groups = read_megatron_groups(text, why);
            if (found.megatron_groups)
              found.megatron_groups->workload.group_file = p.shown;
            else
              warn(problems_, Code::config_file_invalid, p.shown, why);
            return found.megatron_groups.has_value();
          });
  }

  void find_bench() {
    first([](std::string_view name, const std::string&, int) { return is_bench_file_name(name); },
          [this](const std::string& text, const Place& p) {
            const std::optional<BenchResult> result = read_bench_result(text);
            if (result) bench = *result, bench.file = p.shown;
            return result.has_value();
          });
  }

  /// All of them in the folder of the run: each rank, layer or interval may have its own.
  void sum_gate_logs() {
    for (const Place& place : places_) {
      if (!is_gate_log_name(file_name(place.shown)) || place.distance >= above_the_run) continue;
      const std::optional<std::string> text = read_small_file(place.path, most_log_bytes);
      const std::optional<GateLog> log = text ? read_gate_log(*text) : std::nullopt;
      if (!log) {
        warn(problems_, Code::config_file_invalid, place.shown, "no lists of loads by expert");
        continue;
      }
      if (expert_loads.files_count++ == 0) expert_loads.file = place.shown;
      expert_loads.entries_count += log->entries_count;
      if (expert_loads.loads.size() < log->loads.size()) expert_loads.loads.resize(log->loads.size());
      for (std::size_t expert = 0; expert < log->loads.size(); ++expert)
        expert_loads.loads[expert] += log->loads[expert];
    }
  }

  Companions found;
  BenchResult bench;
  ExpertLoads expert_loads;

 private:
  /// Reads fitting files nearest first until one can be used.
  void first(const std::function<bool(std::string_view, const std::string&, int)>& fits,
             const std::function<bool(const std::string&, const Place&)>& use) {
    for (const Place& place : places_) {
      const std::optional<std::string> text = read_small_file(place.path);
      if (text && fits(file_name(place.shown), *text, place.exact) && use(*text, place)) return;
    }
  }
  std::vector<Place> places_;
  Problems& problems_;
};

bool content_is_toml(const std::string& path, const std::string& text) {
  if (is_yaml(path)) return false;
  return ends_with(path, ".toml") || !looks_like_card(text);
}

}  // namespace

std::string read_named_file(const std::string& option, const std::string& path) {
  std::optional<std::string> text = read_small_file(path);
  if (!text)
    throw FatalError(ExitCode::bad_request, option + " " + path + " cannot be read (" + file_trouble(path) + ")");
  return *text;
}

std::optional<std::string> read_small_file(const std::string& path, std::int64_t longest_bytes) {
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const auto size = static_cast<std::int64_t>(fs::file_size(path, ec));
  std::string text(static_cast<std::size_t>(ec ? longest_bytes : std::min(size, longest_bytes)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return std::nullopt;
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

Workload find_workload(const FileTree& tree, const std::string& run, const InputConfig& config, std::int64_t world_size,
                       Problems& problems) {
  std::vector<Place> places;
  add_inside(tree, run == "." ? "" : run, places);
  add_above(tree, places);
  std::sort(places.begin(), places.end(), nearer);
  Finder finder(std::move(places), problems);
  finder.found.world_size = world_size;
  bool card_named = !config.card.empty();
  bool toml_named = false;
  if (card_named) {
    const std::string text = read_named_file("--card", config.card);
    finder.read_card_file(text, relative_to(tree.root, config.card), "--card " + config.card);
  }
  if (!config.training_config.empty()) {
    const std::string& path = config.training_config;
    const std::string named = "--config " + path, text = read_named_file("--config", path);
    toml_named = content_is_toml(path, text);
    if (toml_named)
      finder.read_toml_file(text, relative_to(tree.root, path), named);
    else if (!card_named)
      finder.read_card_file(text, relative_to(tree.root, path), named);
    else if (absolute_path(path) != absolute_path(config.card))
      refuse(named, "it is a workload card, and --card names another");
    card_named = card_named || !toml_named;
  }
  if (!card_named) finder.find_card();
  if (!toml_named) finder.find_toml();
  finder.find_groups();
  finder.find_bench();
  finder.sum_gate_logs();
  if (!config.megatron_args.empty()) {
    const bool inline_text = config.megatron_args.compare(0, 2, "--") == 0;
    const std::string text =
        inline_text ? config.megatron_args : read_named_file("--megatron-args", config.megatron_args);
    std::string why;
    finder.found.megatron_arguments = read_megatron_arguments(text, why);
    if (!finder.found.megatron_arguments) refuse("--megatron-args " + config.megatron_args, why);
    finder.found.megatron_arguments->shown = inline_text ? "--megatron-args" : relative_to(tree.root, config.megatron_args);
    for (const std::string& value : finder.found.megatron_arguments->unusable)
      warn(problems, Code::config_file_invalid, finder.found.megatron_arguments->shown, value);
  }
  Workload workload = resolve_workload(finder.found, problems);
  workload.bench = finder.bench;
  workload.expert_loads = finder.expert_loads;
  if (finder.found.card) workload.card_file = finder.found.card->workload.card_file;
  if (finder.found.toml) workload.training_config_file = finder.found.toml->workload.training_config_file;
  if (finder.found.megatron_groups) workload.group_file = finder.found.megatron_groups->workload.group_file;
  return workload;
}

}  // namespace ccl
