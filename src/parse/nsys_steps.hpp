// What NVTX range texts say: step markers, autograd sequence numbers, and the name without PyTorch's suffixes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace ccl {

/// Number of a step marker ("ProfilerStep#9", "iteration 9", "Train Step 9", "step_9", …; any case) and which of these words
/// it has; −1 otherwise.
struct StepMarker {
  std::int64_t number = -1;
  std::int32_t kind = -1;
};
StepMarker step_marker_in_range(std::string_view text);
/// Texts of torch.autograd.profiler.emit_nvtx: "aten::add, seq = 45329, op_id = 990727, sizes = …".
struct RangeText {
  std::string_view name;       // before ", seq =" or ", op_id ="
  std::string_view numbered;   // "", or the shortest text of the same kind that may follow a name
  std::int32_t sequence = -1;
};
RangeText parts_of_range_text(std::string_view text);
/// The slice a range stands for. emit_nvtx gives backward nodes their bare names ("MmBackward0, seq = 7"); they get the
/// name PyTorch's own profiler gives them.
std::string slice_name(std::string_view text);

}  // namespace ccl
