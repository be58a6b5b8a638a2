#include "discover/runs.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/problems.hpp"
#include "discover/natural_order.hpp"
#include "discover/walk.hpp"

namespace ccl {
namespace {

std::string joined(const std::vector<std::string>& names, std::size_t most = 8) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += ", … (" + std::to_string(names.size()) + " in all)";
  return text;
}

bool lies_in(std::string_view path, std::string_view folder) {
  return folder == "." ||
         (path.size() > folder.size() && path.substr(0, folder.size()) == folder && path[folder.size()] == '/');
}

/// The run folder a loose file lies in, deepest first; "." if in none.
std::string run_of_loose_file(const std::string& shown, const std::vector<std::string>& runs) {
  std::string deepest = ".";
  for (const std::string& run : runs)
    if (run != "." && lies_in(shown, run) && (deepest == "." || run.size() > deepest.size())) deepest = run;
  return deepest;
}

std::vector<std::string> assign_runs(std::vector<Candidate>& files) {
  const auto less = [](const std::string& a, const std::string& b) { return natural_less(a, b); };
  std::set<std::string, decltype(less)> runs(less);
  for (const Candidate& c : files)
    if (!c.run.empty()) runs.insert(c.run);
  const std::vector<std::string> with_iterations(runs.begin(), runs.end());
  for (Candidate& c : files)
    if (c.run.empty()) runs.insert(c.run = run_of_loose_file(c.file.shown, with_iterations));
  return {runs.begin(), runs.end()};
}

std::string pick_run(const InputConfig& config, const std::vector<std::string>& runs) {
  std::string wanted = config.run;
  while (wanted.size() > 1 && wanted.back() == '/') wanted.pop_back();
  if (wanted.empty()) {
    if (runs.size() == 1 || config.each_run) return runs.front();
    throw FatalError(ExitCode::bad_request, "the trace folder holds " + std::to_string(runs.size()) + " runs (" +
                                                joined(runs) + "). Use --run NAME for one or --each-run for all.");
  }
  if (std::find(runs.begin(), runs.end(), wanted) != runs.end()) return wanted;
  std::vector<std::string> same_end;
  for (const std::string& run : runs)
    if (file_name(run) == wanted) same_end.push_back(run);
  if (same_end.size() == 1) return same_end.front();
  if (same_end.size() > 1)
    throw FatalError(ExitCode::bad_request,
                     "--run " + wanted + " fits several runs (" + joined(same_end) + "). Use the full name.");
  if (runs.size() == 1)
    throw FatalError(ExitCode::bad_request, "no run is called " + wanted +
                                                " (all traces are of one run). Leave --run out or name another folder.");
  std::vector<std::string> words = runs;
  for (const std::string& run : runs) words.emplace_back(file_name(run));
  const std::string meant = closest(wanted, words);
  throw FatalError(ExitCode::bad_request, "no run is called " + wanted + " (there are: " + joined(runs) + ")" +
                                              (meant.empty() ? "" : ". Did you mean " + meant + "?"));
}

void keep_iterations(std::vector<Candidate>& files, const std::vector<std::int64_t>& wanted) {
  if (wanted.empty()) return;
  std::set<std::int64_t> present;
  for (const Candidate& c : files) present.insert(c.file.iteration);
  for (const std::int64_t iteration : wanted) {
    if (present.count(iteration) > 0) continue;
    std::vector<std::string> names;
    for (const std::int64_t p : present)
      if (p >= 0) names.push_back(std::to_string(p));
    const std::string there =
        names.empty() ? "the files carry no iteration numbers" : "there are: " + joined(names, 20);
    throw FatalError(ExitCode::bad_request, "no trace of iteration " + std::to_string(iteration) + " (" + there + ")");
  }
  files.erase(std::remove_if(files.begin(), files.end(),
                             [&](const Candidate& c) {
                               return std::find(wanted.begin(), wanted.end(), c.file.iteration) == wanted.end();
                             }),
              files.end());
}

/// The deepest of the folders that holds the file, as an index; −1 if none does.
int folder_of(const std::string& path, const std::vector<std::string>& folders) {
  int deepest = -1;
  for (std::size_t i = 0; i < folders.size(); ++i)
    if (lies_in(path, folders[i]) &&
        (deepest < 0 || folders[i].size() > folders[static_cast<std::size_t>(deepest)].size()))
      deepest = static_cast<int>(i);
  return deepest;
}

/// "a/b/rank0.json" -> {"a", "b"}
std::vector<std::string> folders_above(std::string_view shown) {
  std::vector<std::string> parts;
  for (std::size_t slash = shown.find('/'); slash != std::string_view::npos; slash = shown.find('/')) {
    parts.emplace_back(shown.substr(0, slash));
    shown.remove_prefix(slash + 1);
  }
  return parts;
}

}  // namespace

