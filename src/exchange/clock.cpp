#include "exchange/clock.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/collective_math.hpp"
#include "core/statistics.hpp"
#include "exchange/clock_one_host.hpp"
#include "exchange/end_differences.hpp"
#include "exchange/match_parts.hpp"
#include "exchange/robust.hpp"

namespace ccl {
namespace {

constexpr std::int64_t least_for_drift = 8;
constexpr std::int64_t span_per_residual = 10'000'000;  // ten residuals per part in a million
// A drift that moves the ends by several residuals is one, however short the span (50 ppm over 100 ms is 5 us).
constexpr std::int64_t least_for_clear_drift = 20;
constexpr double clear_drift = 3;
constexpr std::size_t most_blocks = 64;
constexpr double least_spread_ns = 100;                 // no pair of hosts agrees better than this

/// What a pair's owner finds out about it in one iteration: 48 bytes.
struct PairFit {
  std::int32_t iteration = -1, host_a = -1, host_b = -1;
  std::int32_t drift_usable = 0;
  std::int64_t count = 0;
  std::int64_t slope_ppt = 0;   // of end_a − end_b, parts in 10^12
  std::int64_t span_ns = 0;
  std::int64_t centre_ns = 0;   // median of end_a − end_b once drifts are taken out
  double spread_ns() const { return std::max(least_spread_ns, static_cast<double>(deviation_ns)); }
  std::int64_t deviation_ns = 0;  // median absolute deviation from the centre
  auto key() const { return std::tuple(iteration, host_a, host_b); }
};

using Ends = std::vector<PairEnds>;

/// Theil–Sen: the median slope between all pairs of block medians.
double slope_of(const Ends& pair) {
  const std::size_t blocks = std::min(most_blocks, pair.size());
  std::vector<double> times, values;
  std::vector<std::int64_t> t, d;
  for (std::size_t b = 0; b < blocks; ++b) {
    t.clear();
    d.clear();
    for (std::size_t i = b * pair.size() / blocks; i < (b + 1) * pair.size() / blocks; ++i) {
      t.push_back(pair[i].a_ns - pair[0].a_ns);
      d.push_back(pair[i].a_ns - pair[i].b_ns - (pair[0].a_ns - pair[0].b_ns));
    }
    times.push_back(static_cast<double>(middle_of(t)));
    values.push_back(static_cast<double>(middle_of(d)));
  }
  std::vector<double> slopes;
  for (std::size_t i = 0; i < blocks; ++i)
    for (std::size_t j = i + 1; j < blocks; ++j)
      if (times[j] > times[i]) slopes.push_back((values[j] - values[i]) / (times[j] - times[i]));
  return slopes.empty() ? 0.0 : median(std::move(slopes));
}

std::int64_t residual_of(std::vector<std::int64_t> deviations) { return percentile_value(std::move(deviations), 95); }

PairFit fit_of(const HostPair& pair, const Ends& ends) {
  PairFit fit;
  fit.iteration = pair.iteration;
  fit.host_a = pair.host_a;
  fit.host_b = pair.host_b;
  fit.count = static_cast<std::int64_t>(ends.size());
  return fit;
}

PairFit fit_slope(const HostPair& hosts, const Ends& pair) {
  PairFit fit = fit_of(hosts, pair);
  fit.span_ns = pair.back().a_ns - pair.front().a_ns;
  const double slope = slope_of(pair);
  fit.slope_ppt = std::llround(std::clamp(slope, -1e6, 1e6) * 1e12);
  std::vector<std::int64_t> rest;
  for (const PairEnds& e : pair)
    rest.push_back(e.a_ns - e.b_ns - std::llround(slope * static_cast<double>(e.a_ns - pair[0].a_ns)));
  const std::int64_t middle = middle_value(rest);
  for (std::int64_t& r : rest) r = std::abs(r - middle);
  const std::int64_t residual_ns = residual_of(std::move(rest));
  const double drifted_ns = std::abs(slope) * static_cast<double>(fit.span_ns);
  fit.drift_usable = fit.count >= least_for_drift && fit.span_ns > 0 &&
                     (fit.span_ns / span_per_residual >= residual_ns ||  // so that clocks a year apart do not overflow
                      (fit.count >= least_for_clear_drift && drifted_ns >= clear_drift * static_cast<double>(residual_ns)));
  return fit;
}

std::int64_t difference_ns(const HostPair& pair, const PairEnds& ends, const ClockModel& clock) {
  return clock.corrected(pair.host_a, ends.a_ns) - clock.corrected(pair.host_b, ends.b_ns);
}

std::vector<PairFit> gather_fits(const std::vector<PairFit>& mine, const Comm& comm) {
  std::vector<PairFit> all = gather_all_rows(comm, mine);
  std::sort(all.begin(), all.end(), [](const PairFit& a, const PairFit& b) { return a.key() < b.key(); });
  return all;
}

/// One drift per host, from all iterations.
void fit_drifts(const EndDifferences& mine, std::int32_t reference, const Comm& comm, ClockModel& clock) {
  std::vector<PairFit> fits;
  for (const auto& [pair, ends] : mine) fits.push_back(fit_slope(pair, ends));
  std::vector<ClockEdge> edges;
  for (const PairFit& fit : gather_fits(fits, comm)) {
    if (fit.drift_usable == 0) continue;
    const double span_s = static_cast<double>(fit.span_ns) / 1e9;
    edges.push_back({fit.host_a, fit.host_b, fit.slope_ppt, static_cast<double>(fit.count) * span_s * span_s});
  }
  const ClockSolution drifts = solve_clock_graph(clock.hosts.size(), reference, edges);
  for (std::size_t h = 0; h < clock.hosts.size(); ++h)
    clock.hosts[h].drift_ppb = std::llround(static_cast<double>(drifts.values[h]) / 1000.0);
}

/// Offsets of every iteration: [iteration][host], with what was reached.
std::map<std::int32_t, ClockSolution> fit_offsets(const EndDifferences& mine, std::int32_t reference,
                                                  const Comm& comm, const ClockModel& drifts_only) {
  std::vector<PairFit> fits;
  for (const auto& [pair, ends] : mine) {
    PairFit fit = fit_of(pair, ends);
    std::vector<std::int64_t> differences;
    for (const PairEnds& e : ends) differences.push_back(difference_ns(pair, e, drifts_only));
    fit.centre_ns = middle_value(differences);
    for (std::int64_t& d : differences) d = std::abs(d - fit.centre_ns);
    fit.deviation_ns = middle_value(std::move(differences));
    fits.push_back(fit);
  }
  std::map<std::int32_t, std::vector<ClockEdge>> edges;
  for (const PairFit& fit : gather_fits(fits, comm))
    edges[fit.iteration].push_back({fit.host_a, fit.host_b, fit.centre_ns,
                                    static_cast<double>(fit.count) / (fit.spread_ns() * fit.spread_ns())});
  std::map<std::int32_t, ClockSolution> solutions;
  for (const auto& [iteration, list] : edges)
    solutions[iteration] = solve_clock_graph(drifts_only.hosts.size(), reference, list);
  return solutions;
}

struct Period {
  std::int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  std::int32_t iteration = -1;
};

/// Offsets into the model: an iteration without a path takes the offset of the one before (or the first one after).
void set_offsets(const std::map<std::int32_t, ClockSolution>& solutions, const Ranks& ranks, ClockModel& clock) {
  std::vector<std::map<std::int32_t, Period>> periods(clock.hosts.size());
  for (const RankEntry& entry : ranks.entries) {
    if (entry.host_index < 0) continue;
    Period& period = periods[static_cast<std::size_t>(entry.host_index)][entry.iteration];
    period.iteration = entry.iteration;
    if (entry.facts.first_ns == absent_ns) continue;
    period.first_ns = std::min(period.first_ns, entry.facts.first_ns);
    period.last_ns = std::max(period.last_ns, entry.facts.last_ns);
  }
  for (std::size_t h = 0; h < clock.hosts.size(); ++h) {
    std::vector<Period> in_time;
    for (const auto& [iteration, period] : periods[h]) {
      const auto solution = solutions.find(iteration);
      const bool reached = solution != solutions.end() && solution->second.reached[h];
      // Without GPU events nothing was matched: such a period can only be the one of a host's only iteration.
      if (reached && (period.first_ns <= period.last_ns || periods[h].size() == 1)) in_time.push_back(period);
    }
    std::sort(in_time.begin(), in_time.end(), [](const Period& a, const Period& b) {
      return std::tie(a.first_ns, a.iteration) < std::tie(b.first_ns, b.iteration);
    });
    clock.hosts[h].corrected = !in_time.empty();
    for (std::size_t i = 0; i < in_time.size(); ++i) {
      const std::int64_t offset_ns = solutions.at(in_time[i].iteration).values[h];
      if (i == 0)
        clock.hosts[h].offset_ns = offset_ns;
      else  // between two captures: CPU events may start a little before the first kernel
        clock.later.push_back({static_cast<std::int32_t>(h),
                               in_time[i - 1].last_ns + (in_time[i].first_ns - in_time[i - 1].last_ns) / 2, offset_ns});
    }
  }
}

struct HostResidual {
  std::int32_t host = -1, unused = 0;
  std::int64_t residual_ns = -1, count = 0;
};

/// What the model leaves, per host and over the run.
void fill_residuals(const EndDifferences& mine, const Comm& comm, ClockModel& clock) {
  const auto workers = static_cast<std::size_t>(comm.num_workers());
  std::vector<std::int64_t> all;
  std::map<std::int32_t, std::vector<std::int64_t>> by_host;
  for (const auto& [pair, ends] : mine) {
    const std::size_t first = all.size();
    for (const PairEnds& e : ends) all.push_back(std::abs(difference_ns(pair, e, clock)));
    for (const std::int32_t host : {pair.host_a, pair.host_b})
      by_host[host].insert(by_host[host].end(), all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
  }
  std::vector<ByteWriter> out(workers);
  for (auto at = by_host.begin(); at != by_host.end();) {
    const std::size_t owner = static_cast<std::size_t>(at->first) % workers;
    if (owner == static_cast<std::size_t>(comm.worker())) {
      ++at;
      continue;
    }
    out[owner].value(at->first);
    out[owner].array(at->second);
    at = by_host.erase(at);
  }
  std::vector<Bytes> parcels;
  for (ByteWriter& parcel : out) parcels.push_back(parcel.take());
  for (const Bytes& parcel : comm.exchange(std::move(parcels)))
    for (ByteReader in(parcel); !in.at_end();) {
      std::vector<std::int64_t>& list = by_host[in.value<std::int32_t>()];
      const auto came = in.array<std::int64_t>();
      list.insert(list.end(), came.begin(), came.end());
    }
  std::vector<HostResidual> residuals;
  for (auto& [host, list] : by_host) {
    const auto count = static_cast<std::int64_t>(list.size());
    residuals.push_back({host, 0, residual_of(std::move(list)), count});
  }
  for (const HostResidual& r : gather_all_rows(comm, residuals)) {
    clock.hosts[static_cast<std::size_t>(r.host)].residual_ns = r.residual_ns;
    clock.hosts[static_cast<std::size_t>(r.host)].instances_count = r.count;
  }
  clock.residual_ns = percentile_over_workers(std::move(all), 95, comm);
}

/// What common ends vary by, against their usual difference: no clock's offset is in it.
std::vector<std::int64_t> used_deviations_ns(const MatchedCollectives& matched) {
  std::vector<std::int64_t> deviations = end_deviations_ns(matched);
  for (std::size_t i = 0; i < deviations.size(); ++i)
    if (!tells_clocks(matched.instances[i])) deviations[i] = -1;
  std::erase(deviations, -1);
  return deviations;
}

/// A host that has several clocks has no offset that is right for all its ranks: what they are apart is its error.
void count_clocks_apart(const MatchedCollectives& matched, const Ranks& ranks, const Comm& comm, ClockModel& clock,
                        Problems& problems) {
  clock.apart = clocks_apart(matched, ranks, comm);
  if (clock.apart.empty()) return;
  clock.ends_apart_ns = percentile_over_workers(used_deviations_ns(matched), 95, comm);
  for (const ClocksApart& pair : clock.apart) {
    HostClock& host = clock.hosts[static_cast<std::size_t>(pair.host)];
    host.residual_ns = std::max(host.residual_ns, pair.apart_ns);
    clock.residual_ns = std::max(clock.residual_ns, pair.apart_ns);
    if (!comm.is_first()) continue;
    Problem problem;
    problem.code = Code::host_clocks_differ;
    problem.detail = clocks_apart_text(pair, ranks);
    problems.add(problem);
  }
}

}  // namespace

std::int64_t percentile_over_workers(std::vector<std::int64_t> values, std::int64_t percent, const Comm& comm) {
  std::sort(values.begin(), values.end());
  const std::int64_t count = comm.sum(static_cast<std::int64_t>(values.size()));
  if (count == 0) return -1;
  const std::int64_t largest = comm.max(values.empty() ? 0 : values.back());
  const auto nth = [&](std::int64_t n) {  // smallest x with more than n values ≤ x
    std::int64_t low = 0, high = largest;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const auto below = std::upper_bound(values.begin(), values.end(), middle) - values.begin();
      if (comm.sum(below) > n)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  };
  const std::int64_t position = (count - 1) * percent;  // in hundredths
  const std::int64_t below = nth(position / 100);
  if (position % 100 == 0) return below;
  return below + (nth(position / 100 + 1) - below) * (position % 100) / 100;
}

ClockModel fit_clocks(const MatchedCollectives& matched, const Ranks& ranks, const Comm& comm, Problems& problems) {
  ClockModel clock;
  clock.hosts.resize(ranks.hosts.size());
  std::int32_t reference = -1;
  for (const RankEntry& entry : ranks.entries)
    if (entry.host_index >= 0 && (clock.reference_rank < 0 || entry.rank.value < clock.reference_rank)) {
      clock.reference_rank = entry.rank.value;
      reference = entry.host_index;
    }
  if (reference < 0) return clock;

  const std::vector<std::int32_t> hosts = ranks.hosts_by_row();
  std::int64_t first_end_ns = INT64_MAX;
  for (const MatchedInstance& instance : matched.instances)
    for (std::int32_t m = 0; tells_clocks(instance) && m < instance.members_seen; ++m) {
      const MatchedMember& member = matched.members[instance.first_member + static_cast<std::uint32_t>(m)];
      if (hosts[static_cast<std::size_t>(member.rank_row)] == reference)
        first_end_ns = std::min(first_end_ns, member.start_ns + member.dur_ns);
    }
  first_end_ns = comm.min(first_end_ns);
  clock.t_ref_ns = first_end_ns == INT64_MAX ? 0 : first_end_ns;

  EndDifferences differences = end_differences(matched, ranks);
  if (comm.sum(static_cast<std::int64_t>(differences.size())) > 0) {
    const EndDifferences owned = to_pair_owners(std::move(differences), comm);
    fit_drifts(owned, reference, comm, clock);
    set_offsets(fit_offsets(owned, reference, comm, clock), ranks, clock);
    fill_residuals(owned, comm, clock);
  } else {
    std::vector<std::int64_t> deviations = used_deviations_ns(matched);
    const auto used = static_cast<std::int64_t>(deviations.size());
    clock.residual_ns = percentile_over_workers(std::move(deviations), 95, comm);
    const std::int64_t count = comm.sum(used);
    for (std::size_t h = 0; h < clock.hosts.size(); ++h) clock.hosts[h].corrected = static_cast<std::int32_t>(h) == reference;
    clock.hosts[static_cast<std::size_t>(reference)].residual_ns = clock.residual_ns;
    clock.hosts[static_cast<std::size_t>(reference)].instances_count = count;
  }
  clock.hosts[static_cast<std::size_t>(reference)].corrected = true;
  count_clocks_apart(matched, ranks, comm, clock, problems);
  for (std::size_t h = 0; h < clock.hosts.size() && comm.is_first(); ++h) {
    if (clock.hosts[h].corrected) continue;
    Problem problem;
    problem.code = Code::clock_uncorrected;
    problem.detail = host_text(ranks.hosts[h]);
    problems.add(problem);
  }
  return clock;
}

void apply_clock(MatchedCollectives& matched, const ClockModel& clock, const Ranks& ranks, const Groups& groups,
                 Problems& problems) {
  MatchCounts counts;
  const std::vector<std::int32_t> hosts = ranks.hosts_by_row();
  const std::int64_t error_ns = clock.message_error_ns();
  for (MatchedInstance& instance : matched.instances) {
    if (!instance.credible) continue;
    std::int64_t first_start = INT64_MAX, last_start = INT64_MIN, first_end = INT64_MAX, last_end = INT64_MIN;
    bool one_host = true, corrected = true;
    const std::int32_t first_host = hosts[static_cast<std::size_t>(matched.members[instance.first_member].rank_row)];
    std::int64_t end_ns = 0;
    for (std::int32_t m = 0; m < instance.members_seen; ++m) {
      const MatchedMember& member = matched.members[instance.first_member + static_cast<std::uint32_t>(m)];
      const std::int32_t host = hosts[static_cast<std::size_t>(member.rank_row)];
      one_host = one_host && host == first_host;
      corrected = corrected && host >= 0 && clock.hosts[static_cast<std::size_t>(host)].corrected;
      const std::int64_t start_ns = host < 0 ? member.start_ns : clock.corrected(host, member.start_ns);
      end_ns = host < 0 ? member.start_ns + member.dur_ns : clock.corrected(host, member.start_ns + member.dur_ns);
      first_start = std::min(first_start, start_ns);
      last_start = std::max(last_start, start_ns);
      first_end = std::min(first_end, end_ns);
      last_end = std::max(last_end, end_ns);
    }
    if (!one_host && !corrected) continue;  // the clocks share no axis
    instance.first_arrival_ns = first_start;
    instance.last_arrival_ns = last_start;
    instance.last_end_ns = last_end;
    // A sender may be done once its data is in a buffer, which the shortest duration does not show: the end of the receive
    // minus the later start does (end_ns is now the receiver's, which stands behind the sender). What it says beyond the
    // shortest duration counts only where clocks are not able to say it falsely.
    if (is_point_to_point(instance.op) && !instance.suspect && corrected && error_ns >= 0 &&
        end_ns - last_start > instance.transfer_ns + error_ns)
      instance.transfer_ns = end_ns - last_start;
    if (!is_symmetric(instance.op)) continue;
    instance.start_spread_ns = last_start - first_start;
    instance.end_spread_ns = last_end - first_end;
    if (clock.residual_ns >= 0 && instance.lag_ns >= 0 &&
        std::abs(instance.lag_ns - instance.start_spread_ns) > 3 * std::max<std::int64_t>(clock.residual_ns, 1))
      counts.instance(instance, Code::clock_and_duration_disagree);
  }
  counts.report(groups, problems);
}

}  // namespace ccl
