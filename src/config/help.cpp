#include <algorithm>

#include "config/command_line.hpp"
#include "metrics/all_metrics.hpp"

namespace ccl {
namespace {

constexpr std::size_t help_column = 30;

constexpr const char* usage =
    "ccl-analyze [DIR...] [options]\n"
    "Profiler traces of a distributed training run in; one HDF5 file and one page of text out.\n"
    "Runs on any number of MPI processes: mpirun -n 4 ccl-analyze DIR\n";

constexpr const char* closing =
    "\nExamples\n"
    "  ccl-analyze traces/                                 everything, into ccl-analyze.h5\n"
    "  mpirun -n 8 ccl-analyze traces/ -o run7.h5          the same answer, sooner\n"
    "  ccl-analyze traces/ --iteration 10 --step 3,4       part of a run\n"
    "  ccl-analyze traces/ --metric comm_comp_overlap      one metric, long form\n"
    "  ccl-analyze --job job.yaml --output-json            a job file; JSON on stdout\n"
    "\nOptions with ... are repeated, or (all but --trace and --settings) their values separated by commas.\n"
    "stdout carries the result, stderr everything else.\n"
    "Exit codes: 0 done, 1 failure (no output file, or stdout could not be written), 2 bad request,\n"
    "            3 --strict and input was lost, 4 ended early (output is partial)\n";

std::string padded(std::string text, std::size_t width) {
  if (text.size() + 1 < width) text.resize(width, ' ');
  else text += "\n" + std::string(width, ' ');
  return text;
}

// Breaks text into lines of at most 100 columns, each indented.
std::string wrapped(const std::string& label, const std::string& text) {
  const std::string indent(label.size(), ' ');
  std::string out, line = label;
  const auto without_end_blanks = [](std::string full) {
    while (!full.empty() && full.back() == ' ') full.pop_back();
    return full + "\n";
  };
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find(' ', from), text.size());
    if (line.size() + to - from > 100) {
      out += without_end_blanks(std::move(line));
      line = indent;
    }
    line += text.substr(from, to - from) + " ";
    from = to + 1;
  }
  return out + without_end_blanks(std::move(line));
}

}  // namespace

std::string help_text() {
  std::string text = usage, group;
  for (const Option& option : options()) {
    if (option.group != group) {
      group = option.group;
      text.append(1, '\n').append(group).append(1, '\n');
    }
    std::string flags = option.flags;
    if (const std::size_t comma = flags.find(','); comma != std::string::npos) flags.insert(comma + 1, 1, ' ');
    else flags.insert(0, 4, ' ');
    if (!option.value_name.empty()) flags += " " + option.value_name;
    if (option.shape == OptionShape::list) flags += " ...";
    text += padded("  " + flags, help_column) + option.help + "\n";
  }
  return text + closing;
}

// A line that begins with a letter begins with a metric's name: scripts read the list so.
std::string metric_list_text() {
  std::string text =
      "  [unit]: as the page writes the metric's headline. The HDF5 file and the JSON hold ns, bytes and ratios\n"
      "  (1 = 100 %); there the unit of a number is the suffix of its name (step_mean_ns).\n\n";
  for (const MetricInfo& info : metric_list()) {
    std::string aliases;
    for (const std::string& alias : info.aliases) aliases += (aliases.empty() ? " (also " : ", ") + alias;
    if (!aliases.empty()) aliases += ")";
    text += info.name + aliases + (info.unit.empty() ? "" : " [" + info.unit + "]") + "\n";
    text += wrapped("  question    ", info.question);
    text += wrapped("  needs       ", info.needs);
    text += wrapped("  definition  ", info.definition);
  }
  return text;
}

}  // namespace ccl
