#include "config/check.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "config/values.hpp"

namespace ccl {
namespace {

namespace fs = std::filesystem;

// A run is named after a folder path; its file name is one word.
std::string file_word(std::string name) {
  const auto splits = [](char c) { return c == '/' || c == '\\' || static_cast<unsigned char>(c) <= ' '; };
  std::replace_if(name.begin(), name.end(), splits, '_');
  return name.empty() || name == "." ? "run" : name;
}

void check_writable(const std::string& what, const fs::path& folder, const std::string& suggestion) {
  if (access(folder.c_str(), W_OK | X_OK) == 0) return;
  const std::string why = errno == EACCES ? "no permission to write" : std::strerror(errno);
  throw bad_request(what, why + " in " + folder.string(), suggestion);
}

/// What is to be made below a folder: the nearest that is there, or "." for a path without one.
fs::path nearest_there(const fs::path& path) {
  std::error_code error;
  fs::path at = path;
  while (!at.empty() && !fs::exists(at, error)) at = at == at.parent_path() ? fs::path() : at.parent_path();
  return at.empty() ? fs::path(".") : at;
}

void check_file_place(const std::string& what, const fs::path& file, const std::string& suggestion) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::exists(folder, error)) throw bad_request(what, "there is no folder " + folder.string());
  if (!fs::is_directory(folder, error)) throw bad_request(what, folder.string() + " is not a folder");
  if (fs::is_directory(file, error)) throw bad_request(what, "is a folder", suggestion);
  check_writable(what, folder, suggestion);
}

}  // namespace

void refuse_stdout(const std::string& what, const std::string& file) {
  if (fs::path(file).filename() == "-")
    throw bad_request(what + " " + file, "is not written to stdout",
                      "Name a file; the page is on stdout, with --output-json as JSON.");
}

void check_output_place(const Config& config) {
  if (config.output.hdf5.empty()) throw bad_request("output", "the name is empty", "Use -o FILE.");
  refuse_stdout("output", config.output.hdf5);
  refuse_stdout("--timeline-json", config.timeline_export.file);
  refuse_stdout("--report-dir", config.output.report_dir);
  check_file_place("output " + config.output.hdf5, config.output.hdf5, "Use -o FILE.");
  const std::string& timeline = config.timeline_export.file;
  if (!timeline.empty()) check_file_place("--timeline-json " + timeline, timeline, "Name another file.");
  const std::string what = "--report-dir " + config.output.report_dir;
  const fs::path reports(config.output.report_dir);
  if (reports.empty()) return;
  std::error_code error;
  const fs::path there = nearest_there(reports);
  if (!fs::is_directory(there, error))
    throw bad_request(what, there == reports ? "is not a folder" : there.string() + " is not a folder");
  check_writable(what, there, "Name another folder.");
}

void check_window(const Config& config) {
  const std::string &start = config.window_start, &end = config.window_end;
  const auto number = [](const std::string& edge) {
    const std::string digits = edge.starts_with("step:") ? edge.substr(5) : edge;
    return to_integer("window", digits, INT64_MIN, INT64_MAX);
  };
  const auto is_number = [](const std::string& edge) { return !edge.empty() && edge != "chunk"; };
  if (!is_number(start) || !is_number(end) || start.starts_with("step:") != end.starts_with("step:")) return;
  if (number(end) < number(start) || (number(end) == number(start) && !start.starts_with("step:")))
    throw bad_request("--end " + end, "is not behind --start " + start, "Exchange them.");
}

std::vector<Config> one_config_per_run(const Config& config, const std::vector<std::string>& runs) {
  std::vector<Config> all;
  std::set<std::string> taken;
  for (const std::string& run : runs) {
    Config one = config;
    one.input.run = run;
    one.input.each_run = false;
    fs::path file(config.output.hdf5);
    std::string word = file_word(run);
    for (int copy = 2; !taken.insert(word).second; ++copy) word = file_word(run) + "-" + std::to_string(copy);
    const std::string extension = file.has_extension() ? file.extension().string() : ".h5";
    one.output.hdf5 = (file.parent_path() / (file.stem().string() + "." + word + extension)).string();
    const fs::path timeline(config.timeline_export.file);
    if (!timeline.empty())
      one.timeline_export.file = (timeline.parent_path() / (word + "." + timeline.filename().string())).string();
    all.push_back(one);
  }
  return all;
}

}  // namespace ccl
