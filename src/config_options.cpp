#include "config_options.hpp"

#include <algorithm>

#include "config_values.hpp"
#include "metrics/all_metrics.hpp"

namespace ccl {
namespace {

using Texts = std::vector<std::string>;
using Shape = OptionShape;
using Value = OptionValue;

// How the members of Config are set and shown. Member<T> is a function that finds one in a Config.
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
  option.set = [find](Request& r, const std::string& what, const Texts& t) { find(r.config) = to_bool(what, t.back()); };
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

void set_metrics(Request& request, const std::string&, const Texts& texts) {
  request.config.metrics.clear();
  for (const std::string& text : texts) {
    const std::string name = start_metrics({text}).front()->info().name;
    auto& chosen = request.config.metrics;
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.push_back(name);
  }
}

std::vector<Option> input_options() {
  std::vector<Option> all;
  Option folders{"Input", "--trace", "input", "DIR", "trace folder or file, same as writing DIR without an option",
                 Shape::list, Value::path, {}, {}};
  folders.set = [](Request& r, const std::string&, const Texts& t) { r.config.input.folders = t; };
  folders.get = [](const Config& c) { return c.input.folders; };
  all.push_back(folders);
  all.push_back(text_option({"Input", "--job", "", "FILE.yaml", "job file; what the command line says wins over it",
                             Shape::single, Value::path, {}, {}},
                            [](Config& c) -> auto& { return c.job_file; }));
  all.back().get = {};
  all.push_back(integers_option({"Input", "--iteration", "iteration", "N", "only these iteration folders", {}, {}, {}, {}},
                                -1, INT32_MAX, [](Config& c) -> auto& { return c.input.iterations; }));
  all.push_back(integers_option({"Input", "--step", "step", "N", "only these steps (ProfilerStep#N)", {}, {}, {}, {}},
                                0, INT64_MAX, [](Config& c) -> auto& { return c.input.steps; }));
  all.push_back(text_option({"Input", "--run", "run", "NAME", "which run, if the folder holds several", {}, {}, {}, {}},
                            [](Config& c) -> auto& { return c.input.run; }));
  all.push_back(flag_option({"Input", "--each-run", "each_run", "", "analyse every run, each into its own <stem>.<run>.h5",
                             {}, {}, {}, {}},
                            [](Config& c) -> auto& { return c.input.each_run; }));
  Option regex = text_option({"Input", "--rank-regex", "rank_regex", "RE",
                              "rank = first capture group in the file's path, if the content has none", {}, {}, {}, {}},
                             [](Config& c) -> auto& { return c.input.rank_regex; });
  regex.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.input.rank_regex = to_capturing_regex(what, t.back());
  };
  all.push_back(regex);
  Option rank_from{"Input", "--rank-from", "rank_from", "content|name", "which is asked first for the rank of a file",
                   Shape::single, Value::text, {}, {}};
  rank_from.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.input.rank_from_name = to_choice(what, t.back(), {"content", "name"}) == "name";
  };
  rank_from.get = [](const Config& c) { return Texts{c.input.rank_from_name ? "name" : "content"}; };
  all.push_back(rank_from);
  all.push_back(text_option({"Input", "--host-map", "host_map", "FILE", "lines 'rank host': where each rank ran", {},
                             Value::path, {}, {}},
                            [](Config& c) -> auto& { return c.input.host_map; }));
  all.push_back(text_option({"Input", "--card", "card", "FILE", "workload card (YAML); default: the one beside the traces",
                             {}, Value::path, {}, {}},
                            [](Config& c) -> auto& { return c.input.card; }));
  all.push_back(text_option({"Input", "--config", "config", "FILE",
                             "TorchTitan TOML or workload card of the training run", {}, Value::path, {}, {}},
                            [](Config& c) -> auto& { return c.input.training_config; }));
  return all;
}

