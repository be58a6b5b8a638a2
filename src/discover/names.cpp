#include "discover/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <vector>

#include "core/largest_world.hpp"
#include "core/problems.hpp"
#include "discover/walk.hpp"

namespace ccl {
namespace {

using Match = std::match_results<std::string_view::const_iterator>;

/// An expression without regard to case. It is compiled when a name first holds the word that all its matches hold:
/// compiling costs more than most runs spend on names.
class Pattern {
 public:
  Pattern(std::string_view word, const char* text) : word_(word), text_(text) {}
  bool found(std::string_view name, Match& match) {
    const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    if (!word_.empty() && std::search(name.begin(), name.end(), word_.begin(), word_.end(), same) == name.end())
      return false;
    if (!regex_) regex_.emplace(text_, std::regex::ECMAScript | std::regex::icase | std::regex::optimize);
    return std::regex_search(name.begin(), name.end(), match, *regex_);
  }

 private:
  std::string_view word_;  // in lower case; empty: any name may match
  const char* text_;
  std::optional<std::regex> regex_;
};

std::int32_t number(const std::string& digits) {
  std::int32_t value = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() ? value : -1;
}

/// A date or a Unix time is none.
std::int32_t rank_number(const std::string& digits) {
  const std::int32_t value = number(digits);
  return value < largest_world ? value : -1;
}

bool found(std::string_view text, const std::regex& regex, Match& match) {
  return std::regex_search(text.begin(), text.end(), match, regex);
}

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

bool read_iteration_folder(std::string_view folder, NameFacts& facts) {
  static Pattern iteration("iter", "^iter(?:ation)?_(\\d+)(?:_exit)?$");
  Match match;
  if (!iteration.found(folder, match)) return false;
  facts.iteration = number(match[1].str());
  facts.iteration_label = folder;
  return facts.iteration >= 0;
}

std::int32_t read_replica_folder(std::string_view folder) {
  static Pattern replica("replica_", "^replica_(\\d+)$");
  Match match;
  return replica.found(folder, match) ? number(match[1].str()) : -1;
}

/// Folders that hold one kind of output of a run; the run is the folder above.
bool is_kind_folder(std::string_view name) {
  constexpr std::array<std::string_view, 8> kinds{"profile_trace",   "profile_traces",   "profiling", "torch_traces",
                                                  "memory_snapshot", "memory_snapshots", "traces",    "profiler"};
  return std::find(kinds.begin(), kinds.end(), name) != kinds.end();
}

std::string run_above(const std::vector<std::string_view>& folders, std::size_t iteration_at) {
  std::size_t end = iteration_at;
  while (end > 0 && is_kind_folder(folders[end - 1])) --end;
  std::string run;
  for (std::size_t i = 0; i < end; ++i) run.append(run.empty() ? "" : "/").append(folders[i]);
  return run.empty() ? "." : run;
}

std::int32_t rank_by_patterns(std::string_view name) {
  static std::array<Pattern, 4> patterns{
      Pattern("rank", "(?:^|[^a-z])rank[_\\-.= ]?(\\d+)"),
      Pattern("to", "(?:kineto_trace|torch_et|torch_trace)[_-](\\d+)"),
      Pattern("_e", "_e[gt]_(\\d+)[._]"),  // PARAM's execution graphs
      Pattern("-tp-", "^(?!.*-(?:DP|PP|EP|CP)-).*-TP-(\\d+)"),  // with other dimensions beside it TP is not the rank
  };
  Match match;
  for (Pattern& known : patterns)
    if (known.found(name, match)) return rank_number(match[1].str());
  return -1;
}

void read_rank(std::string_view shown, const std::vector<std::string_view>& folders,
               const std::optional<std::regex>& rank_regex, NameFacts& facts) {
  const std::string_view name = file_name(shown);
  Match match;
  try {
    if (rank_regex && (found(name, *rank_regex, match) || found(shown, *rank_regex, match))) {
      facts.rank = rank_number(match[1].str());
      facts.rank_by_option = facts.rank >= 0;
    }
  } catch (const std::regex_error&) {
    throw FatalError(ExitCode::bad_request,
                     "--rank-regex needs too many steps on " + std::string(shown) + " use a simpler expression");
  }
  if (facts.rank < 0) facts.rank = rank_by_patterns(name);
  static Pattern worker("worker", "^worker[_-]?(\\d+)[_.].*\\.pt\\.trace\\.json");
  if (facts.rank < 0 && facts.host.empty() && worker.found(name, match)) facts.rank = rank_number(match[1].str());
  static Pattern rank_folder("rank", "^rank[_-]?(\\d+)$");
  for (auto folder = folders.rbegin(); facts.rank < 0 && folder != folders.rend(); ++folder)
    if (rank_folder.found(*folder, match)) facts.rank = rank_number(match[1].str());
}

std::string read_host(std::string_view name) {
  static Pattern tensorboard(".pt.trace.json", "^(.+)_\\d+\\.\\d+\\.pt\\.trace\\.json(?:\\.gz)?$");
  Match match;
  if (!tensorboard.found(name, match)) return {};
  std::string host = match[1].str();
  // A worker_name of the user's own, such as "worker3_step_12", is not a host and a process.
  static Pattern own("", "(?:^|[_-])(?:step|iter|iteration|epoch|rank)$");
  return rank_by_patterns(host) >= 0 || own.found(host, match) ? std::string() : host;
}

}  // namespace

std::optional<std::regex> compile_rank_regex(const std::string& text) {
  if (text.empty()) return std::nullopt;
  try {
    std::regex regex(text, std::regex::ECMAScript);
    if (regex.mark_count() == 0)
      throw FatalError(ExitCode::bad_request, "--rank-regex '" + text +
                                                  "' has no capture group (the first one is the rank). Put the digits "
                                                  "in parentheses: rank_(\\d+)");
    return regex;
  } catch (const std::regex_error& error) {
    throw FatalError(ExitCode::bad_request,
                     "--rank-regex '" + text + "' is no valid expression (" + error.what() + ")");
  }
}

NameFacts read_name(std::string_view lead, std::string_view shown, const std::optional<std::regex>& rank_regex) {
  NameFacts facts;
  std::vector<std::string_view> folders = split(shown);
  const std::string_view name = folders.empty() ? std::string_view() : folders.back();
  if (!folders.empty()) folders.pop_back();
  for (std::size_t i = folders.size(); i-- > 0 && facts.iteration < 0;)
    if (read_iteration_folder(folders[i], facts)) facts.run = run_above(folders, i);
  for (auto folder = folders.rbegin(); folder != folders.rend() && facts.replica < 0; ++folder)
    facts.replica = read_replica_folder(*folder);
  const std::vector<std::string_view> above = split(lead);
  for (auto folder = above.rbegin(); folder != above.rend(); ++folder) {
    if (facts.iteration < 0 && read_iteration_folder(*folder, facts)) facts.run = ".";
    if (facts.replica < 0) facts.replica = read_replica_folder(*folder);
  }
  if (facts.iteration < 0) {
    static Pattern in_name("iter", "(?:^|[^a-z])(iter(?:ation)?[_-]?(\\d+))");
    Match match;
    if (in_name.found(name, match)) {
      facts.iteration = number(match[2].str());
      if (facts.iteration >= 0) facts.iteration_label = match[1].str();
    }
  }
  facts.host = read_host(name);
  read_rank(shown, folders, rank_regex, facts);
  return facts;
}

std::string lead_of(std::string_view root) {
  const std::vector<std::string_view> folders = split(root);
  if (folders.empty()) return {};
  NameFacts ignored;
  const bool replica = read_replica_folder(folders.back()) >= 0;
  if (replica && folders.size() > 1 && read_iteration_folder(folders[folders.size() - 2], ignored))
    return std::string(folders[folders.size() - 2]) + "/" + std::string(folders.back()) + "/";
  if (replica || read_iteration_folder(folders.back(), ignored)) return std::string(folders.back()) + "/";
  return {};
}

}  // namespace ccl
