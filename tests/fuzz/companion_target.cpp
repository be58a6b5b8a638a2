// What lies beside the traces: cards, TOML, Megatron arguments and group files, host maps; each reader gets all bytes.
#include "core/problems.hpp"
#include "discover/card.hpp"
#include "discover/host_map.hpp"
#include "discover/megatron_files.hpp"
#include "discover/sniff.hpp"
#include "discover/training_toml.hpp"
#include "target.hpp"

namespace ccl::fuzz {

std::vector<std::string> seeds() {
  return {
      R"(version: 4
description: null
workload:
  model:
    phase: training   # training | inference
    model_family: llama-3.1-8b
    precision: bf16
    model_arch: {num_params: 8030261248, num_params_embedding: 525336576, num_layers: 32, num_heads: 32, head_dim: 128,
                 num_kv_heads: 8, hidden_size: 4096, num_experts: 8, num_experts_per_tok: 2, num_active_params: 2.5B}
  data: {batch_size: 64, batch_size_scope: global, seq_len: "4096"}
  hardware:
    network_topo: {topology: slingshot, bandwidth_gbps: [200, 2400]}
    xpu_spec: {type: GPU, model: nvidia_a100, total_count: 16, count_per_node: 4}
Model-executor:
  framework: {name: torchtitan}
  model_plan_parallelization: {dp_replicate: 1, dp_shard: 4, tp: 2, pp: 2, cp: null, pp_mb: 2}
)",
      "workload_definition: {model: gpt2, batch_size: 8, seq_len: 1024}\nxpu_specification: {total_count: 4}\n"
      "network_topology_bandwidth_latency: {bandwidth_gbps: ['N/A', 800]}\nmodel_plan_parallelization: {pp: 4, tp: '1, 2'}\n",
      R"([job]
dump_folder = "./outputs"  # where
[model]
name = "llama3"
flavor = "8B"
converters = ["float8"]
[training]
local_batch_size = 4
global_batch_size = -1
seq_len = 8192
[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 4
pipeline_parallel_schedule = "Interleaved1F1B"
[experimental]
pipeline_parallel_degree = 4
)",
      R"(#!/bin/bash
export TP_SIZE=${TP_SIZE:-4}
A=$B
B=$A
ARGS=(--tensor-model-parallel-size $TP_SIZE --pipeline-model-parallel-size ${PP} --context-parallel-size=1
  --num-layers $A --hidden-size 4096 --num-query-groups 8 --micro-batch-size 1 --seq-length "1024" --bf16)
)",
      "tensor_model_parallel_size: 2\ntp: [[0, 1], [2, 3]]\npp: [[0, 2], [1, 3]]\ndp: [[0], [1]]\n",
      "rank host\n0 a\n1\tb # spare\n\n2,c\r\n3: d\n", "&a [*a, *a]\n", "a: &b {<<: *b}\n"};
}

void run(std::string_view bytes) {
  const std::string text(bytes);
  std::string why;
  if (!read_card(text, why)) require(!why.empty(), "a refused card says why");
  why.clear();
  if (!read_training_toml(text, why)) require(!why.empty(), "a refused TOML says why");
  why.clear();
  if (!read_megatron_arguments(text, why)) require(!why.empty(), "refused arguments say why");
  why.clear();
  if (!read_megatron_groups(text, why)) require(!why.empty(), "a refused group file says why");
  looks_like_card(text);
  looks_like_training_toml(text);
  sniff_content(text, "trace.json");
  try {
    parse_host_map(text, "hosts");
  } catch (const FatalError&) {
  }
}

}  // namespace ccl::fuzz
