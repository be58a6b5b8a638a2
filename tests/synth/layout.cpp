#include "layout.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "kineto_events.hpp"
#include "text_file.hpp"

namespace synth {
namespace {

namespace fs = std::filesystem;

const char* name_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::gpipe: return "GPipe";
    case Schedule::one_f_one_b: return "1F1B";
    case Schedule::interleaved: return "Interleaved1F1B";
    case Schedule::combined: return "Interleaved1F1B";
    case Schedule::dualpipev: return "DualPipeV";
    case Schedule::zero_bubble: break;
  }
  return "ZBVZeroBubble";
}

void write_card(const Job& job) {
  const Mesh& m = job.mesh;
  const Model& a = job.model;
  TextFile out(job.output + "/workload_card.yaml", false);
  out << "version: 1\ndescription: planted job of ccl-synth, seed " << static_cast<std::int64_t>(job.seed)
      << "\nworkload:\n  model:\n    phase: " << (job.style == Style::inference ? "inference" : "training")
      << "\n    moe: " << (a.experts > 0 ? "true" : "false") << "\n    model_family: " << a.name << "-" << a.flavor
      << "\n    precision: bf16\n    epochs: 1\n    iteration: " << job.steps
      << "\n    model_arch:\n      num_params: " << a.parameters()
      << "\n      num_params_embedding: " << a.embedding_parameters()
      << "\n      num_params_active: " << a.parameters_active() << "\n      num_layers: " << a.layers
      << "\n      num_heads: " << a.heads << "\n      head_dim: " << a.head_dim()
      << "\n      num_kv_heads: " << a.kv_heads << "\n      hidden_size: " << a.hidden
      << "\n      intermediate_size: " << a.ffn << "\n      vocab_size: " << a.vocab
      << "\n      num_experts: " << a.experts << "\n      num_experts_per_tok: " << (a.experts > 0 ? a.top_k : 0)
      << "\n  data:\n    batch_size: " << a.local_batch * job.microbatches * m.dp_replicate * m.dp_shard
      << "\n    batch_size_scope: global\n    seq_len: " << a.seq
      << "\n    dataset: planted\n  hardware:\n    network_topo:\n"
      << "      topology: slingshot\n      bandwidth_gbps: [200, 2400]\n    xpu_spec:\n      type: GPU\n      model: "
         "nvidia_a100_40gb\n"
      << "      total_count: " << m.world() << "\n      count_per_node: " << job.ranks_per_host
      << "\n      memory_gb: 40\n"
      << "Model-executor:\n  framework:\n    name: " << (job.layout == Layout::megatron ? "megatron-lm" : "torchtitan")
      << "\n  model_plan_parallelization:\n    dp_replicate: " << m.dp_replicate << "\n    dp_shard: " << m.dp_shard
      << "\n    tp: " << m.tp << "\n    pp: " << m.pp << "\n    cp: " << m.cp << "\n    ep: " << m.ep
      << "\n    pp_mb: " << a.local_batch
      << "\n  communication_library:\n    name: NCCL\n    version: 2.27.5\nmetric_source:\n  traces:\n    - "
         "kineto_trace\n";
  out.close();
}

void write_toml(const Job& job) {
  const Mesh& m = job.mesh;
  TextFile out(job.output + "/train_config.toml", false);
  out << "[job]\ndump_folder = \"./outputs\"\ndescription = \"planted job\"\n\n[model]\nname = \"" << job.model.name
      << "\"\nflavor = \"" << job.model.flavor
      << "\"\n\n[training]\nlocal_batch_size = " << job.model.local_batch * job.microbatches
      << "\nseq_len = " << job.model.seq << "\nsteps = " << job.first_step + job.steps
      << "\nmixed_precision_param = \"bfloat16\"  # activations and gathered parameters\nmixed_precision_reduce = "
         "\"float32\"\n\n"
      << "[parallelism]\ndata_parallel_replicate_degree = " << m.dp_replicate
      << "\ndata_parallel_shard_degree = " << m.dp_shard << "\nfsdp_reshard_after_forward = \""
      << (job.data_parallel == DataParallel::fsdp_always_reshard ? "always" : "default")
      << "\"\ntensor_parallel_degree = " << m.tp << "\npipeline_parallel_degree = " << m.pp
      << "\npipeline_parallel_schedule = \"" << name_of(job.schedule)
      << "\"\npipeline_parallel_microbatch_size = " << job.model.local_batch << "\ncontext_parallel_degree = " << m.cp
      << "\nexpert_parallel_degree = " << m.ep
      << "\n\n[profiling]\nenable_profiling = true\nsave_traces_folder = \"profile_traces\"\nprofile_freq = "
      << job.first_step + job.steps << "\nprofiler_active = " << job.steps << "\n\n[activation_checkpoint]\nmode = \""
      << (job.recompute ? "full" : "none") << "\"\n";
  out.close();
}

