#include "discover/bench_file.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ccl::test {
namespace {

TEST(BenchFile, TheLastLineCountsAndRatesFollowFromTotals) {
  const auto found = read_bench_result(
      "{\"median_ttft_ms\": 1}\n"
      "{\"backend\": \"vllm\", \"median_ttft_ms\": 41.5, \"mean_tpot_ms\": 9.5, \"total_output_tokens\": 4096, "
      "\"completed\": 32, \"duration\": 12.5, \"itls\": [0.1, 0.2]}\n");
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->median_ttft_s, 0.0415);
  EXPECT_DOUBLE_EQ(found->mean_tpot_s, 0.0095);
  EXPECT_TRUE(std::isnan(found->mean_ttft_s));
  EXPECT_DOUBLE_EQ(found->output_tokens_per_s, 4096 / 12.5);
  EXPECT_DOUBLE_EQ(found->requests_per_s, 32 / 12.5);
}

TEST(BenchFile, ObjectsOverSeveralLinesAndLatencyFilesAreRead) {
  const auto found = read_bench_result("{\n  \"avg_latency\": 1.25,\n  \"latencies\": [1.2, 1.3]\n}\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->mean_latency_s, 1.25);
  EXPECT_TRUE(is_bench_file_name("llama.latency.json"));
  EXPECT_TRUE(is_bench_file_name("bench_results.jsonl"));
  EXPECT_FALSE(is_bench_file_name("rank0_trace.json"));
}

TEST(BenchFile, OtherJsonSaysNothing) {
  for (const char* text :
       {"", "[]", "{}", "{\"median_ttft_ms\": \"fast\"}", "{\"median_ttft_ms\": nan}", "{\"duration"})
    EXPECT_FALSE(read_bench_result(text)) << text;
}

}  // namespace
}  // namespace ccl::test
