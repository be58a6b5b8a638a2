// Stages: the named pieces of work (PithTrain's layer00.stage2_f, a pipeline's send and receive) in which kernels were
// launched, and the window of the steady state that shares are taken in. Names are rules of configs/kernels.yaml. Local
// stage; shared by stream_roles and stage_overlap. 4 bytes an event.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "core/intervals.hpp"
#include "core/launch_context.hpp"
#include "parse/classify.hpp"

namespace ccl {

/// Where shares are taken on one rank. source: "user", "chunk" (the middle one of the ranges that mark the steady
/// state), "step" (the middle step) or "capture" (first to last GPU event).
struct StageWindow {
  Interval time;
  std::string source, name;
  std::int64_t candidates_count = 1;  // chunks or steps it is the middle one of
};
StageWindow stage_window(const RankTrace& trace, const Config& config, const Classifier& classifier);

/// Checks a --start or --end: nanoseconds, "chunk" or "step:N"; false if it is none of them.
bool is_window_edge(const std::string& text);

/// Stage of every kernel: that of the innermost range around its launch that has one. Empty = none.
class StageOfEvent {
 public:
  StageOfEvent(const RankTrace& trace, const Classifier& classifier);
  std::string_view operator[](std::size_t event) const { return stages_[of_event_[event]]; }
  bool any() const { return stages_.size() > 1; }

 private:
  std::vector<std::string> stages_;  // the first is empty
  std::vector<std::uint32_t> of_event_;
};

/// Kernels of one device that lie wholly in the window, as PithTrain's analysis takes them, and its streams.
struct WindowKernels {
  std::vector<std::size_t> communication, compute;  // event rows
  std::vector<bool> compute_lane;                   // by lane: runs compute kernels in the window
};
WindowKernels window_kernels(const RankTrace& trace, std::int32_t device, Interval window);

/// Process id of the threads that launch; −1 if the trace has no launches.
std::int64_t process_of(const RankTrace& trace);

/// What the program says of a rank's place: "rank=3; pp=0/2 dp=0/1 cp=0/1 ep=3/4; mbs=1 seq=2048". −1 = not said.
struct SetupLabel {
  std::int32_t pp = -1, pp_size = -1, dp = -1, dp_size = -1, cp = -1, cp_size = -1, ep = -1, ep_size = -1;
  std::int64_t micro_batch_size = -1, sequence_length = -1;
  bool found = false;
};
SetupLabel setup_label(const RankTrace& trace);

}  // namespace ccl
