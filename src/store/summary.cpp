#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "core/number_list.hpp"
#include "core/wording.hpp"
#include "exchange/coverage.hpp"
#include "store/losses.hpp"
#include "store/plain_text.hpp"
#include "store/results.hpp"
#include "store/run_facts.hpp"

namespace ccl {
namespace {

constexpr std::size_t page_columns = 100, page_lines = 60, label_columns = 14;

/// What a reader gets: one page, or all of it.
struct Room {
  std::size_t lines = page_lines, lines_per_entry = 3;
};
constexpr Room unlimited{SIZE_MAX, SIZE_MAX};

/// Lines of the page, each safe and within its width.
class Page {
 public:
  explicit Page(Room room) : room_(room) {}
  /// `metric`: what the line is called where there is no room for it; empty: it always has room.
  void add(std::string_view line, const std::string& metric = {}) {
    for (std::string& wrapped : wrap(one_line(line), page_columns, label_columns, room_.lines_per_entry))
      lines_.push_back({std::move(wrapped), metric});
  }
  void add_labelled(std::string label, const std::string& text, const std::string& metric = {}) {
    label.resize(std::max(label.size() + 1, label_columns), ' ');
    add(label + text, metric);
  }
  /// The last line always stands; entries that do not fit before it are counted instead, and their metrics named.
  std::string text(const std::string& last) {
    std::size_t kept = lines_.size();
    if (kept >= room_.lines) {
      kept = room_.lines - 2;
      while (kept > 0 && lines_[kept].text.starts_with(' ')) --kept;
    }
    std::string out;
    for (std::size_t i = 0; i < kept; ++i) out += lines_[i].text + "\n";
    if (kept < lines_.size()) out += cut_to_width(left_out(kept), page_columns) + "\n";
    return out + cut_to_width(one_line(last), page_columns) + "\n";
  }

 private:
  struct Line {
    std::string text, metric;
  };

  std::string left_out(std::size_t from) const {
    constexpr std::size_t room = page_columns - std::string_view(" and 99 more").size();
    std::string line = std::to_string(lines_.size() - from) + " more lines (--metric NAME, or --report-dir DIR)";
    std::size_t named = 0, unnamed = 0;
    for (std::size_t i = from; i < lines_.size(); ++i) {
      const std::string& name = lines_[i].metric;
      if (name.empty() || (i > from && name == lines_[i - 1].metric)) continue;
      if (unnamed > 0 || line.size() + name.size() + 2 > room)
        ++unnamed;
      else
        line += (named++ == 0 ? ": " : ", ") + name;
    }
    return unnamed == 0 ? line : line + " and " + std::to_string(unnamed) + " more";
  }

