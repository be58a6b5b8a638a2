// The order in which a pipeline stage works on its micro-batches, for the published schedules.
#pragma once
#include <vector>

namespace synth {

enum class Schedule { gpipe, one_f_one_b, interleaved, zero_bubble, combined, dualpipev };

/// Each stage has two chunks that run through the ranks in a V: the last virtual stage is on the first rank.
inline bool is_v_shaped(Schedule schedule) { return schedule == Schedule::dualpipev; }

/// forward, backward (of activations; of weights too unless the schedule splits), weight gradients apart.
enum class Work { forward, backward, weight };

struct Action {
  Work work;
  int microbatch, chunk;
  bool split = false;   // a backward whose weight gradients come later, as work of their own
  bool joined = false;  // a forward that runs woven into the backward behind it
};

/// Actions of stage `stage` of `stages`, in launch order. chunks > 1 only for interleaved (needs microbatches to be a
/// multiple of stages) and combined; microbatches of dualpipev are at least 2 stages.
std::vector<Action> order_of_work(Schedule schedule, int stage, int stages, int microbatches, int chunks);

}  // namespace synth
