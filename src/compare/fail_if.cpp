#include "compare/fail_if.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "compare/late.hpp"
#include "config/values.hpp"

namespace ccl {
namespace {

const std::string option = "--fail-if", new_straggler = "new_straggler";

FatalError refused(const std::string& text, const std::string& why, const std::string& suggestion) {
  return bad_request(option + " '" + text + "'", why, suggestion);
}

struct UnitName {
  const char* name;
  double factor;
  Unit unit;
};
constexpr UnitName unit_names[] = {
    {"ns", 1, Unit::ns},   {"us", 1e3, Unit::ns},   {"ms", 1e6, Unit::ns},   {"s", 1e9, Unit::ns},
    {"%", 0.01, Unit::ratio}, {"x", 1, Unit::factor}, {"pt", 0.01, Unit::ratio},
    {"B", 1, Unit::bytes}, {"kB", 1e3, Unit::bytes}, {"MB", 1e6, Unit::bytes}, {"GB", 1e9, Unit::bytes},
    {"B/s", 1, Unit::bytes_per_second},   {"kB/s", 1e3, Unit::bytes_per_second},
    {"MB/s", 1e6, Unit::bytes_per_second}, {"GB/s", 1e9, Unit::bytes_per_second}};

double unit_factor(const std::string& text, const std::string& unit) {
  if (unit.empty()) return 1;
  std::string all;
  for (const UnitName& known : unit_names) {
    if (unit == known.name) return known.factor;
    all += (all.empty() ? "" : ", ") + std::string(known.name);
  }
  if (unit.ends_with("/s")) return 1;  // "tokens/s": check_unit() knows the figure
  throw refused(text, "unknown unit '" + unit + "'", "Units are " + all + "; a count has none.");
}

/// Who writes a row's words instead of its metric is told the metric. `word`: without spaces, as parse_bound leaves it.
std::string metric_suggestion(const std::string& word, const std::vector<std::string>& known) {
  for (const Figure& figure : key_figures()) {
    std::string label = figure.label;
    label.erase(std::remove(label.begin(), label.end(), ' '), label.end());
    if (word.size() >= 4 && label.starts_with(word)) return "The row '" + figure.label + "' is " + bound_name(figure) + ".";
  }
  return did_you_mean(word, known, "See --help: it has the metric of every row.");
}

/// The named figure, or one made for a column of the metric's rows.
Figure figure_of(const Bound& bound, const StoredRun& first) {
  for (const Figure& figure : key_figures())
    if (figure.metric == bound.metric && (bound.column.empty() || figure.numerator == bound.column)) return figure;
  const std::string path = "/metrics/" + bound.metric + "/rows";
  if (!first.has_table(path)) {
    const std::vector<std::string> known = first.metrics();
    if (std::find(known.begin(), known.end(), bound.metric) != known.end())
      throw refused(bound.text, bound.metric + " has no rows in " + first.path(), "Name one that has.");
    throw refused(bound.text, "no metric " + bound.metric + " in " + first.path(),
                  metric_suggestion(bound.metric, known));
  }
  const StoredTable table = first.table(path);
  const std::vector<std::string> columns = table.number_columns();
  std::string all;
  for (const std::string& column : columns) all += (all.empty() ? "" : ", ") + column;
  if (bound.column.empty())
    throw refused(bound.text, bound.metric + " has no main figure",
                  "Write " + bound.metric + ".COLUMN with one of the columns " + all + ".");
  if (!table.is_number(bound.column))
    throw refused(bound.text, "no number column '" + bound.column + "' in " + path,
                  did_you_mean(bound.column, columns, "Its columns are " + all + "."));
  if (std::find(columns.begin(), columns.end(), bound.column) == columns.end())
    throw refused(bound.text, bound.column + " says whose row it is and measures nothing", "Its columns are " + all + ".");
  Figure figure;
  figure.metric = bound.metric;
  figure.table = "rows";
  figure.label = bound.column;
  figure.numerator = bound.column;
  for (const Figure& known : key_figures())
    if (known.metric == figure.metric && known.table == figure.table) figure.basis = known.basis;
  const auto ends = [&](const char* unit) { return bound.column.ends_with(unit); };
  figure.unit = ends("_ns")              ? Unit::ns
                : ends("_bytes")         ? Unit::bytes
                : ends("_bytes_per_s")   ? Unit::bytes_per_second
                : ends("_per_s")         ? Unit::per_second
                : ends("slowdown_ratio") ? Unit::factor
                : ends("_ratio")         ? Unit::ratio
                                         : Unit::count;
  return figure;
}

/// Of what both runs have; empty where that is nothing.
std::vector<double> values_of(const StoredRun& run, const Figure& figure, const Bound& bound, const RowFilter& filter) {
  const auto all = samples(run, figure, filter);
  if (!all.empty()) return all.at("");
  if (!samples(run, figure, RowFilter()).empty()) return {};
  throw refused(bound.text, figure.metric + " is " + run.why_untold(figure.metric),
                "A gate needs the value in both files.");
}

/// "iter_time>3" with something else behind the sign.
std::string rewritten(const Bound& bound, const std::string& sign, const std::string& unit) {
  std::string text = bound.text;
  text.insert(text.find_first_of("<>") + 1, sign);
  return "'" + text + unit + "'";
}

/// A number without the unit that its figure has, or with another, would be compared with nonsense.
void check_unit(const Bound& bound, const Figure& figure) {
  if (bound.points && figure.unit != Unit::ratio)
    throw refused(bound.text, "points (pt) are of shares, and " + figure.label + " is none", "Write the change in %.");
  if (bound.relative) return;
  std::string units, usual;
  bool fits = false;
  for (const UnitName& known : unit_names) {
    if (known.unit != figure.unit || known.name == std::string("pt")) continue;
    units += (units.empty() ? "" : ", ") + std::string(known.name);
    usual = figure.unit == Unit::ns ? "ms" : known.name;
    fits = fits || bound.unit == known.name;
  }
  fits = fits || (figure.unit == Unit::per_second && bound.unit == rate_unit(figure));
  const bool bare = bound.unit.empty();
  const bool plain = figure.unit == Unit::ratio || figure.unit == Unit::factor;  // numbers without a unit, too
  if (bare && figure.unit == Unit::ratio && bound.limit >= 1)  // would never be above it, or always below
    throw refused(bound.text, figure.label + " is a share: 1 is all of it",
                  "Write " + rewritten(bound, "", "%") + " if you mean percent.");
  if (fits || (bare && (plain || units.empty()))) return;
  if (bare)
    throw refused(bound.text, "no unit, and " + figure.label + " has one: " + units,
                  "Write " + rewritten(bound, "", usual) + ", or " +
                      rewritten(bound, bound.above ? "+" : "-", "%") + " for a change.");
  throw refused(bound.text, figure.label + " is not measured in " + bound.unit,
                bound.unit == "%" ? "For a change write " + rewritten(bound, bound.above ? "+" : "-", "") + "."
                : figure.unit == Unit::per_second ? "Leave the unit out, or write " + rate_unit(figure) + "."
                : units.empty()   ? "Leave the unit out."
                                  : "Its units are " + units + ".");
}

JudgedBound judge_stragglers(const Bound& bound, const StoredRun& first, const StoredRun& second, const Comparability& found) {
  const LateRanks before = late_ranks(first), after = late_ranks(second);
  for (const LateRanks* late : {&before, &after})
    if (!late->told) throw refused(bound.text, late->why_untold, "A gate needs it in both files.");
  JudgedBound out{bound, {}, {}, BoundOutcome::not_judged, "other mesh or number of ranks: a rank means something else"};
  if (!found.same_ranks) return out;
  const NewStragglers stragglers = new_stragglers(before, after);
  out.outcome = !stragglers.found.empty()        ? BoundOutcome::broken
                : stragglers.not_judged.empty() ? BoundOutcome::kept
                                                : BoundOutcome::not_judged;
  out.why = stragglers.found + stragglers.not_judged;
  if (out.outcome == BoundOutcome::kept && !found.unlike_matching.empty()) {
    out.outcome = BoundOutcome::not_judged;
    out.why = found.unlike_matching;
  }
  return out;
}

}  // namespace

std::string bound_name(const Figure& figure) {
  for (const Figure& first : key_figures())
    if (first.metric == figure.metric)
      return first.label == figure.label ? figure.metric : figure.metric + "." + figure.numerator;
  return figure.metric + "." + figure.numerator;
}

Bound parse_bound(const std::string& text) {
  std::string plain = text;
  plain.erase(std::remove(plain.begin(), plain.end(), ' '), plain.end());
  const std::string example = "Example: iter_time>+3%";
  const std::size_t sign = plain.find_first_of("<>");
  Bound bound;
  bound.text = text;
  bound.new_straggler = plain == new_straggler;
  if (bound.new_straggler) return bound;
  if (plain.substr(0, sign) == new_straggler)
    throw refused(text, new_straggler + " takes no bound", "Write --fail-if " + new_straggler + ".");
  if (sign == std::string::npos || sign == 0)
    throw refused(text, "not METRIC>BOUND or METRIC<BOUND", did_you_mean(plain, {new_straggler}, example));
  bound.above = plain[sign] == '>';
  const std::string name = plain.substr(0, sign);
  const std::size_t dot = name.find('.');
  bound.metric = name.substr(0, dot);
  if (dot != std::string::npos) bound.column = name.substr(dot + 1);
  const bool is_signed = sign + 1 < plain.size() && (plain[sign + 1] == '+' || plain[sign + 1] == '-');
  const char* from = plain.data() + sign + 1 + (is_signed ? 1 : 0);
  const char* const end = plain.data() + plain.size();
  const bool twice_signed = is_signed && from != end && *from == '-';  // from_chars takes a sign of its own
  const auto [rest, error] = std::from_chars(from, end, bound.limit);
  if (error != std::errc() || !std::isfinite(bound.limit) || twice_signed)
    throw refused(text, "no number after " + plain.substr(sign, 1), example);
  const std::string unit(rest, end);
  bound.limit *= unit_factor(text, unit);
  bound.unit = unit;
  bound.relative = is_signed;
  bound.points = unit == "pt";
  if (is_signed && unit != "%" && unit != "pt")
    throw refused(text, "a change is in percent, that of a share also in points", example + ", mfu<-2pt");
  if (bound.points && !is_signed) throw refused(text, "points (pt) are of a change: + or - is missing", "Example: mfu<-2pt");
  if (is_signed && plain[sign + 1] == '-') bound.limit = -bound.limit;
  return bound;
}

JudgedBound judge(const Bound& bound, const StoredRun& first, const StoredRun& second, const Comparability& found) {
  if (bound.new_straggler) return judge_stragglers(bound, first, second, found);
  JudgedBound out{bound, figure_of(bound, first), {}, BoundOutcome::kept};
  check_unit(bound, out.figure);
  const std::vector<double> before = values_of(first, out.figure, bound, found.rows.first),
                            after = values_of(second, out.figure, bound, found.rows.second);
  out.change = compare_samples(before, after, out.figure.better);
  if (before.empty() || after.empty() || found.is_unlike(out.figure)) {
    out.outcome = BoundOutcome::not_judged;
    out.why = before.empty() || after.empty() ? nothing_in_common : found.unlike_matching;
    return out;
  }
  if (bound.relative && !bound.points && std::isnan(out.change.change_ratio) && out.change.difference != 0)
    throw refused(bound.text, "the first run's value is 0", "Bound the value instead of the change.");
  out.outcome = outcome_of(bound, out.change);
  return out;
}

bool below_noise(const Bound& bound, const Change& change) {
  const double unit = bound.points ? 1 : std::abs(change.first);
  return bound.relative && std::abs(bound.limit) * unit < change.band;
}

BoundOutcome outcome_of(const Bound& bound, const Change& change) {
  const double value = bound.points     ? change.difference
                       : bound.relative ? change.change_ratio
                                        : change.second;
  const bool beyond = bound.above ? value > bound.limit : value < bound.limit;
  if (!beyond) return BoundOutcome::kept;
  if (!bound.relative) return BoundOutcome::broken;
  const bool asks_for_gain = bound.above ? bound.limit < 0 : bound.limit > 0;
  const double unit = bound.points ? 1 : std::abs(change.first);
  const bool noise = asks_for_gain ? std::abs(value - bound.limit) * unit <= change.band
                                   : change.verdict == Verdict::same;
  return noise ? BoundOutcome::within_noise : BoundOutcome::broken;
}

}  // namespace ccl
