#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "compare/show.hpp"
#include "metrics/format.hpp"

namespace ccl {
namespace {

constexpr std::size_t page_width = 100;
constexpr double least_of_mean = 0.02;  // what a mean must move by to be told beside a median that did not

std::string value_text(double value, const Figure& figure) {
  if (std::isnan(value)) return "-";
  switch (figure.unit) {
    case Unit::ns: return milliseconds(value);
    case Unit::bytes: return gigabytes(value);
    case Unit::bytes_per_second: return gigabytes_per_s(value);
    case Unit::ratio: return percent(value);
    case Unit::per_second: return fmt::format("{:.0f} {}", value, rate_unit(figure));
    case Unit::count: return fmt::format("{:.6g}", value);
    case Unit::factor: return fmt::format("{:.3f} x", value);
  }
  return "";
}

std::string points_text(double difference) { return fmt::format("{:+.1f} pt", 100 * difference); }

/// Shares change by points: 40 % to 44 % is "+4.0 points", which "+10 %" would hide.
std::string moved_text(const ComparedFigure& one) {
  if (one.figure.unit == Unit::ratio && !std::isnan(one.change.difference))
    return points_text(one.change.difference);
  return change_text(one.change.change_ratio);
}

std::string noise_text(const ComparedFigure& one) {
  const Change& change = one.change;
  if (std::isnan(change.band)) return "-";
  if (one.figure.unit == Unit::ratio) return fmt::format("{:.1f} pt", 100 * change.band);
  return change.first == 0 ? "-" : band_text(change.band / std::abs(change.first));
}

std::string verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::same: return "no significant change";
    case Verdict::unknown_noise: return "noise unknown";
    case Verdict::only_first: return "gone";
    case Verdict::only_second: return "new";
    default: return std::string(to_text(verdict));
  }
}

/// As printable() would be wide: names of kernels are cut at the end of their column, whole characters only.
std::string cut(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  std::size_t end = width - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "~";
}

/// A rate's unit stands in the name: it is wider than the column of values.
std::string row(const std::string& name, const ComparedFigure& one) {
  const bool rate = one.figure.unit == Unit::per_second;
  const auto cell = [&](double value) {
    return rate && !std::isnan(value) ? fmt::format("{:.0f}", value) : value_text(value, one.figure);
  };
  const std::string line =
      fmt::format("  {:<38} {:>10} {:>10} {:>9} {:>9}  {}", cut(rate ? name + ", " + rate_unit(one.figure) : name, 38),
                  cell(one.change.first), cell(one.change.second), moved_text(one), noise_text(one),
                  one.change.verdict == Verdict::same ? "=" : verdict_text(one.change.verdict));
  return cut(line, page_width) + "\n";
}

std::string heading(const std::string& what) {
  return fmt::format("{:<40} {:>10} {:>10} {:>9} {:>9}  {}\n", cut(what, 40), "first", "second", "change", "noise",
                     "verdict");
}

/// C++ decorations that tell kernels nothing apart at the width of a column.
std::string shortened(std::string name) {
  for (const std::string noise : {"void ", "at::native::", "(anonymous namespace)::", "ncclDevKernel_"})
    for (std::size_t at = name.find(noise); at != std::string::npos; at = name.find(noise, at))
      name.erase(at, noise.size());
  return name;
}

/// Single slow steps move the mean and leave the median about where it was.
bool single_steps_differ(const Change& change) {
  constexpr double median_of_mean = 0.25;
  return !(std::abs(change.change_ratio) > median_of_mean * std::abs(change.mean_change_ratio));
}

/// The first figure, if no change of it is significant and yet its mean moved: the reader must hear of it.
const ComparedFigure* moved_mean(const Comparison& comparison) {
  if (comparison.whole.empty()) return nullptr;
  const Change& change = comparison.whole.front().change;
  const bool moved = change.verdict == Verdict::same && std::abs(change.mean_change_ratio) >= least_of_mean;
  return moved ? &comparison.whole.front() : nullptr;
}

/// Behind the answer.
std::string single_steps(const Comparison& comparison) {
  const ComparedFigure* one = moved_mean(comparison);
  if (one == nullptr || !single_steps_differ(one->change)) return "";
  return fmt::format("; single steps differ: {} moved by {} in the mean, by {} in the median", one->figure.label,
                     change_text(one->change.mean_change_ratio), change_text(one->change.change_ratio));
}

std::string inside_noise(const Comparison& comparison) {
  const ComparedFigure* one = moved_mean(comparison);
  if (one == nullptr || single_steps_differ(one->change)) return "";
  return fmt::format("{}: the median moved by {}, inside the noise of {}, and the mean by {}", one->figure.label,
                     change_text(one->change.change_ratio), noise_text(*one), change_text(one->change.mean_change_ratio));
}

