// The events of one Kineto file, each in Kineto's text layout. Shared by the parts that write the CPU and GPU sides.
#pragma once
#include "allocator.hpp"
#include "clocks.hpp"
#include "kernel_names.hpp"
#include "messages.hpp"
#include "random.hpp"
#include "text_file.hpp"

namespace synth {

/// Place of an operation in the file: which repeat of the simulated steps, and its number in the whole file.
struct OpPlace {
  std::int64_t shift_ns = 0;  // of this repeat
  std::int64_t number = 0;    // of the operation, over all repeats
};

class KinetoEvents {
 public:
  KinetoEvents(const Job& job, const Topology& topology, const JobRun& run, int rank, TextFile& out);

  /// A slice on a CPU thread. args: the text between the braces, without a final comma.
  void slice(const char* category, std::string_view name, int thread, std::int64_t start, std::int64_t end,
             std::string_view args);
  void launch(const Op& op, const OpPlace& place);
  void gpu_operation(const Op& op, const OpPlace& place);
  void gpu_annotation(std::string_view name, int stream, std::int64_t start, std::int64_t end, std::int64_t external);
  /// [memory]: bytes in use and taken after an entry of the allocator's history.
  void memory(const HistoryEntry& entry);
  /// A kernel from before the window: no launch, no External id, no arguments.
  void leading_kernel(std::int64_t start, std::int64_t end, int stream, std::int64_t number);

  /// Communication arguments as they stand in a kernel (and, in another order, in record_param_comms).
  std::string communication_args(const Op& op) const;
  std::string group_ranks(const Group& group) const;
  std::int64_t stamp(std::int64_t t) const { return clock_.stamp_ns(t); }
  Microseconds time(std::int64_t t) const { return {clock_.stamp_ns(t), whole_}; }
  Microseconds length(std::int64_t start, std::int64_t end) const {
    return {clock_.stamp_ns(end) - clock_.stamp_ns(start), whole_};
  }
  const FileClock& clock() const { return clock_; }

  int device() const { return rank_ % job_.ranks_per_host; }
  int process() const { return 30'000 + rank_ % job_.ranks_per_host * 137 + rank_ / job_.ranks_per_host; }
  int autograd_thread() const { return process() + 6'887; }
  static std::int64_t external_id(const OpPlace& place, int level) { return 16 + place.number * 8 + level; }
  static std::int64_t correlation(const OpPlace& place) { return 20'000 + place.number * 64; }
  static std::int64_t launch_end(const Op& op) { return op.launch + (op.cpu_end - op.launch) / 2; }

  TextFile& out;

 private:
  void kernel_shape(const Op& op);

  const Job& job_;
  const Topology& topology_;
  const JobRun& run_;
  const int rank_;
  const FileClock clock_;
  const bool whole_;
};

/// Blocks of the kernel's grid, by its length.
std::int64_t blocks_of(const Op& op);

/// "[0, 1, 2]"; cut as PyTorch cuts: thirty entries, then "...".
template <class Integer>
std::string list_text(const std::vector<Integer>& values, std::size_t limit = 30) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size() && i < limit; ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + (values.size() > limit ? ", ...]" : "]");
}

}  // namespace synth
