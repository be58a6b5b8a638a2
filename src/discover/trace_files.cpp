#include "discover/trace_files.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <tuple>
#include <vector>

#include "core/file_trouble.hpp"
#include "core/largest_world.hpp"
#include "discover/find_companions.hpp"
#include "discover/gate_log.hpp"
#include "discover/host_map.hpp"
#include "discover/names.hpp"
#include "discover/natural_order.hpp"
#include "discover/nsys_export.hpp"
#include "discover/pack_input.hpp"
#include "discover/runs.hpp"
#include "discover/sniff_together.hpp"

namespace ccl {
namespace {

Problem problem(Code code, std::string file, std::string detail = {}, std::int64_t count = 1) {
  Problem p;
  p.code = code;
  p.file = std::move(file);
  p.detail = std::move(detail);
  p.count = count;
  return p;
}

bool wanted(TraceFormat format, const std::string& mode) {
  const bool nsys = is_nsys(format);
  return mode == "torch" ? !nsys : mode == "nsys" ? nsys : true;
}

/// The same file as it is called when it is unpacked.
std::string_view unpacked_name(std::string_view shown) {
  if (shown.ends_with(".zst")) shown.remove_suffix(4);
  return shown;
}

constexpr const char *by_this_version = "not read by this version", *by_the_mode = "left out by the profile mode";

/// Every file that is not read is told like this: "zstd file: unpack it with unzstd".
std::string not_read(const std::string& what, const std::string& why) { return why.empty() ? what : what + ": " + why; }

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// "iteration_10/rank3.json.gz" -> "iteration_#/rank#.json": equal for the traces of one run.
std::string without_digits(std::string_view shown) {
  shown = unpacked_name(shown);
  if (shown.ends_with(".gz")) shown.remove_suffix(3);
  std::string out;
  for (const char c : shown) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    else if (out.empty() || out.back() != '#') out += '#';
  }
  return out;
}

/// Sorts the files into traces and the rest, and words the rest.
class Sieve {
 public:
  Sieve(const Config& config, const CanRead& can_read, Problems& problems)
      : config_(config),
        can_read_(can_read),
        problems_(problems),
        rank_regex_(compile_rank_regex(config.input.rank_regex)) {}

  /// sniffed: what each file of the tree is.
  std::vector<Candidate> sift(const FileTree& tree, const std::vector<Sniffed>& sniffed) {
    const std::string lead = lead_of(tree.root);
    std::vector<Candidate> candidates;
    std::vector<std::pair<FoundFile, Sniffed>> strangers;
    std::vector<std::pair<FoundFile, Sniffed>> execution_traces;
    for (const FoundFile& file : tree.files) paths_.insert(file.path);
    for (std::size_t i = 0; i < tree.files.size(); ++i) {
      const FoundFile& file = tree.files[i];
      const Sniffed& found = sniffed[i];
      if (file.bytes == 0) {
        if (has_trace_like_name(file.shown)) problems_.add(problem(Code::empty_file, file.shown));
        ++others_["empty file"];
        continue;
      }
      if (!found.readable)
        note_unreadable(file);
      else if (found.format == TraceFormat::unknown)
        note_unknown(file, found, strangers);
      else if (!can_read_(found.format))
        note_unread(file, found);
      else if (found.format == TraceFormat::execution_trace)
        execution_traces.emplace_back(file, found);
      else if (wanted(found.format, config_.input.profile_mode))
        candidates.push_back(candidate(file, found, lead));
      else
        note_left_out_by_mode(found);
    }
    // They hold no times: they only add to Kineto traces.
    const bool kineto = std::any_of(candidates.begin(), candidates.end(),
                                    [](const Candidate& c) { return c.file.format == TraceFormat::kineto; });
    for (const auto& [file, found] : execution_traces) {
      if (kineto)
        candidates.push_back(candidate(file, found, lead));
      else
        note_unread(file, found);
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return natural_less(a.file.shown, b.file.shown); });
    note_strangers(strangers, candidates, lead);
    for (const auto& [what, files] : unread_)
      problems_.add(problem(Code::unknown_format, files.first, not_read(what, by_this_version), files.second));
    return candidates;
  }

  /// What was there instead of traces, most frequent first: "3 × PDF, 1 × other JSON".
  std::string others() const {
    std::vector<std::pair<std::string, std::int64_t>> kinds(others_.begin(), others_.end());
    std::stable_sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (const auto& [what, count] : kinds) text += (text.empty() ? "" : ", ") + std::to_string(count) + " x " + what;
    return text;
  }

  /// The most frequent world size among the first bytes of the traces (tie: the larger), −1 if none tells.
  std::int64_t world_size() const {
    std::int64_t best = -1;
    std::int64_t most = 0;
    for (const auto& [size, count] : world_sizes_)
      if (count >= most) {
        best = size;
        most = count;
      }
    return best;
  }

