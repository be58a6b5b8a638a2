// straggler_lag: who makes the others wait, by how much, since when, on which group.
// Definition: of one matched symmetric instance with durations d:
// transfer = min d, wait(r) = d_r − min d, lag = max wait, last = argmin d, delay = second smallest d − smallest d;
// blame(r) = Σ delay where r is last, blamed_wait(r) = Σ of the others' waits there. No clock is used.
// Merge: sums; lags are dealt over the workers, their statistics are exact (spread.hpp). Headline: mean lag.
#include "metrics/straggler_lag.hpp"

#include <algorithm>
#include <map>

#include "core/collective_math.hpp"
#include "core/statistics.hpp"
#include "metrics/straggler_lasting.hpp"
#include "metrics/summed.hpp"
#include "metrics/trace_views.hpp"

namespace ccl {
namespace {

using namespace straggler;

struct StragglerLag {
  static MetricInfo info() {
    return {
        .name = "straggler_lag",
        .unit = "us",
        .question = "Which rank makes the others wait, by how much, since when and on which group?",
        .definition =
            "Lag of a matched symmetric collective = longest - shortest duration over its members; the "
            "shortest is the last to arrive. A suspect one, whose members do not end together, has none. Blame of a rank = sum "
            "over the collectives where it is last of second shortest - shortest duration. Clock-free. Its own blame, which the "
            "page names, is what it is late by itself: launch lag that lasts from collective to collective counts once, compute as often as it "
            "is longer than its peers'.",
        .needs = "traces of at least two ranks that share collectives",
        .section = PageSection::answer,
        .aliases = {},
        .wants = {.runtime_calls = true},
        .needs_matching = true,
        .report_weight = 4};
  }
  using Tables = straggler::Tables;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    const std::vector<std::int64_t> first_launch_ns = first_launches_ns(trace);
    const std::vector<std::int64_t> loading_ns =
        loading_before_ns(trace, first_launch_ns, context.classifier.training());
    for_each_step(trace, context.views->busy(), [&](const StepBusy& at) {
      Compute row;
      row.step.step = at.step.number;
      row.start_ns = at.step.start_ns;
      const auto step = static_cast<std::size_t>(&at.step - trace.steps.data());
      row.first_launch_ns = first_launch_ns[step];
      row.loading_ns = loading_ns[step];
      row.compute_ns = at.sums.budget.compute_ns;
      row.period_ns = at.period_ns();
      out.of<Compute>().push_back(row);
    });
  }

  static void matched(const MatchedCollectives& collectives, const ClosingContext& context, Tables& out) {
    const Stages stages(context.ranks, context.groups, context.workload);
    const auto members_of = [&](const MatchedInstance& instance) {
      return std::span(collectives.members)
          .subspan(instance.first_member, static_cast<std::size_t>(instance.members_seen));
    };
    std::vector<FirstMeeting> first(context.ranks.entries.size());  // by row of /ranks
    Tally tally;
    Waiting waiting(context.ranks.entries.size());
    std::vector<const MatchedInstance*> of_step;  // of one group
    CausesOfStep causes(stages);
    const auto add_step = [&] {
      causes.add(of_step, members_of, out.of<CauseSums>());
      of_step.clear();
    };
    for (const MatchedInstance& instance : collectives.instances) {
      if (instance.members_seen < 2) continue;
      const std::span members = members_of(instance);
      const Dimension dimension = dimension_of(context.groups, instance.group, instance.op);
      const bool usable = instance.credible && instance.transfer_ns >= 0;
      if (usable) add_transfer(instance, members, dimension, out.of<Transfer>());
      if (!is_symmetric(instance.op)) continue;
      ++tally.instances_count;
      tally.suspects_count += instance.credible && instance.suspect ? 1 : 0;
      if (usable) {
        ++tally.credible_count;
        add_instance(instance, members, dimension, waiting, out);
        if (!of_step.empty() && !same_step(*of_step.back(), instance)) add_step();
        of_step.push_back(&instance);
        for (const MatchedMember& member : members) {
          const FirstMeeting meeting{instance.replica, member.rank, instance.iteration, member.start_ns,
                                     member.rank.value == instance.last_rank ? instance.wait_sum_ns : 0};
          FirstMeeting& kept = first[static_cast<std::size_t>(member.rank_row)];
          if (kept.rank.known()) kept.combine(meeting);
          else kept = meeting;
        }
      }
    }
    if (tally.instances_count > 0) out.of<Tally>().push_back(tally);
    add_step();
    waiting.steps.move_to(out.of<Row>());
    waiting.groups.move_to(out.of<ByGroup>());
    waiting.dimensions.move_to(out.of<ByDimension>());
    waiting.blames.move_to(out.of<Blame>());
    for (const FirstMeeting& meeting : first)
      if (meeting.rank.known()) out.of<FirstMeeting>().push_back(meeting);
    out.for_each([](auto& rows) { sort_and_fold(rows); });
  }

