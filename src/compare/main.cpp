// ccl-compare: result files of ccl-analyze side by side. Needs no MPI start. Prints; exit codes 0 within bounds, 1 the
// result could not be written, 2 bad request or not comparable (also a bound that cannot be judged), 5 a --fail-if bound
// was broken.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <exception>

#include "compare/show.hpp"
#include "config/check.hpp"
#include "config/values.hpp"
#include "progress_line.hpp"
#include "standard_output.hpp"
#include "store/replaced_files.hpp"

namespace {

using namespace ccl;

constexpr const char* usage =
    "ccl-compare FIRST.h5 SECOND.h5 [MORE.h5 ...]: what changed between runs, beyond the noise from step to step.\n"
    "Every file is compared with the first.\n\n"
    "Options\n"
    "  -m, --metric NAME        only figures of these metrics (repeatable, comma-separated)\n"
    "  -f, --fail-if BOUND      exit 5 if broken, 2 if the ranks that it is about are lost (repeatable):\n"
    "                           'iter_time>+3%', 'mfu<-2%' bound the change and yield to noise,\n"
    "                           'iter_time>-10%' asks for a gain. N% is of the first value, also\n"
    "                           where that is a share: 'mfu<-2%' is broken by 40 % -> 39.1 %, a loss of 2 points\n"
    "                           is 'mfu<-2pt' (40 % -> 37.9 %). Without a sign: 'iter_time>250ms',\n"
    "                           'gpu_utilization<80%', 'what_if>1.05' (a factor), 'coll_call_num.calls_count>40'\n"
    "                           bound the value: times, sizes and rates of bytes with their unit (ns us ms s,\n"
    "                           B kB MB GB, B/s ... GB/s), tokens/s also without, a share in % or below 1;\n"
    "                           'new_straggler': a rank is late that was not in the first run, also if only in\n"
    "                           the last steps, which move no median;\n"
    "                           METRIC is that of a row as listed below; METRIC.COLUMN names another column of\n"
    "                           /metrics/METRIC/rows\n"
    "      --top N              changed rows shown per section; default 10\n"
    "      --force              compare runs of another model, batch or window nevertheless\n"
    "      --output-json        JSON instead of the page\n"
    "  -o, --output FILE        also write the comparison as HDF5\n"
    "      --version, -h, --help\n\n"
    "A value is the median over steps (of kernels: over ranks); also bytes and times by rank, dimension and group are of\n"
    "one step. Noise is the half-width of the 95 % interval of the difference, from the scatter of the steps; a\n"
    "difference inside it is no significant change ('='). From 10 times the first value on, a change is written 'x 279'\n"
    "(the second value is 279 times the first) and noise '11.7 x' (of the first value).\n\n"
    "Examples\n"
    "  ccl-compare before.h5 after.h5\n"
    "  ccl-compare baseline.h5 nightly.h5 --fail-if 'iter_time>+3%' --fail-if new_straggler   # a gate in a pipeline\n"
    "  ccl-compare nccl-2.19.h5 nccl-2.21.h5 nccl-2.23.h5 --metric communication,bandwidth -o nccl.h5\n";

/// "  iter_time                            step time, slowest rank", a line per row of the page.
std::string names_of_rows() {
  std::string text = "\nRows of the page as --fail-if names them\n";
  for (const Figure& figure : key_figures()) {
    const std::string name = bound_name(figure);
    text += "  " + name + std::string(name.size() < 38 ? 38 - name.size() : 1, ' ') + figure.label + "\n";
  }
  return text;
}

void complain(const std::string& message) {
  const std::string line = printable("ccl-compare: " + message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

struct Asked {
  bool help = false, version = false;
  CompareRequest request;
};

void refuse_two(const std::string& option, const std::vector<std::string>& given) {
  if (given.size() > 1) throw bad_request(option, "given twice: " + given.front() + " and " + given.back(), "Give one.");
}

Asked read_request(int argc, char** argv) {
  Asked asked;
  std::vector<std::string> metrics, bounds, tops, outputs;
  CLI::App app;
  app.set_help_flag();
  const std::vector<std::string> known{"--metric",      "--fail-if", "--top",  "--force",
                                       "--output-json", "--output",  "--help", "--version"};
  app.add_option("files", asked.request.files);
  for (CLI::Option* repeated : {app.add_option("-m,--metric", metrics), app.add_option("-f,--fail-if", bounds),
                                app.add_option("--top", tops), app.add_option("-o,--output", outputs)})
    repeated->take_all()->expected(1)->allow_extra_args(false);
  app.add_flag("--force", asked.request.force);
  app.add_flag("--output-json", asked.request.json);
  app.add_flag("-h,--help", asked.help);
  app.add_flag("--version", asked.version);
  app.allow_extras();
  refuse_flag_values({argv + 1, argv + argc}, {"--force", "--output-json", "--help", "--version"});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::string text = error.what();  // "--top: 1 required TEXT missing"
    for (const std::string& option : known)
      if (text.starts_with(option + ":")) throw bad_request("option " + option, "needs a value", "See --help.");
    throw bad_request("command line", text, "See --help.");
  }
  for (const std::string& extra : app.remaining())
    throw bad_request("option " + extra, "no such option",
                      did_you_mean(extra.substr(0, extra.find('=')), known, "See --help."));
  refuse_two("--top", tops);
  refuse_two("--output", outputs);
  if (!outputs.empty() && outputs.front().empty()) throw bad_request("output", "the name is empty", "Use -o FILE.");
  if (!outputs.empty()) asked.request.hdf5 = outputs.front();
  asked.request.metrics = split_commas(metrics);
  if (asked.request.metrics.empty() && !metrics.empty()) throw bad_request("--metric", "names no metric", "See --help.");
  asked.request.top = tops.empty() ? 10 : to_integer("--top", tops.front(), 0, INT32_MAX);
  for (const std::string& bound : bounds) asked.request.bounds.push_back(parse_bound(bound));
  return asked;
}

void refuse_unknown_metrics(const CompareRequest& request) {
  std::vector<std::string> known;
  for (const auto* figures : {&key_figures(), &split_figures()})
    for (const Figure& figure : *figures)
      if (std::find(known.begin(), known.end(), figure.metric) == known.end()) known.push_back(figure.metric);
  for (const std::string& metric : request.metrics) to_choice("--metric", metric, known);
}

int compare(const CompareRequest& request) {
  if (request.files.size() < 2) throw bad_request("nothing to compare", "name two or more result files", "See --help.");
  refuse_unknown_metrics(request);
  refuse_stdout("output", request.hdf5);
  check_replaced_comparison(request.hdf5, request.files);
  std::deque<StoredRun> runs;
  CompareResults results;
  for (const std::string& file : request.files) results.descriptions.push_back(describe(runs.emplace_back(file)));
  bool broken = false;
  std::vector<std::string> not_judged;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    Comparison one = compare_runs(runs[0], runs[i], request.metrics);
    if (!one.comparability.refusals.empty() && !request.force)
      throw bad_request(one.first + " and " + one.second + " cannot be compared",
                        one.comparability.refusals.front() +
                            (one.comparability.refusals.size() > 1
                                 ? ", and " + std::to_string(one.comparability.refusals.size() - 1) + " more reasons"
                                 : ""),
                        "--force compares them nevertheless.");
    results.comparisons.push_back(std::move(one));
    std::vector<JudgedBound>& judged = results.judged.emplace_back();
    for (const Bound& bound : request.bounds) {
      judged.push_back(judge(bound, runs[0], runs[i], results.comparisons.back().comparability));
      broken = broken || judged.back().outcome == BoundOutcome::broken;
      if (judged.back().outcome == BoundOutcome::not_judged)
        not_judged.push_back("--fail-if '" + bound.text + "' cannot be judged (" + judged.back().why + ")");
    }
  }
  if (!request.hdf5.empty()) write_comparison(request.hdf5, results);
  write_to_stdout(request.json ? comparison_json(results) : printable(comparison_page(request, results)));
  for (const std::string& one : not_judged) complain(one);
  return static_cast<int>(broken ? ExitCode::bound_broken : not_judged.empty() ? ExitCode::done : ExitCode::bad_request);
}

int run_program(int argc, char** argv) {
  try {
    const Asked asked = read_request(argc, argv);
    if (asked.help)
      write_to_stdout(usage + names_of_rows());
    else if (asked.version)
      write_to_stdout("ccl-compare " CCL_VERSION "\n");
    else
      return compare(asked.request);
    return 0;
  } catch (const FatalError& error) {
    complain(error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    complain("internal error (" + std::string(error.what()) + "). Please report it.");
    return static_cast<int>(ExitCode::runtime_failure);
  }
}

}  // namespace

int main(int argc, char** argv) { return exit_status_after_output(run_program(argc, argv), complain); }
