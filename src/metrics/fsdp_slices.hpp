// The CPU slices of fully sharded data parallelism: which operation a slice is, which module it serves, and its self
// time. In: a trace with its launch context. Names: FSDP2 "FSDP::all_gather (layers.3)", "fsdp::chunk_cat"; FSDP1
// "FullyShardedDataParallel.…".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/launch_context.hpp"
#include "metrics/phases.hpp"

namespace ccl {

enum class FsdpOp : std::uint8_t {
  none,
  all_gather,
  reduce_scatter,
  reshard,
  prefetch,
  copy_in,
  copy_out,
  chunk_cat,
  pre_forward,
  post_forward,
  pre_backward,
  post_backward,
  accumulate,
  other
};
std::string_view to_text(FsdpOp);

/// Operation of a slice by its name; none if it is no FSDP slice.
FsdpOp fsdp_op_in(std::string_view name);
/// What stands in the first parentheses, or behind " for "; empty without either.
std::string_view fsdp_module_in(std::string_view name);
inline bool copies(FsdpOp op) { return op == FsdpOp::copy_in || op == FsdpOp::copy_out || op == FsdpOp::chunk_cat; }

struct FsdpSlices {
  std::vector<FsdpOp> ops;  // by string index
  bool any = false;
  FsdpOp of(const CpuSlice& slice) const { return ops[slice.name]; }
};
FsdpSlices fsdp_slices(const RankTrace& trace);
struct FsdpSelf {
  std::uint32_t slice = 0;   // row in RankTrace::slices
  std::int64_t self_ns = 0;  // duration − FSDP slices directly within
};
/// The FSDP slices in order of their rows.
std::vector<FsdpSelf> fsdp_self(const RankTrace& trace, const LaunchContext& context, const FsdpSlices& slices);

}  // namespace ccl
