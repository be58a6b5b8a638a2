// Who is called a straggler, and one sentence on each: since when, how much, why. Report stage.
#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "core/statistics.hpp"
#include "exchange/coverage.hpp"
#include "metrics/straggler_lag.hpp"

namespace ccl::straggler {
namespace {

constexpr std::size_t most_further_stragglers = 3;
constexpr std::size_t most_told = 64;  // a cause is looked for among all ranks

/// What the sentences rest on.
struct Evidence {
  const std::vector<CauseSums>& causes;
  const std::vector<Compute> computes;  // on the corrected clock, by (replica, rank, step)
  const Stages& stages;
  const ReportContext& context;
  const std::set<StepId> lacking;  // steps in which not all ranks are judged
};

std::string time(std::int64_t ns) { return milliseconds(static_cast<double>(ns)); }

/// The rank in a list sorted by (replica, rank); its end if it is not there.
template <class List, class Rank>
auto find_rank(List& list, const Rank& rank) {
  const auto at = std::lower_bound(list.begin(), list.end(), rank, [](const auto& a, const Rank& b) {
    return std::tuple(a.replica, a.rank) < std::tuple(b.replica, b.rank);
  });
  return at != list.end() && at->replica == rank.replica && at->rank == rank.rank ? at : list.end();
}

// The same ranks with only the blame that is their own.
std::vector<RankBlame> own_by_rank(const std::vector<RankBlame>& ranks, const std::vector<OwnBlame>& own) {
  std::vector<RankBlame> out = ranks;
  for (RankBlame& rank : out) {
    const auto at = find_rank(own, rank);
    rank.blame_ns = rank.last_count = 0;
    rank.blame_by_step.clear();
    if (at == own.end()) continue;
    rank.blame_by_step = at->by_step;
    rank.last_count = at->last_count;
    rank.lasting_count = at->lasting_count;
    for (const auto& [step, ns] : at->by_step) rank.blame_ns += ns;
  }
  return out;
}

/// A straggler's own blame per step, in the steps of the call.
double ns_per_step(const RankBlame& rank, const StragglerCall& call) {
  std::vector<double> values;
  for (const auto& [step, ns] : rank.blame_by_step)
    if (call.counts(step, ns)) values.push_back(static_cast<double>(ns));
  return mean(values);
}

double period_ns(const RankBlame& rank) {
  return ratio(static_cast<double>(rank.periods_ns), static_cast<double>(rank.steps_count));
}

// The group with the largest own blame of one rank, and its share.
std::pair<GroupId, double> dominant_group(const OwnBlame& own) {
  std::map<GroupId, std::int64_t> blame;
  std::int64_t total = 0;
  for (const auto& [key, steps] : own.parts)
    for (const auto& [step, ns] : steps) blame[std::get<1>(key)] += ns, total += ns;
  std::pair<GroupId, std::int64_t> most{GroupId(), -1};
  for (const auto& [group, ns] : blame)
    if (ns > most.second) most = {group, ns};
  return {most.first, ratio(static_cast<double>(most.second), static_cast<double>(total))};
}

std::string why(const OwnBlame& own, const StragglerCall& call, const Evidence& evidence) {
  return own_sentence(own, evidence.causes, evidence.computes, call, evidence.context.groups, evidence.stages,
                      evidence.lacking);
}

/// The steps of a rank: among those of all for each rank would cost ranks².
std::span<const Compute> steps_of(const RankBlame& rank, const Evidence& evidence) {
  struct ByRank {
    using Key = std::pair<std::int32_t, RankId>;
    bool operator()(const Compute& row, const Key& key) const { return Key(row.replica, row.rank) < key; }
    bool operator()(const Key& key, const Compute& row) const { return key < Key(row.replica, row.rank); }
  };
  const auto [first, last] = std::equal_range(evidence.computes.begin(), evidence.computes.end(),
                                              ByRank::Key(rank.replica, rank.rank), ByRank());
  return {first, last};
}

// Whatever hides the delay shows here: ", steps take 2.26 ms longer since then". The gap before the first step is not on
// record, so its period is not either; an onset has other steps before it (onset_of).
std::string longer_text(const RankBlame& rank, const StragglerCall& call, const Evidence& evidence) {
  if (!call.onset) return "";
  std::vector<double> before_ns, since_ns;
  const std::span<const Compute> steps = steps_of(rank, evidence);
  for (const Compute& row : steps.subspan(std::min<std::size_t>(1, steps.size())))
    (row.step < *call.onset ? before_ns : since_ns).push_back(static_cast<double>(row.period_ns));
  const double longer_ns = mean(since_ns) - mean(before_ns);
  if (!(longer_ns > 0)) return "";
  return ", steps take " + milliseconds(longer_ns) + " longer since then";
}

/// Mean of its periods in the steps that its delay is the mean of.
double blamed_period_ns(const RankBlame& rank, const StragglerCall& call, const Evidence& evidence) {
  std::set<StepId> counted;
  for (const auto& [step, ns] : rank.blame_by_step)
    if (call.counts(step, ns)) counted.insert(step);
  std::vector<double> periods_ns;
  for (const Compute& row : steps_of(rank, evidence))
    if (counted.count(row.step) > 0) periods_ns.push_back(static_cast<double>(row.period_ns));
  return periods_ns.empty() ? period_ns(rank) : mean(periods_ns);
}

/// The beginnings of all steps on the corrected clock.
std::vector<Compute> corrected(std::vector<Compute> computes, const ReportContext& context) {
  std::map<std::tuple<std::int32_t, std::int32_t, RankId>, std::int32_t> hosts;
  for (const RankEntry& entry : context.ranks.entries)
    hosts[{entry.iteration, entry.replica, entry.rank}] = entry.host_index;
  for (Compute& row : computes) {
    const auto host = hosts.find({row.step.iteration, row.replica, row.rank});
    const bool known =
        host != hosts.end() && host->second >= 0 && static_cast<std::size_t>(host->second) < context.clock.hosts.size();
    for (std::int64_t Compute::*time : {&Compute::start_ns, &Compute::first_launch_ns})
      if (row.*time != absent_ns) row.*time = known ? context.clock.corrected(host->second, row.*time) : absent_ns;
  }
  std::sort(computes.begin(), computes.end(), [](const Compute& a, const Compute& b) {
    return std::tuple(a.replica, a.rank, a.step) < std::tuple(b.replica, b.rank, b.step);
  });
  return computes;
}

/// ", 26.4 ms of that at the first one, for what was before it": where that is much of it.
std::string first_wait_text(const RankBlame& all, const std::vector<FirstMeeting>& firsts) {
  for (const FirstMeeting& first : firsts)
    if (first.rank == all.rank && first.replica == all.replica && 4 * first.blamed_wait_ns >= all.blamed_wait_ns &&
        first.blamed_wait_ns > 0 && all.instances_count > 1)
      return ", " + time(first.blamed_wait_ns) + " of that at its first collective, for what was before";
  return "";
}

/// " in a step, since step 8 (3 of 6 steps)", " in the one step seen".
std::string in_steps_text(const StragglerCall& call) {
  return (call.persistence.steps_count > 1 ? " in a step, " : " ") + persistence_text(call.persistence, call.onset);
}

/// The steps that its delay is the mean of: " since then", " in these steps"; all of them: "".
std::string window_text(const StragglerCall& call) {
  if (call.onset) return " since then";
  if (call.persistence.always()) return "";
  return call.persistence.affected_count == 1 ? " in this step" : " in these steps";
}

std::string known_host(const RankBlame& rank, const Ranks& ranks) {
  for (const RankEntry& entry : ranks.entries)
    if (entry.rank == rank.rank && entry.replica == rank.replica && entry.host_source != HostSource::unknown)
      return entry.host;
  return "";
}

std::string at_host(const Named& named) { return named.host.empty() ? "" : "; " + host_text(named.host); }

std::set<StepId> all_steps(const OwnBlame& own) {
  std::set<StepId> steps;
  for (const auto& [step, ns] : own.by_step) steps.insert(step);
  return steps;
}

/// counted: the steps that count.
Cause main_cause(const OwnBlame& own, const std::set<StepId>& counted) {
  std::map<Cause, std::int64_t> sums;
  for (const auto& [key, steps] : own.parts)
    for (const auto& [step, ns] : steps) sums[std::get<0>(key)] += counted.contains(step) ? ns : 0;
  const auto most = std::max_element(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == sums.end() ? Cause::unexplained : most->first;
}

/// all: with the blame of others that only passes through it; rank: with its own blame.
Named named(const RankBlame& all, const RankBlame& rank, const StragglerCall& call, const OwnBlame& own,
            const Evidence& evidence) {
  Named out;
  out.replica = rank.replica;
  out.rank = rank.rank;
  out.since = since_of(call.persistence, call.onset);
  out.persistence = call.persistence;
  out.delay_ns = ns_per_step(rank, call);
  out.period_ns = blamed_period_ns(rank, call, evidence);
  out.last_count = all.last_count;
  out.instances_count = all.instances_count;
  out.others_wait_ns = all.blamed_wait_ns;
  std::tie(out.group, out.group_share) = dominant_group(own);
  out.cause = main_cause(own, own.steps_of(call));
  out.why = why(own, call, evidence);
  out.host = known_host(rank, evidence.context.ranks);
  return out;
}

/// told: of `rank`, whose blame is its own; all: with that of others, which only passes through it.
void add_straggler_lines(const Named& told, const RankBlame& all, const RankBlame& rank, const StragglerCall& call,
                         const Evidence& evidence, const std::string& first_wait, std::vector<std::string>& lines) {
  const std::string who = rank_name(rank.replica, rank.rank);
  const std::string times = " in " + std::to_string(all.last_count) + " of " +
                            counted(static_cast<std::size_t>(all.instances_count), "collective");
  // With members missing, a rank that is not here may be later still.
  if (all.last_incomplete_count > 0)
    add_line(lines, "late",
             who + " is last of the " + std::to_string(all.members_seen) + " ranks seen" + times +
                 "; the others wait " + time(all.blamed_wait_ns) + " for it in all" + first_wait);
  else
    add_line(lines, "late",
             who + " is the straggler: last" + times + "; the others wait " + time(all.blamed_wait_ns) +
                 " for it in all" + first_wait);
  add_line(lines, "",
           "it delays its group by " + milliseconds(told.delay_ns) + in_steps_text(call) +
               longer_text(rank, call, evidence) + "; " + percent(told.group_share) + " of that on " +
               group_name(evidence.context.groups, told.group) + at_host(told));
  if (!told.why.empty()) add_line(lines, "", "cause" + window_text(call) + ": " + told.why);
  // Nobody gains more than there is: such a delay began before the step, or its times are wrong.
  if (told.delay_ns > told.period_ns)
    return add_line(lines, "", "gain unknown: the delay is longer than its " + milliseconds(told.period_ns) +
                                   " step period" + window_text(call));
  add_line(lines, "",
           "gain if it arrived with the next to last: up to " + milliseconds(told.delay_ns) + " of its " +
               milliseconds(told.period_ns) + " step period" + window_text(call) + " (" +
               percent(ratio(told.delay_ns, told.period_ns)) + ")" +
               (evidence.stages.of(rank.rank) >= 0 ? "; less where other stages hide it, see what if" : ""));
}

// "rank 42 too: 3.98 ms in a step, in all 6 steps: late launch …; host node10".
std::string further_straggler(const Named& told, const StragglerCall& call) {
  return rank_name(told.replica, told.rank) + " too: " + milliseconds(told.delay_ns) + in_steps_text(call) + ": " +
         told.why + at_host(told);
}

/// Why the rank that is last most often is not the one named; empty if it is. all, own: the same ranks.
std::string last_most_often(const std::vector<RankBlame>& all, const std::vector<RankBlame>& own,
                            const std::vector<StragglerCall>& calls) {
  std::size_t most = calls.front().largest;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].last_count > all[most].last_count) most = i;
  for (const StragglerCall& call : calls)
    if (call.largest == most) return "";
  const RankBlame& rank = all[most];
  return rank_name(rank.replica, rank.rank) + " is last more often (" + std::to_string(rank.last_count) + " of " +
         std::to_string(rank.instances_count) + "), but of the " + time(rank.blame_ns) + " this costs, " +
         time(own[most].blame_ns) + " is its own delay" +
         (2 * own[most].blame_ns < rank.blame_ns
              ? ": for the rest it waits for others elsewhere, or its stage has more to do"
              : "");
}

/// One row of the table: a rank's own blame.
struct OwnRow {
  std::int32_t replica = -1;
  RankId rank;
  bool stands_out = false;
  std::int64_t since_step = -1, own_blame_ns = 0, per_step_ns = 0, period_ns = 0;
  Persistence persistence;
  Cause cause = Cause::unexplained;
};

ResultTable own_table(const std::vector<OwnRow>& rows) {
  std::vector<ColumnSpec<OwnRow>> all;
  all.push_back(column("rank", &OwnRow::rank, "", "the rank"));
  all.push_back(column("replica", &OwnRow::replica, "", "replica folder the rank belongs to; -1 = none", -1));
  all.push_back(integer_column<OwnRow>("straggler", "", "1 = it stands out", {},
                                       [](const OwnRow& row) { return std::int64_t{row.stands_out}; }));
  all.push_back(column("since_step", &OwnRow::since_step, "",
                       "first step of the delay; -1 = from the first step seen, or not lasting", -1));
  all.push_back(column("own_blame_ns", &OwnRow::own_blame_ns, "ns", "delay it causes itself, largest group of each step"));
  all.push_back(column("per_step_ns", &OwnRow::per_step_ns, "ns",
                       "mean of it over the steps from then on; without onset over the affected ones"));
  all.push_back(column("period_ns", &OwnRow::period_ns, "ns", "mean step period of the rank over these steps"));
  all.push_back(integer_column<OwnRow>("steps_count", "", "steps in which it meets its peers", {},
                                       [](const OwnRow& row) { return row.persistence.steps_count; }));
  all.push_back(integer_column<OwnRow>("affected_steps_count", "", "of them: the delay is at least 1 % of the period",
                                       {}, [](const OwnRow& row) { return row.persistence.affected_count; }));
  const auto step_of = [](const std::optional<StepId>& step) { return step ? step->step : -1; };
  all.push_back(integer_column<OwnRow>("first_affected_step", "", "first of these steps; -1 = none", -1,
                                       [step_of](const OwnRow& row) { return step_of(row.persistence.first); }));
  all.push_back(integer_column<OwnRow>("last_affected_step", "", "last of these steps; -1 = none", -1,
                                       [step_of](const OwnRow& row) { return step_of(row.persistence.last); }));
  all.push_back(text_column<OwnRow>("cause", "what most of it comes from",
                                    [](const OwnRow& row) { return std::string(to_text(row.cause)); }));
  return make_table("own_blame", "blame of each rank that is neither waiting elsewhere nor its place in the pipeline", all, rows);
}

}  // namespace

