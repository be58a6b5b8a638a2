#include "compare/comparable.hpp"

#include <algorithm>
#include <cmath>

#include "compare/change.hpp"
#include "core/number_list.hpp"
#include "core/wording.hpp"

namespace ccl {
namespace {

std::string against(const std::string& what, const std::string& a, const std::string& b) {
  return what + ": " + a + " against " + b;
}

/// What a step does: if it differs, step times and bytes say nothing about the system.
constexpr const char* work_keys[] = {"model",      "phase",        "parameters", "layers",  "hidden_size",
                                     "vocab_size", "global_batch", "seq_len",    "experts", "experts_per_token"};

void compare_work(const StoredRun& first, const StoredRun& second, Comparability& found) {
  std::string unknown;
  for (const char* key : work_keys) {
    const std::string a = first.workload(key), b = second.workload(key);
    if (!a.empty() && !b.empty() && a != b) found.refusals.push_back(against("different " + std::string(key), a, b));
    if (a.empty() != b.empty()) unknown += (unknown.empty() ? "" : ", ") + std::string(key);
  }
  if (!unknown.empty()) found.notes.push_back("told by one file only, not checked: " + unknown);
  const bool batch_known = !first.workload("global_batch").empty() && !second.workload("global_batch").empty();
  const std::string a = first.workload("local_batch"), b = second.workload("local_batch");
  if (!batch_known && !a.empty() && !b.empty() && a != b)
    found.refusals.push_back(against("different local_batch", a, b));
}

void compare_windows(const StoredRun& first, const StoredRun& second, Comparability& found) {
  for (const char* key : {"window_start", "window_end"}) {
    const auto shown = [key](const StoredRun& run) {
      const std::string text = run.request(key);
      return text.empty() ? std::string("none") : text;
    };
    if (shown(first) != shown(second))
      found.refusals.push_back(against("different " + std::string(key), shown(first), shown(second)));
  }
  if (first.has_markers() != second.has_markers())
    found.refusals.push_back("different steps: one has ProfilerStep markers, the other one step for the whole trace");
}

void compare_setting(const char* what, const std::string& a, const std::string& b, Comparability& found) {
  if (a != b) found.notes.push_back(against(what, a.empty() ? "unknown" : a, b.empty() ? "unknown" : b));
}

/// "all", or "4, 5" of the list [4, 5].
std::string steps_asked_for(const StoredRun& run) {
  const std::string value = run.request("steps");
  if (value == "[]") return "all";
  const bool list = value.starts_with('[') && value.ends_with(']');
  return list ? value.substr(1, value.size() - 2) : value;
}

std::string coverage(const StoredRun& run) {
  const std::int64_t covered = run.root_integer("ranks_covered"), whole = run.root_integer("ranks_whole");
  return std::to_string(covered) + " of " + std::to_string(run.root_integer("ranks_expected")) + " ranks" +
         (whole >= 0 && whole < covered ? ", " + std::to_string(whole) + " of them whole" : "");
}

/// Of the communication kernels of the steps that both runs have, how many are in a collective or message that is matched
/// with all its ranks; NaN where the file does not tell.
double matched_share(const StoredRun& run, const RowFilter& filter) {
  const std::string of_calls = "/metrics/coll_call_num/rows", of_matches = "/metrics/coll_call_num/logical";
  if (!run.status("coll_call_num").has_values() || !run.has_table(of_calls) || !run.has_table(of_matches)) return NAN;
  const auto sum = [&](const StoredTable& table, const std::vector<double>& values) {
    const std::vector<double> iteration = table.numbers("iteration"), step = table.numbers("step");
    double all = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const StepKey of{std::isnan(iteration[i]) ? -1 : iteration[i], step[i]};
      if (step[i] >= 0 && !std::isnan(values[i]) && (filter.keeps_all() || filter.keeps_step(of))) all += values[i];
    }
    return all;
  };
  const StoredTable calls = run.table(of_calls), matches = run.table(of_matches);
  std::vector<double> kernels = matches.numbers("members_count");
  const std::vector<double> all = matches.numbers("collectives_count"), incomplete = matches.numbers("incomplete_count"),
                            suspect = matches.numbers("suspect_count");
  for (std::size_t i = 0; i < all.size(); ++i) kernels[i] *= std::max(0.0, all[i] - incomplete[i] - suspect[i]) / all[i];
  const double calls_count = sum(calls, calls.numbers("calls_count"));
  return calls_count == 0 ? NAN : sum(matches, kernels) / calls_count;
}

/// What waits where matching is lost is no longer counted: less of it is no improvement.
void compare_matching(const StoredRun& first, const StoredRun& second, Comparability& found) {
  constexpr double most = 0.05;  // a few suspect ones come and go
  const double a = matched_share(first, found.rows.first), b = matched_share(second, found.rows.second);
  if (!(std::abs(a - b) > most)) return;
  found.unlike_matching = "matched collectives, on which it rests, hold " + percent(a) +
                          " of the communication kernels in the first run and " + percent(b) + " in the second";
}

/// Without a card the bytes still tell: the same job moves the same bytes in a step.
void compare_bytes(const StoredRun& first, const StoredRun& second, Comparability& found) {
  if (!found.same_ranks || !found.refusals.empty()) return;
  constexpr double most = 0.2;
  Figure payload;
  payload.metric = "traffic_distribution";
  payload.table = "rows";
  payload.numerator = "payload_bytes";
  const auto a = samples(first, payload, found.rows.first), b = samples(second, payload, found.rows.second);
  if (a.empty() || b.empty()) return;
  const Change change = compare_samples(a.at(""), b.at(""), Better::neither);
  if (!(std::abs(change.change_ratio) > most)) return;
  found.notes.push_back("payload per step differs by " + std::to_string(std::lround(100 * change.change_ratio)) +
                        " %: another model or batch?");
}

}  // namespace

