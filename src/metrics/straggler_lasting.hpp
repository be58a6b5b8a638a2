// The causes of a group in a step (CausesOfStep), and which part of a launch lag is new. A CPU that does not wait for its
// device keeps its lag from collective to collective: each of them is late by it, but it was made once. In: the matched
// collectives of one group in one step.
// Out: what of the delay of each is lag that was counted before (report stage).
#pragma once
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "metrics/straggler_causes.hpp"
#include "metrics/summed.hpp"

namespace ccl::straggler {

/// A rank's lag at a launch is how much later than the others it launched, each by the end that all have in common: no
/// clock is used. Lag that was counted counts again only as far as it was lost meanwhile: the next to last waited for
/// its device in calls that synchronise, or less than half of it is left.
class LastingLag {
 public:
  explicit LastingLag(const Stages& stages) : stages_(&stages) {}
  /// Another group or step.
  void begin();
  /// In order of the ends. last: the row of the last rank, with its delay split; gets late_ns and lasting_ns.
  void add(const MatchedInstance& instance, std::span<const MatchedMember> members, CauseSums& last);
  /// A row for each rank that may have brought lag into the step or takes some on.
  void finish(StepId step, std::int32_t replica, GroupId group, std::vector<CauseSums>& out);

 private:
  struct State {
    std::int64_t counted_ns = 0;  // of the lag that is left, what was counted already
    std::int64_t first_ns = 0, lost_ns = 0;  // as in CauseSums
    std::int64_t lead_ns = -1;    // at the collective before; -1 not known
    bool open = true;             // late at every launch of the step so far, with lag that never was level
  };
  struct Pace {
    std::int32_t stage = -1;
    std::int64_t lead_ns = 0;  // from its launch to the common end
    const MatchedMember* member = nullptr;
  };
  /// How far the rank is behind all others of its stage at this launch; brings the state of every member up to it.
  std::int64_t follow(std::span<const MatchedMember> members, RankId rank);
  std::int64_t follow_stage(std::span<const Pace> paces, RankId rank);
  void lose_lead(const Pace& last, const Pace& next_to_last);
  State& state_of(RankId rank);  // until the next call with a rank that was not asked for before

  const Stages* stages_;
  bool first_ = true;  // no collective of the step yet
  std::vector<Pace> paces_;  // of one collective
  std::vector<std::pair<RankId, State>> states_;  // by rank
};

/// The instances of a group in a step, in order of their ends, into rows of causes, one a rank. Asked again for every group
/// and step: what it works in is kept.
class CausesOfStep {
 public:
  explicit CausesOfStep(const Stages& stages) : stages_(&stages), lag_(stages) {}
  /// members(instance) gives its members. instances: gets their order.
  template <class Members>
  void add(std::vector<const MatchedInstance*>& instances, Members members, std::vector<CauseSums>& out) {
    std::sort(instances.begin(), instances.end(), [](const MatchedInstance* a, const MatchedInstance* b) {
      return a->last_end_ns != b->last_end_ns ? a->last_end_ns < b->last_end_ns : a < b;
    });
    if (instances.empty()) return;
    lag_.begin();
    for (const MatchedInstance* instance : instances) {
      rows_.clear();
      add_causes(*instance, members(*instance), *stages_, rows_, room_);
      for (CauseSums& row : rows_) {
        if (row.rank.value == instance->last_rank) lag_.add(*instance, members(*instance), row);
        sums_.add(row);
      }
    }
    const MatchedInstance& any = *instances.front();
    rows_.clear();
    if (any.step != outside_step) lag_.finish({any.iteration, any.step}, any.replica, any.group, rows_);
    for (const CauseSums& row : rows_) sums_.add(row);
    sums_.move_to(out);
    sums_.clear();
  }

 private:
  const Stages* stages_;
  LastingLag lag_;
  SummedInTurn<CauseSums> sums_;  // the members of a collective come by rank
  std::vector<CauseSums> rows_;  // of one instance
  std::vector<std::uint32_t> room_;
};

}  // namespace ccl::straggler
