// The CPU side of a Kineto file: operators around each launch, annotations, Python frames and noise.
#pragma once
#include "kineto_events.hpp"

namespace synth {

class KinetoCpu {
 public:
  KinetoCpu(const Job& job, const Topology& topology, const JobRun& run, int rank, double noise_per_op,
            KinetoEvents& events)
      : job_(job), topology_(topology), run_(run), rank_(rank), noise_per_op_(noise_per_op), events_(events) {}

  /// Operators and noise of one operation on its thread.
  void around_launch(const Op& op, const OpPlace& place);
  /// The autograd node around what is computed again, if that begins with ops[i].
  void checkpoint_node(const std::vector<Op>& ops, std::size_t i, const OpPlace& place);
  /// Annotations of a step: ProfilerStep, micro-batches, FSDP, optimizer. number: of the step's first operation.
  void annotations(const RankStep& step, const OpPlace& place, std::int64_t step_number);

 private:
  int thread_of(const Op& op) const;
  std::string op_args(const Op& op, const OpPlace& place, int level, bool shapes) const;
  void communication_ops(const Op& op, const OpPlace& place);
  void noise(const Op& op, const OpPlace& place);
  void noise_event(std::uint64_t chance, std::int64_t start, std::int64_t end, int thread, const OpPlace& place,
                   int which);
  void inner_frames(const RankStep& step, const Span& span, const OpPlace& place);
  static std::string outer_name(const Op& op);
  std::string span_name(const Span& span, bool prefill) const;

  const Job& job_;
  const Topology& topology_;
  const JobRun& run_;
  const int rank_;
  const double noise_per_op_;
  KinetoEvents& events_;
  double noise_owed_ = 0;
};

/// Whether PyTorch would run it on the autograd thread; Megatron's schedules send and receive on the main thread.
bool on_autograd_thread(const Job& job, const Op& op);

}  // namespace synth
