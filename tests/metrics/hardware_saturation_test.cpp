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

TEST(HardwareSaturation, F10CopiesWithoutBytesAreCountedNotGuessed) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(0, 0, 100).copy("Memcpy DtoD", -1, 0, 50).build());
  const MetricResult result = run.result("hardware_saturation");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_EQ(integer_at(result, "by_direction", 0, "unknown_bytes_count"), 1);
}

TEST(HardwareSaturation, F10WithoutAModelTheIntensityIsAbsentWithItsReason) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(0, 0, 100).copy("Memcpy DtoD", 64, 0, 50).build());
  const std::string page = page_of(run.result("hardware_saturation"));
  EXPECT_NE(page.find("absent: the global batch and sequence length are unknown"), std::string::npos) << page;
}

}  // namespace
}  // namespace ccl::test
