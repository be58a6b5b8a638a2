#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

TraceBuilder passes(const std::vector<std::pair<const char*, std::int64_t>>& markers) {
  TraceBuilder builder;
  builder.rank(0).step(0, 0, 10'000).kernel("gemm", 1, 2);
  std::int64_t at = 1000;
  for (const auto& [name, dur_ns] : markers) {
    builder.slice(SliceKind::user_annotation, name, at, at + dur_ns);
    at += 1000;
  }
  return builder;
}

TEST(Tpot, IsTheMeanDecodePassAndCountsItsTokens) {
  SmallRun run;
  run.add(passes({{"execute_context_2(64)_generation_0(0)", 900},
                  {"execute_context_0(0)_generation_2(2)", 100},
                  {"execute_context_0(0)_generation_2(2)", 200}})
              .build());
  const MetricResult r = run.result("tpot");
  EXPECT_EQ(headline(r, "tpot_ns"), 150);
  EXPECT_EQ(headline(r, "passes_count"), 2);
  EXPECT_DOUBLE_EQ(headline(r, "output_tokens_per_s"), 4 / 1200e-9) << "2000 to 3200 ns, two sequences each";
  EXPECT_EQ(integer_at(r, "passes", 0, "pass"), 1) << "numbers count all passes";
}

TEST(Tpot, MarkersThatDoNotTellTheKindStartWithThePrefill) {
  SmallRun run;
  run.add(passes({{"execute_model", 900}, {"execute_model", 100}, {"execute_model", 300}}).build());
  EXPECT_EQ(headline(run.result("ttft"), "ttft_ns"), 900);
  EXPECT_EQ(headline(run.result("tpot"), "tpot_ns"), 200);
}

TEST(Tpot, BenchmarkResultAloneIsEnough) {
  SmallRun run;
  run.workload.bench.file = "a.latency.json";
  run.workload.bench.output_tokens_per_s = 320;
  run.workload.bench.requests_per_s = 2.5;
  const MetricResult r = run.result("tpot");
  EXPECT_EQ(r.report.status, Status::ok);
  EXPECT_NE(page_of(r).find("320 output tokens/s, 150 requests/min"), std::string::npos) << page_of(r);
}

TEST(Tpot, TrainingTracesAreNoServing) {
  SmallRun run;
  run.add(passes({}).build());
  EXPECT_EQ(run.result("tpot").report.status, Status::not_applicable);
}

}  // namespace
}  // namespace ccl::test
