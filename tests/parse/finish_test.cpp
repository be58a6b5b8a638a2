#include "parse/finish.hpp"

#include <gtest/gtest.h>

#include "support/numbered.hpp"
#include "support/trace_builder.hpp"

namespace ccl {
namespace {

using test::not_launched;
using test::TraceBuilder;

std::vector<std::string> names(const RankTrace& trace) {
  std::vector<std::string> all;
  for (const std::uint32_t name : trace.events.name) all.emplace_back(trace.strings.text(name));
  return all;
}

std::vector<std::int32_t> steps(const RankTrace& trace) { return {trace.events.step.begin(), trace.events.step.end()}; }

TEST(Finish, EventsAreSortedAndTheRowsThatPointAtThemFollow) {
  const RankTrace trace = TraceBuilder()
                              .group("dp", "", {0, 1})
                              .copy("last", 64, 300, 1)
                              .stream(20).collective(CollectiveOp::all_reduce, "dp", 8, 100, 5)
                              .stream(9).kernel("middle", 100, 5).shape(1, 2, 3)
                              .kernel("first", 0, 5)
                              .build();
  EXPECT_EQ(names(trace), (std::vector<std::string>{"first", "middle", "ncclDevKernel_all_reduce", "last"}));
  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.collectives[0].event, 2U);
  EXPECT_EQ(trace.memory_operations[0].event, 3U);
  EXPECT_EQ(trace.kernel_shapes[0].event, 1U);
  EXPECT_EQ(trace.lanes.at(trace.events.lane[2]).stream, 20);
  EXPECT_EQ(trace.events.launch_ns[3], 300);
}

TEST(Finish, EventsFarOutOfOrderAreSortedToo) {
  TraceBuilder builder;
  for (std::int64_t i = 0; i < 1000; ++i) builder.kernel(test::numbered("k", i * 617 % 1000), i * 617 % 1000, 1);
  const RankTrace trace = builder.build();
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(trace.events.start_ns[i], static_cast<std::int64_t>(i));
    ASSERT_EQ(trace.strings.text(trace.events.name[i]), test::numbered("k", i));
  }
}

TEST(Finish, LaunchDecidesTheStepOfAnEvent) {
  Problems problems;
  const RankTrace trace = TraceBuilder()
                              .step(4, 0, 100).step(5, 100, 200)
                              .kernel("late", 150, 10, 99)
                              .kernel("next", 160, 10, 100)
                              .kernel("after", 170, 10, 200)
                              .kernel("queued before", 180, 10, not_launched)
                              .build(problems);
  EXPECT_EQ(steps(trace), (std::vector<std::int32_t>{0, 1, -1, -1}));
  EXPECT_EQ(trace.outside_events_count, 2);
  EXPECT_EQ(problems.count(Code::kernels_outside_steps), 2);
  EXPECT_EQ(problems.rows().at(0).detail, "1 have no launch in the file");
}

TEST(Finish, WithoutAnyLaunchTheGpuStartDecides) {
  Problems problems;
  const RankTrace trace = TraceBuilder().step(4, 0, 100).step(5, 100, 200)
                              .kernel("a", 99, 10, not_launched).kernel("b", 100, 10, not_launched)
                              .build(problems);
  EXPECT_EQ(steps(trace), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(problems.count(Code::no_launch_records), 1);
}

TEST(Finish, OfATraceThatIsTwiceInAFileEachEventCountsOnce) {
  Problems problems;
  TraceBuilder builder;
  builder.step(4, 0, 1000).group("dp", "mesh_dp", {0, 1});
  for (int twice = 0; twice < 2; ++twice) {
    builder.slice(SliceKind::cpu_op, "aten::mm", 5, 90).slice(SliceKind::cpu_op, "aten::add", 5, 90);
    builder.kernel("a", 20, 10, 10).kernel("b", 30, 10, 12).collective(CollectiveOp::all_reduce, "dp", 64, 50, 20);
  }
  for (std::size_t i = 0; i < 3; ++i) builder.raw().events.correlation[i + 3] = builder.raw().events.correlation[i];
  const RankTrace trace = builder.build(problems);
  EXPECT_EQ(trace.events.size(), 3U);
  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.collectives[0].event, 2U);
  EXPECT_EQ(trace.slices.size(), 2U);
  EXPECT_EQ(problems.count(Code::overlap_on_stream), 3);
  EXPECT_EQ(problems.rows().at(0).detail, "events that the file holds twice: each is used once");
}

