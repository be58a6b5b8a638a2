#include "parse/lost_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/trace_builder.hpp"

namespace ccl {
namespace {

using test::not_launched;
using test::TraceBuilder;
using testing::ElementsAre;

/// Steps 4, 5, 6 of 100 ns each, three kernels in each.
TraceBuilder three_steps() {
  TraceBuilder builder;
  builder.step(4, 0, 100).step(5, 100, 200).step(6, 200, 300);
  for (const std::int64_t start : {10, 30, 60, 110, 130, 160, 210, 230, 260}) builder.kernel("k", start, 10, start - 5);
  return builder;
}

RankTrace damaged(TraceBuilder& builder, FileLoss loss) {
  RankTrace trace = builder.build();
  trace.loss = loss;
  return trace;
}
RankTrace damaged(TraceBuilder&& builder, FileLoss loss) { return damaged(builder, loss); }

TEST(LostSteps, AnUndamagedFileHasNone) {
  RankTrace trace = damaged(three_steps(), FileLoss::nothing);
  trace.lone_launches_ns = {50};
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(false, false, false));
  EXPECT_EQ(leave_out_lost_steps(trace), "");
}

TEST(LostSteps, ALaunchWithoutItsEventNamesItsStep) {
  RankTrace trace = damaged(three_steps(), FileLoss::pieces);
  trace.lone_launches_ns = {150};
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(false, true, false));
}

TEST(LostSteps, AnEventWithoutLaunchMayBelongToTheStepsBesideIt) {
  EXPECT_THAT(find_lost_steps(damaged(three_steps().kernel("lone", 145, 5, not_launched), FileLoss::pieces)),
              ElementsAre(false, true, false));
  EXPECT_THAT(find_lost_steps(damaged(three_steps().kernel("lone", 190, 5, not_launched), FileLoss::pieces)),
              ElementsAre(false, true, true));
}

TEST(LostSteps, KernelsFromBeforeTheProfilerAreNoLoss) {
  EXPECT_THAT(find_lost_steps(damaged(three_steps().kernel("before", -20, 10, not_launched), FileLoss::pieces)),
              ElementsAre(false, false, false));
  EXPECT_THAT(find_lost_steps(damaged(three_steps().kernel("inside", 1, 5, not_launched), FileLoss::pieces)),
              ElementsAre(true, false, false));
}

TEST(LostSteps, ALostPieceCostsTheStepsBetweenTheLaunchesAroundIt) {
  RankTrace trace = damaged(three_steps(), FileLoss::pieces);
  trace.lost_between = {{130, 160}};
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(false, true, false));
  trace.lost_between = {{160, 210}};
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(false, true, true));
  trace.lost_between = {{INT64_MIN, 10}};
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(true, false, false));
  trace.lost_between = {{260, INT64_MAX}};
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(false, false, true));
}

TEST(LostSteps, ACutCostsTheStepsThatGoOnBehindTheLastLaunch) {
  RankTrace trace = damaged(three_steps(), FileLoss::rest);
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(false, false, false));  // launches stand in front: all are here
  trace.launches_until_ns = 160;
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(false, true, true));
}

TEST(LostSteps, WithGraphsACutCostsTheStepOfTheLastEvent) {
  RankTrace trace = damaged(three_steps(), FileLoss::rest);
  trace.launches_graphs = true;
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(false, false, true));
}

TEST(LostSteps, StretchesOfTimeAreJudgedByTheSameEndOfACutFileAsSteps) {
  RankTrace trace = damaged(three_steps(), FileLoss::rest);
  trace.launches_until_ns = 160;
  EXPECT_FALSE(may_have_lost_events(trace, {140, 160}));
  EXPECT_TRUE(may_have_lost_events(trace, {150, 170}));
  trace.launches_graphs = true;
  EXPECT_TRUE(may_have_lost_events(trace, {150, 170})) << "whichever is earlier: the last launch, or that of the last event";
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(false, true, true));
  trace.launches_until_ns = absent_ns;
  EXPECT_FALSE(may_have_lost_events(trace, {200, 255}));
  EXPECT_TRUE(may_have_lost_events(trace, {200, 256}));
  trace = damaged(three_steps().kernel("lone", 400, 5, not_launched), FileLoss::rest);
  trace.launches_graphs = true;
  EXPECT_TRUE(may_have_lost_events(trace, {256, 300})) << "an event without a launch tells of no launch";
}

TEST(LostSteps, WithoutLaunchesACutCostsTheLastStepAndAPieceAnyStep) {
  RankTrace trace = TraceBuilder().step(4, 0, 100).step(5, 100, 200)
                        .kernel("a", 10, 10, not_launched).kernel("b", 150, 10, not_launched)
                        .build();
  trace.loss = FileLoss::rest;
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(false, true));
  trace.loss = FileLoss::pieces;
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(true, true));
}

TEST(LostSteps, WithoutMarkersTheWholeTraceIsTheStep) {
  RankTrace trace = damaged(TraceBuilder().kernel("a", 10, 10), FileLoss::pieces);
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(false));
  trace.lone_launches_ns = {40};
  EXPECT_THAT(find_lost_steps(trace), ElementsAre(true));
}

TEST(LostSteps, WhatIsLeftOfThemIsOutsideEveryStep) {
  RankTrace trace = damaged(three_steps(), FileLoss::pieces);
  trace.lone_launches_ns = {150, 250};
  EXPECT_EQ(leave_out_lost_steps(trace), "steps 5-6 lost events with the damage of the file");
  EXPECT_EQ(trace.outside_events_count, 6);
  EXPECT_FALSE(trace.steps[0].lost_events);
  EXPECT_TRUE(trace.steps[1].lost_events);
  EXPECT_THAT(std::vector<std::int32_t>(trace.events.step.begin(), trace.events.step.end()),
              ElementsAre(0, 0, 0, -1, -1, -1, -1, -1, -1));
}

}  // namespace
}  // namespace ccl
