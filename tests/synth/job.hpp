// Everything that is planted: the job, its machine, its faults and the form of the files. main() fills it in from the
// command line; nothing else reads options.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "faults.hpp"
#include "mesh.hpp"
#include "model.hpp"
#include "schedule.hpp"

namespace synth {

enum class Style { standard, sequence, old_names, rocm, inference };
enum class Layout { torchtitan, megatron, ccl_bench, flat };
enum class Format { kineto, nsys };
enum class TensorParallel { sequence_parallel, all_reduce };
enum class DataParallel { fsdp, fsdp_always_reshard, distributed_optimizer };

struct Job {
  std::string preset = "tiny";
  std::uint64_t seed = 1;
  Mesh mesh;
  Model model;
  Schedule schedule = Schedule::one_f_one_b;
  int chunks = 2;                                          // virtual stages per rank, where the schedule has them
  int steps = 6, first_step = 4, steps_per_iteration = 0;  // 0 = all steps in one iteration folder
  int microbatches = 1;
  TensorParallel tensor_parallel = TensorParallel::sequence_parallel;
  DataParallel data_parallel = DataParallel::fsdp;
  bool recompute = false;
  bool batched_messages = false;  // sends and receives are launched in batches, whose annotation names no peer
  bool fine_kernels = false;  // about ten kernels per half layer instead of two

  int ranks_per_host = 4;
  std::int64_t clock_offset_ns = 0;  // largest planted offset of a host, either sign
  std::int64_t clock_drift_ppb = 0;  // largest planted drift, either sign
  std::int64_t end_skew_ns = 1500;   // members leave a collective within this time
  double jitter_ratio = 0.01;        // of compute durations

  std::vector<Fault> faults;
  std::string instant_dimension;     // transfers of its groups take no time, for truth.json

  std::string output;
  Style style = Style::standard;
  Layout layout = Layout::torchtitan;
  Format format = Format::kineto;
  bool gzip = false;
  double megabytes_per_rank = 0;  // of plain text; 0 = as it comes
  int repeat = 1;                 // the simulated steps are written this many times, shifted
  bool execution_traces = false;  // torch_et_<rank>.json beside every trace
  bool memory_events = false;     // [memory] instants in the traces, as profile_memory writes them
  bool memory = false;            // every rank dumps a memory snapshot at the end
  std::size_t memory_ring = 0;    // entries its history holds; 0 = all
  int memory_oom_rank = -1;       // the rank that runs out of memory
  bool full_truth = true;         // truth.json lists every collective and kernel

  /// Pipeline depth seen by the micro-batches: ranks times virtual stages (one where there is no pipeline).
  int virtual_stages() const {
    if (is_v_shaped(schedule)) return 2 * mesh.pp;
    return mesh.pp * ((schedule == Schedule::interleaved || schedule == Schedule::combined) && mesh.pp > 1 ? chunks : 1);
  }
  /// A forward and a backward that the schedule joins run layer by layer in turn. PyTorch's own pipelines run them one
  /// after the other.
  bool weaves() const { return layout == Layout::megatron || format == Format::nsys; }
  /// Times of the old styles are whole microseconds; everything is simulated on that grid then.
  std::int64_t time_grain_ns() const { return style == Style::old_names ? 1000 : 1; }
  /// Serving: every step is one forward pass, the first a prefill, the others decode one token per sequence.
  bool serves() const { return style == Style::inference; }
  std::int64_t tokens_per_pass(int step) const {
    return serves() && step != first_step ? model.local_batch : model.local_batch * model.seq;
  }
  int hosts() const { return (mesh.world() + ranks_per_host - 1) / ranks_per_host; }
};

/// Throws std::invalid_argument with one line that says what does not fit.
void check(const Job& job);

/// Names of the presets, and the job each stands for.
std::vector<std::string> preset_names();
Job preset(const std::string& name);

}  // namespace synth
