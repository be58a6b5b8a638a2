#include "config/options.hpp"

#include <algorithm>

#include "config/values.hpp"
#include "metrics/all_metrics.hpp"
#include "metrics/hardware.hpp"
#include "metrics/stages.hpp"

namespace ccl {
namespace {

using Texts = std::vector<std::string>;
using Shape = OptionShape;
using Value = OptionValue;

Option described(const char* flags, const char* job_key, const char* value_name, const char* help) {
  Option option;
  option.flags = flags;
  option.job_key = job_key;
  option.value_name = value_name;
  option.help = help;
  return option;
}

Option as_path(Option option) {
  option.value = Value::path;
  return option;
}

Option as_list(Option option) {
  option.shape = Shape::list;
  return option;
}

// How members of Config are set and shown: find leads to one in a given Config.
template <class Find>
Option text_option(Option option, Find find) {
  option.set = [find](Request& r, const std::string&, const Texts& t) { find(r.config) = t.back(); };
  option.get = [find](const Config& c) -> Texts {
    const std::string& text = find(const_cast<Config&>(c));
    return text.empty() ? Texts{} : Texts{text};
  };
  return option;
}

template <class Find>
Option flag_option(Option option, Find find) {
  option.shape = Shape::flag;
  option.set = [find](Request& r, const std::string& what, const Texts& t) {
    find(r.config) = to_bool(what, t.back());
  };
  option.get = [find](const Config& c) { return Texts{find(const_cast<Config&>(c)) ? "true" : "false"}; };
  return option;
}

template <class Find>
Option integers_option(Option option, std::int64_t least, std::int64_t most, Find find) {
  option.shape = Shape::list;
  option.set = [=](Request& r, const std::string& what, const Texts& texts) {
    auto& numbers = find(r.config);
    numbers.clear();
    for (const std::string& text : texts) numbers.push_back(to_integer(what, text, least, most));
  };
  option.get = [find](const Config& c) {
    Texts texts;
    for (const std::int64_t number : find(const_cast<Config&>(c))) texts.push_back(std::to_string(number));
    return texts;
  };
  return option;
}

Option action_option(Option option, Action action) {
  option.shape = Shape::flag;
  option.set = [action](Request& r, const std::string&, const Texts&) { r.action = action; };
  return option;
}

void set_metrics(Request& request, const std::string& what, const Texts& texts) {
  if (texts.empty()) throw bad_request(what, "names no metric", "See --list-metrics.");
  request.config.metrics.clear();
  for (const std::string& text : texts) {
    const std::string name = start_metrics({text}).front()->info().name;
    auto& chosen = request.config.metrics;
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.push_back(name);
  }
}

// "bf16_flops_per_s=312e12"; the map grows over job and command line, the later value of a name wins.
void set_peaks(Request& request, const std::string& what, const Texts& texts) {
  for (const std::string& text : texts) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos) throw bad_request(what + " " + text, "not of the form NAME=VALUE");
    const std::string name = to_choice(what, text.substr(0, at), peak_names());
    request.config.peaks[name] = to_positive_number(what + " " + name, text.substr(at + 1));
  }
}

