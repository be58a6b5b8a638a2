#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

constexpr std::int64_t mb = 1'000'000;

MemorySnapshot snapshot(std::int32_t file, std::int32_t rank, std::int64_t peak_bytes, std::int64_t reserved_bytes) {
  MemorySnapshot s{file, "rank" + std::to_string(file) + ".pickle", 0, -1, RankId(rank), {}};
  DeviceMemory m;
  m.reserved_bytes = reserved_bytes;
  m.active_bytes = m.allocated_bytes = reserved_bytes / 2;
  m.requested_bytes = reserved_bytes / 4;
  m.entries_count = 12;
  m.peak_active_bytes = peak_bytes;
  m.peak_requested_bytes = peak_bytes - 1;
  m.peak_reserved_bytes = reserved_bytes;
  m.start_active_bytes = m.start_reserved_bytes = 0;
  m.allocations_count = 10;
  m.first_us = 1'000'000;
  m.last_us = 3'000'000;
  s.devices.push_back(m);
  return s;
}
RankTrace trace(std::int32_t rank, std::int64_t memory_bytes) {
  TraceBuilder builder;
  builder.rank(rank).step(0, 0, 10).kernel("gemm", 0, 5);
  builder.raw().gpu_memory_bytes = memory_bytes;
  return builder.build();
}

TEST(Memory, HeadlineIsTheLargestPeakAndNamesItsRank) {
  SmallRun run;
  run.add_snapshot(snapshot(0, 0, 300 * mb, 900 * mb)).add_snapshot(snapshot(1, 1, 500 * mb, 800 * mb));
  const MetricResult r = run.result("memory", 2);
  EXPECT_EQ(headline(r, "peak_active_bytes"), 5e8);
  EXPECT_EQ(headline(r, "peak_active_rank"), 1);
  EXPECT_EQ(headline(r, "peak_reserved_bytes"), 9e8);
  EXPECT_EQ(headline(r, "imbalance_ratio"), 0.25);
  EXPECT_EQ(headline(r, "efficiency_ratio"), 0.5);
  EXPECT_NE(page_of(r).find("peak 0.50 GB in use (rank 1)"), std::string::npos) << page_of(r);
  EXPECT_EQ(std::get<double>(cell_at(table(r, "rows"), 0, "allocations_per_s")), 5);
  EXPECT_EQ(std::get<double>(cell_at(table(r, "rows"), 0, "internal_fragmentation_ratio")), 0.5);
}

TEST(Memory, TheLimitComesFromTheTraceOfTheRank) {
  SmallRun run;
  run.add(trace(0, 1000 * mb)).add(trace(1, 4000 * mb));
  run.add_snapshot(snapshot(0, 0, 300 * mb, 900 * mb)).add_snapshot(snapshot(1, 1, 500 * mb, 950 * mb));
  const MetricResult r = run.result("memory");
  EXPECT_EQ(headline(r, "nearest_to_limit_ratio"), 0.9);
  EXPECT_EQ(headline(r, "nearest_to_limit_rank"), 0);
}

TEST(Memory, FailedRequestsStandOnThePage) {
  SmallRun run;
  MemorySnapshot s = snapshot(0, 3, 300 * mb, 900 * mb);
  s.devices[0].out_of_memory = {{5, 20 * mb, 2 * mb}};
  s.devices[0].start_reserved_bytes = 700 * mb;
  const MetricResult r = run.add_snapshot(s).result("memory");
  EXPECT_NE(page_of(r).find("OUT OF MEMORY 1 time: first rank 3 asked for 20.0 MB with 2.00 MB free"),
            std::string::npos)
      << page_of(r);
  EXPECT_NE(page_of(r).find("1 of 1 snapshot recorded from mid-run"), std::string::npos) << page_of(r);
  EXPECT_EQ(integer_at(r, "out_of_memory", 0, "asked_bytes"), 20 * mb);
}

