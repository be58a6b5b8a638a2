// The planted answers as numbers: time budgets of a rank's step, words of a collective, blame. Written for this
// program alone, by the simplest means, and apart from the analyzer on purpose.
#pragma once
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "clocks.hpp"
#include "job.hpp"
#include "work.hpp"

namespace synth {

/// Lengths of unions over the GPU events of one rank's step, ns of the rank's own file.
struct Budget {
  std::int64_t gpu_start = 0, gpu_end = 0;
  std::int64_t compute = 0, communication = 0, overlap = 0, memory_only = 0, idle = 0, busy = 0;
  std::int64_t kernels = 0, communication_kernels = 0, gpu_events = 0, communication_sum = 0;
  std::int64_t exposed() const { return communication - overlap; }
};
Budget budget_of(const RankRun& rank, const RankStep& step, const FileClock& clock);

/// Whether the trace of the rank shows GPU events of that step.
bool is_visible(const Job& job, int rank, int step);

/// One collective as the visible members' files tell it. Durations are those in the files.
struct Words {
  std::vector<int> ranks;               // visible members, ascending
  std::vector<std::int64_t> durations;  // of each
  std::int64_t transfer = 0, lag = 0, delay = 0, wait_sum = 0;
  int last_rank = -1, first_rank = -1;
  bool tie = false;
  std::int64_t start_spread = 0, end_spread = 0;  // true clock
  std::int64_t start_spread_file = 0;             // file clocks
};
Words words_of(const Job& job, const JobRun& run, const Instance& instance, const std::vector<FileClock>& clocks);

struct Traffic {
  std::int64_t calls = 0, in_bytes = 0, out_bytes = 0, payload_bytes = 0, wire_bytes = 0, sum_ns = 0;
};
/// (dimension, op) -> traffic of one rank's step.
std::map<std::pair<std::string, std::string>, Traffic> traffic_of(const Job& job, const Topology& topology,
                                                                  const JobRun& run, int rank, const RankStep& step,
                                                                  const FileClock& clock);

/// Who makes others wait, per rank.
struct Blame {
  std::int64_t blame = 0, blamed_wait = 0, wait = 0, times_last = 0, times_first = 0, instances = 0;
};

/// Length of each step over all ranks, true clock: last end − first start of any GPU event.
std::vector<std::int64_t> step_periods(const JobRun& run);

/// The same by dimension, as if the transfers of its groups took no time.
std::map<std::string, std::vector<std::int64_t>> hidden_periods_of(const Job& job, const Topology& topology);

/// Whether steps are longer with it.
bool changes_time(const Fault& fault);

}  // namespace synth
