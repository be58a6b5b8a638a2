#include <algorithm>

#include "metrics/microbatches.hpp"

namespace ccl {
namespace {

std::vector<MicroBatch*> of(EventRoles& roles, std::int32_t step, Direction direction) {
  std::vector<MicroBatch*> all;
  for (MicroBatch& m : roles.microbatches)
    if (m.step == step && m.direction == direction) all.push_back(&m);
  return all;
}

template <class Has>
bool all_have(const std::vector<MicroBatch*>& ordered, Has has) {
  return !ordered.empty() && std::all_of(ordered.begin(), ordered.end(), has);
}

/// The same number again in a step is its next virtual stage; backwards run through them the other way round.
std::int32_t number_chunks(const std::vector<MicroBatch*>& ordered) {
  std::vector<std::int32_t> seen;
  for (MicroBatch* m : ordered) {
    if (m->chunk >= 0) continue;
    if (seen.size() <= static_cast<std::size_t>(m->number)) seen.resize(static_cast<std::size_t>(m->number) + 1);
    m->chunk = seen[static_cast<std::size_t>(m->number)]++;
  }
  const std::int32_t chunks = seen.empty() ? 1 : std::max(1, *std::max_element(seen.begin(), seen.end()));
  if (!seen.empty() && ordered.front()->direction == Direction::backward)
    for (MicroBatch* m : ordered) m->chunk = seen[static_cast<std::size_t>(m->number)] - 1 - m->chunk;
  return chunks;
}

/// Weight gradients apart belong to a backward of their number that went before: of two to both in its order, a single
/// one to the last.
void number_weights(const std::vector<MicroBatch*>& weights, const std::vector<MicroBatch*>& backwards) {
  for (std::size_t k = 0; k < weights.size(); ++k) {
    MicroBatch& weight = *weights[k];
    if (weight.chunk >= 0) continue;
    std::vector<const MicroBatch*> before;
    for (const MicroBatch* b : backwards)
      if (b->number == weight.number && b->start_ns < weight.start_ns) before.push_back(b);
    std::size_t own = 0, at = 0;
    for (std::size_t j = 0; j < weights.size(); ++j)
      if (weights[j]->number == weight.number) at += j < k ? 1 : 0, ++own;
    if (before.empty()) continue;
    weight.chunk = own > 1 && at < before.size() ? before[at]->chunk : before.back()->chunk;
  }
}

void count_within_chunks(const std::vector<MicroBatch*>& ordered) {
  std::vector<std::int32_t> next;
  for (MicroBatch* m : ordered) {
    const auto chunk = static_cast<std::size_t>(m->chunk);
    if (next.size() <= chunk) next.resize(chunk + 1);
    m->number = next[chunk]++;
  }
}

}  // namespace

void number_microbatches(EventRoles& roles, const Workload& workload, std::int32_t steps_count, std::int32_t stage,
                         std::int32_t stages) {
  // The fullest step decides: the first and the last may be cut.
  std::size_t most = 0;
  std::int64_t before_backward = 0;
  for (std::int32_t step = 0; step < steps_count; ++step) {
    const auto forwards = of(roles, step, Direction::forward), backwards = of(roles, step, Direction::backward);
    if (forwards.size() <= most) continue;
    most = forwards.size();
    before_backward = std::count_if(forwards.begin(), forwards.end(), [&](const MicroBatch* forward) {
      return backwards.empty() || forward->start_ns < backwards.front()->start_ns;
    });
  }
  const std::int32_t chunks = count_chunks(workload, static_cast<std::int64_t>(most), before_backward, stage, stages);
  std::int32_t named_chunks = 1;
  for (std::int32_t step = 0; step < steps_count; ++step) {
    const std::vector<MicroBatch*> backwards = of(roles, step, Direction::backward);
    for (const Direction direction : {Direction::forward, Direction::backward, Direction::weight}) {
      const std::vector<MicroBatch*> ordered = of(roles, step, direction);
      if (all_have(ordered, [](const MicroBatch* m) { return m->number >= 0; })) {
        if (direction == Direction::weight) number_weights(ordered, backwards);
        named_chunks = std::max(named_chunks, direction == Direction::weight ? 1 : number_chunks(ordered));
        roles.numbers = NumberSource::name;
      } else if (direction == Direction::weight && ordered.size() != backwards.size()) {
        continue;  // which backwards left theirs for later is not told
      } else if (all_have(ordered, [](const MicroBatch* m) { return m->chunk >= 0; })) {
        count_within_chunks(ordered);
        for (const MicroBatch* m : ordered) named_chunks = std::max(named_chunks, m->chunk + 1);
      } else {
        number_in_order(ordered, stages, chunks);
      }
    }
  }
  roles.chunks_count = std::max({roles.chunks_count, named_chunks, roles.numbers == NumberSource::name ? 1 : chunks});
  if (roles.numbers == NumberSource::order && chunks > 1 && named_chunks == 1)
    roles.numbers = NumberSource::interleaved_order;
}

std::string_view to_text(Direction direction) {
  static constexpr std::string_view names[] = {"forward", "backward", "weight"};
  return names[static_cast<std::size_t>(direction)];
}

std::string_view to_text(WorkCategory category) {
  static constexpr std::string_view names[category_count] = {
      "forward", "backward", "recompute", "optimizer", "grad_norm", "loss", "data_loading", "dp_communication",
      "pp_communication", "tp_communication", "ep_communication", "cp_communication", "other_communication", "memory",
      "other", "unclassified"};
  return names[static_cast<std::size_t>(category)];
}

std::string_view to_text(TrainingPhase phase) {
  static constexpr std::string_view names[training_phase_count] = {
      "forward", "backward", "recompute", "optimizer", "grad_norm", "loss", "data_loading", "other", "unclassified"};
  return names[static_cast<std::size_t>(phase)];
}

std::string_view to_text(Evidence evidence) {
  static constexpr std::string_view names[evidence_count] = {"none",        "python",   "annotation",
                                                             "micro_batch", "autograd", "neighbour"};
  return names[static_cast<std::size_t>(evidence)];
}

std::string_view to_text(NumberSource source) {
  static constexpr std::string_view names[] = {"none", "name", "order", "interleaved_order", "launch_order"};
  return names[static_cast<std::size_t>(source)];
}

std::int32_t count_chunks(const Workload& workload, std::int64_t forwards_count, std::int64_t before_backward_count,
                          std::int32_t stage, std::int32_t stages) {
  if (stages <= 1 || forwards_count == 0) return 1;
  if (workload.virtual_stages) return static_cast<std::int32_t>(std::max<std::int64_t>(1, *workload.virtual_stages.value));
  if (workload.microbatches && *workload.microbatches.value > 0 && forwards_count % *workload.microbatches.value == 0)
    return static_cast<std::int32_t>(forwards_count / *workload.microbatches.value);
  if (stage < 0 || before_backward_count == stages - stage) return 1;
  const std::int64_t rest = before_backward_count - 1 - 2 * std::int64_t{stages - stage - 1};
  const std::int64_t chunks = rest > 0 && rest % stages == 0 ? rest / stages + 1 : 1;
  return forwards_count % chunks == 0 ? static_cast<std::int32_t>(chunks) : 1;
}

void number_in_order(const std::vector<MicroBatch*>& ordered, std::int32_t stages, std::int32_t chunks) {
  const std::int64_t group_size = std::int64_t{stages} * chunks;
  for (std::size_t k = 0; k < ordered.size(); ++k) {
    MicroBatch& m = *ordered[k];
    const auto at = static_cast<std::int64_t>(k);
    const auto chunk = static_cast<std::int32_t>(at % group_size / stages);
    m.number = static_cast<std::int32_t>(chunks == 1 ? at : at / group_size * stages + at % stages);
    m.chunk = chunks == 1 ? 0 : m.direction == Direction::forward ? chunk : chunks - 1 - chunk;
  }
}

}  // namespace ccl
