#include <gtest/gtest.h>

#include "parse/finish.hpp"
#include "support/small_run.hpp"

namespace ccl::test {
namespace {

SmallRun two_ranks() {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 2; ++rank)
    run.add(TraceBuilder()
                .rank(rank)
                .kernel("ampere_sgemm_128", 0, 100)
                .kernel("ampere_sgemm_128", 200, 140)
                .kernel("void at::native::reduce_kernel<512>", 400, 60)
                .copy("Memcpy HtoD", 64, 500, 999)
                .group("dp", "mesh_dp", {0, 1})
                .collective(CollectiveOp::all_reduce, "dp", 64, 600, 300)
                .build());
  return run;
}

TEST(Kernel, EveryKernelIsCountedOnceAndCopiesAreNone) {
  SmallRun run = two_ranks();
  const MetricResult result = run.result("kernel");
  std::int64_t count = 0, sum_ns = 0;
  for (std::int64_t row = 0; row < table(result, "rows").rows_count; ++row) {
    count += integer_at(result, "rows", row, "count");
    sum_ns += integer_at(result, "rows", row, "sum_ns");
  }
  EXPECT_EQ(count, 8);
  EXPECT_EQ(sum_ns, 1200);
  EXPECT_EQ(headline(result, "kernels_count"), 8);
}

TEST(Kernel, OfChosenStepsOnlyTheirs) {
  const auto run_of = [](const std::vector<std::int64_t>& steps) {
    SmallRun run;
    RankTrace trace = TraceBuilder()
                          .rank(0)
                          .step(4, 0, 100)
                          .step(5, 100, 200)
                          .kernel("ampere_sgemm_128", 10, 20)
                          .kernel("ampere_sgemm_128", 110, 50)
                          .kernel("ampere_sgemm_128", 900, 40)
                          .build();
    run.config.input.steps = steps;
    if (!steps.empty()) select_steps(trace, steps);
    run.add(std::move(trace));
    return run;
  };
  SmallRun all = run_of({}), fifth = run_of({5});
  EXPECT_EQ(headline(all.result("kernel"), "kernels_count"), 3);  // outside of steps too
  const MetricResult result = fifth.result("kernel");
  EXPECT_EQ(headline(result, "kernels_count"), 1);
  EXPECT_EQ(integer_at(result, "rows", 0, "sum_ns"), 50);
}

TEST(Kernel, TopIsOverAllRanks) {
  SmallRun run = two_ranks();
  const MetricResult result = run.result("kernel");
  EXPECT_EQ(text_at(result, "top", 0, "class"), "communication");
  EXPECT_EQ(integer_at(result, "top", 0, "sum_ns"), 600);
  EXPECT_EQ(integer_at(result, "top", 0, "ranks_count"), 2);
  EXPECT_DOUBLE_EQ(headline(result, "top_ratio"), 0.5);
  EXPECT_DOUBLE_EQ(headline(result, "top_compute_ratio"), 0.8);
}

TEST(Kernel, ClassesShareTheSummedTime) {
  SmallRun run = two_ranks();
  const MetricResult result = run.result("kernel");
  EXPECT_DOUBLE_EQ(headline(result, "gemm_ratio"), 0.4);
  EXPECT_DOUBLE_EQ(headline(result, "communication_ratio"), 0.5);
  EXPECT_EQ(table(result, "by_class").rows_count, 3);
}

}  // namespace
}  // namespace ccl::test
