#include "parse/training_rules.hpp"

#include <gtest/gtest.h>

#include "core/problems.hpp"

namespace ccl {
namespace {

TEST(TrainingRules, RolesOfSlicesAsTheyAreCalledInTraces) {
  const TrainingRules rules;
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
      {"forward_backward_func", SliceRole::none},
      {"megatron/core/pipeline_parallel/schedules.py(290): forward_step_calc_loss", SliceRole::forward_microbatch},
      {"megatron/core/pipeline_parallel/combined_1f1b.py(245): combined_forward_backward_step",
       SliceRole::combined_microbatch},
      {"megatron/core/pipeline_parallel/utils.py(182): forward", SliceRole::forward_part},
      {"megatron/core/pipeline_parallel/utils.py(232): backward", SliceRole::backward_part},
      {"moe_dispatch forward", SliceRole::forward_part},
      {"mlp wgrad", SliceRole::backward_part},
      {"megatron/core/distributed/param_and_grad_buffer.py(301): start_grad_sync", SliceRole::dp_communication},
      {"megatron/core/distributed/finalize_model_grads.py(300): finalize_model_grads", SliceRole::dp_communication},
      {"megatron.core.pipeline_parallel.p2p_communication.send_backward_recv_forward", SliceRole::pp_communication},
      {"megatron/core/transformer/transformer_block.py(402): custom_forward", SliceRole::recompute},
      {"megatron/core/tensor_parallel/random.py(600): _recompute", SliceRole::recompute},
      {"F3.1.7", SliceRole::forward_microbatch},
      {"W3.1.7", SliceRole::weight_microbatch},
      {"SEND_FORWARD.3.1.7_RECV_BACKWARD.2.0.7", SliceRole::pp_communication},
      {"forward chunk 0 (phase1)", SliceRole::forward_microbatch},
      {"backward chunk 1 (phase0)", SliceRole::backward_microbatch},
      {"forward chunk 0 (phase4) backward chunk 1 (phase4)", SliceRole::combined_microbatch},
      {"rank 3 overlapped forward chunk 0 (phase4) backward chunk 1 (phase4)", SliceRole::combined_microbatch},
      {"rank 3 forward chunk 0 (phase1)", SliceRole::forward_microbatch},
      {"weight chunk", SliceRole::weight_microbatch},
      {"layer07.stage2_f", SliceRole::forward_part},
      {"layer07_stage5_f_layer08_stage1_f", SliceRole::forward_part},
      {"layer07.stage3_w", SliceRole::backward_part},
      {"loss1.backward()", SliceRole::backward_part},
      {"criterion0(*outputs0, *labels0)", SliceRole::forward_part}};
  for (const auto& [name, role] : cases) EXPECT_EQ(to_text(rules.role(name)), to_text(role)) << name;
}

TEST(TrainingRules, NumbersInNames) {
  const TrainingRules rules;
  EXPECT_EQ(rules.microbatch_number("Forward 12"), 12);
  EXPECT_EQ(rules.microbatch_number("1B3"), 3);
  EXPECT_EQ(rules.microbatch_number("F4.1.77"), 4);
  EXPECT_EQ(rules.chunk_number("F4.1.77"), 1);
  EXPECT_EQ(rules.chunk_number("forward chunk 0 (phase4) backward chunk 1 (phase4)"), 0);
  EXPECT_EQ(rules.chunk_number("backward chunk 1 (phase4)"), 1);
  EXPECT_EQ(rules.microbatch_number("forward chunk 0 (phase4)"), -1) << "a chunk, no micro-batch";
  EXPECT_EQ(rules.microbatch_number("schedules.py(403): forward_step"), -1);
}

TEST(TrainingRules, UnknownRolesAndBrokenPatternsAreRefused) {
  EXPECT_THROW(TrainingRules({"roles: {optimiser: [a]}"}), FatalError);
  EXPECT_THROW(TrainingRules({"roles: {optimizer: a}"}), FatalError);
  EXPECT_THROW(TrainingRules({"roles: {}\nmicrobatch_number: [\"(\"]"}), FatalError);
}

}  // namespace
}  // namespace ccl
