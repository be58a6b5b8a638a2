// Why the last one was last. In: matched collectives, whose members say what their device did since the previous
// collective of the group (BeforeCollective), and a rank's own waits in other groups. Out: the delay of every collective
// split by cause, and blame moved on through nested groups to its origin (report stage).
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>

#include "metrics/metric.hpp"
#include "metrics/straggler_call.hpp"

namespace ccl::straggler {

enum class Cause : std::uint8_t { compute, launch, before, stalled, link, communication, pipeline, unexplained };
std::string_view to_text(Cause);

/// Which ranks do the same work: those of one pipeline stage. Without a pipeline, all.
class Stages {
 public:
  Stages() = default;
  Stages(const Ranks& ranks, const Groups& groups, const Workload& workload);
  std::int32_t of(RankId rank) const;  // −1 unknown
  /// Members of the group are of several stages, and none but this rank of its own: being last is the order of work.
  bool alone(const Group& group, RankId rank) const;

 private:
  std::vector<std::int32_t> by_rank_;
};

/// A rank in a group in one step, not written as such. The parts of the delay are what the last rank had more of than
/// the median of the other members of its pipeline stage (the lower of two middle ones; nothing where there is none).
struct CauseSums {
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  GroupId group;
  std::int64_t instances_count = 0, last_count = 0, incomplete_count = 0;  // incomplete: of last_count
  std::int64_t lasting_count = 0;  // of last_count: its delay is mostly lasting_ns
  std::int64_t compute_ns = 0, communication_ns = 0, launch_ns = 0, stalled_ns = 0;  // before, all instances
  std::int64_t delay_ns = 0, by_compute_ns = 0, by_communication_ns = 0, by_launch_ns = 0, by_stalled_ns = 0;
  std::int64_t behind_ns = 0;  // part of the delay: more kernels than the others had left to run, not slower ones
  std::int64_t late_ns = 0;     // part of the delay: it launched late. At least by_launch_ns; may take from the parts of
                                // compute and stalls, since who launches late may have run more meanwhile
  std::int64_t lasting_ns = 0;  // of late_ns: lag that an earlier collective of the step was late by already
  std::int64_t first_ns = 0;    // of late_ns - lasting_ns: made before it first was level, so maybe in an earlier step
  std::int64_t lost_ns = 0;     // while first_ns was made: how much longer than it the others waited in synchronising calls
  std::int64_t kept_ns = 0;     // lag that is left at the step's last collective
  auto key() const { return std::tuple(step, rank, replica, group); }
  void combine(const CauseSums& other);
  static TableInfo table() { return {}; }
  static std::vector<ColumnSpec<CauseSums>> columns(const Resolver&) { return {}; }
};

/// How long a rank computes in a step and when it begins, not written as such.
struct Compute {
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  std::int64_t compute_ns = 0, period_ns = 0;  // union of its kernels; devices added
  std::int64_t start_ns = absent_ns, first_launch_ns = absent_ns;  // CPU step, its first launch; trace clock until report
  std::int64_t loading_ns = 0;  // CPU slices of data loading before that launch
  auto key() const { return std::tuple(step, rank, replica); }
  void combine(const Compute& other) {
    compute_ns += other.compute_ns;
    period_ns += other.period_ns;
    loading_ns = std::max(loading_ns, other.loading_ns);
    start_ns = std::max(start_ns, other.start_ns);  // devices of one rank have one CPU step
    if (first_launch_ns == absent_ns || (other.first_launch_ns != absent_ns && other.first_launch_ns < first_launch_ns))
      first_launch_ns = other.first_launch_ns;
  }
  static TableInfo table() { return {}; }
  static std::vector<ColumnSpec<Compute>> columns(const Resolver&) { return {}; }
};

/// What a rank spent in other groups before the collectives where it is last. for_rank −1: transfer, not waiting.
struct Elsewhere {
  std::int32_t iteration = -1;
  RankId rank;
  std::int32_t replica = -1;
  GroupId group, other;
  std::int32_t for_rank = -1;
  std::int64_t time_ns = 0, count = 0;
  auto key() const { return std::tuple(iteration, rank, replica, group, other, for_rank); }
  void combine(const Elsewhere& more) {
    time_ns += more.time_ns;
    count += more.count;
  }
  static TableInfo table() { return {"waits_before", "communication in other groups before a rank is last in one"}; }
  static std::vector<ColumnSpec<Elsewhere>> columns(const Resolver& resolver);
};

/// Transfer of the collectives of one shape in one group, or of the messages between two ranks, to be compared with others.
struct Transfer {
  StepId step;
  std::int32_t replica = -1;
  GroupId group;
  std::int32_t rank_a = -1, rank_b = -1;  // of messages, lower rank first; −1: a collective
  Dimension dimension = Dimension::unknown;
  CollectiveOp op = CollectiveOp::unknown;
  LinkClass link_class = LinkClass::unknown;
  std::int32_t group_size = -1;
  std::int64_t payload_bytes = -1, transfer_ns = 0, count = 0;
  auto key() const {
    return std::tuple(step, replica, group, rank_a, rank_b, dimension, op, link_class, group_size, payload_bytes);
  }
  void combine(const Transfer& more) {
    transfer_ns += more.transfer_ns;
    count += more.count;
  }
  static TableInfo table() {
    return {"transfers", "summed transfer of each group, of messages each pair of ranks, by operation and size"};
  }
  static std::vector<ColumnSpec<Transfer>> columns(const Resolver& resolver);
};

/// One credible symmetric instance. Appends a row per member. room: to work in, whatever it holds.
void add_causes(const MatchedInstance& instance, std::span<const MatchedMember> members, const Stages& stages,
                std::vector<CauseSums>& out, std::vector<std::uint32_t>& room);
/// Transfer of a credible instance, if like groups send the same amounts (all_reduce, all_gather, reduce_scatter and
/// messages, of known size).
void add_transfer(const MatchedInstance& instance, std::span<const MatchedMember> members, Dimension dimension,
                  std::vector<Transfer>& out);
/// What this rank waited for in other groups before the collectives where it is last; its rows by key, each key once.
void add_elsewhere(const ClosingRank& rank, std::vector<Elsewhere>& out);

/// The blame of a rank on a group, by where it comes from.
struct Origin {
  std::int32_t replica = -1;
  RankId rank;
  GroupId group;
  RankId origin_rank;
  GroupId origin_group;
  Cause cause = Cause::unexplained;
  std::int64_t blame_ns = 0;
};
/// A group, or a pair of ranks that exchange messages, that takes at least 1.25 × as long as its like (median of the
/// others in the same step).
struct SlowGroup {
  std::int32_t replica = -1;
  GroupId group;
  std::int32_t rank_a = -1, rank_b = -1;  // of messages
  Persistence persistence;      // affected: at least 0.25 x what its like take of a step more
  std::optional<StepId> onset;
  // Over the steps from `onset` on, without it over the affected ones:
  double times = 1;             // transfer / that of like groups
  double more_ns = 0;           // transfer − that of like groups
  std::int64_t steps_count = 0;
};
/// Rows sorted and folded. Origins sorted by (replica, rank, group, origin); they sum to the delay exactly.
struct Explanation {
  std::vector<Origin> origins;
  std::vector<SlowGroup> slow_groups;
};
/// message_error_ns: ClockModel::message_error_ns().
Explanation explain(std::span<const CauseSums> causes, std::span<const Elsewhere> elsewhere,
                    std::span<const Transfer> transfers, const Groups& groups, const Stages& stages,
                    std::int64_t message_error_ns);
/// Rows with their delay split over their causes for good: by what a rank had more of than its peers in the whole step
/// where single collectives do not tell. The parts are at most the delay.
std::vector<CauseSums> settle_causes(std::span<const CauseSums> causes, const Groups& groups, const Stages& stages);
std::vector<SlowGroup> find_slow_groups(std::span<const Transfer> transfers, std::int64_t message_error_ns);

/// The delay a rank causes itself among ranks that do the same work: neither by waiting elsewhere nor by its place in the
/// pipeline. A delay shows again in every group that waits next, so of a step's groups only the largest counts.
struct OwnBlame {
  std::int32_t replica = -1;
  RankId rank;
  std::vector<std::pair<StepId, std::int64_t>> by_step;  // ascending; every step in which it meets its peers
  std::map<std::tuple<Cause, GroupId>, std::vector<std::pair<StepId, std::int64_t>>> parts;  // add up to by_step
  std::int64_t last_count = 0, lasting_count = 0;        // in the groups that count
  std::set<StepId> steps_of(const StragglerCall& call) const;  // those the call's blame per step is the mean of
};
/// Sorted by (replica, rank). causes: as add_causes() made them.
std::vector<OwnBlame> own_blames(std::span<const CauseSums> causes, std::span<const Compute> computes,
                                 const Groups& groups, const Stages& stages);
/// Why, where and how sure, over the steps of the call; as cause_sentence(). One step alone never makes it sure, nor do
/// steps in which not all ranks are judged (`lacking`).
std::string own_sentence(const OwnBlame& own, std::span<const CauseSums> causes, std::span<const Compute> computes,
                         const StragglerCall& call, const Groups& groups, const Stages& stages,
                         const std::set<StepId>& lacking = {});
std::string describe(Cause cause);

/// A rank without peers that computes longer than it did.
struct Slower {
  std::int32_t replica = -1;
  RankId rank;
  StepId since;
  double times = 1, more_ns = 0;  // of its own earlier steps, beyond what all ranks take longer
};
/// The one with the most more_ns first. At least three earlier steps, and each later one at least 1.05 x each of them.
std::vector<Slower> slower_than_before(std::span<const Compute> computes);
std::string slower_text(const Slower& slower);
ResultTable slower_table(const std::vector<Slower>& rows);
/// A group without members where the id is unknown.
const Group& group_of(const Groups& groups, GroupId id);

/// Where most of a rank's blame comes from.
struct MainOrigin {
  RankId rank;  // itself, or the one it waits for
  Cause cause = Cause::unexplained;
  GroupId group;
  double share = 0;  // of its blame
};
/// Nothing without blame.
std::optional<MainOrigin> main_origin(const Explanation& explanation, std::int32_t replica, RankId rank);

std::string hundredths(double value);  // "1.50"
/// "slow compute (its kernels take 1.50 x as long as its peers'), on 'mesh_tp' …; confidence high (97 % of its blame)"; empty without blame.
std::string cause_sentence(const Explanation& explanation, std::span<const CauseSums> causes, std::int32_t replica,
                           RankId rank, const Groups& groups);
ResultTable causes_table(const Explanation& explanation, const Groups& groups);

}  // namespace ccl::straggler
