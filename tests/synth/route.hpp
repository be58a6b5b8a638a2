// Which rank of a pipeline has which virtual stage, and what goes from one rank to another in which order.
#pragma once
#include <vector>

#include "job.hpp"
#include "schedule.hpp"

namespace synth {

class Route {
 public:
  explicit Route(const Job& job) : job_(job) {}

  int stage_of(int place, int chunk) const;
  /// Where a virtual stage and the next are on one rank, no message goes between them: −1, as at the ends.
  int source_of(int place, const Action& action) const { return neighbour(place, action, -1); }
  int target_of(int place, const Action& action) const { return neighbour(place, action, 1); }
  /// Actions of the rank at `to` that the one at `from` sends to, in the order in which it does.
  std::vector<Action> messages(int from, int to) const;
  std::vector<Action> order_of_work(int place) const;

 private:
  int place_of(int stage) const;
  int next_stage(int place, const Action& action, int by) const;
  int neighbour(int place, const Action& action, int by) const;

  const Job& job_;
};

}  // namespace synth
