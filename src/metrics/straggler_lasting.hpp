// Which part of a launch lag is new. A CPU that does not wait for its device keeps its lag from collective to
// collective: each of them is late by it, but it was made once. In: the matched collectives of one group in one step.
// Out: what of the delay of each is lag that was counted before (report stage).
#pragma once
#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "metrics/straggler_causes.hpp"

namespace ccl::straggler {

/// A rank's lag at a launch is how much later than the others it launched, each by the end that all have in common: no
/// clock is used. Lag that was counted counts again only as far as it was lost meanwhile: the next to last waited for
/// its device in calls that synchronise, or less than half of it is left.
class LastingLag {
 public:
  explicit LastingLag(const Stages& stages) : stages_(&stages) {}
  /// In order of the ends. last: the row of the last rank, with its delay split; gets late_ns and lasting_ns.
  void add(const MatchedInstance& instance, std::span<const MatchedMember> members, CauseSums& last);
  /// A row for each rank that may have brought lag into the step or takes some on.
  void finish(StepId step, std::int32_t replica, GroupId group, std::vector<CauseSums>& out);

 private:
  struct State {
    std::int64_t counted_ns = 0, first_ns = 0, lost_ns = 0;
    std::int64_t lead_ns = -1;  // at the collective before; -1 not known
    bool open = true;           // late at every launch of the step so far
  };
  struct Pace {
    const MatchedMember* member = nullptr;
    std::int64_t lead_ns = 0;  // from its launch to the common end
  };
  /// How far the rank is behind all others of its stage at this launch; takes all of them along.
  std::int64_t follow(std::span<const MatchedMember> members, RankId rank);
  void lose_lead(const Pace& last, const Pace& next);

  const Stages* stages_;
  bool first_ = true;  // no collective of the step yet
  std::map<RankId, State> states_;
};

/// The instances of a group in a step, in order of their ends, into rows of causes; members(instance) gives its
/// members.
template <class Members>
void add_causes_of_step(std::vector<const MatchedInstance*> instances, const Stages& stages, Members members,
                        std::vector<CauseSums>& out) {
  std::sort(instances.begin(), instances.end(), [](const MatchedInstance* a, const MatchedInstance* b) {
    return a->last_end_ns != b->last_end_ns ? a->last_end_ns < b->last_end_ns : a < b;
  });
  if (instances.empty()) return;
  LastingLag lag(stages);
  std::vector<CauseSums> rows;
  std::size_t folded = 0;
  for (const MatchedInstance* instance : instances) {
    const std::size_t first = rows.size();
    add_causes(*instance, members(*instance), stages, rows);
    for (std::size_t row = first; row < rows.size(); ++row)
      if (rows[row].rank.value == instance->last_rank) lag.add(*instance, members(*instance), rows[row]);
    if (rows.size() < 2 * folded + 4096) continue;
    sort_and_fold(rows);
    folded = rows.size();
  }
  const MatchedInstance& any = *instances.front();
  if (any.step != outside_step) lag.finish({any.iteration, any.step}, any.replica, any.group, rows);
  sort_and_fold(rows);
  out.insert(out.end(), rows.begin(), rows.end());
}

}  // namespace ccl::straggler