std::vector<Option> input_options() {
  Option folders = as_list(as_path(
      described("--trace", "input", "DIR", "trace folder or file, same as writing DIR without an option")));
  folders.set = [](Request& r, const std::string&, const Texts& t) { r.config.input.folders = t; };
  folders.get = [](const Config& c) { return c.input.folders; };

  Option job = text_option(described("--job", "", "FILE", "job file (YAML); the command line wins over it"),
                           [](Config& c) -> auto& { return c.job_file; });
  job.get = {};

  Option regex = text_option(described("--rank-regex", "rank_regex", "RE",
                                       "rank = first capture group in the file's path, if the content has none"),
                             [](Config& c) -> auto& { return c.input.rank_regex; });
  regex.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.input.rank_regex = to_capturing_regex(what, t.back());
  };

  Option rank_from = described("--rank-from", "rank_from", "WHAT",
                               "'content' or 'name' of a file tells its rank first");
  rank_from.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.input.rank_from_name = to_choice(what, t.back(), {"content", "name"}) == "name";
  };
  rank_from.get = [](const Config& c) { return Texts{c.input.rank_from_name ? "name" : "content"}; };

  Option mode = described("--profile-mode", "profile_mode", "NAME",
                          "only 'torch' or 'nsys' traces; default auto: all, torch first");
  mode.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.input.profile_mode = to_choice(what, t.back(), {"torch", "nsys", "auto"});
  };
  mode.get = [](const Config& c) { return Texts{c.input.profile_mode}; };

  return {
      folders,
      job,
      integers_option(described("--iteration", "iteration", "N", "only these iteration folders"), -1, INT32_MAX,
                      [](Config& c) -> auto& { return c.input.iterations; }),
      integers_option(described("--step", "step", "N", "only these steps (ProfilerStep#N)"), 0, INT64_MAX,
                      [](Config& c) -> auto& { return c.input.steps; }),
      text_option(described("--run", "run", "NAME", "which run: parent of iteration_<n>, or of folders with the same ranks"),
                  [](Config& c) -> auto& { return c.input.run; }),
      flag_option(described("--each-run", "each_run", "", "analyse every run, each into its own <stem>.<run>.h5"),
                  [](Config& c) -> auto& { return c.input.each_run; }),
      mode,
      flag_option(described("--nsys-export", "nsys_export", "",
                            "export .nsys-rep files first with nsys (on PATH), each beside itself"),
                  [](Config& c) -> auto& { return c.input.nsys_export; }),
      regex,
      rank_from,
      text_option(as_path(described("--host-map", "host_map", "FILE", "lines 'rank host': where each rank ran")),
                  [](Config& c) -> auto& { return c.input.host_map; }),
      text_option(as_path(described("--card", "card", "FILE",
                                    "workload card (YAML, see jobs/README.md); default: beside the traces")),
                  [](Config& c) -> auto& { return c.input.card; }),
      text_option(as_path(described("--config", "config", "FILE", "TorchTitan TOML or card of the training run")),
                  [](Config& c) -> auto& { return c.input.training_config; }),
      text_option(as_path(described("--megatron-args", "megatron_args", "FILE|TEXT",
                                    "Megatron's run script or log, or its arguments: '--name value ...'")),
                  [](Config& c) -> auto& { return c.input.megatron_args; }),
  };
}

std::vector<Option> analysis_options() {
  Option metric = as_list(described("-m,--metric", "metrics", "NAME",
                                    "only these metrics are computed, printed and written"));
  metric.set = set_metrics;
  metric.get = [](const Config& c) { return c.metrics; };

  Option settings = as_list(as_path(described("--settings", "settings", "FILE",
                                              "YAML laid over the built-in configs/, key by key")));
  // The command line's files come after the job's and so win over them.
  settings.set = [](Request& r, const std::string&, const Texts& t) {
    r.config.settings_files.insert(r.config.settings_files.end(), t.begin(), t.end());
  };
  settings.get = [](const Config& c) { return c.settings_files; };

  Option bins = described("--timeline-bins", "timeline_bins", "N", "time bins of the global timeline; default 1000");
  bins.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.timeline_bins = to_integer(what, t.back(), 1, 1'000'000);
  };
  bins.get = [](const Config& c) { return Texts{std::to_string(c.timeline_bins)}; };

  const auto edge = [](const char* flags, const char* key, const char* help, std::string Config::*member) {
    Option option = described(flags, key, "EDGE", help);
    option.set = [member](Request& r, const std::string& what, const Texts& t) {
      if (!is_window_edge(t.back())) throw bad_request(what + " " + t.back(), "is no nanoseconds, chunk or step:N");
      r.config.*member = t.back();
    };
    option.get = [member](const Config& c) {
      return (c.*member).empty() ? Texts{} : Texts{c.*member};
    };
    return option;
  };

  Option inflate = described("--inflate-limit", "inflate_limit", "N",
                             "cut gzip text above N times the file and 256 MB; default 200, 0 never");
  inflate.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.inflate_limit = to_integer(what, t.back(), 0, 1'000'000);
  };
  inflate.get = [](const Config& c) { return Texts{std::to_string(c.inflate_limit)}; };

  Option limit = described("--time-limit", "time_limit", "TIME",
                           "after 90s, 10m, 1h or HH:MM:SS write what is there (exit 4)");
  limit.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.time_limit_s = to_seconds(what, t.back());
  };
  limit.get = [](const Config& c) {
    return c.time_limit_s > 0 ? Texts{std::to_string(c.time_limit_s) + "s"} : Texts{};
  };

  Option peak = as_list(described("--peak", "peaks", "NAME=VALUE",
                                  "a peak of the hardware, such as bf16_flops_per_s=312e12"));
  peak.set = set_peaks;
  peak.get = [](const Config& c) {
    Texts texts;
    for (const auto& [name, value] : c.peaks) texts.push_back(name + "=" + number_text(value));
    return texts;
  };

  Option convention = described("--mfu-convention", "mfu_convention", "NAME",
                                "how MFU counts FLOP: torchtitan, palm or megatron; default torchtitan");
  convention.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.mfu_convention = to_choice(what, t.back(), {"torchtitan", "palm", "megatron"});
  };
  convention.get = [](const Config& c) { return Texts{c.mfu_convention}; };

  Option ideal = described("--what-if-ideal", "what_if_ideal", "FORM",
                           "ideal times of what_if: median or mean over peers; default median");
  ideal.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.what_if_ideal = to_choice(what, t.back(), {"median", "mean"});
  };
  ideal.get = [](const Config& c) { return Texts{c.what_if_ideal}; };

  return {metric, settings, bins, ideal,
          edge("--start", "start", "window of stage_overlap, stream_roles, timeline: ns, chunk, step:N",
               &Config::window_start),
          edge("--end", "end", "end of that window", &Config::window_end), limit, inflate, peak, convention,
          flag_option(described("--strict", "strict", "", "exit 3 if any input was lost or unusable"),
                      [](Config& c) -> auto& { return c.strict; })};
}

