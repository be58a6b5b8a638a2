#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

TEST(HardwareSaturation, F26CopiesAreMemoryEventsByDirection) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(0, 0, 1000);
  builder.copy("Memcpy HtoD (Pinned -> Device)", 4000, 0, 100).copy("Memcpy HtoD (Pageable -> Device)", 2000, 200, 100);
  builder.copy("Memcpy DtoH (Device -> Pinned)", 500, 400, 50).set(64, 500, 8).kernel("memcpy_kernel", 600, 10);
  run.add(builder.build());
  const MetricResult result = run.result("hardware_saturation");
  ASSERT_EQ(table(result, "by_direction").rows_count, 3);
  EXPECT_EQ(text_at(result, "by_direction", 0, "direction"), "host_to_device");
  EXPECT_EQ(integer_at(result, "by_direction", 0, "bytes"), 6000);
  EXPECT_DOUBLE_EQ(headline(result, "host_to_device_bytes_per_s"), 6000 * 1e9 / 200);
  EXPECT_DOUBLE_EQ(headline(result, "device_to_host_bytes_per_s"), 1e10);
}

TEST(HardwareSaturation, CountersAreMeansOverTheStepAndWhileCommunicationRuns) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(0, 0, 1000).kernel("gemm", 0, 400);
  builder.stream(8).collective(CollectiveOp::all_reduce, "dp", 64, 300, 300);  // window [0, 600)
  RankTrace trace = builder.build();
  const std::uint32_t dram = trace.strings.index("DRAM Read Bandwidth");
  for (const auto& [time, percent] : {std::pair{100, 40}, {200, 60}, {350, 20}, {500, 0}, {700, 99}})
    trace.counters.push_back({time, 0, dram, percent});
  trace.counters.push_back({100, 1, dram, 77});  // another GPU
  run.add(std::move(trace));
  const MetricResult result = run.result("hardware_saturation");
  EXPECT_EQ(integer_at(result, "counters", 0, "samples_count"), 4);
  EXPECT_EQ(integer_at(result, "counters", 0, "communication_samples_count"), 2);
  EXPECT_DOUBLE_EQ(std::get<double>(cell_at(table(result, "counters"), 0, "communication_mean_ratio")), 0.1);
  EXPECT_DOUBLE_EQ(std::get<double>(cell_at(table(result, "counters"), 0, "compute_mean_ratio")), 0.4);
  EXPECT_DOUBLE_EQ(headline(result, "dram_read_bandwidth_ratio"), 0.3);
  EXPECT_NE(page_of(result).find("of their peaks DRAM Read Bandwidth 30.0 %"), std::string::npos) << page_of(result);
}

TEST(HardwareSaturation, F10CopiesWithoutBytesAreCountedNotGuessed) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(0, 0, 100).copy("Memcpy DtoD", -1, 0, 50).build());
  const MetricResult result = run.result("hardware_saturation");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_EQ(integer_at(result, "by_direction", 0, "unknown_bytes_count"), 1);
}

TEST(HardwareSaturation, StepsWithoutCommunicationCountInTheIntensity) {
  const auto intensity = [](bool in_each_step) {
    SmallRun run;
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      TraceBuilder builder;
      builder.rank(rank).group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp);
      for (std::int64_t step = 0; step < 4; ++step) {
        const std::int64_t at = 1000 * step;
        builder.stream(7).step(step, at, at + 1000).kernel("gemm", at, 400);
        if (in_each_step || step == 3) builder.stream(9).collective(CollectiveOp::all_reduce, "dp", 64, at + 400, 100);
      }
      run.add(builder.build());
    }
    run.workload.global_batch = {8, "card"};
    run.workload.seq_len = {100, "card"};
    run.workload.parameters = {1e9, "card"};
    run.workload.layers = {16, "card"};
    run.workload.hidden_size = {2048, "card"};
    run.workload.vocab_size = {32000, "card"};
    return headline(run.result("hardware_saturation"), "communication_intensity_ratio");
  };
  EXPECT_GT(intensity(true), 0);
  EXPECT_DOUBLE_EQ(intensity(false), 4 * intensity(true)) << "gradients summed over four steps go a quarter as often";
}

TEST(HardwareSaturation, F10WithoutAModelTheIntensityIsAbsentWithItsReason) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(0, 0, 100).copy("Memcpy DtoD", 64, 0, 50).build());
  const std::string page = page_of(run.result("hardware_saturation"));
  EXPECT_NE(page.find("absent: the global batch and sequence length are unknown"), std::string::npos) << page;
}

}  // namespace
}  // namespace ccl::test