  Room room_;
  std::vector<Line> lines_;
};

std::string joined(const std::vector<std::string>& texts, std::size_t most = 3) {
  std::string out;
  for (std::size_t i = 0; i < texts.size() && i < most; ++i) out += (i == 0 ? "" : ", ") + texts[i];
  return texts.size() > most ? out + " and " + std::to_string(texts.size() - most) + " more" : out;
}

std::string ranks_line(const Results& results) {
  const Ranks& ranks = results.ranks;
  std::string line = coverage_text(ranks, "analysed", &results.input);
  line += ranks.world_size < 0 ? "; world size unknown" : "; world size " + std::to_string(ranks.world_size);
  const Mesh& mesh = results.input.workload.mesh;
  return line + (mesh.known() ? "; mesh " + mesh_text(mesh) + " (from " + mesh.source + ")" : "; mesh unknown");
}

std::string steps_line(const Results& results, const RunFacts& facts) {
  std::string line = counted(static_cast<std::size_t>(facts.steps_count), "step");
  std::vector<std::int32_t> iterations = facts.iterations;
  std::erase(iterations, -1);
  if (!iterations.empty())
    line += std::string(" in iteration") + (iterations.size() > 1 ? "s " : " ") + rank_list(iterations);
  std::map<std::string_view, std::set<std::int32_t>> without;  // by reason
  for (const RankEntry& entry : results.ranks.entries)
    if (!entry.no_steps.empty()) without[entry.no_steps].insert(entry.rank.value);
  for (const auto& [why, of] : without)
    line += ", none of " + ranks_text({of.begin(), of.end()}) + " (" + std::string(why) + ")";
  return line;
}

/// A rank of which nobody says where it ran is no host of its own.
std::string hosts_text(const Ranks& ranks, const RunFacts& facts) {
  std::set<std::string> known;
  std::set<std::int32_t> unknown;
  for (const RankEntry& entry : ranks.entries) {
    if (entry.host_source == HostSource::unknown)
      unknown.insert(entry.rank.value);
    else
      known.insert(entry.host);
  }
  if (known.empty()) return ", hosts unknown";
  std::vector<std::string> sources = facts.host_sources;
  std::erase(sources, std::string(to_text(HostSource::unknown)));
  std::string text = " on " + counted(known.size(), "host") + " (hosts from: " + joined(sources);
  if (!unknown.empty()) text += "; of " + counted(unknown.size(), "rank") + " unknown";
  return text + ")";
}

/// "runs, run a: 8 files (kineto), 0.72 MB".
std::string input_text(const Results& results, const RunFacts& facts) {
  const Input& input = results.input;
  std::string first = input.root;
  if (!input.run.empty() && input.run != ".") first += ", run " + input.run;
  first += ": " + counted(input.files.size(), "file") + " (" + joined(facts.formats) + "), " +
           gigabytes(static_cast<double>(facts.input_bytes));
  if (results.partial) first += "; ENDED EARLY, not all files were read";
  return first;
}

void add_input(Page& page, const Results& results) {
  const RunFacts facts = run_facts(results);
  page.add_labelled("input", input_text(results, facts));
  if (results.ranks.entries.empty())
    return page.add_labelled("ranks", results.partial ? "none: no trace had been read yet" : "none: no trace among the files");
  page.add_labelled("ranks", ranks_line(results));
  std::string machine = counted(static_cast<std::size_t>(facts.gpus_count), "GPU");
  if (!facts.gpu_names.empty()) machine += " (" + joined(facts.gpu_names) + ")";
  machine += hosts_text(results.ranks, facts);
  page.add_labelled("steps", steps_line(results, facts) + "; " + machine);
}

std::string severity_text(Severity severity, std::int64_t count) {
  if (severity == Severity::data_loss) return std::to_string(count) + " data_loss";
  return counted(static_cast<std::size_t>(count), std::string(to_text(severity)));
}

/// One line: the counts by severity, then as many codes as fit, the worst first, of equal severity the most.
void add_warnings(Page& page, const Problems& problems) {
  std::string line;
  std::vector<std::string> codes;
  for (const Severity severity : {Severity::error, Severity::data_loss, Severity::notice}) {
    if (problems.count(severity) == 0) continue;
    line += (line.empty() ? "" : ", ") + severity_text(severity, problems.count(severity));
    std::vector<Code> found;
    for (std::size_t i = 0; i < code_count; ++i)
      if (const auto code = static_cast<Code>(i); info(code).severity == severity && problems.count(code) > 0) found.push_back(code);
    std::stable_sort(found.begin(), found.end(), [&](Code a, Code b) { return problems.count(a) > problems.count(b); });
    for (const Code code : found) codes.push_back(std::string(info(code).name) + " " + std::to_string(problems.count(code)));
  }
  if (line.empty()) return page.add_labelled("warnings", "none");
  constexpr std::size_t room = page_columns - label_columns - std::string_view(" and 99 more").size();
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (line.size() + codes[i].size() + 2 > room) {
      line += " and " + std::to_string(codes.size() - i) + " more";
      break;
    }
    line += (i == 0 ? ": " : ", ") + codes[i];
  }
  page.add_labelled("warnings", line);
}

/// Which files the losses are in.
void add_losses(Page& page, const Results& results) {
  constexpr std::size_t most_files = 3;
  std::string label = "lost";
  for (const std::string& line : loss_lines(results, most_files)) page.add_labelled(std::exchange(label, ""), line);
}

/// What card and traces say differently, one line each.
void add_disagreements(Page& page, const Problems& problems) {
  if (problems.count(Code::card_disagrees) == 0) return;
  for (const Problem& row : problems.rows())
    if (row.code == Code::card_disagrees)
      page.add_labelled("card", (row.file.empty() ? "" : row.file + ": ") + row.detail);
}

std::string short_value(const MetricResult& metric) {
  const Headline& first = metric.report.headlines.front();
  if (!first.text.empty()) return first.name + " " + first.text;
  std::array<char, 32> number{};
  std::snprintf(number.data(), number.size(), "%.6g", first.value);
  return first.name + " " + number.data();
}

void add_section(Page& page, const Results& results, PageSection section) {
  for (const MetricResult& metric : results.metrics) {
    if (metric.info.section != section) continue;
    for (const std::string& line : metric.report.page) page.add(line, metric.info.name);
    const bool has_value = metric.report.status == Status::ok || metric.report.status == Status::partial;
    if (metric.report.page.empty() && has_value && !metric.report.headlines.empty())
      page.add_labelled(metric.info.name, short_value(metric), metric.info.name);
  }
}

void add_absent(Page& page, const Results& results) {
  std::string names;
  for (const MetricResult& metric : results.metrics) {
    if (metric.report.status != Status::absent && metric.report.status != Status::not_applicable) continue;
    if (!metric.report.page.empty()) continue;
    names += (names.empty() ? "" : ", ") + metric.info.name;
  }
  if (!names.empty()) page.add_labelled("no value", "(--metric NAME says why) " + names, "metrics without a value");
}

std::string value_text(const Headline& headline) {
  if (!headline.text.empty()) return headline.text;
  if (std::isnan(headline.value)) return "unknown";
  std::array<char, 40> number{};
  std::snprintf(number.data(), number.size(), "%.10g", headline.value);
  return number.data();
}

std::string page_text(const Results& results, Room room) {
  Page page(room);
  add_input(page, results);
  add_warnings(page, results.problems);
  add_losses(page, results);
  add_disagreements(page, results.problems);
  for (const PageSection section : {PageSection::answer, PageSection::step_time, PageSection::overlap,
                                    PageSection::traffic, PageSection::clock, PageSection::further})
    add_section(page, results, section);
  add_absent(page, results);
  return page.text("results       " + results.config.output.hdf5);
}

}  // namespace

