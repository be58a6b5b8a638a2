#include "parse/classify.hpp"

#include <gtest/gtest.h>

#include "core/problems.hpp"
#include "parse/config_files.hpp"

namespace ccl {
namespace {

const Classifier& built_in() {
  static const Classifier classifier(embedded_config("kernels"));
  return classifier;
}
KernelClass kernel(std::string_view name) { return built_in().kernel(name); }
std::string class_of(std::string_view name) { return built_in().class_names().at(kernel(name).class_index); }
bool communicates(std::string_view name) { return kernel(name).kind == EventKind::communication; }

TEST(Classifier, CollectiveLibrariesAreCommunicationWhateverTheCase) {
  for (const char* name : {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                           "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", "ncclSymkDevKernel_AllGather_LL",
                           "void ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "rcclGenericKernel",
                           "mcclkernel_allreduce", "HCCLDEVKERNEL_x"})
    EXPECT_TRUE(communicates(name)) << name;
  EXPECT_EQ(class_of("ncclKernel_AllReduce"), "communication");
}

TEST(Classifier, CustomAllReducesAndExpertKernelsAreCommunicationToo) {
  EXPECT_EQ(kernel("void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)").op, CollectiveOp::all_reduce);
  EXPECT_EQ(kernel("multimem_all_reduce_kernel<float, 16>").op, CollectiveOp::all_reduce);
  const KernelClass dispatch = kernel("void deep_ep::intranode::dispatch<8, 768>(int4*, float*)");
  EXPECT_EQ(dispatch.op, CollectiveOp::dispatch);
  EXPECT_EQ(dispatch.dimension, Dimension::ep);
  EXPECT_EQ(kernel("void deep_ep::internode_ll::combine<false>(void*)").op, CollectiveOp::combine);
  EXPECT_EQ(kernel("void dpsk::ep::internode::combine<1>(int)").op, CollectiveOp::combine);
  EXPECT_EQ(kernel("void deep_ep::intranode::barrier<8>(int**, int)").op, CollectiveOp::barrier);
  EXPECT_FALSE(communicates("void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)"));
}

TEST(Classifier, LooseWordsDoNotMakeAKernelCommunicate) {
  for (const char* name : {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
                           "void at::native::vectorized_gather_kernel<16, long>", "broadcast_add_kernel",
                           "void at::native::_scatter_gather_elementwise_kernel<128, 8>", "send_step_kernel",
                           "triton_poi_fused_all_reduce_add_0", "my_nccl_reduce_kernel",
                           "nccl_all_to_all_permute_kernel"})
    EXPECT_FALSE(communicates(name)) << name;
}

TEST(Classifier, OperationComesFromTheKernelName) {
  EXPECT_EQ(kernel("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL()").op, CollectiveOp::reduce_scatter);
  EXPECT_EQ(kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL()").op, CollectiveOp::all_reduce);
  EXPECT_EQ(kernel("ncclDevKernel_AllGather_RING_LL()").op, CollectiveOp::all_gather);
  EXPECT_EQ(kernel("ncclDevKernel_Reduce_Sum_f32_RING_LL()").op, CollectiveOp::reduce);
  EXPECT_EQ(kernel("ncclKernel_Broadcast_RING_LL_Sum_int8_t()").op, CollectiveOp::broadcast);
  EXPECT_EQ(kernel("ncclDevKernel_SendRecv()").op, CollectiveOp::send_recv);
  EXPECT_EQ(kernel("ncclDevKernel_AlltoAllPivot_RING_SIMPLE_Sum_int8_t()").op, CollectiveOp::all_to_all);
  EXPECT_EQ(kernel("ncclDevKernel_Generic_4()").op, CollectiveOp::unknown);
}

TEST(Classifier, ComputeKernelsHaveClasses) {
  EXPECT_EQ(class_of("nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NNT"), "gemm");
  EXPECT_EQ(class_of("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV"), "gemm");
  EXPECT_EQ(class_of("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int>>>"), "attention");
  EXPECT_EQ(class_of("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention)"), "attention");
  EXPECT_EQ(class_of("void (anonymous namespace)::softmax_warp_forward<float, float, float, 5, true, false>"), "softmax");
  EXPECT_EQ(class_of("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>"), "normalization");
  EXPECT_EQ(class_of("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"), "elementwise");
  EXPECT_EQ(class_of("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>"), "memory");
  EXPECT_EQ(class_of("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>"), "reduction");
  EXPECT_EQ(class_of("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>"), "optimizer");
  EXPECT_EQ(class_of("void at::native::vectorized_gather_kernel<16, long>"), "embedding");
  EXPECT_EQ(class_of("triton_poi_fused__flash_attn_backward__unsafe_view_mul_16"), "triton");
  EXPECT_EQ(class_of("triton_tem_fused_mm_3"), "gemm");
  EXPECT_EQ(class_of("triton_red_fused_log_softmax_0"), "triton");
  EXPECT_EQ(class_of("quite_new"), "other");
}

TEST(Classifier, SlicesThatTellTheLaunchContextAreKept) {
  EXPECT_EQ(built_in().slice_rule("autograd::engine::evaluate_function: MmBackward0"), "backward");
  EXPECT_EQ(built_in().slice_rule("Optimizer.step#AdamW.step"), "optimizer");
  EXPECT_EQ(built_in().slice_rule("FSDP::all_gather (layers.0)"), "fsdp");
  EXPECT_EQ(built_in().slice_rule("megatron/core/pipeline_parallel/schedules.py(237): forward_step"), "forward");
  EXPECT_EQ(built_in().slice_rule("torch/_tensor.py(600): backward"), "backward");
  EXPECT_EQ(built_in().slice_rule("ProfilerStep#9"), "step");
  EXPECT_FALSE(built_in().keeps_slice("aten::mm"));
  EXPECT_FALSE(built_in().keeps_slice("contextlib.py(141): __exit__"));
}

TEST(Classifier, RulesOfTheUserDecide) {
  const Classifier own(
      "communication: {mine: {match: ['^my_*exchange$'], operation: all_to_all, dimension: ep}}\n"
      "operations: {}\ncompute_classes: {a: ['/^x[0-9]+$/']}\nslices: {}\n");
  EXPECT_EQ(own.kernel("MY_big_exchange").op, CollectiveOp::all_to_all);
  EXPECT_EQ(own.kernel("my_big_exchange_2").kind, EventKind::compute);
  EXPECT_EQ(own.class_names().at(own.kernel("x12").class_index), "a");
  EXPECT_EQ(own.class_names().at(own.kernel("x12y").class_index), "other");
  EXPECT_FALSE(own.keeps_slice("ProfilerStep#9"));
}

TEST(Classifier, StagesAndWhatStreamsAreForByThem) {
  EXPECT_EQ(built_in().stage("layer07.stage2_f"), "stage2_f");
  EXPECT_EQ(built_in().stage("layer07_stage5_b_layer06_stage1_b"), "stage1_b");  // the part that communicates
  EXPECT_EQ(built_in().stage("layer07.stage5_merged_skip"), "");
  EXPECT_EQ(built_in().stream_role("stage4_b"), "ep_a2a");
  EXPECT_EQ(built_in().stream_role(built_in().stage("pipeline send/recv")), "pp_p2p");
  EXPECT_EQ(built_in().stream_role("stage3_f"), "");
  EXPECT_TRUE(built_in().marks_steady_state("rank 2 overlapped forward chunk 0 (phase4) backward chunk 1 (phase4)"));
  EXPECT_FALSE(built_in().marks_steady_state("forward chunk 0 (phase1)"));
}

TEST(Classifier, NvtxNamesOfOtherFrameworksAreRulesToo) {
  const std::string p2p = "megatron.core.pipeline_parallel.p2p_communication.";
  const std::string schedule = "megatron.core.pipeline_parallel.schedules.forward_backward_pipelining_with_interleaving.";
  EXPECT_EQ(built_in().slice_rule(p2p + "send_forward_recv_backward"), "pipeline");
  EXPECT_EQ(built_in().stage(p2p + "recv_forward"), "pipeline");
  EXPECT_TRUE(built_in().marks_steady_state(schedule + "steady"));
  EXPECT_FALSE(built_in().marks_steady_state(schedule + "warmup"));
  EXPECT_EQ(built_in().stage("moe_dispatch forward"), "stage2_f");
  EXPECT_EQ(built_in().stage("mlp wgrad"), "stage3_w");
  EXPECT_EQ(built_in().slice_rule("DeepSpeedEngine.forward"), "forward");
  EXPECT_EQ(built_in().slice_rule("DeepSpeedEngine.backward"), "backward");
  EXPECT_EQ(built_in().slice_rule("DeepSpeedZeroOptimizer_Stage3.step"), "optimizer");
  EXPECT_EQ(built_in().slice_rule("PipelineEngine._exec_recv_grads"), "pipeline");
  EXPECT_EQ(built_in().stage("PipelineEngine._exec_send_activations"), "pipeline");
  EXPECT_EQ(built_in().slice_rule("execute_context_2(64)_generation_0(0)"), "inference");
  EXPECT_EQ(built_in().slice_rule("step[DECODE bs=16]"), "inference");
  EXPECT_EQ(built_in().slice_rule("autograd::engine::evaluate_function: MmBackward0"), "backward") << "emit_nvtx";
  const std::string others = "communication: {}\noperations: {}\ncompute_classes: {}\nslices: {}\n";
  EXPECT_THROW(Classifier(others + "stages: {a: ['x']}\nstream_roles: {r: [b]}\n"), FatalError);
}

TEST(Classifier, BrokenRulesAreABadRequestThatNamesThem) {
  const auto message = [](const std::string& yaml) {
    try {
      const Classifier broken(yaml);
    } catch (const FatalError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string rest = "\noperations: {}\ncompute_classes: {}\nslices: {}\n";
  EXPECT_NE(message("communication: {a: {match: ['/(/']}}" + rest).find("'/(/'"), std::string::npos);
  EXPECT_NE(message("communication: {a: {match: ['*']}}" + rest).find("matches every name"), std::string::npos);
  EXPECT_NE(message("communication: {a: {match: [x], operation: allreduce}}" + rest).find("did you mean 'all_reduce'"), std::string::npos);
  EXPECT_NE(message("communication: {a: {matches: [x]}}" + rest).find("unknown key 'matches'"), std::string::npos);
  EXPECT_NE(message("communication: [" + rest).find("settings 'kernels"), std::string::npos);
}

}  // namespace
}  // namespace ccl