  bool saw_report() const { return saw_report_; }
  bool left_out_by_mode() const { return left_out_by_mode_; }
  bool saw_execution_trace() const { return unread_.contains("execution trace"); }
  /// What to do with the first archive; empty if there is none.
  const std::string& packed() const { return packed_; }

 private:
  Candidate candidate(const FoundFile& file, const Sniffed& found, const std::string& lead) {
    if (found.world_size > 0 && found.world_size <= largest_world) ++world_sizes_[found.world_size];
    NameFacts name = read_name(lead, file.shown, rank_regex_);
    Candidate c;
    c.run = name.run;
    const bool by_name = name.rank >= 0 && (config_.input.rank_from_name || found.rank < 0);
    c.rank = by_name ? name.rank : static_cast<std::int32_t>(found.rank);
    c.file.path = file.path;
    c.file.shown = file.shown;
    c.file.format = found.format;
    c.file.gzip = found.gzip;
    c.file.bytes = file.bytes;
    c.file.iteration = name.iteration;
    c.file.iteration_label = name.iteration_label;
    c.file.replica = name.replica;
    c.file.rank_in_name = name.rank;
    c.file.rank_by_option = name.rank_by_option;
    c.file.host_in_name = name.host;
    return c;
  }

  void note_unreadable(const FoundFile& file) {
    const std::string why = file_trouble(file.path);
    problems_.add(problem(Code::unreadable_file, file.shown, why.empty() ? "it cannot be opened" : why));
  }

  void note_left_out_by_mode(const Sniffed& found) {
    left_out_by_mode_ = true;
    ++others_[not_read(found.what, by_the_mode)];
  }

  void note_unknown(const FoundFile& file, const Sniffed& found, std::vector<std::pair<FoundFile, Sniffed>>& strangers) {
    ++others_[found.what];
    saw_report_ = saw_report_ || found.other == Other::nsys_report;
    const bool packed = found.other == Other::packed;
    if (packed && packed_.empty()) packed_ = not_read(file.shown, found.advice);
    // Read as companions.
    if (found.other == Other::benchmark || is_gate_log_name(file_name(file.shown))) return;
    if (found.other == Other::nsys_report) {
      if (paths_.contains(export_of(file.path))) return;  // it has been exported already
      const std::string advice = export_advice(file.path) + ", or run with --nsys-export where nsys is installed";
      problems_.add(problem(Code::unknown_format, file.shown, not_read(found.what, advice)));
    } else if (has_trace_like_name(file.shown) || packed)
      strangers.emplace_back(file, found);
  }

  /// A file that has the name of a trace but is none is a lost trace; a JSON file of another kind (truth.json) is
  /// nobody's loss. The name is a trace's if the profiler writes it so, if it is that of a trace beside it but for the
  /// digits, or if it names a rank of which there is no trace and the content is nothing known.
  void note_strangers(const std::vector<std::pair<FoundFile, Sniffed>>& strangers,
                      const std::vector<Candidate>& candidates, const std::string& lead) {
    std::set<std::string> names;
    std::set<std::tuple<std::int32_t, std::int32_t, std::int32_t>> ranks;
    for (const Candidate& c : candidates) {
      names.insert(without_digits(c.file.shown));
      ranks.emplace(c.file.iteration, c.file.replica, c.file.rank_in_name);
    }
    for (const auto& [file, found] : strangers) {
      const NameFacts name = read_name(lead, file.shown, rank_regex_);
      const bool packed = found.other == Other::packed, json = found.other == Other::json;
      const bool other_kind = json || packed || found.other == Other::pickle;
      const bool has_rank = ranks.contains({name.iteration, name.replica, name.rank});
      const bool lost = has_trace_like_name(unpacked_name(file.shown)) && !(packed && has_rank) &&
                        (contains(file.shown, ".pt.trace.json") || names.contains(without_digits(file.shown)) ||
                         (!other_kind && name.rank >= 0 && !has_rank));
      if (lost) {
        Problem p = problem(Code::json_invalid, file.shown,
                            "named like a trace, but " + not_read(found.sentence, found.advice));
        p.iteration = name.iteration;
        p.rank = name.rank;
        problems_.add(std::move(p));
      } else if (!json || contains(file_name(file.shown), "trace")) {
        problems_.add(problem(Code::unknown_format, file.shown, not_read(found.what, found.advice)));
      }
    }
  }

  void note_unread(const FoundFile& file, const Sniffed& found) {
    ++others_[not_read(found.what, by_this_version)];
    const auto [at, added] = unread_.try_emplace(found.what, file.shown, 0);
    (void)added;
    ++at->second.second;
  }

  const Config& config_;
  const CanRead& can_read_;
  Problems& problems_;
  std::optional<std::regex> rank_regex_;
  std::set<std::string> paths_;
  std::map<std::string, std::int64_t> others_;
  std::string packed_;
  bool left_out_by_mode_ = false, saw_report_ = false;
  std::map<std::string, std::pair<std::string, std::int64_t>> unread_;  // what -> first file, how many
  std::map<std::int64_t, std::int64_t> world_sizes_;
};

