#include "parse/left_out.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parse/event_limits.hpp"
#include "parse/lost_steps.hpp"
#include "parse/missing_kernels.hpp"
#include "support/trace_builder.hpp"

namespace ccl {
namespace {

using test::not_launched;
using test::TraceBuilder;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t second = 1'000'000'000;

/// Two steps with two kernels, a copy and a collective.
TraceBuilder two_steps() {
  TraceBuilder builder;
  builder.step(4, 0, 100).step(5, 100, 200).group("dp", "dp", {0, 1});
  builder.stream(9).kernel("wrong", 10, 5, 5).stream(7).copy("copy", 64, 20, 5).kernel("gemm", 110, 10).shape(1, 2, 3);
  builder.collective(CollectiveOp::all_reduce, "dp", 8, 130, 10);
  return builder;
}

TEST(LeftOut, WhatStandsBesideAnEventGoesWithItAndTheRestKeepsItsOwn) {
  TraceBuilder builder = two_steps();
  leave_out_events(builder.raw(), {true, false, false, false});
  const RankTrace trace = builder.build();
  ASSERT_EQ(trace.events.size(), 3U);
  EXPECT_THAT(trace.lanes, ElementsAre(Lane{0, 7})) << "no lane without events";
  EXPECT_EQ(trace.memory_operations[0].event, 0U);
  EXPECT_EQ(trace.kernel_shapes[0].event, 1U);
  EXPECT_EQ(trace.collectives[0].event, 2U);
  EXPECT_EQ(trace.lost_events_count, 1);
  EXPECT_TRUE(trace.steps[0].lost_events);
  EXPECT_FALSE(trace.steps[1].lost_events);
}

TEST(LeftOut, AllMayGo) {
  TraceBuilder builder = two_steps();
  leave_out_events(builder.raw(), {true, true, true, true});
  const RankTrace trace = builder.build();
  EXPECT_EQ(trace.events.size() + trace.collectives.size() + trace.memory_operations.size() + trace.lanes.size(), 0U);
  EXPECT_TRUE(trace.steps[0].lost_events && trace.steps[1].lost_events);
}

TEST(LeftOut, AnyStepMayHaveHadAnEventWithoutALaunch) {
  TraceBuilder builder = two_steps();
  builder.kernel("wrong too", 140, 5, not_launched);
  leave_out_events(builder.raw(), {false, false, false, false, true});
  const RankTrace trace = builder.build();
  EXPECT_TRUE(trace.steps[0].lost_events && trace.steps[1].lost_events);
}

TEST(LeftOut, WhatLiesOutsideTheRecordingButNotWhatHangsInIt) {
  TraceBuilder builder;
  builder.kernel("before", -5 * second, 10).kernel("in", 10, 10).kernel("waits", 20, 600 * second);
  builder.kernel("too long", 30, 7200 * second).kernel("in", 40, 10).kernel("behind", 700 * second, 10);
  Interval recorded{0, 601 * second};
  EXPECT_EQ(unrecorded_events(builder.raw().events, recorded, recording_margin_ns),
            (std::vector<bool>{true, false, false, true, false, true}));
  Interval unknown;
  EXPECT_THAT(unrecorded_events(builder.raw().events, unknown, recording_margin_ns), IsEmpty());
}

TEST(LeftOut, ARecordingInWhichHardlyAnythingBeginsIsToldWrong) {
  TraceBuilder builder;
  for (const std::int64_t start : {10, 20, 30}) builder.kernel("k", start, 10);
  Interval recorded{100 * second, 200 * second};
  EXPECT_THAT(unrecorded_events(builder.raw().events, recorded, recording_margin_ns), IsEmpty());
  EXPECT_EQ(recorded, Interval{});
  Interval right{0, 100};
  for (std::int64_t& dur_ns : builder.raw().events.dur_ns) dur_ns = 3600 * second;
  EXPECT_EQ(unrecorded_events(builder.raw().events, right, recording_margin_ns), (std::vector<bool>{true, true, true}));
}

TEST(MissingKernels, HalfOfTheLaunchesMustHaveOneUnlessGraphsAreLaunched) {
  EXPECT_TRUE((KernelCounts{.launches = 100, .graph_launches = 0, .kernels = 49}.too_few()));
  EXPECT_FALSE((KernelCounts{.launches = 100, .graph_launches = 0, .kernels = 50}.too_few()));
  EXPECT_FALSE((KernelCounts{.launches = 100, .graph_launches = 1, .kernels = 0}.too_few())) << "captured, not run";
  EXPECT_FALSE((KernelCounts{.launches = 19, .graph_launches = 0, .kernels = 0}.too_few()));
  EXPECT_TRUE(launches_a_kernel("cudaLaunchKernelExC_v11060") && launches_a_kernel("hipModuleLaunchKernel"));
  EXPECT_FALSE(launches_a_kernel("cudaGraphLaunch_v10000") || launches_a_kernel("cudaMemcpyAsync"));
}

}  // namespace
}  // namespace ccl