/// A share of a step that grew by something else looks better; the reader must know where to look first.
std::string moving_shares(const Comparison& comparison) {
  const auto moved = [](const ComparedFigure& one) {
    return one.change.verdict == Verdict::better || one.change.verdict == Verdict::worse;
  };
  const auto moved_time = [&](const ComparedFigure& one) { return one.figure.metric == "iter_time" && moved(one); };
  const auto moved_share = [&](const ComparedFigure& one) { return one.figure.unit == Unit::ratio && moved(one); };
  const std::vector<ComparedFigure>& all = comparison.whole;
  if (std::none_of(all.begin(), all.end(), moved_time) || std::none_of(all.begin(), all.end(), moved_share)) return "";
  return "shares (changes in pt) move when the step time moves: compare the rows in ms first";
}

/// The most important change in words.
std::string answer(const Comparison& comparison) {
  std::size_t moved = 0, unknown = 0;
  const ComparedFigure* first_moved = nullptr;
  for (const ComparedFigure& one : comparison.whole) {
    if (one.change.verdict == Verdict::unknown_noise) ++unknown;
    if (one.change.verdict == Verdict::same || one.change.verdict == Verdict::unknown_noise) continue;
    if (first_moved == nullptr) first_moved = &one;
    ++moved;
  }
  if (comparison.whole.empty()) return "nothing to compare: no metric has values in both files";
  const std::size_t told = comparison.whole.size() - unknown;
  if (first_moved == nullptr && told == 0)
    return fmt::format("cannot tell: the noise of {} is unknown (a run has one step)",
                       unknown == 1 ? "the one figure" : fmt::format("all {} figures", unknown));
  if (first_moved == nullptr)
    return "no significant change in " + (told == 1 ? "the one figure" : fmt::format("any of {} figures", told)) +
           (unknown == 0 ? "" : fmt::format("; of {} more the noise is unknown (a run has one value)", unknown));
  return fmt::format("{}: {} -> {}, {} ({}, noise {}); {} of {} changed", first_moved->figure.label,
                     value_text(first_moved->change.first, first_moved->figure),
                     value_text(first_moved->change.second, first_moved->figure), moved_text(*first_moved),
                     verdict_text(first_moved->change.verdict), noise_text(*first_moved), moved,
                     counted(comparison.whole.size(), "figure"));
}

std::string split_text(const Comparison& comparison, std::int64_t top) {
  struct Section {
    std::string text;
    std::int64_t shown = 0, moved = 0, all = 0;
  };
  std::vector<std::string> order;
  std::map<std::string, Section> sections;
  for (const ComparedFigure& one : comparison.split) {
    const std::string name = one.figure.section + ": " + one.figure.label;
    if (sections.count(name) == 0) order.push_back(name);
    Section& section = sections[name];
    ++section.all;
    if (one.change.verdict == Verdict::same) continue;
    ++section.moved;
    if (section.shown++ < top) section.text += row(shortened(one.key), one);
  }
  std::string text, quiet;
  for (const std::string& name : order) {
    const Section& section = sections[name];
    if (section.moved == 0) {
      quiet += (quiet.empty() ? "" : ", ") + fmt::format("{} ({})", name, section.all);
      continue;
    }
    text += fmt::format("\n{}{}", heading(fmt::format("{} ({} of {} moved)", name, section.moved, section.all)), section.text);
    if (section.moved > top) text += fmt::format("  ... and {} more (--top N, -o FILE has all)\n", section.moved - top);
  }
  std::vector<std::string> lines;
  if (!quiet.empty()) add_line(lines, "unchanged", quiet);
  for (const std::string& line : lines) text += (&line == &lines.front() ? "\n" : "") + line + "\n";
  return text;
}

/// One for each run, what it means for the verdicts once.
std::vector<std::string> lacking_lines(const Comparability& found) {
  std::vector<std::string> lines;
  std::string run;
  for (const Lacking& one : found.lacking) {
    if (std::exchange(run, one.run) != one.run)
      lines.push_back(one.text());
    else
      lines.back() += "; " + one.what;
  }
  if (!lines.empty())
    lines.back() += found.rows.first.keeps_all()
                        ? "; the verdicts are of what is there and may change with the rest"
                        : "; the verdicts are of the steps that a rank has in both runs and may change with the rest";
  return lines;
}

/// A gate that is tighter than the noise never closes at its bound: who set it must know.
std::string below_noise_text(const JudgedBound& one) {
  if (!one.bound.points && one.change.first == 0)
    return "this bound is below the noise (" + value_text(one.change.band, one.figure) + "; the first value is 0): bound the value "
           "instead of the change";
  const double noise = one.bound.points ? one.change.band : one.change.band / std::abs(one.change.first);
  const char* unit = one.bound.points ? "pt" : "%";
  return fmt::format("this bound ({:.3g} {}) is below the noise ({:.1f} {}): profile more steps",
                     100 * std::abs(one.bound.limit), unit, 100 * noise, unit);
}