std::vector<Option> output_options() {
  Option quiet = flag_option(described("-q,--quiet", "", "", "no progress on stderr"),
                             [](Config& c) -> auto& { return c.output.quiet; });
  quiet.get = {};
  Option timeline = text_option(as_path(described("--timeline-json", "output.timeline_json", "FILE.json.gz",
                                                  "also the timeline for Perfetto or chrome://tracing; see --start")),
                                [](Config& c) -> auto& { return c.timeline_export.file; });
  Option alignment = described("--timeline-align", "output.timeline_align", "NAME",
                               "its clock: global (corrected), or individual (each rank from 0)");
  alignment.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.timeline_export.alignment = to_choice(what, t.back(), {"global", "individual"});
  };
  alignment.get = [](const Config& c) { return Texts{c.timeline_export.alignment}; };
  Option merge = described("--timeline-merge-ns", "output.timeline_merge_ns", "NS",
                           "neighbours shorter than this become one slice; default 1000, 0: none");
  merge.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.timeline_export.merge_below_ns = to_integer(what, t.back(), 0, INT64_MAX);
  };
  merge.get = [](const Config& c) { return Texts{std::to_string(c.timeline_export.merge_below_ns)}; };
  return {text_option(as_path(described("-o,--output", "output.hdf5", "FILE",
                                        "the HDF5 file; default ccl-analyze.h5, an older result is replaced")),
                      [](Config& c) -> auto& { return c.output.hdf5; }),
          text_option(as_path(described("--report-dir", "output.report_dir", "DIR",
                                        "also write a text report there, its name made of time, model and mesh")),
                      [](Config& c) -> auto& { return c.output.report_dir; }),
          flag_option(described("--output-json", "output.json", "", "print JSON instead of the page"),
                      [](Config& c) -> auto& { return c.output.json; }),
          flag_option(described("--events", "output.events", "",
                                "also every GPU event with phase, category and micro-batch, as /events"),
                      [](Config& c) -> auto& { return c.output.events; }),
          timeline, alignment,
          integers_option(described("--timeline-ranks", "output.timeline_ranks", "RANK", "only these ranks in it"), 0,
                          INT32_MAX, [](Config& c) -> auto& { return c.timeline_export.ranks; }),
          merge,
          flag_option(described("--incomplete-groups", "output.incomplete_groups", "",
                                "in it also model replicas of which ranks are missing"),
                      [](Config& c) -> auto& { return c.timeline_export.incomplete_groups; }),
          flag_option(described("--members", "output.members", "",
                                "/collectives/members even above 20 million rows"),
                      [](Config& c) -> auto& { return c.output.members; }),
          flag_option(described("--timings", "output.timings", "", "seconds per stage and peak memory, on stderr"),
                      [](Config& c) -> auto& { return c.output.timings; }),
          quiet};
}

std::vector<Option> about_options() {
  Option hash = as_path(described("--content-hash", "", "FILE", "SHA-256 of what an HDF5 file of ours says"));
  hash.set = [](Request& r, const std::string&, const Texts& t) {
    r.action = Action::content_hash;
    r.hash_file = t.back();
  };
  return {action_option(described("-h,--help", "", "", "this text"), Action::help),
          action_option(described("--version", "", "", "name and version"), Action::version),
          action_option(described("--list-metrics", "", "", "every metric: question, needs, definition"),
                        Action::list_metrics),
          action_option(described("--dump-config", "", "", "print this request as a job file"), Action::dump_config),
          hash};
}

}  // namespace

std::string Option::name() const { return flags.substr(flags.find("--") + 2); }

const std::vector<Option>& options() {
  static const std::vector<Option> table = [] {
    const std::pair<const char*, std::vector<Option>> groups[] = {{"Input", input_options()},
                                                                  {"Analysis", analysis_options()},
                                                                  {"Output", output_options()},
                                                                  {"About", about_options()}};
    std::vector<Option> all;
    for (const auto& [group, part] : groups)
      for (Option option : part) {
        option.group = group;
        all.push_back(option);
      }
    return all;
  }();
  return table;
}

}  // namespace ccl