TEST(Finish, AnEventWithoutItsLaunchIsOfTheStepOfTheLaunchesAroundIt) {
  Problems problems;
  TraceBuilder builder;
  builder.step(4, 0, 100).step(5, 100, 200).step(6, 200, 300);
  builder.kernel("before", 5, 1, not_launched).kernel("a", 20, 10, 10).kernel("b", 120, 5, not_launched).kernel("c", 130, 5, 90);
  builder.kernel("d", 140, 5, 110).kernel("e", 150, 5, not_launched).kernel("f", 160, 5, 155);
  builder.kernel("g", 180, 5, not_launched).kernel("h", 280, 5, 290);
  const RankTrace trace = builder.build(problems);
  EXPECT_EQ(steps(trace), (std::vector<std::int32_t>{-1, 0, 0, 0, 1, 1, 1, 1, 2})) << "g ran before step 6 began";
  EXPECT_EQ(problems.count(Code::no_launch_records), 3);
  EXPECT_EQ(problems.count(Severity::data_loss), 0);
}

TEST(Finish, WhereMostLaunchesAreMissingTheGpuStartDecides) {
  Problems problems;
  TraceBuilder builder;
  builder.step(4, 0, 100).step(5, 100, 200).kernel("a", 20, 10, 10).kernel("b", 90, 5, not_launched).kernel("c", 130, 5, not_launched);
  const RankTrace trace = builder.build(problems);
  EXPECT_EQ(steps(trace), (std::vector<std::int32_t>{0, 0, 1}));
  EXPECT_FALSE(trace.has_launches());
  EXPECT_EQ(problems.count(Code::no_launch_records), 1);
}

TEST(Finish, WhereTheLaunchesAroundAreOfTwoStepsBothAreLost) {
  Problems problems;
  TraceBuilder builder;
  builder.step(4, 0, 100).step(5, 100, 200).step(6, 200, 300);
  builder.kernel("a", 20, 10, 10).kernel("b", 120, 5, not_launched).kernel("c", 130, 5, 110).kernel("d", 280, 5, 290);
  const RankTrace trace = builder.build(problems);
  EXPECT_EQ(steps(trace), (std::vector<std::int32_t>{-1, -1, -1, 2}));
  EXPECT_TRUE(trace.steps[0].lost_events && trace.steps[1].lost_events && !trace.steps[2].lost_events);
  EXPECT_EQ(problems.count(Code::event_damaged), 1);
  EXPECT_EQ(trace.lost_events_count, 1);
}

TEST(Finish, ALaunchThatTheProfilerNeverRecordsIsNoDamage) {
  Problems problems;
  TraceBuilder builder;
  builder.step(4, 0, 100).step(5, 100, 200).step(6, 200, 300).step(7, 300, 400);
  for (const std::int64_t at : {10, 110, 210}) {  // the last call of each step, whose kernel runs in the next
    builder.kernel("a", at + 10, 10, at).kernel("a", at + 20, 10, at + 5).kernel("cluster", at + 95, 5, not_launched);
  }
  builder.kernel("a", 320, 10, 310);
  const RankTrace trace = builder.build(problems);
  EXPECT_EQ(steps(trace), (std::vector<std::int32_t>{0, 0, -1, 1, 1, -1, 2, 2, -1, 3}));
  EXPECT_FALSE(trace.steps[0].lost_events || trace.steps[1].lost_events || trace.steps[2].lost_events);
  EXPECT_EQ(problems.count(Severity::data_loss), 0);
  EXPECT_EQ(trace.lost_events_count, 0);
}