void number_folders_as_iterations(std::vector<Candidate>& files, const std::vector<std::string>& named) {
  std::vector<std::string> folders;
  for (const std::string& name : named) folders.push_back(absolute_path(name));
  std::sort(folders.begin(), folders.end(), [](const auto& a, const auto& b) { return natural_less(a, b); });
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  if (folders.size() < 2) return;
  std::map<std::pair<std::int32_t, std::int32_t>, int> folder_of_rank;  // (replica, rank) -> folder
  bool clash = false;
  for (const Candidate& c : files) {
    if (c.file.iteration >= 0) return;
    // A companion beside a trace of its rank is no second iteration.
    if (c.file.rank_in_name < 0 || is_companion(c.file.format)) continue;
    const int folder = folder_of(c.file.path, folders);
    const auto [at, added] = folder_of_rank.try_emplace({c.file.replica, c.file.rank_in_name}, folder);
    clash = clash || (!added && at->second != folder);
  }
  if (!clash) return;
  for (Candidate& c : files) {
    const int folder = folder_of(c.file.path, folders);
    if (folder < 0) continue;
    c.file.iteration = folder;
    c.file.iteration_label = file_name(folders[static_cast<std::size_t>(folder)]);
  }
}

void separate_runs(std::vector<Candidate>& files) {
  using Folders = std::vector<std::string>;
  std::map<std::tuple<bool, std::int32_t, std::int32_t, std::int32_t>, std::set<Folders>> places;  // of each rank
  for (const Candidate& c : files)
    if (c.run.empty() && c.rank >= 0 && !is_companion(c.file.format))
      places[{is_nsys(c.file.format), c.file.iteration, c.file.replica, c.rank}].insert(folders_above(c.file.shown));
  std::set<Folders> parents;  // of runs
  for (const auto& [rank, folders] : places)
    for (auto at = folders.begin(); at != folders.end() && std::next(at) != folders.end(); ++at) {
      const Folders &a = *at, &b = *std::next(at);
      const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
      if (differ.first != a.end() && differ.second != b.end()) parents.emplace(a.begin(), differ.first);
    }
  for (Candidate& c : files) {
    const Folders folders = folders_above(c.file.shown);
    for (std::size_t depth = folders.size(); c.run.empty() && depth-- > 0;) {
      const auto end = folders.begin() + static_cast<std::ptrdiff_t>(depth);
      if (!parents.contains(Folders(folders.begin(), end))) continue;
      for (auto part = folders.begin(); part <= end; ++part) c.run += (c.run.empty() ? "" : "/") + *part;
    }
  }
}

void select_run(std::vector<Candidate>& files, const InputConfig& config, Input& input) {
  input.runs = assign_runs(files);
  input.run = pick_run(config, input.runs);
  files.erase(std::remove_if(files.begin(), files.end(), [&](const Candidate& c) { return c.run != input.run; }),
              files.end());
  keep_iterations(files, config.iterations);
}

}  // namespace ccl
