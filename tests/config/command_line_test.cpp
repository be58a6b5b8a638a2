#include "config/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <sstream>

#include "config/job.hpp"
#include "metrics/all_metrics.hpp"
#include "support/scratch_folder.hpp"

namespace ccl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Config config_of(const std::vector<std::string>& args) { return read_request(args).config; }

std::string refusal(const std::vector<std::string>& args) {
  try {
    read_request(args);
  } catch (const FatalError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "one line";
    return error.what();
  }
  return "accepted";
}

TEST(CommandLine, FoldersStandAloneOrBehindTrace) {
  EXPECT_THAT(config_of({"a", "b"}).input.folders, ElementsAre("a", "b"));
  EXPECT_THAT(config_of({"--trace", "c", "a"}).input.folders, ElementsAre("a", "c"));
  EXPECT_THAT(config_of({"--", "-odd"}).input.folders, ElementsAre("-odd"));
}

TEST(CommandLine, AListOptionDoesNotSwallowTheFolderAfterIt) {
  const Config config = config_of({"--iteration", "10", "--step", "3,4", "--step", "7", "traces"});
  EXPECT_THAT(config.input.iterations, ElementsAre(10));
  EXPECT_THAT(config.input.steps, ElementsAre(3, 4, 7));
  EXPECT_THAT(config.input.folders, ElementsAre("traces"));
  EXPECT_THAT(config_of({"--iteration", "-1", "d"}).input.iterations, ElementsAre(-1));
}

TEST(CommandLine, EveryWayToWriteAnOption) {
  EXPECT_EQ(config_of({"d", "-o", "x.h5"}).output.hdf5, "x.h5");
  EXPECT_EQ(config_of({"d", "--output=x.h5"}).output.hdf5, "x.h5");
  EXPECT_EQ(config_of({"d", "--output", "x.h5"}).output.hdf5, "x.h5");
  EXPECT_TRUE(config_of({"d", "--strict", "--output-json", "-q"}).strict);
}

TEST(CommandLine, DefaultsAreWhatTheHelpSays) {
  const Config config = config_of({"d"});
  EXPECT_EQ(config.output.hdf5, "ccl-analyze.h5");
  EXPECT_TRUE(config.metrics.empty());
  EXPECT_FALSE(config.strict || config.output.json || config.input.each_run || config.input.rank_from_name);
}

TEST(CommandLine, MetricNamesAreCanonicalAndOnlyOnce) {
  EXPECT_THAT(config_of({"d", "--metric", "AVG_step_time,iter_time"}).metrics, ElementsAre("iter_time"));
  EXPECT_THAT(refusal({"d", "--metric", "iter_tim"}), HasSubstr("Did you mean 'iter_time'?"));
}

