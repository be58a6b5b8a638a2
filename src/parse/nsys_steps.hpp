// What NVTX range texts say: step markers, autograd sequence numbers, and the name without PyTorch's suffixes.
#pragma once
#include <cstdint>
#include <string_view>

namespace ccl {

/// Number of a step marker ("ProfilerStep#9", "iteration 9", "Train Step 9", "step_9", …; any case); −1 otherwise.
std::int64_t step_number_in_range(std::string_view text);
/// "aten::add, seq = 45329, op_id = 990727" -> 45329; −1 if absent.
std::int32_t sequence_in_range(std::string_view text);
/// The text before ", seq =" or ", op_id =" (torch.autograd.profiler.emit_nvtx).
std::string_view range_name(std::string_view text);
/// The slice a range stands for. emit_nvtx gives backward nodes their bare names ("MmBackward0, seq = 7"); they get the
/// name PyTorch's own profiler gives them.
std::string slice_name(std::string_view text);

}  // namespace ccl
