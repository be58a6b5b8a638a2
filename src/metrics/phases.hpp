// Phase of every GPU event, from the place of its launch: the CPU slices around it, the thread
// it was made on, and its time between the backward and the optimizer step. Local stage; shared by training_phases and
// fsdp. 1 byte an event.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/launch_context.hpp"
#include "parse/classify.hpp"

namespace ccl {

enum class Phase : std::uint8_t { forward, recompute, backward, grad_clip, optimizer, other };
inline constexpr std::size_t phase_count = 6;
std::string_view to_text(Phase);

/// What the rules of configs/kernels.yaml say of each slice; asked once per distinct name.
class SliceRules {
 public:
  SliceRules(const RankTrace& trace, const Classifier& classifier);
  /// Rule of slices[i]; empty if none.
  std::string_view operator[](std::size_t i) const { return rules_[trace_.slices[i].name]; }
  std::string_view of(const CpuSlice& slice) const { return rules_[slice.name]; }

 private:
  const RankTrace& trace_;
  std::vector<std::string_view> rules_;  // by string index
};

struct TracePhases {
  /// Nothing in the trace tells phases apart: no autograd, backward or optimizer slice. by_event is empty then.
  bool known = false;
  std::vector<Phase> by_event;
};

/// In this order: a recompute, backward, gradient clipping or optimizer slice around the launch (innermost first; an
/// annotation that an earlier forward had too is recompute if it is repeated on an autograd thread); the autograd
/// thread: backward; before the last backward launch of its step: forward; between that and the first optimizer step:
/// gradient clipping; after it: other. Launch-less events are other.
TracePhases trace_phases(const RankTrace& trace, const LaunchContext& context, const SliceRules& rules);

/// Sets Step::work_start_ns, work_end_ns and work_by_phases.
void mark_work(RankTrace& trace, const TracePhases& phases);

}  // namespace ccl
