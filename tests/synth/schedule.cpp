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
    actions.back().split = action.work == Work::backward;
    if (action.work == Work::backward && action.microbatch >= stage) actions.push_back({Work::weight, weights++, 0});
  }
  while (weights < microbatches) actions.push_back({Work::weight, weights++, 0});
  return actions;
}

/// Megatron's overlap of expert all-to-alls: 1F1B with one more forward ahead, so that each later forward can be woven
/// into a backward.
std::vector<Action> combined(int stage, int stages, int microbatches, int chunks) {
  const std::vector<Action> order = one_f_one_b(stage, stages, microbatches, chunks);
  std::vector<Action> forwards, backwards, actions;
  for (const Action& action : order) (action.work == Work::forward ? forwards : backwards).push_back(action);
  const auto first = std::find_if(order.begin(), order.end(), [](const Action& a) { return a.work == Work::backward; });
  const auto ahead = static_cast<std::size_t>(first - order.begin());
  actions.assign(forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(ahead));
  for (std::size_t k = 0; k < backwards.size(); ++k) {
    if (ahead + k < forwards.size()) actions.push_back(forwards[ahead + k]), actions.back().joined = true;
    actions.push_back(backwards[k]);
  }
  return actions;
}

/// DualPipeV as published with DeepSeek-V3's DualPipe: eight stretches per rank.
class DualPipeV {
 public:
  DualPipeV(int rank, int ranks, int microbatches) : r_(rank), p_(ranks), n_(microbatches) {}

  std::vector<Action> order() {
    for (int i = 0; i < 2 * (p_ - r_ - 1); ++i) forward(0);
    for (int i = 0; i <= r_; ++i) forward(0), forward(1);
    for (int i = 0; i < p_ - r_ - 1; ++i) backward(1, true), weight(), forward(1);
    for (int i = 0; i < n_ - 2 * p_ + r_ + 1; ++i) {
      // The last rank turns the V around: its very first pair can not be woven.
      both(0, 1, i > 0 || r_ < p_ - 1);
      both(1, 0, true);
    }
    for (int i = 0; i < p_ - r_ - 1; ++i) backward(1, false), both(1, 0, true);
    bool split = false;
    for (int i = 0; i <= r_; ++i) {
      split |= i == (r_ + 1) / 2 && r_ % 2 == 1;
      backward(1, split);
      split |= i == (r_ + 1) / 2 && r_ % 2 == 0;
      backward(0, split);
    }
    for (int i = 0; i < p_ - r_ - 1; ++i) weight(), backward(0, true);
    while (!waiting_.empty()) weight();
    return std::move(actions_);
  }

 private:
  void forward(int chunk, bool joined = false) {
    actions_.push_back({Work::forward, forwards_[chunk]++, chunk, false, joined});
  }
  void backward(int chunk, bool split) {
    actions_.push_back({Work::backward, backwards_[chunk]++, chunk, split});
    if (split) waiting_.push_back({Work::weight, actions_.back().microbatch, chunk});
  }
  void both(int forward_chunk, int backward_chunk, bool joined) {
    forward(forward_chunk, joined);
    backward(backward_chunk, false);
  }
  void weight() {
    actions_.push_back(waiting_.front());
    waiting_.erase(waiting_.begin());
  }

  const int r_, p_, n_;
  int forwards_[2] = {0, 0}, backwards_[2] = {0, 0};
  std::vector<Action> waiting_, actions_;
};

}  // namespace

std::vector<Action> order_of_work(Schedule schedule, int stage, int stages, int microbatches, int chunks) {
  if (schedule == Schedule::gpipe) return gpipe(microbatches);
  if (schedule == Schedule::zero_bubble) return zero_bubble(stage, stages, microbatches);
  if (schedule == Schedule::combined) return combined(stage, stages, microbatches, chunks);
  if (schedule == Schedule::dualpipev) return DualPipeV(stage, stages, microbatches).order();
  return one_f_one_b(stage, stages, microbatches, schedule == Schedule::interleaved ? chunks : 1);
}

}  // namespace synth
