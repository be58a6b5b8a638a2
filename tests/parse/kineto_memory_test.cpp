// What the allocator says in a trace with profile_memory.
#include <gtest/gtest.h>

#include "support/kineto_text.hpp"

namespace ccl::test {
namespace {

constexpr const char* reported =
    R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 12.5,
        "args": {"Total Reserved": 2048, "Total Allocated": 1024, "Bytes": 512, "Addr": 128184607182336,
                 "Device Id": 1, "Device Type": 1, "Ev Idx": 480}},
       {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 13,
        "args": {"Total Allocated": 99, "Device Id": -1, "Device Type": 0}},
       {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "other", "pid": 1, "tid": 1, "ts": 14, "args": {}},
       {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 15,
        "args": {"Total Allocated": -7, "Total Reserved": 99999999999999999999, "Device Id": 0, "Device Type": 1}})";

TEST(KinetoMemory, InstantEventsTellWhatTheAllocatorHolds) {
  ReadSettings settings;
  settings.wants.memory_usage = true;
  const ReadResult r = read_text(
      trace_text(std::string(reported) + "," + kernel_text("gemm", "1", "2"), "\"baseTimeNanoseconds\": 1000,"),
      settings);
  ASSERT_EQ(r.trace.memory_usage.size(), 2U) << "memory of the CPU is not counted";
  EXPECT_EQ(r.trace.memory_usage[0].time_ns, 13500);
  EXPECT_EQ(r.trace.memory_usage[0].allocated_bytes, 1024);
  EXPECT_EQ(r.trace.memory_usage[0].reserved_bytes, 2048);
  EXPECT_EQ(r.trace.memory_usage[0].device, 1);
  EXPECT_EQ(r.trace.memory_usage[1].allocated_bytes, -1) << "what is no size is not known";
  EXPECT_EQ(r.trace.memory_usage[1].reserved_bytes, -1);
  EXPECT_EQ(r.trace.events_count, 1) << "instants are no complete events";
}

TEST(KinetoMemory, NobodyWhoDoesNotAskPaysForThem) {
  const ReadResult r = read_text(trace_text(reported));
  EXPECT_TRUE(r.trace.memory_usage.empty());
}

}  // namespace
}  // namespace ccl::test
