#include <stdexcept>
#include <utility>

#include "job.hpp"

namespace synth {
namespace {

Model llama3_8b() {
  Model m;
  m.name = "llama3", m.flavor = "8B";
  m.layers = 32, m.hidden = 4096, m.ffn = 14336, m.heads = 32, m.kv_heads = 8, m.vocab = 128256, m.seq = 2048;
  return m;
}

Job tiny() {
  Job job;
  job.mesh = {2, 1, 2, 1, 2, 1};
  job.model.layers = 2;
  job.microbatches = 2;
  job.tensor_parallel = TensorParallel::all_reduce;
  job.clock_offset_ns = 1'500'000;
  job.clock_drift_ppb = 5'000;
  job.gzip = true;
  job.megabytes_per_rank = 0.9;
  job.faults.push_back(parse_fault("slow_rank:rank=5,factor=1.4,from=8"));
  return job;
}

Job node() {
  Job job;
  job.mesh = {1, 1, 8, 1, 1, 1};
  job.model = llama3_8b();
  job.model.local_batch = 2;
  job.steps = 4, job.microbatches = 5, job.ranks_per_host = 8;
  job.fine_kernels = true;
  job.megabytes_per_rank = 55;
  return job;
}

Job perlmutter(Mesh mesh, int layers, int steps, int microbatches, double megabytes) {
  Job job;
  job.mesh = mesh;
  job.model = llama3_8b();
  job.model.layers = layers;
  job.steps = steps, job.microbatches = microbatches;
  job.clock_offset_ns = 3'000'000;
  job.clock_drift_ppb = 10'000;
  job.megabytes_per_rank = megabytes;
  job.full_truth = false;
  job.faults.push_back(parse_fault("slow_rank:rank=" + std::to_string(mesh.world() / 3) + ",factor=1.3"));
  return job;
}

}  // namespace

std::vector<std::string> preset_names() {
  return {"tiny", "node", "perlmutter-256", "perlmutter-1024", "perlmutter-6144"};
}

Job preset(const std::string& name) {
  Job job;
  if (name == "tiny") {
    job = tiny();
  } else if (name == "node") {
    job = node();
  } else if (name == "perlmutter-256") {
    job = perlmutter({4, 1, 16, 1, 4, 1}, 32, 5, 8, 18);
  } else if (name == "perlmutter-1024") {
    job = perlmutter({4, 2, 32, 1, 4, 1}, 16, 2, 8, 4);
  } else if (name == "perlmutter-6144") {
    job = perlmutter({8, 4, 48, 1, 4, 1}, 8, 2, 4, 0.5);
    job.tensor_parallel = TensorParallel::all_reduce;
  } else {
    throw std::invalid_argument("unknown preset '" + name + "'");
  }
  job.preset = name;
  return job;
}

void check(const Job& job) {
  const Mesh& m = job.mesh;
  const auto fail = [](const std::string& why) { throw std::invalid_argument(why); };
  if (m.pp < 1 || m.dp_replicate < 1 || m.dp_shard < 1 || m.cp < 1 || m.tp < 1 || m.ep < 1)
    fail("mesh sizes start at 1");
  if (m.sharded() % m.ep != 0) fail("ep must divide dp_shard * cp");
  if (m.ep > 1 && job.model.experts % m.ep != 0) fail("ep must divide the number of experts");
  if (m.ep > 1 && job.model.experts == 0) fail("ep > 1 needs --experts");
  if (job.model.layers % job.virtual_stages() != 0) fail("layers must be a multiple of the (virtual) pipeline stages");
  if (is_v_shaped(job.schedule) && (m.pp < 2 || job.microbatches < 2 * m.pp))
    fail("dualpipev needs pp of 2 or more and at least twice as many micro-batches");
  if ((job.schedule == Schedule::interleaved || (job.schedule == Schedule::combined && m.pp > 1)) &&
      job.microbatches % m.pp != 0)
    fail("interleaved and combined need microbatches to be a multiple of pp");
  if (job.serves() && m.sharded() * m.dp_replicate > 1) fail("the inference style serves one replica: only tp and pp");
  if (job.steps < 1 || job.microbatches < 1 || job.ranks_per_host < 1 || job.repeat < 1)
    fail("steps, microbatches, ranks-per-host and repeat start at 1");
}

}  // namespace synth
