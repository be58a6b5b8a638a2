#include "kernel_names.hpp"

#include <array>
#include <string_view>

namespace synth {
namespace {

constexpr const char* elementwise_add =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, "
    "3ul> >"
    "(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";
constexpr const char* adam =
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4>, "
    "float const*, double>(at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, double)";

// Order of enum Kernel.
constexpr std::array<KernelName, 24> kernels{{
    {"sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_stage4",
     "Cijk_Alik_Bljk_BBS_BH_MT128x128x32_MI32x32x8x1", "aten::linear", "aten::mm", "kernel", 168, 8},
    {"sm80_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x256x64_stage4",
     "Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x8x1", "autograd::engine::evaluate_function: MmBackward0", "aten::mm",
     "kernel", 168, 8},
    {"sm80_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize256x128x64_stage4",
     "Cijk_Ailk_Bjlk_BBS_BH_MT128x128x32_MI32x32x8x1", "autograd::engine::evaluate_function: MmBackward0", "aten::mm",
     "kernel", 168, 8},
    {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t> "
     ">"
     "(pytorch_flash::Flash_fwd_params)",
     "attn_fwd", "aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention", "kernel", 255, 4},
    {"void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, "
     "cutlass::bfloat16_t> >(pytorch_flash::Flash_bwd_params)",
     "bwd_kernel_dk_dv", "autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0",
     "aten::_scaled_dot_product_flash_attention_backward", "kernel", 255, 8},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, true>(int, float, "
     "c10::BFloat16 const*, c10::BFloat16*)",
     "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, true>()",
     "aten::rms_norm", "aten::_fused_rms_norm", "kernel", 40, 8},
    {"void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float, true>"
     "(c10::BFloat16 const*, c10::BFloat16*, int)",
     "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<c10::BFloat16, float>()",
     "autograd::engine::evaluate_function: FusedRmsNormBackward0", "aten::_fused_rms_norm_backward", "kernel", 48, 8},
    {"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor"
     "<c10::complex<float>, c10::complex<float>, c10::complex<float>, at::native::binary_internal::MulFunctor"
     "<c10::complex<float> > > > >(int, at::native::TensorIteratorBase)",
     "void at::native::elementwise_kernel<128, 2, at::native::BinaryFunctor<c10::complex<float> > >()", "aten::mul",
     "aten::mul", "kernel", 32, 4},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
     "namespace)::silu_kernel(at::TensorIteratorBase&)"
     "::{lambda()#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)",
     "void at::native::vectorized_elementwise_kernel<4, silu_kernel>()", "aten::silu", "aten::silu", "kernel", 30, 4},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::silu_backward_kernel("
     "at::TensorIteratorBase&)::{lambda()#1}, std::array<char*, 3ul> >(int, std::array<char*, 3ul>)",
     "void at::native::vectorized_elementwise_kernel<4, silu_backward_kernel>()",
     "autograd::engine::evaluate_function: SiluBackward0", "aten::silu_backward", "kernel", 32, 4},
    {elementwise_add, elementwise_add, "aten::add", "aten::add", "kernel", 28, 4},
    {"void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, "
     "true>()",
     "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int>()",
     "aten::embedding", "aten::index_select", "kernel", 32, 4},
    {"void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, long>(long*, c10::BFloat16*, long)",
     "void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, long>()",
     "autograd::engine::evaluate_function: EmbeddingBackward0", "aten::embedding_dense_backward", "kernel", 32, 4},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, float>(float*, "
     "c10::BFloat16 const*, int)",
     "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, float>()",
     "aten::cross_entropy_loss", "aten::_log_softmax", "kernel", 32, 16},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, float, float, c10::BFloat16>(c10::BFloat16*, "
     "float*, int)",
     "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, float, float, c10::BFloat16>()",
     "autograd::engine::evaluate_function: LogSoftmaxBackward0", "aten::_log_softmax_backward_data", "kernel", 32, 16},
    {"sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_stage3", "Cijk_Alik_Bljk_SB_MT64x64x16", "aten::linear",
     "aten::mm", "kernel", 96, 4},
    {"void at::native::_scatter_gather_elementwise_kernel<128, 8, "
     "at::native::_cuda_scatter_gather_internal_kernel<false> >(int)",
     "void at::native::_scatter_gather_elementwise_kernel<128, 8>()", "aten::gather", "aten::gather", "kernel", 32, 4},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
     "namespace)::TensorListMetadata<1>, "
     "at::native::(anonymous namespace)::LpNormFunctor<float, (at::native::NormType)1, float> >(float*, int)",
     "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<LpNormFunctor<float> >()",
     "aten::_foreach_norm", "aten::_foreach_norm", "kernel", 32, 16},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
     "namespace)::TensorListMetadata<1>, "
     "at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 1, 1, 0> >(std::multiplies<float>, float)",
     "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<BinaryOpFunctor<float> >()",
     "aten::_foreach_mul_", "aten::_foreach_mul_", "kernel", 32, 16},
    {adam, adam, "aten::_fused_adamw_", "aten::_fused_adamw_", "kernel", 64, 16},
    {"at::native::detail::split_with_sizes_copy_out_contiguous_no_cast_kernel(char**, char**, long*, long*, long*, "
     "long)",
     "at::native::detail::split_with_sizes_copy_out_contiguous_no_cast_kernel()", "fsdp::split_with_sizes_copy",
     "aten::split_with_sizes_copy", "kernel", 24, 4},
    {"Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Host -> Device)", "aten::to", "aten::copy_", "gpu_memcpy", 0, 0},
    {"Memset (Device)", "Memset (Device)", "aten::zeros_like", "aten::zero_", "gpu_memset", 0, 0},
    {"", "", "", "record_param_comms", "kernel", 96, 16},
}};

// Order of enum Collective.
constexpr std::array<CollectiveName, 6> collectives{{
    {"allreduce", "nccl:all_reduce", "c10d::allreduce_",
     "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
     "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"},
    {"_allgather_base", "nccl:_all_gather_base", "c10d::_allgather_base_",
     "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
     "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)"},
    {"_reduce_scatter_base", "nccl:_reduce_scatter_base", "c10d::_reduce_scatter_base_",
     "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
     "ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclWorkElem)"},
    {"all_to_allv", "nccl:all_to_all", "c10d::alltoall_base_",
     "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
     "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"},
    {"send", "nccl:send", "c10d::send", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
     "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"},
    {"recv", "nccl:recv", "c10d::recv_", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
     "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"},
}};

}  // namespace

const KernelName& name_of(Kernel kernel) { return kernels[static_cast<std::size_t>(kernel)]; }
const CollectiveName& name_of(Collective op) { return collectives[static_cast<std::size_t>(op)]; }
const char* name_of(ElementType type) { return type == ElementType::float32 ? "Float" : "BFloat16"; }

std::string short_kernel_name(const char* name) {
  std::string_view text(name);
  if (text.substr(0, 5) == "void ") text.remove_prefix(5);
  for (const std::string_view scope : {"(anonymous namespace)::"}) {
    for (auto at = text.find(scope); at != std::string_view::npos && at < text.find('<'); at = text.find(scope))
      text.remove_prefix(at + scope.size());
  }
  text = text.substr(0, text.find_first_of("<("));
  const auto colon = text.rfind("::");
  return std::string(colon == std::string_view::npos ? text : text.substr(colon + 2));
}

}  // namespace synth
