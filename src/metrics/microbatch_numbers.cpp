#include <algorithm>

#include "metrics/microbatches.hpp"

namespace ccl {

std::string_view to_text(Direction direction) {
  static constexpr std::string_view names[] = {"forward", "backward", "weight"};
  return names[static_cast<std::size_t>(direction)];
}

std::string_view to_text(Category category) {
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

void number_in_order(std::vector<MicroBatch*>& ordered, std::int32_t stages, std::int32_t chunks) {
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
