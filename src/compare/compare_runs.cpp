#include "compare/compare_runs.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "compare/late.hpp"

namespace ccl {
namespace {

bool chosen(const std::vector<std::string>& metrics, const std::string& metric) {
  return metrics.empty() || std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
}

void note_absent(const StoredRun& first, const StoredRun& second, const Figure& figure, const RowFilters& rows,
                 std::vector<AbsentMetric>& absent) {
  for (const AbsentMetric& known : absent)
    if (known.metric == figure.metric) return;
  for (const StoredRun* run : {&first, &second})
    if (!run->status(figure.metric).has_values())
      return absent.push_back({figure.metric, run->why_untold(figure.metric)});
  if (!rows.first.keeps_all() && !samples(first, figure, RowFilter()).empty() && !samples(second, figure, RowFilter()).empty())
    absent.push_back({figure.metric, nothing_in_common});
}

void note_unlike(const Figure& figure, const std::string& why, std::vector<AbsentMetric>& absent) {
  const auto is_it = [&](const AbsentMetric& known) { return known.metric == figure.metric && known.why == why; };
  if (std::none_of(absent.begin(), absent.end(), is_it)) absent.push_back({figure.metric, why});
}

double effect(const ComparedFigure& one) {
  const double moved = std::isnan(one.change.difference)
                           ? std::max(one.change.first_count, one.change.second_count) == 0 ? 0.0 : INFINITY
                           : std::abs(one.change.difference);
  return moved * one.weight;
}

double sum_of(const std::map<std::string, std::vector<double>>& all, const std::string& key) {
  const auto found = all.find(key);
  double sum = 0;
  if (found != all.end())
    for (const double value : found->second) sum += std::abs(value);
  return sum;
}

/// For "time per launch", how many launches: a small change of a frequent kernel outweighs a large one of a rare
/// kernel.
std::map<std::string, std::vector<double>> weights(const StoredRun& run, const Figure& figure, const RowFilter& filter) {
  Figure counts = figure;
  counts.numerator = figure.denominator;
  counts.denominator.clear();
  counts.fold = Fold::total;
  return samples(run, counts, filter);
}

std::vector<ComparedFigure> compare_split(const StoredRun& first, const StoredRun& second, const Figure& figure,
                                          const RowFilters& rows) {
  const auto a = samples(first, figure, rows.first), b = samples(second, figure, rows.second);
  if (!rows.first.keeps_all() && a.empty() != b.empty()) return {};  // nothing that both have: neither new nor gone
  const auto heavy = figure.denominator.empty() ? decltype(a)() : weights(second, figure, rows.second);
  std::set<std::string> keys;
  for (const auto* side : {&a, &b})
    for (const auto& [key, values] : *side) keys.insert(key);
  std::vector<ComparedFigure> all;
  for (const std::string& key : keys) {
    const auto of = [&key](const auto& side) {
      const auto found = side.find(key);
      return found == side.end() ? std::vector<double>() : found->second;
    };
    ComparedFigure one{figure, key, compare_samples(of(a), of(b), figure.better), 1};
    const bool moved = one.change.verdict != Verdict::same;
    if (moved && std::abs(one.change.change_ratio) < least_split_change) one.change.verdict = Verdict::same;
    if (!figure.denominator.empty()) one.weight = std::max(1.0, sum_of(heavy, key));
    all.push_back(std::move(one));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const ComparedFigure& x, const ComparedFigure& y) { return effect(x) > effect(y); });
  return all;
}

}  // namespace

Comparison compare_runs(const StoredRun& first, const StoredRun& second, const std::vector<std::string>& metrics) {
  Comparison out;
  out.first = first.path();
  out.second = second.path();
  out.comparability = comparability(first, second);
  const RowFilters& rows = out.comparability.rows;
  for (const Figure& figure : key_figures()) {
    if (!chosen(metrics, figure.metric)) continue;
    const auto a = samples(first, figure, rows.first), b = samples(second, figure, rows.second);
    if (a.empty() || b.empty()) {
      note_absent(first, second, figure, rows, out.absent);
      continue;
    }
    if (out.comparability.is_unlike(figure)) {
      note_unlike(figure, out.comparability.unlike_matching, out.absent);
      continue;
    }
    out.whole.push_back({figure, "", compare_samples(a.at(""), b.at(""), figure.better), 1});
  }
  if (chosen(metrics, "straggler_lag")) out.late = late_difference(late_ranks(first), late_ranks(second));
  for (const Figure& figure : split_figures()) {
    const bool of_ranks = figure.section == "ranks" || figure.section == "groups";
    if (!chosen(metrics, figure.metric) || (of_ranks && !out.comparability.same_ranks)) continue;
    const bool in_first = first.status(figure.metric).has_values(), in_second = second.status(figure.metric).has_values();
    if (in_first != in_second) note_absent(first, second, figure, rows, out.absent);
    if (!in_first || !in_second || out.comparability.is_unlike(figure)) continue;  // not computed is neither new nor gone
    for (ComparedFigure& one : compare_split(first, second, figure, rows)) out.split.push_back(std::move(one));
  }
  return out;
}

}  // namespace ccl
