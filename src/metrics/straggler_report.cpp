#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/statistics.hpp"
#include "exchange/coverage.hpp"
#include "metrics/not_judged.hpp"
#include "metrics/straggler_call.hpp"
#include "metrics/straggler_lag.hpp"

namespace ccl::straggler {

void Waits::combine(const Waits& other) {
  wait_ns += other.wait_ns;
  blame_ns += other.blame_ns;
  blamed_wait_ns += other.blamed_wait_ns;
  lateness_ns += other.lateness_ns;
  instances_count += other.instances_count;
  last_count += other.last_count;
  first_count += other.first_count;
  last_incomplete_count += other.last_incomplete_count;
  last_members_seen = std::max(last_members_seen, other.last_members_seen);
}

namespace {

constexpr std::size_t most_detail_lines = 64;
constexpr double least_slow_link_ratio = 0.01;  // of the summed periods, as for a straggler

std::string time(std::int64_t ns) { return milliseconds(static_cast<double>(ns)); }

// Σ over the steps of a trace of the longest period over its devices.
std::int64_t summed_periods_ns(const RankFacts& facts) {
  std::int64_t total = 0;
  for (const ccl::Step& step : facts.steps) {
    std::int64_t longest = 0;
    for (const DeviceWindow& window : step.devices)
      if (window.gpu_start_ns != absent_ns)
        longest = std::max(longest, window.gap_ns + window.gpu_end_ns - window.gpu_start_ns);
    total += longest;
  }
  return total;
}

// Instances outside every step have no period to be compared with, so they stay out of the page.
std::vector<RankBlame> blame_by_rank(const Tables& tables, const Ranks& ranks) {
  std::map<std::pair<std::int32_t, RankId>, RankBlame> found;
  for (const Row& row : tables.of<Row>()) {
    if (row.step.step == outside_step) continue;
    RankBlame& rank = found[{row.replica, row.rank}];
    rank.replica = row.replica;
    rank.rank = row.rank;
    rank.blame_ns += row.waits.blame_ns;
    rank.blamed_wait_ns += row.waits.blamed_wait_ns;
    rank.wait_ns += row.waits.wait_ns;
    rank.last_count += row.waits.last_count;
    rank.instances_count += row.waits.instances_count;
    rank.last_incomplete_count += row.waits.last_incomplete_count;
    rank.members_seen = std::max(rank.members_seen, row.waits.last_members_seen);
    rank.blame_by_step.emplace_back(row.step, row.waits.blame_ns);
  }
  for (const RankEntry& entry : ranks.entries) {
    const auto at = found.find({entry.replica, entry.rank});
    if (at == found.end()) continue;
    at->second.periods_ns += summed_periods_ns(entry.facts);
    at->second.steps_count += entry.facts.whole_steps_count();
  }
  std::vector<RankBlame> out;
  for (auto& [key, rank] : found) out.push_back(std::move(rank));
  return out;
}

void add_lag_statistics(const Spread& lag, const ReportContext& context, Report& out, std::vector<std::string>& lines) {
  out.value("lag_mean_ns", lag.mean(), "mean lag over matched symmetric collectives");
  out.value("lag_p50_ns", lag.p50(), "median lag");
  out.value("lag_p95_ns", lag.p95(), "95th percentile of the lag");
  out.value("lag_max_ns", lag.most(), "largest lag");
  out.value("collectives_count", static_cast<double>(lag.count), "matched symmetric collectives");
  const double error_ns = 2.0 * static_cast<double>(context.clock.ends_residual_ns());
  if (lag.mean() < error_ns) {
    add_line(lines, "", "lag <= error (" + microseconds(error_ns) + ", twice the spread of common ends)");
    return;
  }
  add_line(lines, "",
           "lag of a collective: mean " + microseconds(lag.mean()) + ", p50 " + microseconds(lag.p50()) + ", p95 " +
               microseconds(lag.p95()) + ", max " + microseconds(lag.most()));
}

// "slow link: 'mesh_tp' (tp, 2 ranks) of ranks 4, 5 transfers 4.00 x as long as like groups, 12.3 ms more …".
std::string slow_link_text(const SlowGroup& slow, const Groups& groups) {
  std::vector<std::int32_t> members = group_of(groups, slow.group).members;
  if (slow.rank_a >= 0) members = {slow.rank_a, slow.rank_b};
  const double steps = static_cast<double>(std::max<std::int64_t>(slow.steps_count, 1));
  return "slow link: " + group_name(groups, slow.group) + (slow.rank_a >= 0 ? " messages" : "") +
         (members.empty() ? "" : " of ranks " + rank_list(members)) + " transfers " + hundredths(slow.times) +
         " x as long as like " + (slow.rank_a >= 0 ? "pairs" : "groups") + ", " + milliseconds(slow.more_ns / steps) +
         " more in a step, " + persistence_text(slow.persistence, slow.onset);
}

ResultTable slow_links_table(const Explanation& explanation, const Groups& groups) {
  std::vector<ColumnSpec<SlowGroup>> all;
  const auto row_of = [&groups](const SlowGroup& row) { return std::int64_t{groups.row_of(row.group)}; };
  all.push_back(column("replica", &SlowGroup::replica, "", "replica folder; -1 = none", -1));
  all.push_back(integer_column<SlowGroup>("group", "", "row of /process_groups", -1, row_of));
  add_group_texts(groups, all);
  all.push_back(column("rank_a", &SlowGroup::rank_a, "", "of messages: lower rank of the pair; -1 = a collective", -1));
  all.push_back(column("rank_b", &SlowGroup::rank_b, "", "of messages: higher rank of the pair; -1 = a collective", -1));
  all.push_back(integer_column<SlowGroup>("since_step", "", "first step of the slowness; -1 = from the first step seen, or not lasting", -1,
                                          [](const SlowGroup& row) {
                                            const std::optional<StepId> since = since_of(row.persistence, row.onset);
                                            return since ? since->step : -1;
                                          }));
  all.push_back(column("steps_count", &SlowGroup::steps_count, "", "steps from then on; without onset the affected ones"));
  all.push_back(integer_column<SlowGroup>("more_ns", "ns", "transfer beyond that of its like in these steps", {},
                                          [](const SlowGroup& row) { return static_cast<std::int64_t>(row.more_ns); }));
  all.push_back(column("transfer_ratio", &SlowGroup::times, "", "transfer / that of its like in these steps"));
  return make_table("slow_links", "links whose transfers take at least 1.25 x as long as their like", all,
                    explanation.slow_groups);
}

// Why there is nothing to say.
void explain_absence(const Tables& tables, const ReportContext& context, Report& out) {
  const std::int64_t covered = context.ranks.covered();
  if (!tables.of<Tally>().empty()) return out.absent("matching_not_credible");
  if (covered == 0) return out.absent("no trace with a rank");
  if (covered == 1 && context.ranks.expected <= 1) return out.not_applicable("the run has one rank");
  if (covered == 1) return out.absent("the trace of one rank only: nothing to compare it with");
  const bool all_lost = std::ranges::all_of(context.ranks.entries, [](const RankEntry& entry) {
    return !entry.facts.steps.empty() && std::ranges::all_of(entry.facts.steps, &Step::lost_events);
  });
  out.absent(all_lost ? "every step of all ranks is lost with the damage of their files"
                      : "no symmetric collective could be matched across ranks");
}

using Shares = std::map<std::pair<std::int32_t, RankId>, OwnShare>;

// That no rank stands out says nothing of those that were not looked at.
void add_not_judged(const Ranks& ranks, const Shares& shares, Report& out) {
  const bool none = std::none_of(shares.begin(), shares.end(), [](const auto& share) { return share.second.named; });
  const bool unread = !ranks.unread.empty();
  const NotJudged found = not_judged(ranks);
  if (const std::string& text = none || unread ? found.all : found.with_trace; !text.empty())
    add_line(out.page, "", "not judged: " + text);
  const bool damaged = unread || std::any_of(ranks.entries.begin(), ranks.entries.end(),
                                             [](const RankEntry& entry) { return entry.facts.damaged(); });
  const std::vector<RankInDump> gaps = not_in_dump(ranks);
  if ((damaged || !gaps.empty()) && !found.all.empty())
    out.note("not_judged", found.all, "ranks that are not judged, with the steps");
  if (gaps.empty() || (out.status != Status::ok && out.status != Status::partial)) return;
  std::set<std::int32_t> absent;
  for (const RankInDump& gap : gaps) absent.insert(gap.rank);
  out.status = Status::partial;
  out.reason += (out.reason.empty() ? "" : "; ") + ranks_text({absent.begin(), absent.end()}) +
                " without a trace in some iteration";
}

/// A rank that meets no other in a matched collective, as where its trace does not tell its groups, is in time for nobody.
void add_unmatched(const Ranks& ranks, const std::vector<RankBlame>& judged, Report& out) {
  std::set<std::pair<std::int32_t, RankId>> met;  // replica and rank
  for (const RankBlame& rank : judged) met.insert({rank.replica, rank.rank});
  std::vector<std::int32_t> unmatched;
  for (const RankEntry& entry : ranks.entries) {
    if (!met.contains({entry.replica, entry.rank}) && entry.takes_part && entry.status == RankStatus::ok && entry.facts.whole_steps_count() > 0)
      unmatched.push_back(entry.rank.value);
  }
  if (unmatched.empty()) return;
  const std::string why = unmatched.size() == 1 ? "none of its collectives is matched with other ranks"
                                                : "none of their collectives is matched with other ranks";
  add_line(out.page, "", "not judged: " + ranks_text(unmatched) + " (" + why + ")");
  out.note("unmatched_ranks", ranks_text(unmatched), "ranks that meet no other in a matched collective: not judged");
  out.status = Status::partial;
  out.reason += (out.reason.empty() ? "" : "; ") + ("of " + ranks_text(unmatched) + " " + why);
}

}  // namespace

void write_straggler_report(const Tables& tables, const ReportContext& context, Report& out) {
  if (tables.of<LagSpread>().empty()) {
    explain_absence(tables, context, out);
    if (out.status == Status::absent && out.reason != "matching_not_credible" &&
        !slower_than_before(tables.of<Compute>()).empty()) {
      out.status = Status::partial;
      return add_history(tables, out);
    }
    if (out.reason == "matching_not_credible")
      add_line(out.page, "late", "unknown: the matching of collectives is not credible (matching_not_credible)");
    else if (out.status == Status::absent && context.ranks.covered() > 0)
      add_line(out.page, "late", "unknown: " + out.reason);
    if (!out.page.empty()) add_not_judged(context.ranks, {}, out);
    return;
  }
  const Tally& tally = tables.of<Tally>().front();
  if (tally.credible_count < tally.instances_count) {
    out.status = Status::partial;
    const std::string of_all = " of " + std::to_string(tally.instances_count) + " collectives";
    const std::int64_t not_credible = tally.instances_count - tally.credible_count - tally.suspects_count;
    if (not_credible > 0) out.reason = "matching_not_credible for " + std::to_string(not_credible) + of_all;
    if (tally.suspects_count > 0)
      out.reason += (out.reason.empty() ? "" : "; ") + std::to_string(tally.suspects_count) + of_all + " left out as suspect";
  }
  std::vector<RankBlame> ranks = blame_by_rank(tables, context.ranks);
  const Stages stages(context.ranks, context.groups, context.workload);
  const Explanation explanation = explain(tables.of<CauseSums>(), tables.of<Elsewhere>(), tables.of<Transfer>(),
                                          context.groups, stages, context.clock.message_error_ns());
  out.extra_tables.push_back(causes_table(explanation, context.groups));
  out.show(slow_links_table(explanation, context.groups));
  std::vector<std::string> statistics;
  add_lag_statistics(tables.of<LagSpread>().front().spread, context, out, statistics);
  Shares shares;
  if (!ranks.empty()) {
    for (const OwnShare& share : add_stragglers(ranks, tables, stages, context, out))
      shares[{share.replica, share.rank}] = share;
    add_not_judged(context.ranks, shares, out);
    add_unmatched(context.ranks, ranks, out);
    for (const SlowGroup& slow : explanation.slow_groups) {
      const double step_ns = ratio(static_cast<double>(ranks.front().periods_ns), static_cast<double>(ranks.front().steps_count));
      const bool matters = slow.more_ns >= least_slow_link_ratio * step_ns * static_cast<double>(slow.steps_count);
      add_line(matters ? out.page : out.details, "", slow_link_text(slow, context.groups));
    }
  }
  out.page.insert(out.page.end(), statistics.begin(), statistics.end());
  std::sort(ranks.begin(), ranks.end(), [](const RankBlame& a, const RankBlame& b) {
    return std::tuple(-a.blame_ns, a.replica, a.rank) < std::tuple(-b.blame_ns, b.replica, b.rank);
  });
  std::vector<std::string> lines;
  std::size_t shown = 0;
  for (const RankBlame& rank : ranks) {  // a cause is looked for among all ranks: only where it is shown
    if (lines.size() >= most_detail_lines) break;
    ++shown;
    const std::string cause = rank.blame_ns > 0 ? cause_sentence(explanation, tables.of<CauseSums>(), rank.replica,
                                                                 rank.rank, context.groups)
                                                : "";
    lines.push_back("  " + rank_name(rank.replica, rank.rank) + ": blame " + time(rank.blame_ns) + ", last in " +
                    std::to_string(rank.last_count) + " of " + std::to_string(rank.instances_count) +
                    ", made others wait " + time(rank.blamed_wait_ns) + ", waited " + time(rank.wait_ns));
    if (cause.empty()) continue;
    const auto share = shares.find({rank.replica, rank.rank});
    if (share == shares.end()) {
      lines.push_back("    mostly: " + cause);
      continue;
    }
    if (share->second.named) {  // its cause stands above, of its own delay: one of all of it may name another group
      lines.push_back("    straggler: " + time(share->second.own_ns) + " of it is its own, " +
                      percent(share->second.of_period) + " of its steps, for the cause told above; the rest is waiting "
                      "elsewhere, its place in the pipeline, or the same delay seen again in another group");
      continue;
    }
    // What is said of it must not read as if the delay were its own.
    const bool others = main_origin(explanation, rank.replica, rank.rank)->rank != rank.rank;
    lines.push_back("    no straggler: " + time(share->second.own_ns) + " of it is its own, " +
                    percent(share->second.of_period) + " of its steps" +
                    (others || 2 * share->second.own_ns >= rank.blame_ns ? "; mostly: " + cause : ""));
  }
  if (!lines.empty())
    out.details.push_back("  all ranks over all steps, with delay that only passes through them (above: the "
                          "stragglers' own, in the steps named there)");
  out.details.insert(out.details.end(), lines.begin(), lines.end());
  if (shown < ranks.size())
    out.details.push_back("  and " + counted(ranks.size() - shown, "rank") + " more in the HDF5 file");
}

}  // namespace ccl::straggler