std::string lacking_ranks(const StoredRun& run) {
  std::string text;
  for (const auto& [status, what] : {std::pair("missing", "missing"), std::pair("not_in_iteration", "missing in an iteration"),
                                     std::pair("partial", "damaged"),
                                     std::pair("no_gpu_events", "no GPU events on")}) {
    const auto found = run.ranks_by_status().find(status);
    if (found == run.ranks_by_status().end()) continue;
    text += (text.empty() ? "" : ", ") + std::string(what) + " " + ranks_text(found->second);
  }
  return text;
}

Comparability comparability(const StoredRun& first, const StoredRun& second) {
  Comparability found;
  compare_work(first, second, found);
  compare_windows(first, second, found);
  const auto setting = [&](const char* what, const std::string& a, const std::string& b) {
    compare_setting(what, a, b, found);
  };
  setting("GPU", first.gpu(), second.gpu());
  setting("mesh", first.root_text("mesh"), second.root_text("mesh"));
  setting("world size", std::to_string(first.root_integer("world_size")),
          std::to_string(second.root_integer("world_size")));
  setting("coverage", coverage(first), coverage(second));
  setting("completeness", first.root_text("completeness"), second.root_text("completeness"));
  setting("precision", first.workload("precision"), second.workload("precision"));
  for (const char* key : {"mfu_convention", "what_if_ideal", "peaks", "settings_files_count"})
    setting(key, first.request(key), second.request(key));
  setting("steps", steps_asked_for(first), steps_asked_for(second));
  found.same_ranks = first.root_text("mesh") == second.root_text("mesh") &&
                     first.root_integer("world_size") == second.root_integer("world_size");
  if (!found.same_ranks) found.notes.push_back("ranks and groups are not compared: they mean something else");
  if (found.same_ranks) found.rows = {RowFilter(first.ranks_by_step(), second.ranks_by_step()),
                                      RowFilter(second.ranks_by_step(), first.ranks_by_step())};
  compare_bytes(first, second, found);
  compare_matching(first, second, found);
  for (const auto& [which, run] : {std::pair("first", &first), {"second", &second}}) {
    const std::string ranks = lacking_ranks(*run), steps = run->headline_text("straggler_lag", "not_judged");
    if (!ranks.empty()) found.lacking.push_back({which, ranks});
    if (!steps.empty()) found.lacking.push_back({which, "without GPU numbers: " + steps});
  }
  return found;
}

}  // namespace ccl