/// Ranks that hold one copy of the model between them: all of one data-parallel coordinate. Where there are experts the
/// patch takes tensor, expert and pipeline parallelism together.
void write_replicas(const Mesh& m, TextFile& out) {
  std::vector<std::vector<int>> replicas(static_cast<std::size_t>(m.dp_replicate * m.dp_shard * m.cp / (m.ep > 1 ? m.ep : m.cp)));
  for (int rank = 0; rank < m.world(); ++rank) {
    const Place p = place_of(m, rank);
    const int shard = p.dp_replicate * m.dp_shard + p.dp_shard;
    replicas[static_cast<std::size_t>(m.ep > 1 ? (shard * m.cp + p.cp) / m.ep : shard)].push_back(rank);
  }
  const std::string line(40, '-');
  out << "FULL MODEL RANK GROUPS (by DP Rank)\n"
      << line << "\nEach group holds one complete copy of the model.\nRanks are split by tensor, pipeline and expert "
                 "parallelism.\n"
      << line << "\n";
  for (std::size_t g = 0; g < replicas.size(); ++g)
    out << "Group " << g << ": " << list_text(replicas[g], replicas[g].size()) << "\n";
  out << "Total model replicas (DP): " << replicas.size() << "\n\n";
}

/// The text file of the Megatron profiling patch: sizes, then the groups of each kind.
void write_groups(const Job& job) {
  const Topology topology = make_topology(job.mesh, job.ranks_per_host, Naming::megatron);
  const Mesh& m = job.mesh;
  TextFile out(job.output + "/unique_parallel_groups_20260101_000000.txt", false);
  out << "MEGATRON PARALLEL CONFIGURATION\n"
      << std::string(60, '=') << "\nTimestamp: 20260101_000000\nTP Size: " << m.tp << "\nPP Size: " << m.pp
      << "\nCP Size: " << m.cp << "\nEP Size: " << m.ep << "\nWorld Size: " << m.world()
      << "\nGlobal Batch Size: " << job.model.local_batch * job.microbatches * m.dp_replicate * m.dp_shard
      << "\n\nSTATISTICS\n" << std::string(40, '-') << "\nTotal Ranks: " << m.world() << "\nValid Ranks: " << m.world()
      << "\nError Ranks: 0\n\n";
  const auto section = [&](const char* title, const char* dimension) {
    out << title << "\n" << std::string(40, '-') << "\n";
    int count = 0;
    for (const Group& group : topology.groups)
      if (group.dimension == dimension) {
        out << "Group " << ++count << ": [";
        for (std::size_t i = 0; i < group.members.size(); ++i) out << (i ? ", " : "") << group.members[i];
        out << "]\n";
      }
    if (count == 0)
      out << "No groups found.\n\n";
    else
      out << "Total groups: " << count << "\n\n";
  };
  section("TENSOR PARALLEL (TP) GROUPS", "tp");
  section("PIPELINE PARALLEL (PP) GROUPS", "pp");
  section("DATA PARALLEL (DP) GROUPS", "dp");
  section("EXPERT PARALLEL (EP) GROUPS", "ep");
  write_replicas(m, out);
  out << "ERROR INFORMATION\n" << std::string(40, '-') << "\nNo errors.\n";
  out.close();
}

/// What a serving benchmark leaves behind.
void write_bench(const Job& job) {
  TextFile out(job.output + "/bench_results.jsonl", false);
  out << "{\"model\": \"" << job.model.name
      << "\", \"median_ttft_ms\": 41.5, \"median_tpot_ms\": 9.25, \"mean_ttft_ms\": 43.0, "
      << "\"mean_tpot_ms\": 9.5, \"total_output_tokens\": 4096, \"completed\": 32, \"duration\": 12.5}\n";
  out.close();
}

}  // namespace

std::vector<int> iteration_bounds(const Job& job) {
  const int length = job.steps_per_iteration > 0 ? job.steps_per_iteration : job.steps;
  std::vector<int> bounds;
  for (int s = 0; s < job.steps; s += length) bounds.push_back(s);
  bounds.push_back(job.steps);
  return bounds;
}

std::string trace_path(const Job& job, int rank, int, int until) {
  // TorchTitan names the folder after the step that has just ended, one past its last profiled step.
  const std::string iteration = std::to_string(job.first_step + until);
  const std::string ending = job.gzip ? ".json.gz" : ".json";
  fs::path path(job.output);
  char number[16];
  switch (job.layout) {
    case Layout::torchtitan:
      path = path / "profile_traces" / ("iteration_" + iteration) / ("rank" + std::to_string(rank) + "_trace" + ending);
      break;
    case Layout::megatron:
      std::snprintf(number, sizeof number, "%04d", rank);
      path = path / ("iteration_" + iteration) /
             (std::string("rank_") + number + "_iter_" + iteration + ".pt.trace" + ending);
      break;
    case Layout::ccl_bench: path = path / ("kineto_trace_" + std::to_string(rank) + ending); break;
    case Layout::flat:
      path = path / ("host" + std::to_string(rank / job.ranks_per_host) + "_" + std::to_string(30'000 + rank) +
                     ".1790000000." + std::to_string(rank) + ".pt.trace" + ending);
      break;
  }
  fs::create_directories(path.parent_path());
  return path.string();
}

void write_companions(const Job& job) {
  fs::create_directories(job.output);
  write_card(job);
  if (job.layout == Layout::torchtitan) write_toml(job);
  if (job.layout == Layout::megatron) write_groups(job);
  if (job.style == Style::inference) write_bench(job);
}

}  // namespace synth