std::string folders_text(const std::vector<std::string>& folders) {
  std::string text = folders.front();
  if (folders.size() > 1) text += " and " + std::to_string(folders.size() - 1) + " more";
  return text;
}

/// "sub: Permission denied, and 2 more": what was there and could not be read.
std::string unreadable_text(const Problems& problems, const std::string& root) {
  std::string text;
  for (const Problem& row : problems.rows())
    if (row.code == Code::unreadable_file && text.empty())
      text = (row.file == "." ? root : row.file) + ": " + row.detail;
  const std::int64_t count = problems.count(Code::unreadable_file);
  return count > 1 ? text + ", and " + std::to_string(count - 1) + " more" : text;
}

/// For a file that is no trace but is read by an option; else empty.
std::string option_for(const std::vector<std::string>& named) {
  const std::string& name = named.front();
  if (named.size() > 1) return "";
  if (name.ends_with(".yaml") || name.ends_with(".yml"))
    return ". A job file is given as --job " + name + ", a workload card as --card " + name + ".";
  return name.ends_with(".toml") ? ". A training configuration is given as --config " + name + "." : "";
}

[[noreturn]] void fail_without_traces(const Config& config, const FileTree& tree, const Sieve& sieve,
                                      const Problems& problems) {
  std::string found = sieve.others(), unreadable = unreadable_text(problems, tree.root);
  if (!found.empty()) found = "found " + found + (unreadable.empty() ? "" : "; ");
  std::string message = "no usable trace in " + folders_text(config.input.folders) + " (" +
                        (tree.files.empty() && unreadable.empty() ? "there is no file" : found + unreadable) + ")";
  if (found.empty() && !unreadable.empty()) throw FatalError(ExitCode::bad_request, message);
  const std::string option = option_for(config.input.folders);
  message += !option.empty()      ? option
             : sieve.saw_report()   ? ". Export reports with: nsys export --type=sqlite --include-blobs=true "
                                         "--include-json=true FILE, or add --nsys-export."
             : !sieve.packed().empty() ? ". " + sieve.packed() + "."
             : sieve.left_out_by_mode() ? ". See --profile-mode."
             : sieve.saw_execution_trace()
                 ? ". Execution traces hold no times: give the folder with the Kineto traces of the same run."
                 : ". Give the folder that holds the profiler's .json or .json.gz files.";
  throw FatalError(ExitCode::bad_request, message);
}

std::int64_t guess_world_size(const Sieve& sieve, const std::vector<TraceFile>& files) {
  std::int64_t world = sieve.world_size();
  if (world > 0) return world;
  for (const TraceFile& file : files) world = std::max<std::int64_t>(world, std::int64_t{file.rank_in_name} + 1);
  return world > 0 ? world : -1;
}

}  // namespace

FileTree find_files(const Config& config, Problems& problems) {
  FileTree tree = walk(config.input.folders, problems);
  if (config.input.nsys_export) {
    Problems again;  // of the second walk: the first has named them
    if (export_reports(tree, problems)) tree = walk(config.input.folders, again);
  }
  return tree;
}

Input find_input(const Config& config, const CanRead& can_read, const FileTree& tree, const std::vector<Sniffed>& sniffed,
                 Problems& problems) {
  Sieve sieve(config, can_read, problems);
  std::vector<Candidate> candidates = sieve.sift(tree, sniffed);
  if (candidates.empty()) fail_without_traces(config, tree, sieve, problems);
  Input input;
  input.root = tree.root;
  number_folders_as_iterations(candidates, config.input.folders);
  separate_runs(candidates);
  select_run(candidates, config.input, input);
  for (Candidate& c : candidates) input.files.push_back(std::move(c.file));
  const std::int64_t world = guess_world_size(sieve, input.files);
  input.workload = find_workload(tree, input.run, config.input, world, problems);
  if (!config.input.host_map.empty()) {
    const std::string text = read_named_file("--host-map", config.input.host_map);
    input.host_map = parse_host_map(text, config.input.host_map);
  }
  return input;
}

Input find_input_together(const Config& config, const CanRead& can_read, const Comm& comm, Problems& problems) {
  FileTree tree;
  std::vector<std::string> paths;
  together(comm, [&] {
    if (!comm.is_first()) return;
    compile_rank_regex(config.input.rank_regex);  // a wrong one is said before thousands of files are opened
    tree = find_files(config, problems);
    for (const FoundFile& file : tree.files) paths.push_back(file.path);
  });
  const std::vector<Sniffed> sniffed = sniff_together(comm, paths);
  Bytes packed;
  together(comm, [&] {
    if (!comm.is_first()) return;
    Input found = find_input(config, can_read, tree, sniffed, problems);
    share_out(found.files, comm.num_workers());
    packed = pack(found);
  });
  return unpack_input(comm.broadcast(std::move(packed)));
}

}  // namespace ccl
