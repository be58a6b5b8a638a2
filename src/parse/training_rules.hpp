// What CPU slices around a launch say of a kernel, from configs/megatron.yaml and configs/torchtitan.yaml: roles of
// slices, and numbers in the names of micro-batches. Answers are kept over the traces of a worker (name_answers.hpp).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ccl {

enum class SliceRole : std::uint8_t {
  none, forward_microbatch, backward_microbatch, weight_microbatch, combined_microbatch, forward_part, backward_part,
  recompute, grad_norm, loss, data_loading, optimizer, dp_communication, pp_communication, tp_communication, ep_communication, cp_communication
};
inline constexpr int slice_role_count = 17;
std::string_view to_text(SliceRole);

class TrainingRules {
 public:
  /// The embedded files. They are read when first asked, which runs that look at no CPU slices never do.
  TrainingRules();
  /// The files' texts in the order they are asked. Throws FatalError(bad_request) on an unknown role or broken pattern.
  explicit TrainingRules(const std::vector<std::string>& yaml_texts);
  ~TrainingRules();
  TrainingRules(TrainingRules&&) noexcept;
  TrainingRules& operator=(TrainingRules&&) noexcept;

  SliceRole role(std::string_view name) const;
  /// Numbers in the name of a micro-batch's slice; −1 = it tells none.
  std::int32_t microbatch_number(std::string_view name) const;
  std::int32_t chunk_number(std::string_view name) const;

 private:
  struct Rules;
  struct ReadOnce;
  const Rules& rules() const;
  std::unique_ptr<ReadOnce> rules_;
};

}  // namespace ccl