TEST(CommandLine, EveryMistakeIsOneLineWithASuggestion) {
  EXPECT_EQ(refusal({"d", "--metrc", "x"}), "option --metrc (no such option). Did you mean '--metric'?");
  for (const char* value : {"maybe", "2", "true", ""})
    EXPECT_EQ(refusal({"d", std::string("--strict=") + value}), "option --strict (takes no value)");
  EXPECT_EQ(refusal({"--help=3"}), "option --help (takes no value)");
  EXPECT_EQ(refusal({"d", "-o=x.h5"}), "option -o=x.h5 (takes its value without '='). Write -o x.h5.");
  EXPECT_EQ(refusal({"d", "-z"}), "option -z (no such option). See --help.");
  EXPECT_EQ(refusal({"d", "--run"}), "option --run (needs a value: NAME)");
  EXPECT_EQ(refusal({}), "no trace folder (nothing to analyse). Write ccl-analyze DIR, or see --help.");
  EXPECT_EQ(refusal({"d", "--metric", ""}), "--metric '' (the value is empty). Write --metric NAME, or leave it out.");
  for (const char* option : {"--step", "--card", "--host-map", "--run", "--output", "--job", "--trace", "--config"})
    EXPECT_THAT(refusal({"d", option, ""}), HasSubstr(std::string(option) + " '' (the value is empty)")) << option;
  EXPECT_EQ(refusal({"d", "--output", "x.h5", "-o", "y.h5"}), "--output (given twice: x.h5 and y.h5). Give one.");
  EXPECT_EQ(config_of({"d", "--step", "4", "--step", "5"}).input.steps, (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(refusal({"--content-hash", "a.h5", "b.h5"}), "--content-hash a.h5 (takes one file, and b.h5 is given too)");
  EXPECT_EQ(refusal({"d", "--metric", ","}), "--metric ',' (the value is empty). Write --metric NAME, or leave it out.");
  EXPECT_EQ(refusal({"d", "--step", "x"}), "--step 'x' (not a whole number)");
  EXPECT_THAT(refusal({"d", "--timeline-bins", "0"}), HasSubstr("must be from 1"));
  EXPECT_THAT(refusal({"d", "--rank-from", "nme"}), HasSubstr("Did you mean 'name'?"));
  EXPECT_THAT(refusal({"d", "--run", "a", "--each-run"}), HasSubstr("only one of them"));
  EXPECT_THAT(refusal({"--job", "/nowhere/job.yaml"}), HasSubstr("no such file"));
}

TEST(CommandLine, ActionsThatNeedNoTraces) {
  EXPECT_EQ(read_request({"--help"}).action, Action::help);
  EXPECT_EQ(read_request({"-h"}).action, Action::help);
  EXPECT_EQ(read_request({"--version"}).action, Action::version);
  EXPECT_EQ(read_request({"--list-metrics"}).action, Action::list_metrics);
  EXPECT_EQ(read_request({"--dump-config"}).action, Action::dump_config);
  EXPECT_EQ(read_request({"--content-hash", "f.h5"}).hash_file, "f.h5");
}

TEST(CommandLine, ListsOfOptionsAndMetricsHaveNoBlanksAtTheEndsOfLines) {
  for (const std::string& text : {metric_list_text(), help_text()}) EXPECT_EQ(text.find(" \n"), std::string::npos);
}

TEST(CommandLine, HelpNamesTheListsWhoseValuesCommasDoNotSeparate) {
  std::string kept;
  for (const Option& option : options())
    if (option.shape == OptionShape::list && option.value == OptionValue::path)
      kept += (kept.empty() ? "--" : " and --") + option.name();
  EXPECT_THAT(help_text(), testing::HasSubstr("(all but " + kept + ") their values separated by commas"));
}

TEST(CommandLine, HelpShowsEveryOptionWithinHundredColumns) {
  const std::string help = help_text();
  for (const Option& option : options()) EXPECT_THAT(help, HasSubstr("--" + option.name()));
  for (std::size_t from = 0; from < help.size();) {
    const std::size_t to = help.find('\n', from);
    EXPECT_LE(to - from, 100u) << help.substr(from, to - from);
    from = to + 1;
  }
}

TEST(CommandLine, ListedMetricsSayWhatTheyAnswerAndNeed) {
  const std::string text = metric_list_text();
  EXPECT_THAT(text, ::testing::StartsWith("  [unit]: as the page writes"));
  EXPECT_THAT(text, HasSubstr("\n\nstraggler_lag [us]\n"));
  for (const MetricInfo& info : metric_list()) {
    EXPECT_THAT(text, HasSubstr(info.name));
    for (const std::string& alias : info.aliases) EXPECT_THAT(text, HasSubstr(alias));
    EXPECT_FALSE(info.question.empty() || info.definition.empty() || info.needs.empty()) << info.name;
  }
}

TEST(CommandLine, LinesOfListedMetricsThatBeginWithALetterBeginWithTheirNames) {
  std::vector<std::string> named, all;
  std::istringstream lines(metric_list_text());
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && std::isalnum(static_cast<unsigned char>(line[0]))) named.push_back(line.substr(0, line.find(' ')));
  for (const MetricInfo& info : metric_list()) all.push_back(info.name);
  EXPECT_THAT(named, ::testing::UnorderedElementsAreArray(all));
}

class JobFile : public ::testing::Test {
 protected:
  test::ScratchFolder folder;
  std::string job(const std::string& text) { return folder.write("job.yaml", text); }
};

TEST_F(JobFile, SaysEverythingThatTheCommandLineSays) {
  const Config config = config_of({"--job", job(R"(
input: [traces, /abs/more]
run: seven
iteration: [10, 20]
step: 3
card: card.yaml
config: train.toml
settings: mine.yaml
metrics: [iter_time]
output:
  hdf5: out/x.h5
  json: true
strict: true
timeline_bins: 50
time_limit: 10m
)")});
  EXPECT_THAT(config.input.folders, ElementsAre(folder.path("traces"), "/abs/more"));
  EXPECT_EQ(config.input.run, "seven");
  EXPECT_THAT(config.input.iterations, ElementsAre(10, 20));
  EXPECT_THAT(config.input.steps, ElementsAre(3));
  EXPECT_EQ(config.input.card, folder.path("card.yaml"));
  EXPECT_EQ(config.input.training_config, folder.path("train.toml"));
  EXPECT_THAT(config.settings_files, ElementsAre(folder.path("mine.yaml")));
  EXPECT_THAT(config.metrics, ElementsAre("iter_time"));
  EXPECT_EQ(config.output.hdf5, folder.path("out/x.h5"));
  EXPECT_TRUE(config.output.json && config.strict);
  EXPECT_EQ(config.timeline_bins, 50);
  EXPECT_EQ(config.time_limit_s, 600);
}

TEST_F(JobFile, MegatronArgumentsAreAFileBesideTheJobOrTheText) {
  EXPECT_EQ(config_of({"--job", job("{input: d, megatron_args: run.sh}")}).input.megatron_args, folder.path("run.sh"));
  const std::string text = "--tensor-model-parallel-size 2";
  EXPECT_EQ(config_of({"--job", job("{input: d, megatron_args: \"" + text + "\"}")}).input.megatron_args, text);
  EXPECT_EQ(config_of({"d", "--megatron-args=" + text}).input.megatron_args, text);
}

TEST_F(JobFile, CommandLineWinsAndItsSettingsComeLast) {
  const std::string path = job("{input: traces, run: a, iteration: [1, 2], settings: a.yaml, output: {hdf5: a.h5}}");
  const Config config = config_of({"other", "--iteration", "5", "--settings", "b.yaml", "--job", path, "-o", "b.h5"});
  EXPECT_THAT(config.input.folders, ElementsAre("other"));
  EXPECT_EQ(config.input.run, "a");
  EXPECT_THAT(config.input.iterations, ElementsAre(5));
  EXPECT_THAT(config.settings_files, ElementsAre(folder.path("a.yaml"), "b.yaml"));
  EXPECT_EQ(config.output.hdf5, "b.h5");
}

TEST_F(JobFile, MistakesNameFileLineAndKey) {
  const auto refused = [&](const std::string& text) { return refusal({"--job", job(text)}); };
  EXPECT_THAT(refused("input: d\nmetrcs: [x]\n"),
              AllOf(HasSubstr("job.yaml:2: key 'metrcs'"), EndsWith("Did you mean 'metrics'?")));
  EXPECT_THAT(refused("output: {hdf: x}"), EndsWith("Did you mean 'output.hdf5'?"));
  EXPECT_THAT(refused("input: d\ninput: e\n"), HasSubstr("given twice"));
  EXPECT_THAT(refused("run: [a, b]"), HasSubstr("takes one value"));
  EXPECT_THAT(refused("output: x.h5"), HasSubstr("must hold keys"));
  EXPECT_THAT(refused("input: {a: b}"), HasSubstr("must be a plain value"));
  EXPECT_THAT(refused("strict: perhaps"), HasSubstr("must be true or false"));
  EXPECT_THAT(refused("iteration: ten"), HasSubstr("iteration 'ten' (not a whole number)"));
  EXPECT_THAT(refused("metrics: iter_tme"), AllOf(HasSubstr("job.yaml:1: "), HasSubstr("Did you mean 'iter_time'?")));
  EXPECT_THAT(refused("input: [a"), HasSubstr("not YAML"));
  for (const char* key : {"host_map", "run", "card", "config", "megatron_args", "metrics", "input", "strict"})
    EXPECT_THAT(refused(std::string(key) + ": ''"),
                EndsWith(std::string(key) + " '' (the value is empty). Write a value, or leave the key out."));
  EXPECT_THAT(refused("input: [d, '']"), HasSubstr("input '' (the value is empty)"));
  EXPECT_THAT(refused("- a\n- b\n"), HasSubstr("must be a mapping"));
  EXPECT_THAT(refused("\x01\xff\xfe"), Not(HasSubstr("accepted")));
}

TEST_F(JobFile, DumpedRequestAsksForTheSame) {
  const Config config = config_of({"/abs/traces", "--iteration", "5,6", "--strict", "--metric", "iter_time",
                                   "--rank-regex", R"(r: "(\d+)')", "--rank-from", "name", "-o", "/abs/o.h5",
                                   "--time-limit", "90"});
  const std::string text = job_text(config);
  const Config again = config_of({"--job", job(text)});
  EXPECT_EQ(job_text(again), text);
  EXPECT_EQ(again.input.rank_regex, config.input.rank_regex);
  EXPECT_EQ(again.input.iterations, config.input.iterations);
  EXPECT_TRUE(again.input.rank_from_name && again.strict);
}

TEST_F(JobFile, DumpedRequestHoldsEveryKey) {
  const std::string text = job_text(config_of({"/abs/traces"}));
  for (const Option& option : options()) {
    if (option.job_key.empty()) continue;
    const std::string key = option.job_key.substr(option.job_key.find('.') + 1);
    EXPECT_NE(("\n" + text).find((option.job_key == key ? "\n" : "\n  ") + key + ":"), std::string::npos) << option.job_key;
  }
  EXPECT_EQ(job_text(config_of({"--job", job(text)})), text);
  EXPECT_TRUE(config_of({"--job", job(text)}).input.card.empty());
}

}  // namespace
}  // namespace ccl