bool only_mean_breaks(const JudgedBound& one) {
  if (one.outcome != BoundOutcome::kept || !one.bound.relative || one.bound.points || !single_steps_differ(one.change)) return false;
  const double mean = one.change.mean_change_ratio;
  return std::abs(mean) >= least_of_mean && (one.bound.above ? mean > one.bound.limit : mean < one.bound.limit);
}

void add_bounds(const std::vector<JudgedBound>& judged, const std::string& reservation, std::vector<std::string>& lines) {
  for (const JudgedBound& one : judged) {
    const char* outcome = one.outcome == BoundOutcome::broken         ? "BROKEN"
                          : one.outcome == BoundOutcome::within_noise ? "within noise"
                          : one.outcome == BoundOutcome::not_judged   ? "NOT JUDGED"
                                                                      : "kept";
    if (one.outcome == BoundOutcome::not_judged || one.bound.new_straggler) {
      const bool broken = one.outcome == BoundOutcome::broken;
      const std::string why = one.why.empty() ? "" : broken ? " by " + one.why : " (" + one.why + ")";
      add_line(lines, "fail-if", one.bound.text + ": " + outcome + why);
      continue;
    }
    const bool share = one.figure.unit == Unit::ratio;  // in both words a bound may use
    add_line(lines, "fail-if",
             fmt::format("{}: {}{} ({} -> {}, {}{})", one.bound.text, outcome, reservation,
                         value_text(one.change.first, one.figure), value_text(one.change.second, one.figure),
                         share ? points_text(one.change.difference) + " or " : "", change_text(one.change.change_ratio)));
    if (one.outcome != BoundOutcome::broken && below_noise(one.bound, one.change))
      add_line(lines, "", below_noise_text(one));
    if (only_mean_breaks(one))
      add_line(lines, "", "its mean moved by " + change_text(one.change.mean_change_ratio) + ": single steps differ, which move "
                          "no median");
  }
}

}  // namespace

std::string change_text(double ratio) {
  if (std::isnan(ratio)) return "-";
  const double times = 1 + ratio;
  return times >= 10 ? fmt::format("x {:.{}f}", times, times < 99.95 ? 1 : 0) : fmt::format("{:+.1f} %", 100 * ratio);
}

std::string band_text(double ratio) {
  return ratio >= 10 ? fmt::format("{:.{}f} x", ratio, ratio < 99.95 ? 1 : 0) : fmt::format("{:.1f} %", 100 * ratio);
}

std::string describe(const StoredRun& run) {
  // Of files of older versions only their ranks are known.
  const std::string coverage = run.root_text("coverage"), lacking = lacking_ranks(run);
  const std::string steps = counted(static_cast<std::size_t>(run.steps_count()), "step");
  std::string text = coverage + "; " + steps;
  if (coverage.empty())
    text = fmt::format("{} of {} ranks, {}{}{}", run.root_integer("ranks_covered"), run.root_integer("ranks_expected"),
                       steps, lacking.empty() ? "" : ", ", lacking);
  const std::string completeness = run.root_text("completeness");
  for (const std::string& more : {run.root_text("mesh"), run.workload("model"), run.gpu(),
                                  lacking.empty() || completeness != "complete" ? completeness : ""})
    if (!more.empty()) text += ", " + more;
  return text;
}

std::string comparison_page(const CompareRequest& request, const CompareResults& results) {
  std::string page;
  for (std::size_t i = 0; i < results.comparisons.size(); ++i) {
    const Comparison& comparison = results.comparisons[i];
    if (i > 0) page += "\n";
    std::vector<std::string> lines;
    add_line(lines, "first", comparison.first + ": " + results.descriptions[0]);
    add_line(lines, "second", comparison.second + ": " + results.descriptions[i + 1]);
    for (const std::string& refusal : comparison.comparability.refusals) add_line(lines, "forced", refusal);
    for (const std::string& note : comparison.comparability.notes) add_line(lines, "note", note);
    const std::vector<Lacking>& lacking = comparison.comparability.lacking;
    for (const std::string& text : lacking_lines(comparison.comparability)) add_line(lines, "incomplete", text);
    add_line(lines, "answer", (lacking.empty() ? "" : "with incomplete data: ") + answer(comparison) + single_steps(comparison));
    if (const std::string note = inside_noise(comparison); !note.empty()) add_line(lines, "note", note);
    if (const std::string note = moving_shares(comparison); !note.empty()) add_line(lines, "note", note);
    if (!comparison.late.empty()) add_line(lines, "late", comparison.late);
    for (const AbsentMetric& absent : comparison.absent)
      add_line(lines, "not compared", absent.metric + ": " + absent.why);
    add_bounds(results.judged[i], lacking.empty() ? "" : " (incomplete data)", lines);
    for (const std::string& line : lines) page += line + "\n";
    page.append("\n").append(heading("figure (median over steps)"));
    for (const ComparedFigure& one : comparison.whole) page += row(one.figure.label, one);
    page += split_text(comparison, request.top);
  }
  return page;
}

}  // namespace ccl
