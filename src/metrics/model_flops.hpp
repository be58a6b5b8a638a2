// Model FLOP per token from the sizes of a workload card, by convention: torchtitan
// 6(N - N_embedding) + 12 L H Q T, palm 6 N + 12 L H Q T, megatron 6(N - N_embedding) + 6 L H Q T. For mfu and
// hardware_saturation.
#pragma once
#include <string>

#include "discover/workload.hpp"

namespace ccl {

struct ModelSize {
  std::string missing;  // what the workload does not say; empty if it says enough
  double parameters = 0, embedding = 0, attention_width = 0, layers = 0;
  double sliding_window = 0;  // tokens; 0 = attention over the whole sequence
  std::string inputs;  // values used and where they come from
};
ModelSize model_size(const Workload& workload, const std::string& convention);

/// Training; a third of it for inference. T is at most the sliding window.
double flops_per_token(const ModelSize& model, const std::string& convention, double seq_len, const Workload& workload);

}  // namespace ccl