TEST(Finish, WhereAllLaunchesOfAStepAreMissingItIsLostToo) {
  Problems problems;
  TraceBuilder builder;
  builder.step(4, 0, 100).step(5, 100, 200).step(6, 200, 300);
  builder.kernel("a", 20, 10, 10).kernel("a", 30, 5, 15).kernel("a", 210, 5, not_launched).kernel("a", 230, 5, 225);
  const RankTrace trace = builder.build(problems);
  EXPECT_EQ(steps(trace), (std::vector<std::int32_t>{-1, -1, -1, -1}));
  EXPECT_TRUE(trace.steps[0].lost_events && trace.steps[1].lost_events && trace.steps[2].lost_events);
}

TEST(Finish, LaunchesThatManyEventsDoNotNameDecideNothing) {
  Problems problems;
  TraceBuilder builder;
  builder.step(4, 0, 100).step(5, 100, 200).kernel("a", 99, 10, 5).kernel("b", 100, 10, not_launched);
  builder.kernel("c", 120, 10, not_launched);
  builder.raw().events.correlation[1] = builder.raw().events.correlation[2] = 0;
  const RankTrace trace = builder.build(problems);
  EXPECT_EQ(steps(trace), (std::vector<std::int32_t>{0, 1, 1}));
  EXPECT_FALSE(trace.has_launches());
  EXPECT_EQ(problems.count(Code::no_launch_records), 1);
  EXPECT_EQ(problems.count(Severity::data_loss), 0);
}