  static void closing(const ClosingRank& rank, const ClosingContext&, Tables& out) {
    add_elsewhere(rank, out.of<Elsewhere>());
  }

  static void deal(const Comm& comm, Tables& out) { out.of<LagSpread>() = spreads(out.of<Lag>(), comm); }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    write_straggler_report(tables, context, out);
  }

 private:
  static bool same_step(const MatchedInstance& a, const MatchedInstance& b) {
    const auto key = [](const MatchedInstance& i) { return std::tuple(i.iteration, i.replica, i.group, i.step); };
    return key(a) == key(b);
  }

  /// By step; absent where nothing was launched.
  static std::vector<std::int64_t> first_launches_ns(const RankTrace& trace) {
    std::vector<std::int64_t> first(trace.steps.size(), absent_ns);
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const std::int64_t launch_ns = trace.events.launch_ns[i];
      if (trace.events.step[i] < 0 || launch_ns == absent_ns) continue;
      std::int64_t& known_ns = first[static_cast<std::size_t>(trace.events.step[i])];
      if (known_ns == absent_ns || launch_ns < known_ns) known_ns = launch_ns;
    }
    return first;
  }

  /// By step: the longest slice of data loading, of those that metrics keep, before its first launch.
  static std::vector<std::int64_t> loading_before_ns(const RankTrace& trace,
                                                     const std::vector<std::int64_t>& first_launch_ns,
                                                     const TrainingRules& rules) {
    std::vector<std::int64_t> loading(trace.steps.size(), 0);
    std::vector<signed char> loads(trace.strings.size(), -1);
    for (const CpuSlice& slice : trace.slices) {
      if (slice.kind == SliceKind::runtime) continue;
      signed char& known = loads[slice.name];
      if (known < 0) known = rules.role(trace.strings.text(slice.name)) == SliceRole::data_loading ? 1 : 0;
      if (known == 0) continue;
      for (std::size_t s = 0; s < loading.size(); ++s)
        if (trace.steps[s].start_ns <= slice.start_ns && slice.end_ns <= first_launch_ns[s])
          loading[s] = std::max(loading[s], slice.end_ns - slice.start_ns);
    }
    return loading;
  }

  struct Waiting {
    SummedByRank<Row> steps;
    SummedByRank<ByGroup> groups;
    SummedByRank<ByDimension> dimensions;
    SummedByRank<Blame> blames;
    explicit Waiting(std::size_t ranks_count)
        : steps(ranks_count), groups(ranks_count), dimensions(ranks_count), blames(ranks_count) {}
  };

  // Rows of one instance: its lag, and for every member its wait; the last one also gets the blame.
  static void add_instance(const MatchedInstance& instance, std::span<const MatchedMember> members, Dimension dimension,
                           Waiting& waiting, Tables& out) {
    const StepId step{instance.iteration, instance.step};
    std::int64_t longest_ns = 0;
    for (const MatchedMember& member : members) longest_ns = std::max(longest_ns, member.dur_ns);
    out.of<Lag>().push_back({{}, instance.lag_ns, 1});
    for (const MatchedMember& member : members) {
      const bool last = member.rank.value == instance.last_rank;
      Waits waits;
      waits.instances_count = 1;
      waits.wait_ns = member.dur_ns - instance.transfer_ns;
      waits.lateness_ns = longest_ns - member.dur_ns;
      waits.first_count = member.rank.value == instance.first_rank ? 1 : 0;
      if (last) {
        waits.last_count = 1;
        waits.blame_ns = instance.delay_ns;
        waits.blamed_wait_ns = instance.wait_sum_ns;
        waits.last_incomplete_count = instance.incomplete ? 1 : 0;
        waits.last_members_seen = instance.members_seen;
      } else {
        waiting.blames.add(member.rank_row,
                           {instance.iteration, instance.replica, member.rank.value, instance.last_rank, waits.wait_ns, 1});
      }
      waiting.steps.add(member.rank_row, {step, member.rank, instance.replica, waits});
      waiting.groups.add(member.rank_row,
                         {instance.iteration, member.rank, instance.replica, instance.group, dimension, waits});
      waiting.dimensions.add(member.rank_row, {instance.iteration, member.rank, instance.replica, dimension, waits});
    }
  }
};

}  // namespace

std::unique_ptr<Metric> straggler_lag() { return define_metric<StragglerLag>(); }

}  // namespace ccl
