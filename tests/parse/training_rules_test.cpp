#include "parse/training_rules.hpp"

#include <gtest/gtest.h>

#include "core/problems.hpp"
#include "parse/config_files.hpp"

namespace ccl {
namespace {

TrainingRules embedded() {
  return TrainingRules({std::string(embedded_config("megatron")), std::string(embedded_config("torchtitan"))});
}

TEST(TrainingRules, RolesOfSlicesAsTheyAreCalledInTraces) {
  const TrainingRules rules = embedded();
  const std::pair<const char*, SliceRole> cases[] = {
      {"megatron/core/pipeline_parallel/schedules.py(403): forward_step", SliceRole::forward_microbatch},
      {"megatron/core/pipeline_parallel/schedules.py(517): backward_step", SliceRole::backward_microbatch},
      {"megatron/core/pipeline_parallel/p2p_communication.py(9): send_forward_recv_backward", SliceRole::pp_communication},
      {"megatron/core/optimizer/clip_grads.py(57): get_grad_norm_fp32", SliceRole::grad_norm},
      {"megatron/core/optimizer/optimizer.py(640): step", SliceRole::optimizer},
      {"megatron/core/optimizer/optimizer.py(300): scale_loss", SliceRole::none},
      {"pretrain_gpt.py(120): loss_func", SliceRole::loss},
      {"torch/utils/checkpoint.py(1523): recompute_fn", SliceRole::recompute},
      {"Forward 12", SliceRole::forward_microbatch},
      {"1B3", SliceRole::backward_microbatch},
      {"1W3", SliceRole::weight_microbatch},
      {"Optimizer.step#AdamW.step", SliceRole::optimizer},
      {"aten::nll_loss_backward", SliceRole::none},
      {"autograd::engine::evaluate_function: NllLossBackward0", SliceRole::none},
      {"forward_backward_func", SliceRole::none}};
  for (const auto& [name, role] : cases) EXPECT_EQ(to_text(rules.role(name)), to_text(role)) << name;
}

TEST(TrainingRules, NumbersInNames) {
  const TrainingRules rules = embedded();
  EXPECT_EQ(rules.microbatch_number("Forward 12"), 12);
  EXPECT_EQ(rules.microbatch_number("1B3"), 3);
  EXPECT_EQ(rules.microbatch_number("F4.1.77"), 4);
  EXPECT_EQ(rules.chunk_number("F4.1.77"), 1);
  EXPECT_EQ(rules.microbatch_number("schedules.py(403): forward_step"), -1);
}

TEST(TrainingRules, UnknownRolesAndBrokenPatternsAreRefused) {
  EXPECT_THROW(TrainingRules({"roles: {optimiser: [a]}"}), FatalError);
  EXPECT_THROW(TrainingRules({"roles: {optimizer: a}"}), FatalError);
  EXPECT_THROW(TrainingRules({"roles: {}\nmicrobatch_number: [\"(\"]"}), FatalError);
}

}  // namespace
}  // namespace ccl
