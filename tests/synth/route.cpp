#include "route.hpp"

namespace synth {

int Route::stage_of(int place, int chunk) const {
  if (is_v_shaped(job_.schedule)) return chunk == 0 ? place : job_.virtual_stages() - 1 - place;
  return chunk * job_.mesh.pp + place;
}

int Route::place_of(int stage) const {
  const int pp = job_.mesh.pp;
  return is_v_shaped(job_.schedule) && stage >= pp ? 2 * pp - 1 - stage : stage % pp;
}

/// by: 1 where the action's result goes, -1 where its input comes from.
int Route::next_stage(int place, const Action& action, int by) const {
  return stage_of(place, action.chunk) + (action.work == Work::forward ? by : -by);
}

int Route::neighbour(int place, const Action& action, int by) const {
  const int stage = next_stage(place, action, by);
  if (stage < 0 || stage >= job_.virtual_stages()) return -1;
  return place_of(stage) == place ? -1 : place_of(stage);
}

std::vector<Action> Route::order_of_work(int place) const {
  return synth::order_of_work(job_.schedule, place, job_.mesh.pp, job_.microbatches, job_.virtual_stages() / job_.mesh.pp);
}

std::vector<Action> Route::messages(int from, int to) const {
  std::vector<Action> messages;
  for (Action action : order_of_work(from)) {
    if (action.work == Work::weight || target_of(from, action) != to) continue;
    action.chunk = next_stage(from, action, 1) / job_.mesh.pp;  // a rank of a V has a stage of each half, too
    messages.push_back(action);
  }
  return messages;
}

}  // namespace synth