std::vector<Option> analysis_options() {
  std::vector<Option> all;
  Option metric{"Analysis", "-m,--metric", "metrics", "NAME", "only these metrics are computed, printed and written",
                Shape::list, Value::text, set_metrics, [](const Config& c) { return c.metrics; }};
  all.push_back(metric);
  Option settings{"Analysis", "--settings", "settings", "FILE", "YAML laid over the built-in configs/, key by key",
                  Shape::list, Value::path, {}, {}};
  // The command line's files come after the job's and so win over them.
  settings.set = [](Request& r, const std::string&, const Texts& t) {
    r.config.settings_files.insert(r.config.settings_files.end(), t.begin(), t.end());
  };
  settings.get = [](const Config& c) { return c.settings_files; };
  all.push_back(settings);
  Option bins{"Analysis", "--timeline-bins", "timeline_bins", "N", "time bins of the global timeline",
              Shape::single, Value::text, {}, {}};
  bins.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.timeline_bins = to_integer(what, t.back(), 1, 1'000'000);
  };
  bins.get = [](const Config& c) { return Texts{std::to_string(c.timeline_bins)}; };
  all.push_back(bins);
  Option limit{"Analysis", "--time-limit", "time_limit", "TIME",
               "after 90s, 10m, 1h or HH:MM:SS write what is there (exit 4)",
               Shape::single, Value::text, {}, {}};
  limit.set = [](Request& r, const std::string& what, const Texts& t) {
    r.config.time_limit_s = to_seconds(what, t.back());
  };
  limit.get = [](const Config& c) {
    return c.time_limit_s > 0 ? Texts{std::to_string(c.time_limit_s) + "s"} : Texts{};
  };
  all.push_back(limit);
  all.push_back(flag_option({"Analysis", "--strict", "strict", "", "exit 3 if any input was lost or unusable", {}, {}, {}, {}},
                            [](Config& c) -> auto& { return c.strict; }));
  return all;
}

std::vector<Option> output_options() {
  std::vector<Option> all;
  all.push_back(text_option({"Output", "-o,--output", "output.hdf5", "FILE", "the HDF5 file; default ccl-analyze.h5", {},
                             Value::path, {}, {}},
                            [](Config& c) -> auto& { return c.output.hdf5; }));
  all.push_back(flag_option({"Output", "--output-json", "output.json", "", "print JSON instead of the page", {}, {}, {}, {}},
                            [](Config& c) -> auto& { return c.output.json; }));
  all.push_back(flag_option({"Output", "--timings", "output.timings", "", "seconds per stage and peak memory, on stderr", {}, {}, {}, {}},
                            [](Config& c) -> auto& { return c.output.timings; }));
  all.push_back(flag_option({"Output", "-q,--quiet", "", "", "no progress on stderr", {}, {}, {}, {}},
                            [](Config& c) -> auto& { return c.output.quiet; }));
  all.back().get = {};
  return all;
}

std::vector<Option> about_options() {
  std::vector<Option> all;
  all.push_back(action_option({"About", "-h,--help", "", "", "this text", {}, {}, {}, {}}, Action::help));
  all.push_back(action_option({"About", "--version", "", "", "name and version", {}, {}, {}, {}}, Action::version));
  all.push_back(action_option({"About", "--list-metrics", "", "", "every metric: question, needs, definition", {}, {}, {}, {}},
                              Action::list_metrics));
  all.push_back(action_option({"About", "--dump-config", "", "", "print this request as a job file", {}, {}, {}, {}},
                              Action::dump_config));
  Option hash{"About", "--content-hash", "", "FILE", "SHA-256 of what an HDF5 file of ours says",
              Shape::single, Value::path, {}, {}};
  hash.set = [](Request& r, const std::string&, const Texts& t) {
    r.action = Action::content_hash;
    r.hash_file = t.back();
  };
  all.push_back(hash);
  return all;
}

}  // namespace

std::string Option::name() const { return flags.substr(flags.find("--") + 2); }

const std::vector<Option>& options() {
  static const std::vector<Option> table = [] {
    std::vector<Option> all;
    for (const auto& part : {input_options(), analysis_options(), output_options(), about_options()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return table;
}

}  // namespace ccl
