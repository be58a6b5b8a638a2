#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// Every rank's step lasts 1000 ns; they differ in compute only and wait for each other in an all-reduce.
RankTrace computing(std::int32_t rank, std::int64_t compute_ns, std::vector<std::int32_t> members) {
  return TraceBuilder()
      .rank(rank)
      .step(1, 0, 1000)
      .kernel("gemm", 0, compute_ns)
      .group("dp", "mesh_dp", std::move(members), -1, Dimension::dp)
      .stream(9)
      .collective(CollectiveOp::all_reduce, "dp", 64, compute_ns, 1000 - compute_ns)
      .build();
}

TEST(Straggler, WhoComputesLongerIsFlaggedEvenAmongFour) {
  SmallRun run;
  run.add(computing(0, 500, {0, 1, 2, 3})).add(computing(1, 502, {0, 1, 2, 3}));
  run.add(computing(2, 700, {0, 1, 2, 3})).add(computing(3, 498, {0, 1, 2, 3}));
  const MetricResult result = run.result("straggler");
  EXPECT_EQ(headline(result, "worst_rank"), 2);
  EXPECT_EQ(headline(result, "stragglers_count"), 1);
  EXPECT_DOUBLE_EQ(headline(result, "load_imbalance_ratio"), (700 - 550) / 550.0);
  EXPECT_DOUBLE_EQ(headline(result, "sync_overhead_per_step_ns"), (200 + 198 + 0 + 202) / 4.0);
}

TEST(Straggler, EqualPeersAreJudgedByTheRatioAlone) {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 4; ++rank) run.add(computing(rank, rank == 3 ? 510 : 500, {0, 1, 2, 3}));
  EXPECT_EQ(headline(run.result("straggler"), "stragglers_count"), 0);
}

TEST(Straggler, StagesAreComparedOnlyWithinThemselves) {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 6; ++rank) run.add(computing(rank, rank < 3 ? 300 : 900, {0, 1, 2, 3, 4, 5}));
  run.workload.mesh.pp = 2;
  run.workload.mesh.dp_shard = 3;
  run.workload.mesh.source = "toml";
  const MetricResult result = run.result("straggler");
  EXPECT_DOUBLE_EQ(headline(result, "load_imbalance_ratio"), 0);
  EXPECT_EQ(headline(result, "stragglers_count"), 0);
  EXPECT_EQ(integer_at(result, "by_rank", 5, "stage"), 1);
}

/// A rank that computes so long in each of its steps, the last of which has number 5.
RankTrace of_steps(std::int32_t rank, const std::vector<std::int64_t>& compute_ns) {
  TraceBuilder builder;
  builder.rank(rank);
  const auto first = 6 - static_cast<std::int64_t>(compute_ns.size());
  for (std::size_t i = 0; i < compute_ns.size(); ++i) {
    const auto at = 1000 * (first + static_cast<std::int64_t>(i));
    builder.step(first + static_cast<std::int64_t>(i), at, at + 1000).kernel("gemm", at, compute_ns[i]);
  }
  return builder.build();
}

TEST(Straggler, OneMoreAndSlowStepAccusesNobody) {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 7; ++rank) run.add(of_steps(rank, {400, 402}));
  run.add(of_steps(7, {900, 400, 402}));
  const MetricResult result = run.result("straggler");
  EXPECT_EQ(headline(result, "stragglers_count"), 0);
  EXPECT_DOUBLE_EQ(headline(result, "worst_to_median_ratio"), 1);
  EXPECT_DOUBLE_EQ(headline(result, "load_imbalance_ratio"), 0);
}

TEST(Straggler, WhoLacksAQuickStepIsComparedInThoseItHas) {
  SmallRun run;
  run.add(of_steps(0, {100, 400, 400})).add(of_steps(1, {100, 400, 400})).add(of_steps(2, {100, 400, 400}));
  run.add(of_steps(3, {440, 440}));
  const MetricResult result = run.result("straggler");
  EXPECT_EQ(headline(result, "worst_rank"), 3);
  EXPECT_DOUBLE_EQ(headline(result, "worst_to_median_ratio"), 1.1);
  EXPECT_EQ(headline(result, "stragglers_count"), 1);
}

TEST(Straggler, WhoSharesNoStepIsNotJudged) {
  SmallRun run;
  run.add(of_steps(0, {400})).add(of_steps(1, {400})).add(of_steps(2, {400}));
  run.add(TraceBuilder().rank(3).step(9, 9000, 10000).kernel("gemm", 9000, 900).build());
  const MetricResult result = run.result("straggler");
  EXPECT_EQ(headline(result, "stragglers_count"), 0);
  EXPECT_EQ(integer_at(result, "by_rank", 3, "judged"), 0);
  EXPECT_EQ(integer_at(result, "by_rank", 0, "judged"), 1);
}

TEST(Straggler, TwoRanksGiveNoVerdict) {
  SmallRun run;
  run.add(computing(0, 500, {0, 1})).add(computing(1, 900, {0, 1}));
  const MetricResult result = run.result("straggler");
  EXPECT_TRUE(std::isnan(headline(result, "stragglers_count")));
  EXPECT_NE(page_of(result).find("no verdict"), std::string::npos);
}

}  // namespace
}  // namespace ccl::test
