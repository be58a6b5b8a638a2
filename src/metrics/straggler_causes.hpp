// Why the last one was last. In: matched collectives, whose members say what their device did since the previous
// collective of the group (BeforeCollective), and a rank's own waits in other groups. Out: the delay of every collective
// split by cause, and blame moved on through nested groups to its origin (report stage).
#pragma once
#include <span>

#include "metrics/metric.hpp"

namespace ccl::straggler {

enum class Cause : std::uint8_t { compute, launch, stalled, link, communication, pipeline, unexplained };
std::string_view to_text(Cause);

/// A rank in a group in one step, not written as such. The parts of the delay are what the last rank had more of than
/// the median of the other members.
struct CauseSums {
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  GroupId group;
  std::int64_t instances_count = 0, last_count = 0, incomplete_count = 0;  // incomplete: of last_count
  std::int64_t compute_ns = 0, communication_ns = 0, launch_ns = 0, stalled_ns = 0;  // before, all instances
  std::int64_t delay_ns = 0, by_compute_ns = 0, by_communication_ns = 0, by_launch_ns = 0, by_stalled_ns = 0;
  std::int64_t behind_ns = 0;  // part of the delay: more kernels than the others had left to run, not slower ones
  auto key() const { return std::tuple(step, rank, replica, group); }
  void combine(const CauseSums& other);
  static TableInfo table() { return {}; }
  static std::vector<ColumnSpec<CauseSums>> columns(const Resolver&) { return {}; }
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

/// Transfer of the collectives of one shape in one group, to be compared with other groups.
struct Transfer {
  std::int32_t iteration = -1, replica = -1;
  GroupId group;
  Dimension dimension = Dimension::unknown;
  CollectiveOp op = CollectiveOp::unknown;
  LinkClass link_class = LinkClass::unknown;
  std::int32_t group_size = -1;
  std::int64_t payload_bytes = -1, transfer_ns = 0, count = 0;
  auto key() const {
    return std::tuple(iteration, replica, group, dimension, op, link_class, group_size, payload_bytes);
  }
  void combine(const Transfer& more) {
    transfer_ns += more.transfer_ns;
    count += more.count;
  }
  static TableInfo table() { return {"transfers", "summed transfer of each group by operation and size"}; }
  static std::vector<ColumnSpec<Transfer>> columns(const Resolver& resolver);
};

/// One credible symmetric instance. Appends a row per member.
void add_causes(const MatchedInstance& instance, std::span<const MatchedMember> members, std::vector<CauseSums>& out);
/// Its transfer, if like groups send the same amounts (all_reduce, all_gather, reduce_scatter of known size).
void add_transfer(const MatchedInstance& instance, Dimension dimension, std::vector<Transfer>& out);
/// What this rank waited for in other groups before the collectives where it is last.
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
/// A group whose collectives take at least 1.25 × as long as those of like groups (median of the others).
struct SlowGroup {
  GroupId group;
  double times = 1;     // transfer / that of like groups
  double more_ns = 0;   // transfer − that of like groups, over all its collectives
};
/// Rows sorted and folded. Origins sorted by (replica, rank, group, origin); they sum to the delay exactly.
struct Explanation {
  std::vector<Origin> origins;
  std::vector<SlowGroup> slow_groups;
};
Explanation explain(std::span<const CauseSums> causes, std::span<const Elsewhere> elsewhere,
                    std::span<const Transfer> transfers, const Groups& groups);

std::string hundredths(double value);  // "1.50"
/// "slow compute (its kernels take 1.50 x as long as its peers'), on 'mesh_tp' …; confidence high (97 % of its blame)"; empty without blame.
std::string cause_sentence(const Explanation& explanation, std::span<const CauseSums> causes, std::int32_t replica,
                           RankId rank, const Groups& groups);
ResultTable causes_table(const Explanation& explanation, const Groups& groups);

}  // namespace ccl::straggler
