#include "config/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "config/job.hpp"
#include "config/values.hpp"

namespace ccl {
namespace {

struct Given {
  const Option* option = nullptr;
  CLI::Option* parsed = nullptr;
  std::vector<std::string> texts;
  bool flag = false;
};

std::string without_value(const std::string& arg) { return arg.substr(0, arg.find('=')); }

FatalError unknown_option(const std::string& arg) {
  std::vector<std::string> known;
  for (const Option& option : options()) known.push_back("--" + option.name());
  const std::string word = without_value(arg);
  return bad_request("option " + word, "no such option", did_you_mean(word, known, "See --help."));
}

// CLI11's texts name the option somewhere: "--run: 1 required TEXT missing".
FatalError translated(const CLI::ParseError& error) {
  const std::string text = error.what();
  const Option* named = nullptr;
  for (const Option& option : options()) {
    const bool longer = named == nullptr || option.name().size() > named->name().size();
    if (longer && text.find("--" + option.name()) != std::string::npos) named = &option;
  }
  if (named == nullptr) return bad_request("command line", text, "See --help.");
  return bad_request("option --" + named->name(), "needs a value: " + named->value_name);
}

void declare(CLI::App& app, Given& given) {
  const Option& option = *given.option;
  if (option.shape == OptionShape::flag) {
    given.parsed = app.add_flag(option.flags, given.flag, option.help);
    return;
  }
  // One value each time the option is written, so that a folder after it is never swallowed.
  given.parsed = app.add_option(option.flags, given.texts, option.help)->take_all()->expected(1);
  given.parsed->allow_extra_args(false);
}

/// Nothing would be passed over in silence: an empty value is mostly a variable that is not set.
void check_values(const Given& given) {
  const Option& option = *given.option;
  const std::string what = "--" + option.name();
  const bool list = option.shape == OptionShape::list;
  for (const std::string& text : given.texts)
    if (text.empty() || (list && option.value == OptionValue::text && split_commas({text}).empty()))
      throw bad_request(what + " '" + text + "'", "the value is empty",
                        "Write " + what + " " + option.value_name + ", or leave it out.");
  if (list || given.texts.size() < 2) return;
  throw bad_request(what, "given twice: " + given.texts.front() + " and " + given.texts.back(), "Give one.");
}

void apply(const Given& given, Request& request) {
  const std::string what = "--" + given.option->name();
  if (given.option->shape == OptionShape::flag)
    given.option->set(request, what, {given.flag ? "true" : "false"});
  else if (given.option->shape == OptionShape::list && given.option->value == OptionValue::text)
    given.option->set(request, what, split_commas(given.texts));
  else
    given.option->set(request, what, given.texts);
}

void check_together(const Request& request) {
  const Config& config = request.config;
  if (request.action == Action::content_hash && !config.input.folders.empty())
    throw bad_request("--content-hash " + request.hash_file, "takes one file, and " + config.input.folders.back() + " is given too");
  if (request.action != Action::analyze && request.action != Action::dump_config) return;
  if (config.input.each_run && !config.input.run.empty())
    throw bad_request("--run and --each-run", "only one of them can be meant");
  if (request.action == Action::analyze && config.input.folders.empty())
    throw bad_request("no trace folder", "nothing to analyse", "Write ccl-analyze DIR, or see --help.");
}

}  // namespace

Request read_request(const std::vector<std::string>& args) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<Given> all(options().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].option = &options()[i];
    declare(app, all[i]);
  }
  std::vector<std::string> flags;
  for (const Option& option : options())
    if (option.shape == OptionShape::flag) flags.push_back("--" + option.name());
  refuse_flag_values(args, flags);
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::ParseError& error) {
    throw translated(error);
  }
  Request request;
  std::vector<std::string> folders;
  bool options_ended = false;
  for (const std::string& rest : app.remaining()) {
    if (!options_ended && rest == "--") {
      options_ended = true;
    } else if (!options_ended && rest.size() > 1 && rest.front() == '-') {
      throw unknown_option(rest);
    } else {
      folders.push_back(rest);
    }
  }
  for (const Given& given : all) check_values(given);
  for (const std::string& folder : folders)
    if (folder.empty()) throw bad_request("folder ''", "the name is empty");
  for (const Given& given : all)
    if (given.option->name() == "job" && given.parsed->count() > 0) read_job(given.texts.back(), request);
  for (Given& given : all) {
    if (given.option->name() == "trace") given.texts.insert(given.texts.begin(), folders.begin(), folders.end());
    if (given.parsed->count() > 0 || !given.texts.empty()) apply(given, request);
  }
  check_together(request);
  return request;
}

}  // namespace ccl
