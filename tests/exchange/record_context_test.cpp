#include "exchange/record_context.hpp"

#include <gtest/gtest.h>

#include "exchange/match.hpp"
#include "support/trace_builder.hpp"

namespace ccl::test {
namespace {

void expect_before(const CollectiveRecord& record, std::uint32_t compute_ns, std::uint32_t communication_ns,
                   std::uint32_t starved_ns, std::uint32_t stalled_ns) {
  EXPECT_EQ(record.before.compute_ns, compute_ns);
  EXPECT_EQ(record.before.communication_ns, communication_ns);
  EXPECT_EQ(record.before.starved_ns, starved_ns);
  EXPECT_EQ(record.before.stalled_ns, stalled_ns);
}

TEST(RecordContext, TimeSinceTheGroupsPreviousCollectiveIsSplitExactly) {
  const RankTrace trace = TraceBuilder()
                              .step(0, 0, 1000)
                              .group("dp", "", {0, 1})
                              .group("tp", "", {0, 1})
                              .stream(8)
                              .collective(CollectiveOp::all_reduce, "dp", 8, 100, 50, 10)
                              .stream(7)
                              .kernel("a", 150, 100, 20)  // 150–250
                              .stream(9)
                              .collective(CollectiveOp::all_reduce, "tp", 8, 240, 60, 30)  // 250–300 exposed
                              .stream(7)
                              .kernel("b", 340, 60, 335)  // launched while the device idled
                              .copy("Memcpy", 64, 400, 20, 40)
                              .stream(8)
                              .collective(CollectiveOp::all_reduce, "dp", 8, 450, 50, 50)  // launched long before
                              .build();
  const std::vector<CollectiveRecord> records = make_records(trace, 0);
  ASSERT_EQ(records.size(), 3U);
  expect_before(records[0], 0, 0, 0, 0);
  expect_before(records[1], 90, 50, 0, 0);
  expect_before(records[2], 160, 50, 40, 50);
  EXPECT_EQ(records[2].before.kernels_count, 2U);
  EXPECT_EQ(records[2].before.total_ns(), 450 - 150);
}

TEST(RecordContext, QueueingAndSynchronisingGoFromLaunchToLaunch) {
  const RankTrace trace = TraceBuilder()
                              .group("dp", "", {0, 1})
                              .collective(CollectiveOp::all_reduce, "dp", 8, 100, 50, 70)
                              .collective(CollectiveOp::all_reduce, "dp", 8, 400, 50, 350)
                              .slice(SliceKind::runtime, "cudaStreamSynchronize", 60, 65)
                              .slice(SliceKind::runtime, "cudaStreamSynchronize", 80, 150)
                              .slice(SliceKind::runtime, "cudaEventSynchronize", 340, 360)
                              .slice(SliceKind::cpu_op, "aten::add", 160, 200)
                              .build();
  const std::vector<CollectiveRecord> records = make_records(trace, 0);
  EXPECT_EQ(records[0].before.queued_ns, 30U);
  EXPECT_EQ(records[0].before.synchronised_ns, 0U) << "nothing was launched before";
  EXPECT_EQ(records[1].before.queued_ns, 50U);
  EXPECT_EQ(records[1].before.synchronised_ns, 80U);
}

TEST(RecordContext, WithoutLaunchesNothingIsStarved) {
  const RankTrace trace = TraceBuilder()
                              .group("dp", "", {0, 1})
                              .kernel("a", 0, 100, not_launched)
                              .kernel("b", 200, 100, not_launched)
                              .collective(CollectiveOp::all_reduce, "dp", 8, 300, 50, not_launched)
                              .build();
  expect_before(make_records(trace, 0)[0], 200, 0, 0, 100);
  EXPECT_EQ(make_records(trace, 0)[0].before.queued_ns, BeforeCollective::unknown_ns);
}

TEST(RecordContext, ATraceThatListsNoDeviceHasNone) {
  RankTrace trace = TraceBuilder()
                        .step(0, 0, 1000)
                        .group("dp", "", {0, 1})
                        .collective(CollectiveOp::all_reduce, "dp", 8, 100, 50, 10)
                        .build();
  trace.devices.clear();
  const std::vector<CollectiveRecord> records = make_records(trace, 0);
  ASSERT_EQ(records.size(), 1U);
  expect_before(records[0], 0, 0, 0, 0);
}

TEST(RecordContext, MessagesHaveNoContext) {
  const RankTrace trace = TraceBuilder()
                              .group("pp", "", {0, 1})
                              .kernel("a", 0, 100)
                              .collective(CollectiveOp::send, "pp", 8, 100, 50)
                              .build();
  EXPECT_EQ(make_records(trace, 0)[0].before.total_ns(), 0);
}

}  // namespace
}  // namespace ccl::test