/// Why a delay of 1 % and more makes no straggler: ", <= error", ", last in 2 collectives only".
std::string why_not(const RankBlame& rank, const StragglerCall& call, std::int64_t residual_ns) {
  if (call.share_of_period < least_share_of_period) return "";
  if (rank.last_count < least_times_last)
    return ", last in " + counted(static_cast<std::size_t>(rank.last_count), "collective") + " only";
  return ", <= error of " + time(noise_ns(rank, residual_ns));
}

void add_history(const Tables& tables, Report& out) {
  const std::vector<Slower> slower = slower_than_before(tables.of<Compute>());
  out.show(slower_table(slower));
  const std::string none = "none shares a collective with a rank of its pipeline stage";
  if (slower.empty()) return add_line(out.page, "late", "no rank stands out: " + none);
  add_line(out.page, "late", slower_text(slower.front()));
  for (std::size_t i = 1; i < slower.size(); ++i)
    add_line(i <= most_further_stragglers ? out.page : out.details, "", slower_text(slower[i]));
}

std::vector<OwnShare> add_stragglers(const std::vector<RankBlame>& all, const Tables& tables, const Stages& stages,
                                     const ReportContext& context, Report& out) {
  const Evidence evidence{tables.of<CauseSums>(), corrected(tables.of<Compute>(), context), stages, context,
                          steps_not_of_all(context.ranks)};
  const std::vector<OwnBlame> own = own_blames(evidence.causes, evidence.computes, context.groups, stages);
  if (own.empty()) {
    out.value("straggler_rank", -1, "the rank that stands out; -1 = none");
    add_history(tables, out);
    return {};
  }
  const std::vector<RankBlame> ranks = own_by_rank(all, own);
  const std::int64_t residual_ns = context.clock.ends_residual_ns();
  const StragglerCall largest = call_straggler(ranks, residual_ns);
  const std::vector<StragglerCall> calls = call_stragglers(ranks, residual_ns);
  const RankBlame& rank = ranks[largest.largest];
  out.value("straggler_rank", largest.stands_out ? rank.rank.value : -1, "the rank that stands out most; -1 = none");
  out.value("stragglers_count", static_cast<double>(calls.size()), "ranks that stand out");
  out.value("largest_blame_rank", rank.rank.value, "rank with the largest blame of its own");
  out.value("largest_blame_ns", static_cast<double>(rank.blame_ns), "its own blame over all steps");
  out.value("largest_blame_of_period_ratio", largest.share_of_period, "its own blame / its summed step periods");
  if (calls.empty())
    add_line(out.page, "late",
             "no rank stands out (largest: " + rank_name(rank.replica, rank.rank) + ", " + time(rank.blame_ns) + ", " +
                 percent(largest.share_of_period) + " of its steps" + why_not(rank, largest, residual_ns) + ")");
  const std::size_t told = std::min(calls.size(), most_told);
  std::vector<Named> stragglers;
  for (std::size_t i = 0; i < told; ++i) {
    const std::size_t at = calls[i].largest;
    const Named& one = stragglers.emplace_back(named(all[at], ranks[at], calls[i], *find_rank(own, ranks[at]), evidence));
    if (i == 0)
      add_straggler_lines(one, all[at], ranks[at], calls[i], evidence,
                          first_wait_text(all[at], tables.of<FirstMeeting>()), out.page);
    else
      add_line(i <= most_further_stragglers ? out.page : out.details, "", further_straggler(one, calls[i]));
  }
  out.show(stragglers_table(stragglers, context.groups));
  if (told < calls.size())
    add_line(out.details, "", "and " + counted(calls.size() - told, "rank") + " more in own_blame of the HDF5 file");
  if (!calls.empty())
    if (const std::string other = last_most_often(all, ranks, calls); !other.empty()) add_line(out.page, "", other);
  std::map<std::size_t, StragglerCall> called;
  for (const StragglerCall& call : calls) called[call.largest] = call;
  std::vector<OwnRow> rows;
  std::vector<OwnShare> shares;
  for (const OwnBlame& one : own) {
    const auto at = find_rank(ranks, one);
    const auto call = called.find(static_cast<std::size_t>(at - ranks.begin()));
    StragglerCall used;
    if (call != called.end())
      used = call->second;
    else
      used.persistence = persistence_of(at->blame_by_step, least_share_of_period * period_ns(*at));
    const std::optional<StepId> since = call != called.end() ? since_of(used.persistence, used.onset) : std::nullopt;
    rows.push_back({one.replica, one.rank, call != called.end(), since ? since->step : -1, at->blame_ns,
                    static_cast<std::int64_t>(ns_per_step(*at, used)),
                    static_cast<std::int64_t>(blamed_period_ns(*at, used, evidence)), used.persistence,
                    main_cause(one, all_steps(one))});
    shares.push_back({one.replica, one.rank, call != called.end(), at->blame_ns,
                      ratio(static_cast<double>(at->blame_ns), static_cast<double>(at->periods_ns))});
  }
  out.extra_tables.push_back(own_table(rows));
  return shares;
}

}  // namespace ccl::straggler