TEST(Memory, EachStreamHasItsRates) {
  SmallRun run;
  MemorySnapshot s = snapshot(0, 0, 300 * mb, 900 * mb);
  s.devices[0].streams = {{0, 8, 80 * mb, 6, 60 * mb}, {94'000'000'000'000, 2, 4 * mb, 0, 0}};
  const MetricResult r = run.add_snapshot(s).result("memory");
  ASSERT_EQ(table(r, "by_stream").rows_count, 2);
  EXPECT_EQ(integer_at(r, "by_stream", 1, "stream"), 94'000'000'000'000);
  EXPECT_EQ(std::get<double>(cell_at(table(r, "by_stream"), 0, "allocations_per_s")), 4) << "over the 2 s of the device";
  EXPECT_EQ(std::get<double>(cell_at(table(r, "by_stream"), 0, "frees_bytes_per_s")), 30e6);
  EXPECT_EQ(std::get<double>(cell_at(table(r, "by_stream"), 1, "allocations_per_s")), 1);
}

TEST(Memory, AFullRingIsProvenByWhatIsMissingElseGuessedFromItsCount) {
  DeviceMemory m;
  m.entries_count = 100'000;
  EXPECT_EQ(m.ring_full(), RingEvidence::none) << "nothing was taken before its first entry";
  m.start_reserved_bytes = 512;
  EXPECT_EQ(m.ring_full(), RingEvidence::guessed);
  m.entries_count = 99'999;
  EXPECT_EQ(m.ring_full(), RingEvidence::none) << "recorded from mid-run";
  m.allocation_missing = true;
  EXPECT_EQ(m.ring_full(), RingEvidence::proven);
}

TEST(Memory, SnapshotsWithoutARankAreToldApartByFile) {
  SmallRun run;
  run.add_snapshot(snapshot(7, -1, 300 * mb, 900 * mb)).add_snapshot(snapshot(4, -1, 500 * mb, 800 * mb));
  const MetricResult r = run.result("memory", 2);
  ASSERT_EQ(table(r, "rows").rows_count, 2);
  EXPECT_EQ(text_at(r, "rows", 0, "file"), "rank4.pickle");
  EXPECT_NE(page_of(r).find("in use (rank4.pickle)"), std::string::npos) << page_of(r);
}

TEST(Memory, RanksWithoutASnapshotMakeItPartial) {
  SmallRun run;
  run.add(trace(0, -1)).add(trace(1, -1)).add_snapshot(snapshot(0, 0, 300 * mb, 900 * mb));
  const MetricResult r = run.result("memory");
  EXPECT_EQ(r.report.status, Status::partial);
  EXPECT_EQ(r.report.reason, "1 of 2 ranks present have a value");
}

TEST(Memory, WithoutSnapshotsTheTracesThemselvesTell) {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    TraceBuilder builder;
    builder.rank(rank).step(4, 0, 100).step(5, 100, 200).kernel("gemm", 10, 5);
    for (const MemoryUsage& usage : {MemoryUsage{20, 100, 400, 0}, MemoryUsage{30, 300 + rank, 500, 0},
                                     MemoryUsage{150, 200, -1, 0}, MemoryUsage{250, 900, 900, 0}})
      builder.raw().memory_usage.push_back(usage);
    run.add(builder.build());
  }
  const MetricResult r = run.result("memory", 2);
  ASSERT_EQ(table(r, "in_trace").rows_count, 6);
  EXPECT_EQ(integer_at(r, "in_trace", 0, "step"), -1);
  EXPECT_EQ(integer_at(r, "in_trace", 2, "peak_allocated_bytes"), 300);
  EXPECT_EQ(integer_at(r, "in_trace", 2, "peak_reserved_bytes"), 500);
  EXPECT_EQ(integer_at(r, "in_trace", 4, "peak_reserved_bytes"), -1);
  EXPECT_EQ(headline(r, "peak_allocated_bytes"), 900);
  EXPECT_NE(page_of(r).find("as the profiler reported it, no snapshot"), std::string::npos) << page_of(r);
  run.add_snapshot(snapshot(0, 0, 300 * mb, 900 * mb));
  EXPECT_EQ(headline(run.result("memory"), "peak_active_bytes"), 3e8) << "a snapshot says more";
}

}  // namespace
}  // namespace ccl::test