TEST(Finish, AFewEventsThatNameNoLaunchCostTheStepsBesideThem) {
  Problems problems;
  TraceBuilder builder;
  builder.step(4, 0, 10'000).step(5, 10'000, 20'000);
  for (std::int64_t i = 0; i < 199; ++i) builder.kernel("a", 10 + 100 * i, 10);
  builder.kernel("c", 15'000, 5, not_launched);
  builder.raw().events.correlation[199] = 0;
  const RankTrace trace = builder.build(problems);
  EXPECT_TRUE(trace.has_launches());
  EXPECT_FALSE(trace.steps[0].lost_events);
  EXPECT_TRUE(trace.steps[1].lost_events);
  EXPECT_EQ(problems.count(Code::event_damaged), 1);
}

TEST(Finish, WithoutMarkersTheWholeSpanIsStepZero) {
  Problems problems;
  const RankTrace trace = TraceBuilder().kernel("a", 10, 10).kernel("b", 50, 10, not_launched).build(problems);
  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.steps[0].source, StepSource::span);
  EXPECT_EQ(trace.steps[0].devices.at(0).gpu_end_ns, 60);
  EXPECT_EQ(trace.steps[0].devices.at(0).gap_ns, 0);
  EXPECT_EQ(trace.outside_events_count, 0);
  EXPECT_EQ(problems.count(Code::no_step_markers), 1);
}

TEST(Finish, StepsWithoutGpuEventsAreCounted) {
  Problems problems;
  TraceBuilder().step(1, 0, 100).step(2, 100, 200).step(3, 200, 300).kernel("a", 110, 10).build(problems);
  EXPECT_EQ(problems.count(Code::steps_without_gpu_events), 2);
  EXPECT_EQ(problems.rows().at(0).detail, "of 3 steps");
}

TEST(Finish, OneEventThatIsNearlyAllTheTimeIsNamed) {
  const auto with_longest = [](std::int64_t longest_ns) {
    TraceBuilder builder;
    builder.step(1, 0, 100'000);
    for (std::int64_t i = 0; i < 20; ++i) builder.kernel("a", 10 * i, 10);
    Problems problems;
    builder.kernel("long", 200, longest_ns).build(problems);
    return problems;
  };
  EXPECT_EQ(with_longest(1800).count(Code::one_event_dominates), 0);
  const Problems found = with_longest(1801);
  ASSERT_EQ(found.count(Code::one_event_dominates), 1);
  EXPECT_EQ(found.rows().at(0).detail, "long: 1801 ns");
}

TEST(Finish, EventsFarFromAllOthersAreNamed) {
  constexpr std::int64_t second_ns = 1'000'000'000, begin_ns = 1'000'000 * second_ns;
  // 100 kernels of 1 ms, one a second, and some of 1 ms elsewhere.
  const auto with = [](const std::vector<std::int64_t>& elsewhere_ns, std::int64_t first_dur_ns) {
    TraceBuilder builder;
    builder.rank(3).step(1, begin_ns, begin_ns + 1000 * second_ns);
    for (std::int64_t i = 0; i < 100; ++i)
      builder.kernel("gemm", begin_ns + i * second_ns, i == 0 ? first_dur_ns : 1'000'000);
    for (const std::int64_t start_ns : elsewhere_ns) builder.kernel("lost", start_ns, 1'000'000);
    Problems problems;
    builder.build(problems);
    return problems;
  };
  const auto count = [&](const std::vector<std::int64_t>& elsewhere_ns, std::int64_t first_dur_ns = 1'000'000) {
    return with(elsewhere_ns, first_dur_ns).count(Code::events_far_from_others);
  };
  const std::int64_t day_ns = 86'400 * second_ns, last_ns = begin_ns + 99 * second_ns;
  EXPECT_EQ(count({}), 0);
  EXPECT_EQ(count({last_ns + day_ns}), 1);
  EXPECT_EQ(count({begin_ns - day_ns}), 1);
  EXPECT_EQ(count({begin_ns - day_ns, last_ns + day_ns}), 2);
  EXPECT_EQ(count({last_ns + day_ns, last_ns + 2 * day_ns}), 0) << "more than one in a hundred at that end";
  // Ten times the span: 98 s between the second and the last but one of 101 events, or 97 s.
  EXPECT_EQ(count({last_ns + 980 * second_ns}), 0);
  EXPECT_EQ(count({last_ns + 981 * second_ns + 1'000'000}), 1);
  EXPECT_EQ(count({last_ns + day_ns}, last_ns + day_ns - begin_ns - 100 * second_ns), 0) << "the GPU was busy until then";

  const Problems found = with({begin_ns - day_ns, last_ns + 2 * day_ns + 1'234'000'000}, 1'000'000);
  for (const Problem& problem : found.rows()) {
    if (problem.code != Code::events_far_from_others) continue;
    EXPECT_EQ(problem.rank, 3);
    EXPECT_EQ(problem.detail, "lost at 1172900234000000 ns, 172801.234 s behind the others");
  }
  EXPECT_EQ(with({begin_ns - day_ns}, 1'000'000).count(Code::one_event_dominates), 0);
}

TEST(Finish, EventsFarFromAllOthersAreAMinuteAway) {
  constexpr std::int64_t second_ns = 1'000'000'000;
  const auto count = [](std::int64_t gap_ns, std::int64_t kernels) {
    TraceBuilder builder;
    builder.step(1, 0, 1000);
    for (std::int64_t i = 1; i < kernels; ++i) builder.kernel("gemm", 10 * i, 5);
    Problems problems;
    builder.kernel("lost", 10 * (kernels - 1) + 5 + gap_ns, 5, 0).build(problems);
    return problems.count(Code::events_far_from_others);
  };
  EXPECT_EQ(count(60 * second_ns, 20), 0);
  EXPECT_EQ(count(60 * second_ns + 1, 20), 1);
  EXPECT_EQ(count(3600 * second_ns, 19), 0) << "of so few none is odd";
}

TEST(Finish, GpuWindowReachesFromFirstStartToLastEndAndTheGapIsDeviceIdleTimeBeforeIt) {
  const RankTrace trace = TraceBuilder()
                              .step(1, 100, 200).step(2, 200, 300)
                              .kernel("a", 110, 200)                       // ends 310, behind the next one's start
                              .stream(8).kernel("b", 120, 10)
                              .kernel("c", 330, 10, 210).kernel("d", 350, 10, 220)
                              .build();
  const DeviceWindow& first = trace.steps.at(0).devices.at(0);
  EXPECT_EQ(first.gpu_start_ns, 110);
  EXPECT_EQ(first.gpu_end_ns, 310);
  EXPECT_EQ(first.gap_ns, 10);  // nothing earlier: from the start of the CPU step
  const DeviceWindow& second = trace.steps.at(1).devices.at(0);
  EXPECT_EQ(second.gpu_start_ns, 330);
  EXPECT_EQ(second.gpu_end_ns, 360);
  EXPECT_EQ(second.gap_ns, 20);
}

TEST(Finish, OutsideEventsEndTheGapToo) {
  const RankTrace trace =
      TraceBuilder().step(1, 100, 200).kernel("early", 50, 60, not_launched).kernel("a", 130, 5).build();
  EXPECT_EQ(trace.steps.at(0).devices.at(0).gap_ns, 20);
}

TEST(Finish, DevicesHaveWindowsOfTheirOwn) {
  const RankTrace trace = TraceBuilder().step(1, 0, 100).step(2, 100, 200)
                              .device(3).kernel("a", 10, 10).device(1).kernel("b", 20, 10).kernel("c", 120, 10).build();
  EXPECT_EQ(trace.devices, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(trace.steps.at(0).devices.at(0).gpu_start_ns, 20);
  EXPECT_EQ(trace.steps.at(0).devices.at(1).gpu_start_ns, 10);
  EXPECT_EQ(trace.steps.at(1).devices.at(1).gpu_start_ns, absent_ns);
}

TEST(Finish, OverlapsOnOneStreamAreCounted) {
  Problems problems;
  const RankTrace trace = TraceBuilder().step(1, 0, 100)
                              .kernel("a", 10, 5).kernel("b", 20, 10).kernel("c", 29, 10).kernel("d", 39, 10)
                              .stream(8).kernel("e", 21, 10)
                              .build(problems);
  EXPECT_EQ(problems.count(Code::overlap_on_stream), 1);
}

TEST(Finish, FingerprintIgnoresTheClockAndTheOrderInTheFile) {
  const auto print = [](std::int64_t shift, std::int64_t dur_ns, bool swapped) {
    TraceBuilder builder;
    if (swapped) builder.kernel("b", 20 + shift, dur_ns);
    builder.kernel("a", 10 + shift, 5);
    if (!swapped) builder.kernel("b", 20 + shift, dur_ns);
    return builder.build().fingerprint;
  };
  EXPECT_EQ(print(0, 7, false), print(1000, 7, true));
  EXPECT_NE(print(0, 7, false), print(0, 8, false));
}

TEST(Finish, AStepSeenOnTwoThreadsIsOneStep) {
  const RankTrace trace = TraceBuilder().step(2, 50, 90).step(1, 0, 40).step(1, 5, 45).kernel("a", 44, 1).build();
  ASSERT_EQ(trace.steps.size(), 2U);
  EXPECT_EQ(trace.steps[0].end_ns, 45);
  EXPECT_EQ(trace.events.step[0], 0);
}

TEST(SelectSteps, EventsOfOtherStepsGoOutside) {
  RankTrace trace = TraceBuilder().step(1, 0, 10).step(2, 10, 20).kernel("a", 1, 1).kernel("b", 11, 1).build();
  select_steps(trace, {2, 7});
  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.steps[0].number, 2);
  EXPECT_EQ(steps(trace), (std::vector<std::int32_t>{-1, 0}));
  EXPECT_EQ(trace.outside_events_count, 1);
}

}  // namespace
}  // namespace ccl