std::string summary_page(const Results& results) { return page_text(results, Room()); }
std::string whole_page(const Results& results) { return page_text(results, unlimited); }

std::string metric_details(const Results& results) {
  std::string out;
  const std::string parts = parts_text(results.ranks);
  const auto add = [&out](const std::string& line) { out += one_line(line) + "\n"; };
  if (!results.config.input.run.empty())  // of several the reader must know which
    add("input         " + input_text(results, run_facts(results)));
  for (const MetricResult& metric : results.metrics) {
    const Report& report = metric.report;
    if (!out.empty()) out += "\n";
    add(metric.info.name + (metric.info.unit.empty() ? "" : " [" + metric.info.unit + "]") + ": " +
        metric.info.question);
    add("  " + metric.info.definition);
    add("  status " + std::string(to_text(report.status)) + (report.reason.empty() ? "" : " (" + report.reason + ")") +
        ", " + std::to_string(report.ranks_covered) + " of " + std::to_string(results.ranks.expected) + " ranks" +
        (parts.empty() ? "" : "; read in part: " + parts));
    for (const std::string& line : report.page) add(line);
    for (const Headline& headline : report.headlines)
      add("  " + headline.name + " = " + value_text(headline) +
          (headline.description.empty() ? "" : "  (" + headline.description + ")"));
    for (const std::string& line : report.details) add(line);
  }
  return out;
}

}  // namespace ccl
