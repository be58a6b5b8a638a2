#include "store/replaced_files.hpp"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <tuple>

#include "config/values.hpp"
#include "store/hdf5_file.hpp"
#include "store/timeline_export.hpp"

namespace ccl {
namespace {

namespace fs = std::filesystem;

enum class Kind { analysis, comparison, timeline, folder };

struct Planned {
  std::string what, path;  // what: as messages name it, before the path
  Kind kind;
};

/// Where a file is, by whatever name: its device and inode, or those of its folder and its name in there if there is
/// no such file yet. None if there is no such folder either.
using Place = std::tuple<dev_t, ino_t, std::string>;
std::optional<Place> place_of(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) == 0) return Place{found.st_dev, found.st_ino, ""};
  std::error_code error;
  fs::path file = fs::absolute(path, error).lexically_normal();
  if (!file.has_filename()) file = file.parent_path();
  if (stat(file.parent_path().c_str(), &found) != 0) return std::nullopt;
  return Place{found.st_dev, found.st_ino, file.filename().string()};
}

bool same_file(const std::string& one, const std::string& other) {
  const std::optional<Place> place = place_of(one);
  return place && place == place_of(other);
}

bool is_result(const std::string& path, std::string_view marked_by) {
  try {
    const std::vector<NamedAttribute> root = InputFile(path).attributes("/");
    const auto has = [&](std::string_view name) {
      return std::any_of(root.begin(), root.end(), [&](const NamedAttribute& one) { return one.first == name; });
    };
    return has("program_version") && has(marked_by);
  } catch (const FatalError&) {
    return false;
  }
}

bool is_timeline(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);  // plain text too
  std::array<char, timeline_begin.size()> begin{};
  return file && gzread(file.get(), begin.data(), begin.size()) == static_cast<int>(begin.size()) &&
         std::string_view(begin.data(), begin.size()) == timeline_begin;
}

/// What such a file is called if `path` holds something else; else empty.
std::string lacking_kind(const std::string& path, Kind kind) {
  std::error_code error;
  if (kind == Kind::folder || !fs::exists(path, error)) return "";
  if (!fs::is_regular_file(path, error)) return "regular file";
  if (fs::file_size(path, error) == 0 && !error) return "";
  if (kind == Kind::analysis) return is_result(path, "schema_version") ? "" : "result of ccl-analyze";
  if (kind == Kind::comparison) return is_result(path, "first_file") ? "" : "comparison of ccl-compare";
  return is_timeline(path) ? "" : "timeline of ccl-analyze";
}

bool is_below(const std::string& path, const std::string& folder) {
  std::error_code error;
  const fs::path inner = fs::canonical(path, error), outer = fs::canonical(folder, error);
  return !error && std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

void check(const std::vector<Planned>& outputs, const std::vector<std::string>& inputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    const std::string name = output->what + " " + output->path;
    if (output->kind != Kind::folder)
      for (const std::string& input : inputs)
        if (same_file(output->path, input))
          throw bad_request(name, "the same file as the input " + input, "Give another name.");
    for (auto other = outputs.begin(); other != output; ++other)
      if (same_file(output->path, other->path))
        throw bad_request(name, "the same file as " + other->what + " " + other->path, "Give another name.");
    const std::string kind = lacking_kind(output->path, output->kind);
    if (kind.empty()) continue;
    for (const std::string& input : inputs)
      if (is_below(output->path, input))
        throw bad_request(name, "exists among the input and is no " + kind, "Give another name.");
    throw bad_request(name, "exists and is no " + kind, "Give another name, or remove it.");
  }
}

}  // namespace

void check_replaced_files(const Config& config) {
  const InputConfig& input = config.input;
  std::vector<std::string> inputs = input.folders;
  inputs.insert(inputs.end(), config.settings_files.begin(), config.settings_files.end());
  for (const std::string* one : {&config.job_file, &input.host_map, &input.card, &input.training_config,
                                 &input.megatron_args})  // the last may be the arguments themselves: then no such file
    if (!one->empty()) inputs.push_back(*one);
  std::vector<Planned> outputs{{"output", config.output.hdf5, Kind::analysis}};
  if (!config.timeline_export.file.empty())
    outputs.push_back({"--timeline-json", config.timeline_export.file, Kind::timeline});
  if (!config.output.report_dir.empty()) outputs.push_back({"--report-dir", config.output.report_dir, Kind::folder});
  check(outputs, inputs);
}

void check_replaced_comparison(const std::string& output, const std::vector<std::string>& results) {
  if (!output.empty()) check({{"output", output, Kind::comparison}}, results);
}

}  // namespace ccl
