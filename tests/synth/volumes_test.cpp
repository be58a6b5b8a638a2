// Volumes of one training step that published measurements obey to the printed digits; here they must come out exactly.
#include <gtest/gtest.h>

#include "simulate.hpp"
#include "truth_values.hpp"

namespace synth {
namespace {

constexpr std::int64_t parameters_8b = 8'030'261'248, norms_8b = 266'240, output_8b = 525'340'672;

Job llama(Mesh mesh) {
  Job job = preset("node");
  job.fine_kernels = false;
  job.mesh = mesh;
  job.steps = 1, job.microbatches = 1;
  job.model.local_batch = 1;
  job.model.seq = 1024;
  return job;
}

using Rows = std::map<std::pair<std::string, std::string>, Traffic>;

Rows traffic_of_rank(const Job& job, int rank = 0) {
  const Topology topology = make_topology(job.mesh, job.ranks_per_host, Naming::torchtitan);
  const JobRun run = simulate(job, topology);
  const RankRun& own = run.ranks[static_cast<std::size_t>(rank)];
  return traffic_of(job, topology, run, rank, own.steps[0], FileClock(job, rank));
}

TEST(Volumes, Llama8bHasItsPublishedParameterCount) { EXPECT_EQ(llama({}).model.parameters(), parameters_8b); }

TEST(Volumes, FsdpGathersTwiceButForTheLastModuleAndReducesInFloat) {
  Rows rows = traffic_of_rank(llama({1, 1, 8, 1, 1, 1}));
  const Traffic gather = rows[{"dp", "all_gather"}], reduce = rows[{"dp", "reduce_scatter"}];
  EXPECT_EQ(gather.calls, 67);
  EXPECT_EQ(reduce.calls, 34);
  EXPECT_EQ(reduce.in_bytes, 4 * parameters_8b);
  EXPECT_EQ(gather.out_bytes, 4 * parameters_8b - 2 * output_8b);
  EXPECT_EQ(gather.in_bytes, gather.out_bytes / 8);
}

TEST(Volumes, FsdpThatAlwaysReshardsGathersEverythingTwice) {
  Job job = llama({1, 1, 4, 1, 1, 1});
  job.data_parallel = DataParallel::fsdp_always_reshard;
  EXPECT_EQ((traffic_of_rank(job)[{"dp", "all_gather"}].out_bytes), 4 * parameters_8b);
}

TEST(Volumes, FsdpWithTensorParallelSplitsAllButTheNorms) {
  Job job = llama({1, 1, 2, 1, 2, 1});
  job.data_parallel = DataParallel::fsdp_always_reshard;
  job.model.local_batch = 4, job.model.seq = 512;
  Rows rows = traffic_of_rank(job);
  const std::int64_t per_rank = (parameters_8b - norms_8b) / 2 + norms_8b, message = 2048 * 4096 * 2;
  EXPECT_EQ((rows[{"dp", "reduce_scatter"}].in_bytes), 4 * per_rank);
  EXPECT_EQ((rows[{"dp", "all_gather"}].in_bytes), 4 * per_rank / 2);
  EXPECT_EQ((rows[{"tp", "reduce_scatter"}].in_bytes), 130 * message);
  EXPECT_EQ((rows[{"tp", "all_gather"}].in_bytes), 130 * message / 2);
}

TEST(Volumes, SequenceParallelWithoutFsdpMovesFloatActivations) {
  Job job = llama({1, 1, 1, 1, 4, 1});
  job.model.local_batch = 4, job.model.seq = 512;
  Rows rows = traffic_of_rank(job);
  EXPECT_EQ((rows[{"tp", "reduce_scatter"}].in_bytes), std::int64_t{130} * 2048 * 4096 * 4);
  EXPECT_EQ((rows[{"tp", "all_gather"}].calls), 130);
}

TEST(Volumes, RecomputeRepeatsTheForwardsOfTensorParallelism) {
  Job job = llama({1, 1, 1, 1, 4, 1});
  job.recompute = true;
  Rows rows = traffic_of_rank(job);
  EXPECT_EQ((rows[{"tp", "all_gather"}].calls), 194);
  EXPECT_EQ((rows[{"tp", "reduce_scatter"}].calls), 194);
}

TEST(Volumes, MegatronDistributedOptimizerReducesOnceAndGathersOnce) {
  Job job = llama({1, 1, 4, 1, 2, 1});
  job.data_parallel = DataParallel::distributed_optimizer;
  job.tensor_parallel = TensorParallel::all_reduce;
  job.recompute = true;
  job.microbatches = 8;
  Rows rows = traffic_of_rank(job);
  const std::int64_t per_rank = (parameters_8b - norms_8b) / 2 + norms_8b, message = 1024 * 4096 * 2, scalar = 4;
  EXPECT_EQ((rows[{"dp", "reduce_scatter"}].in_bytes), 4 * per_rank);
  EXPECT_EQ((rows[{"dp", "all_gather"}].in_bytes), 2 * per_rank / 4);
  EXPECT_EQ((rows[{"tp", "all_reduce"}].in_bytes), 8 * 194 * message + scalar);
}

TEST(Volumes, AllToAllIsUnevenAndWhatIsSentArrives) {
  Job job = llama({1, 1, 4, 1, 1, 4});
  job.model.experts = 8, job.model.layers = 2;
  std::int64_t sent = 0, received = 0;
  std::vector<std::int64_t> each;
  for (int rank = 0; rank < 4; ++rank) {
    const Traffic t = traffic_of_rank(job, rank)[{"ep", "all_to_allv"}];
    sent += t.in_bytes, received += t.out_bytes;
    each.push_back(t.in_bytes);
    EXPECT_EQ(t.calls, 8);  // dispatch and combine, forward and backward, of two layers
  }
  EXPECT_EQ(sent, received);
  EXPECT_NE(each[0], each[1]);
}

}  // namespace
}  // namespace synth
