#include "schedule.hpp"

#include <algorithm>

namespace synth {
namespace {

std::vector<Action> gpipe(int microbatches) {
  std::vector<Action> actions;
  for (int m = 0; m < microbatches; ++m) actions.push_back({Work::forward, m, 0});
  for (int m = 0; m < microbatches; ++m) actions.push_back({Work::backward, m, 0});
  return actions;
}

/// k-th forward (or backward) of an interleaved stage: groups of `stages` micro-batches walk through the chunks.
Action interleaved_action(Work work, int k, int stages, int chunks) {
  const int group = k / (stages * chunks), inside = k % (stages * chunks);
  const int chunk = inside / stages;
  return {work, group * stages + inside % stages, work == Work::forward ? chunk : chunks - 1 - chunk};
}

std::vector<Action> one_f_one_b(int stage, int stages, int microbatches, int chunks) {
  const int total = microbatches * chunks;
  const int warmup =
      std::min(total, chunks == 1 ? stages - stage - 1 : (stages - stage - 1) * 2 + (chunks - 1) * stages);
  std::vector<Action> actions;
  const auto add = [&](Work work, int k) {
    actions.push_back(chunks == 1 ? Action{work, k, 0} : interleaved_action(work, k, stages, chunks));
  };
  for (int k = 0; k < warmup; ++k) add(Work::forward, k);
  for (int k = warmup; k < total; ++k) add(Work::forward, k), add(Work::backward, k - warmup);
  for (int k = total - warmup; k < total; ++k) add(Work::backward, k);
  return actions;
}

/// ZB-H1: the order of 1F1B, weight gradients put off by `stage` micro-batches, the rest fills the tail.
std::vector<Action> zero_bubble(int stage, int stages, int microbatches) {
  std::vector<Action> actions;
  int weights = 0;
  for (const Action& action : one_f_one_b(stage, stages, microbatches, 1)) {
    actions.push_back(action);
    if (action.work == Work::backward && action.microbatch >= stage) actions.push_back({Work::weight, weights++, 0});
  }
  while (weights < microbatches) actions.push_back({Work::weight, weights++, 0});
  return actions;
}

}  // namespace

std::vector<Action> order_of_work(Schedule schedule, int stage, int stages, int microbatches, int chunks) {
  if (schedule == Schedule::gpipe) return gpipe(microbatches);
  if (schedule == Schedule::zero_bubble) return zero_bubble(stage, stages, microbatches);
  return one_f_one_b(stage, stages, microbatches, schedule == Schedule::interleaved ? chunks : 1);
}

}  // namespace synth
