// Where no rank has peers (one rank for each pipeline stage): which rank became slower than itself. Report stage.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/statistics.hpp"
#include "metrics/straggler_lag.hpp"

namespace ccl::straggler {
namespace {

constexpr double least_slowdown = 1.05;
constexpr std::size_t least_earlier_steps = 3;

using Series = std::vector<std::pair<StepId, double>>;  // compute of each step, ascending

/// How much longer a rank computes from step `at` on, in medians.
double slowdown(const Series& series, std::size_t at) {
  std::vector<double> before_ns, since_ns;
  for (std::size_t i = 0; i < series.size(); ++i) (i < at ? before_ns : since_ns).push_back(series[i].second);
  return ratio(median(since_ns), median(before_ns));
}

/// The first step from which every step takes at least 1.05 x as long as every earlier one; 0 if there is none.
std::size_t onset_in(const Series& series) {
  for (std::size_t at = least_earlier_steps; at < series.size(); ++at) {
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto border = series.begin() + static_cast<std::ptrdiff_t>(at);
    const double before_ns = std::max_element(series.begin(), border, less)->second;
    if (std::min_element(border, series.end(), less)->second >= least_slowdown * before_ns) return at;
  }
  return 0;
}

}  // namespace

std::vector<Slower> slower_than_before(std::span<const Compute> computes) {
  std::map<std::pair<std::int32_t, RankId>, Series> ranks;
  for (const Compute& row : computes)
    if (row.step.step != outside_step)
      ranks[{row.replica, row.rank}].emplace_back(row.step, static_cast<double>(row.compute_ns));
  for (auto& [key, series] : ranks) std::sort(series.begin(), series.end());
  // By number of steps and onset, of all ranks, sorted: for each rank among the others anew would cost ranks².
  std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> slowdowns;
  const auto slowdowns_at = [&](std::size_t steps_count, std::size_t at) -> const std::vector<double>& {
    const auto [known, added] = slowdowns.try_emplace({steps_count, at});
    if (!added) return known->second;
    for (const auto& [key, series] : ranks)
      if (series.size() == steps_count && !std::isnan(slowdown(series, at))) known->second.push_back(slowdown(series, at));
    std::sort(known->second.begin(), known->second.end());
    return known->second;
  };
  std::vector<Slower> out;
  for (const auto& [key, series] : ranks) {
    const std::size_t at = onset_in(series);
    const double own = at == 0 ? 0 : slowdown(series, at);
    if (!(own >= least_slowdown)) continue;
    // Longer sequences make every stage slower: only what a rank gained on the others is its own.
    const std::vector<double>& all = slowdowns_at(series.size(), at);
    const double times = own / (all.size() < 2 ? 1 : std::max(1.0, median_of_others(all, own)));
    if (times < least_slowdown) continue;
    std::vector<double> since_ns;
    for (std::size_t i = at; i < series.size(); ++i) since_ns.push_back(series[i].second);
    out.push_back({key.first, key.second, series[at].first, times, median(since_ns) * (1 - 1 / times)});
  }
  std::stable_sort(out.begin(), out.end(), [](const Slower& a, const Slower& b) { return a.more_ns > b.more_ns; });
  return out;
}

std::string slower_text(const Slower& slower) {
  return rank_name(slower.replica, slower.rank) + " computes " + hundredths(slower.times) +
         " x as long as itself before, " + milliseconds(slower.more_ns) + " more in a step, since " +
         step_name(slower.since) + "; confidence low (no rank does the same work: only its own history tells)";
}

ResultTable slower_table(const std::vector<Slower>& rows) {
  std::vector<ColumnSpec<Slower>> all;
  all.push_back(column("rank", &Slower::rank, "", "the rank"));
  all.push_back(column("replica", &Slower::replica, "", "replica folder the rank belongs to; -1 = none", -1));
  all.push_back(integer_column<Slower>("since_step", "", "first step of the slowness", {},
                                       [](const Slower& row) { return row.since.step; }));
  all.push_back(integer_column<Slower>("more_ns", "ns", "compute of a step beyond its own earlier steps, median", {},
                                       [](const Slower& row) { return static_cast<std::int64_t>(row.more_ns); }));
  all.push_back(column("compute_ratio", &Slower::times, "",
                       "compute since then / before, over the median of the other ranks where they grew too"));
  return make_table("slower_than_before", "ranks that compute longer than they did; only where no rank has peers", all,
                    rows);
}

}  // namespace ccl::straggler
