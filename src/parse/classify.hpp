// Names -> kinds, from the patterns of configs/kernels.yaml (embedded; --settings lays a file over it).
// Answers depend on the name alone and are kept over the traces of a worker (name_answers.hpp).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/kinds.hpp"
#include "parse/training_rules.hpp"

namespace ccl {

struct KernelClass {
  EventKind kind = EventKind::compute;             // compute or communication
  CollectiveOp op = CollectiveOp::unknown;         // of communication, from the name alone; send_recv if it says so
  Dimension dimension = Dimension::unknown;        // only of kernels that serve one (DeepEP: ep)
  std::uint16_t class_index = 0;                   // index into class_names()
};

class Classifier {
 public:
  /// yaml_text: the merged settings (see config_files.hpp). Throws FatalError(bad_request) on a broken pattern.
  /// training_texts: the same of megatron.yaml and torchtitan.yaml; without them, as embedded.
  explicit Classifier(std::string_view yaml_text, const std::vector<std::string>& training_texts = {});
  ~Classifier();
  Classifier(Classifier&&) noexcept;
  Classifier& operator=(Classifier&&) noexcept;

  KernelClass kernel(std::string_view name) const;
  const std::vector<std::string>& class_names() const;  // "gemm", "attention", …, "other", "communication"
  /// Whether a CPU slice of that name is kept for context (launch context rules).
  bool keeps_slice(std::string_view name) const;
  /// The first rule of `slices:` that keeps it ("forward", "backward", "optimizer", "fsdp", …); empty if none does.
  std::string_view slice_rule(std::string_view name) const;
  /// What it says of the kernels launched in it; slices with a role are kept too.
  const TrainingRules& training() const;

  /// Stage of a layer or pipeline that a range names (`stages:`); empty if none.
  std::string_view stage(std::string_view name) const;
  /// What a stream is for whose communication is of this stage (`stream_roles:`); empty if no rule has it.
  std::string_view stream_role(std::string_view stage) const;
  /// Whether a range of that name stands for the steady state (`steady_state:`).
  bool marks_steady_state(std::string_view name) const;

 private:
  struct Rules;
  std::unique_ptr<Rules> rules_;
};

}  // namespace ccl
