// What the training run was meant to be: workload card, TorchTitan TOML, Megatron arguments and group file, resolved
// into one struct. Every value carries where it came from; an absent value is absent, never a default.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ccl {

/// A value and its source ("card", "toml", "megatron", "trace", "option", "derived: …").
template <class T>
struct Sourced {
  std::optional<T> value;
  std::string source;
  explicit operator bool() const { return value.has_value(); }
};

/// Sizes of the parallel dimensions. 1 where the configuration leaves one out; source empty if nothing was found.
/// Rank order, outermost first: pp, dp_replicate, dp_shard, cp, tp (TorchTitan); ep borrows ranks of dp·cp.
struct Mesh {
  std::int32_t pp = 1, dp_replicate = 1, dp_shard = 1, cp = 1, tp = 1, ep = 1;
  bool tp_innermost_megatron = false;  // Megatron order tp-cp-ep-dp-pp
  std::string source;
  bool known() const { return !source.empty(); }
  std::int64_t world() const { return std::int64_t{pp} * dp_replicate * dp_shard * cp * tp; }
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

/// What a serving benchmark wrote. NaN = not in the file.
struct BenchResult {
  std::string file;  // relative to the trace folder; empty = there is none
  double mean_ttft_s = std::numeric_limits<double>::quiet_NaN(), median_ttft_s = mean_ttft_s;
  double mean_tpot_s = mean_ttft_s, median_tpot_s = mean_ttft_s;
  double output_tokens_per_s = mean_ttft_s, requests_per_s = mean_ttft_s, mean_latency_s = mean_ttft_s;
};

/// What a router logged: tokens that went to each expert, summed over steps, layers and files.
struct ExpertLoads {
  std::string file;           // the first, relative to the trace folder; empty = there is none
  std::vector<double> loads;  // by expert
  std::int64_t files_count = 0, entries_count = 0;
};

struct Workload {
  Mesh mesh;
  Sourced<std::string> model, phase, precision, framework, pipeline_schedule, gpu_model;
  Sourced<std::int64_t> global_batch, local_batch, seq_len, microbatch_size, microbatches, virtual_stages;
  Sourced<std::int64_t> gpus_per_node, gpus_total;
  // model architecture, for MFU
  Sourced<double> parameters, parameters_active, parameters_embedding;
  Sourced<std::int64_t> layers, heads, kv_heads, head_dim, hidden_size, experts, experts_per_token, vocab_size;
  Sourced<std::int64_t> sliding_window;  // tokens that attention looks back over
  Sourced<double> scale_out_bytes_per_s, scale_up_bytes_per_s;  // one way
  std::vector<std::vector<std::int32_t>> megatron_tp, megatron_pp, megatron_dp, megatron_ep, megatron_model;
  BenchResult bench;
  ExpertLoads expert_loads;
  std::string card_file, training_config_file, group_file;  // relative to the trace folder; empty = none
};

}  // namespace ccl
