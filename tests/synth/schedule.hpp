// The order in which a pipeline stage works on its micro-batches, for the published schedules.
#pragma once
#include <vector>

namespace synth {

enum class Schedule { gpipe, one_f_one_b, interleaved, zero_bubble };

/// forward, backward (of activations; of weights too unless the schedule splits), weight gradients apart.
enum class Work { forward, backward, weight };

struct Action {
  Work work;
  int microbatch, chunk;
};

/// Actions of stage `stage` of `stages`, in launch order. chunks > 1 only for interleaved (needs microbatches to be a
/// multiple of stages).
std::vector<Action> order_of_work(Schedule schedule, int stage, int stages, int microbatches, int chunks);

}  // namespace synth
