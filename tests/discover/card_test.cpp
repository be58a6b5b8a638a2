#include "discover/card.hpp"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <fstream>
#include <sstream>

namespace ccl {
namespace {

Companion card(const std::string& text) {
  std::string why;
  const std::optional<Companion> read = read_card(text, why);
  EXPECT_TRUE(read) << why;
  return read.value_or(Companion());
}

std::string reason(const std::string& text) {
  std::string why;
  EXPECT_FALSE(read_card(text, why));
  return why;
}

TEST(Card, FullCard) {
  const Companion c = card(R"(
version: 4
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
)");
  const Workload& w = c.workload;
  EXPECT_EQ(w.mesh.world(), 16);
  EXPECT_EQ(w.mesh.dp_shard, 4);
  EXPECT_EQ(w.mesh.source, "card");
  EXPECT_EQ(w.model.value, "llama-3.1-8b");
  EXPECT_EQ(w.model.source, "card");
  EXPECT_EQ(w.phase.value, "training");
  EXPECT_EQ(w.parameters.value, 8030261248.0);
  EXPECT_EQ(w.parameters_active.value, 2.5e9);
  EXPECT_EQ(w.kv_heads.value, 8);
  EXPECT_EQ(w.experts_per_token.value, 2);
  EXPECT_EQ(w.scale_out_bytes_per_s.value, 25e9);
  EXPECT_EQ(w.scale_up_bytes_per_s.value, 300e9);
  EXPECT_EQ(w.gpus_per_node.value, 4);
  EXPECT_EQ(w.framework.value, "torchtitan");
  EXPECT_EQ(w.microbatch_size.value, 2);
  EXPECT_EQ(w.seq_len.value, 4096);
  EXPECT_EQ(c.batch, 64);
  EXPECT_EQ(c.batch_scope, "global");
  EXPECT_FALSE(w.global_batch);
}

TEST(Card, ArchitectureDirectlyInTheModelAndExecutorUnderWorkload) {
  const Companion c = card(
      "workload:\n  model: {num_params: 7.0e9, num_layers: 28}\n"
      "  Model-executor: {model_plan_parallelization: {tp: '8'}}\n");
  EXPECT_EQ(c.workload.parameters.value, 7e9);
  EXPECT_EQ(c.workload.layers.value, 28);
  EXPECT_EQ(c.workload.mesh.tp, 8);
}

TEST(Card, OldFlatSchema) {
  const Companion c = card(
      "workload_definition: {model: gpt2, batch_size: 8, seq_len: 1024}\nxpu_specification: {total_count: 4}\n"
      "network_topology_bandwidth_latency: {bandwidth_gbps: ['N/A', 800]}\nmodel_plan_parallelization: {pp: 4}\n");
  EXPECT_EQ(c.workload.mesh.pp, 4);
  EXPECT_EQ(c.workload.model.value, "gpt2");
  EXPECT_EQ(c.batch, 8);
  EXPECT_FALSE(c.workload.scale_out_bytes_per_s);
  EXPECT_EQ(c.workload.scale_up_bytes_per_s.value, 100e9);
}

TEST(Card, SweepsAndPlaceholdersAreAbsent) {
  const Companion c = card(
      "workload:\n  model: {model_family: TBD, num_params: ''}\n  data: {batch_size: [1, 2, 4], seq_len: null}\n"
      "  hardware: {network_topo: {bandwidth_gbps: [600]}, xpu_spec: {total_count: N/A}}\n"
      "Model-executor: {model_plan_parallelization: {tp: '1, 2, 4', dp_replicate: '4, 2, 1'}}\n");
  EXPECT_FALSE(c.workload.mesh.known());
  EXPECT_FALSE(c.batch);
  EXPECT_FALSE(c.workload.seq_len);
  EXPECT_FALSE(c.workload.model);
  EXPECT_FALSE(c.workload.parameters);
  EXPECT_FALSE(c.workload.gpus_total);
  EXPECT_FALSE(c.workload.scale_up_bytes_per_s);
}

TEST(Card, ValuesThatCannotBeMeantAreNamedAndNotUsed) {
  const auto said = [](const std::string& text) {
    std::string all;
    for (const std::string& one : card(text).unusable) all += (all.empty() ? "" : "; ") + one;
    return all;
  };
  EXPECT_EQ(said("workload:\n  hardware:\n    xpu_spec: {count_per_node: -4}\n"),
            "line 3: 'workload.hardware.xpu_spec.count_per_node' is '-4', not a whole number from 1 to 1e15, and is not used");
  for (const char* value : {"four", "0", "1e30", "2.5", "-1", "{a: 1}"}) {
    const std::string text = "workload: {data: {batch_size: " + std::string(value) + "}}\n";
    EXPECT_NE(said(text).find("'workload.data.batch_size' is "), std::string::npos) << value;
    EXPECT_FALSE(card(text).batch) << value;
  }
  const std::string rates = "workload: {hardware: {network_topo: {bandwidth_gbps: ";
  EXPECT_EQ(said(rates + "[-200, 0]}}}\n"),
            "line 1: 'workload.hardware.network_topo.bandwidth_gbps[0]' is '-200', not a rate above 0, and is not used; "
            "line 1: 'workload.hardware.network_topo.bandwidth_gbps[1]' is '0', not a rate above 0, and is not used");
  EXPECT_NE(said(rates + "[600]}}}\n").find("is a list of 1, not [scale-out, scale-up]"), std::string::npos);
  EXPECT_NE(said("model_plan_parallelization: {tp: -4}\n").find("is '-4', not a number of ranks"), std::string::npos);
  EXPECT_FALSE(card("model_plan_parallelization: {tp: -4, pp: 2}\n").workload.mesh.known());
  EXPECT_EQ(said("workload: {model: {num_layers: 0, num_experts: 0}, data: {batch_size: [1, 2], seq_len: N/A}}\n"
                 "Model-executor: {model_plan_parallelization: {tp: '1, 2', dp_shard: -1, ep: 0, pp_mb: 0}}\n"),
            "");
  for (const char* open : {"['N/A', 800]", "['TBD', 'TBD']", "[]", "null", "N/A"})
    EXPECT_EQ(said(rates + open + "}}}\n"), "") << open;
}

TEST(Card, ZeroAndRestInTheMesh) {
  const Companion c = card("Model-executor: {model_plan_parallelization: {dp_shard: -1, tp: 2, ep: 0}}\n");
  EXPECT_EQ(c.workload.mesh.ep, 1);
  EXPECT_EQ(c.workload.mesh.dp_shard, 1);
  EXPECT_EQ(c.rest, RestDimension::dp_shard);
}

TEST(Card, BandwidthsAsPeopleWriteThem) {
  struct Case {
    const char* text;
    double out, up;  // GB/s; 0 = not told
  };
  for (const Case& c : {Case{"[200, 2000]", 25, 250}, Case{"['N/A', 800]", 0, 100}, Case{"['TBD', 'TBD']", 0, 0},
                        Case{"[200, 'N/A']", 25, 0}, Case{"[600]", 0, 0}, Case{"[200, 6400]", 25, 800},
                        Case{"['200', '600']", 25, 75}, Case{"400", 0, 0}, Case{"null", 0, 0}, Case{"[]", 0, 0}}) {
    const Workload w =
        card("workload: {hardware: {network_topo: {bandwidth_gbps: " + std::string(c.text) + "}}}\n").workload;
    EXPECT_EQ(w.scale_out_bytes_per_s.value.value_or(0), c.out * 1e9) << c.text;
    EXPECT_EQ(w.scale_up_bytes_per_s.value.value_or(0), c.up * 1e9) << c.text;
  }
}

TEST(Card, SectionsThatAreNotNeededDoNoHarm) {
  const Companion c = card(R"(
version: 6
hf_url: ""
trace_url:
workload:
  model: {phase: serving, moe: true, granularity: model_fwd, iteration: 10, epochs: null,
          model_arch: {num_params: 46.7B, num_experts: 8, num_shared_experts: 0, intermediate_size: 14336}}
  data: {input_len: 1024, output_len: 128, dataset: random, max_tokens: 16}
  hardware: {driver_version: TBD, xpu_spec: {type: TPU, model: tpu_v6e, total_count: "2", memory_gb: 32}}
  Model-executor:
    framework: {name: vllm, compiler_tool_selection: xla}
    model_plan_parallelization: {tp: 2, dp_replicate: "", pp: 1}
    communication_library: {name: NCCL, version: 2.21, env: {NCCL_IB_DISABLE: 0}}
    protocol_selection: [rocev2, p2p]
serving: {backend: vllm}
expert_parallel: {}
collection_notes: |
  two runs
metric_source:
  traces: [json_tpu, null]
  metrics_specific_trace: "a.json, b.json"
)");
  EXPECT_EQ(c.workload.phase.value, "serving");
  EXPECT_EQ(c.workload.parameters.value, 46.7e9);
  EXPECT_EQ(c.workload.gpus_total.value, 2);
  EXPECT_EQ(c.workload.gpu_model.value, "tpu_v6e");
  EXPECT_EQ(c.workload.mesh.world(), 2);
  EXPECT_EQ(c.workload.mesh.ep, 1) << "absent";
}

TEST(Card, BrokenCardsSayWhy) {
  EXPECT_NE(reason("trace_url: https://example.org/ // note: fill in\nworkload: {}\n").find("line 1"),
            std::string::npos);
  EXPECT_NE(reason("version: 1\ni\nworkload: {}\n"), "") << "a stray letter";
  EXPECT_NE(reason("just words"), "");
  EXPECT_NE(reason(""), "");
  EXPECT_NE(reason("name: conda\nchannels: [a]\n").find("sections"), std::string::npos);
  EXPECT_NE(reason("{{{{"), "");
}

TEST(Card, WrongTypesAreAbsent) {
  const Companion c = card("workload: [1, 2]\nModel-executor: text\n");
  EXPECT_FALSE(c.workload.mesh.known());
}

TEST(Card, LooksLikeOne) {
  EXPECT_TRUE(looks_like_card("version: 1\nworkload:\n  x: 1"));
  EXPECT_TRUE(looks_like_card("workload_definition: {}"));
  EXPECT_FALSE(looks_like_card("name: x\n# workload: nothing\n  workload: inner\n"));
}

std::vector<std::string> misspelt(const std::string& text) { return misspelt_card_keys(text); }

TEST(Card, MisspeltKeysAreNamedWithTheirLine) {
  const auto one = [](const std::string& text) {
    const std::vector<std::string> all = misspelt(text);
    return all.size() == 1 ? all[0] : std::to_string(all.size()) + " of them";
  };
  EXPECT_EQ(one("workload:\n  model:\n    model_arch:\n      num_layer: 3\n"),
            "line 4: 'workload.model.model_arch.num_layer' is not read, did you mean 'num_layers'?");
  EXPECT_NE(one("workload: {data: {Seq-Len: 3}}").find("'seq_len'"), std::string::npos);
  EXPECT_NE(one("worklod: {data: {seq_len: 3}}").find("'workload'"), std::string::npos);
  EXPECT_NE(one("workload: {}\nmodel-executor: {}").find("odel"), std::string::npos);
  EXPECT_NE(one("Model-executor: {model_plan_parallelization: {dp_shards: 2}}").find("'dp_shard'"), std::string::npos);
}

TEST(Card, OtherKeysAreAllowed) {
  EXPECT_EQ(misspelt("version: 6\nworkload:\n  name: x\n  model: {moe: true, iteration: 10, epochs: null, model_arch: "
                     "{num_shared_experts: 0, intermediate_size: 1}}\n  data: {dataset: c4, input_len: 1, "
                     "local_batch_size: 2, batch_size: 4}\n  hardware: {xpu_spec: {type: GPU, memory_gb: 32}}\n"
                     "Model-executor: {model_plan_parallelization: {sp: 2, dp: 2, vp: 1}, framework: {version: 2}}\n"),
            std::vector<std::string>{});
  EXPECT_EQ(misspelt("workload: {data: {seq_len: 3, seq_lens: [3, 4]}}"), std::vector<std::string>{})
      << "the key itself is there";
}

/// The yaml block below a heading of jobs/README.md.
std::string documented_card() {
  std::ifstream file(CCL_TESTS_FOLDER "/../jobs/README.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const std::size_t heading = page.find("## The workload card"), from = page.find("```yaml\n", heading) + 8;
  return heading == std::string::npos ? "" : page.substr(from, page.find("```", from) - from);
}

TEST(Card, EveryKeyThatIsReadStandsInTheExample) {
  const std::string text = documented_card();
  const YAML::Node example = YAML::Load(text);
  for (const std::vector<std::string>& places : card_keys()) {
    YAML::Node node;
    node.reset(example);
    std::stringstream path(places.front());
    for (std::string key; std::getline(path, key, '.');) {
      ASSERT_TRUE(node.IsMap() && node[key].IsDefined()) << places.front();
      node.reset(node[key]);
    }
  }
  EXPECT_EQ(misspelt(text), std::vector<std::string>{});
  const Companion read = card(text);
  EXPECT_EQ(read.workload.mesh.world(), 16);
  EXPECT_EQ(read.workload.gpus_total.value, 16);
  EXPECT_EQ(read.workload.seq_len.value, 4096);
  EXPECT_EQ(read.batch, 64);
  EXPECT_EQ(read.workload.scale_up_bytes_per_s.value, 300e9);
}

}  // namespace
}  // namespace ccl
