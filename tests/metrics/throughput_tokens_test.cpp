#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

RankTrace steps_of(std::int32_t rank, std::int64_t first_ns, std::int64_t second_ns) {
  return TraceBuilder()
      .rank(rank)
      .step(4, 0, first_ns)
      .kernel("gemm", 10, 50)
      .step(5, first_ns, first_ns + second_ns)
      .kernel("gemm", first_ns + 10, 50)
      .build();
}

SmallRun two_ranks() {
  SmallRun run;
  run.add(steps_of(0, 1000, 2000)).add(steps_of(1, 2000, 2000));
  run.ranks.world_size = 4;
  run.workload.global_batch = {8, "toml"};
  run.workload.seq_len = {100, "card"};
  return run;
}

TEST(ThroughputTokens, TokensOfTheTracedStepsOverTheStepsOfTheSlowestRank) {
  SmallRun run = two_ranks();
  const MetricResult result = run.result("throughput_tokens");
  EXPECT_DOUBLE_EQ(headline(result, "tokens_per_s"), 2 * 800 * 1e9 / 4000);
  EXPECT_DOUBLE_EQ(headline(result, "per_gpu_tokens_per_s"), 1e8);
  EXPECT_DOUBLE_EQ(headline(result, "samples_per_s"), 4e6);
  EXPECT_NE(page_of(result).find("global batch 8 (toml) x sequence length 100 (card)"), std::string::npos);
}

TEST(ThroughputTokens, EachRankAndStepHasARow) {
  SmallRun run = two_ranks();
  const MetricResult result = run.result("throughput_tokens");
  EXPECT_EQ(table(result, "rows").rows_count, 4);
  EXPECT_DOUBLE_EQ(std::get<double>(cell_at(table(result, "rows"), 0, "per_gpu_tokens_per_s")), 800 * 1e9 / 1000 / 4);
  EXPECT_EQ(integer_at(result, "by_step", 0, "step_ns"), 2000);
}

TEST(ThroughputTokens, AProcessMayDriveSeveralGpus) {
  using Devices = std::vector<std::int32_t>;
  const auto gpus_count = [](const std::vector<Devices>& by_rank) {
    SmallRun run;
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
      TraceBuilder builder;
      builder.rank(static_cast<std::int32_t>(rank)).step(4, 0, 1000);
      for (const std::int32_t device : by_rank[rank]) builder.device(device).kernel("gemm", 10, 50);
      run.add(builder.build());
    }
    run.workload.global_batch = {8, "toml"};
    run.workload.seq_len = {100, "card"};
    return headline(run.result("throughput_tokens"), "gpus_count");
  };
  EXPECT_EQ(gpus_count({{0, 1}}), 2);
  EXPECT_EQ(gpus_count({{0, 1}, {2, 3}}), 4);
  EXPECT_EQ(gpus_count({{0}, {0, 1}, {0, 2}}), 3) << "others touch the first GPU of a host";
  EXPECT_EQ(gpus_count({{0}, {0}}), 2) << "each sees its own GPU as the first";
}

TEST(ThroughputTokens, WithoutMarkersThereIsNoStepTime) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).kernel("gemm", 0, 5).build());
  run.workload.global_batch = {8, "toml"};
  run.workload.seq_len = {100, "card"};
  EXPECT_EQ(run.result("throughput_tokens").report.status, Status::absent);
}

}  // namespace
}  // namespace ccl::test
