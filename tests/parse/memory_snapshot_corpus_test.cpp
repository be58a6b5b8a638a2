// Real snapshots: equal to the byte to what an independent literal program computed.
#include <gtest/gtest.h>

#include <filesystem>

#include "parse/memory_snapshot.hpp"
#include "support/real_traces.hpp"

namespace ccl {
namespace {

struct Expected {
  const char* file;
  std::int64_t segments, blocks, reserved, allocated, active, requested, inactive, largest_inactive, entries;
  std::int64_t peak_requested, peak_reserved, allocations, allocations_bytes, frees, segment_allocations;
  friend std::ostream& operator<<(std::ostream& out, const Expected& want) { return out << want.file; }
};

class MemorySnapshotCorpus : public testing::TestWithParam<Expected> {};

TEST_P(MemorySnapshotCorpus, EqualsTheIndependentReplay) {
  const Expected& want = GetParam();
  TraceFile file;
  file.path = test::real_traces() / "given" / "memsnap-silmont" / want.file;
  if (!std::filesystem::exists(file.path)) GTEST_SKIP() << test::no_real_traces;
  Problems problems;
  Progress progress;
  const std::vector<DeviceMemory> found = read_memory_snapshot(file, {.wants = {}, .part = {}, .window_bytes = 4096}, problems, progress);
  EXPECT_TRUE(problems.rows().empty());
  ASSERT_EQ(found.size(), 1U);
  const DeviceMemory& m = found.front();
  EXPECT_EQ(m.segments_count, want.segments);
  EXPECT_EQ(m.blocks_count, want.blocks);
  EXPECT_EQ(m.reserved_bytes, want.reserved);
  EXPECT_EQ(m.allocated_bytes, want.allocated);
  EXPECT_EQ(m.active_bytes, want.active);
  EXPECT_EQ(m.requested_bytes, want.requested);
  EXPECT_EQ(m.small.inactive_bytes + m.large.inactive_bytes, want.inactive);
  EXPECT_EQ(std::max(m.small.largest_inactive_bytes, m.large.largest_inactive_bytes), want.largest_inactive);
  EXPECT_EQ(m.entries_count, want.entries);
  EXPECT_EQ(m.peak_requested_bytes, want.peak_requested);
  EXPECT_EQ(m.peak_reserved_bytes, want.peak_reserved);
  EXPECT_GE(m.peak_active_bytes, m.peak_requested_bytes);
  EXPECT_EQ(m.allocations_count, want.allocations);
  EXPECT_EQ(m.allocations_bytes, want.allocations_bytes);
  EXPECT_EQ(m.frees_count, want.frees);
  EXPECT_EQ(m.segment_allocations_count, want.segment_allocations);
}

INSTANTIATE_TEST_SUITE_P(
    Real, MemorySnapshotCorpus,
    testing::Values(Expected{"mem_snapshot.pickle", 9, 20, 3781165056, 31719936, 31719936, 31719428, 3749445120,
                             536870912, 97, 3249143816, 3781165056, 36, 8091861260, 26, 9},
                    Expected{"memory_forward_bf16_128.pickle", 43, 178, 861929472, 525286400, 525286400, 523811840,
                             336643072, 20971520, 2811, 779837440, 861929472, 937, 1132065792, 937, 0},
                    Expected{"memory_forward_fp32_128.pickle", 29, 164, 610271232, 525286400, 525286400, 523811840,
                             84984832, 20971520, 2043, 556843008, 610271232, 681, 1105961984, 681, 0}));

}  // namespace
}  // namespace ccl
