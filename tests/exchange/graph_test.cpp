#include "exchange/graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "exchange/graph_ideal.hpp"
#include "exchange/graph_ops.hpp"
#include "exchange/graph_path.hpp"

namespace ccl {
namespace {

using test::MadeOp;
using test::graph_of;
using test::op;
using test::reduce;
using test::slow_and_fast;
using test::slow_rank;

const std::vector<std::int32_t> no_stages{-1, -1, -1};

TEST(StepGraph, MeasuredTimesReplayToTheMeasuredStep) {
  const MeasuredGraph graph = graph_of(slow_rank());
  ASSERT_TRUE(graph.cut.empty());
  const Replay again = replay(graph, graph.measured);
  EXPECT_EQ(again.length_ns, 405);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    EXPECT_EQ(again.start_ns[i], graph.ops[i].start_ns) << i;
    EXPECT_EQ(again.end_ns[i], graph.ops[i].end_ns) << i;
  }
}

TEST(StepGraph, ASlowRankAmongItsPeersIsTakenBackByTheMedian) {
  const MeasuredGraph graph = graph_of(slow_rank());
  EXPECT_EQ(replay(graph, ideal_times(graph, peers_of(graph, no_stages), IdealForm::median)).length_ns, 205);
  // The mean of 100, 300 and 100 is 166.
  EXPECT_EQ(replay(graph, ideal_times(graph, peers_of(graph, no_stages), IdealForm::mean)).length_ns, 271);
}

TEST(StepGraph, StagesOfAPipelineAreNoPeers) {
  const MeasuredGraph graph = graph_of(slow_rank());
  EXPECT_EQ(replay(graph, ideal_times(graph, peers_of(graph, {0, 1, 0}), IdealForm::median)).length_ns, 405);
}

TEST(StepGraph, WithoutTransfersTheWaitForTheLastRankStays) {
  const MeasuredGraph graph = graph_of(slow_rank());
  GraphTimes times = graph.measured;
  for (std::size_t i = 0; i < graph.size(); ++i)
    if (graph.match[i] >= 0) times.run_ns[i] = 0;
  EXPECT_EQ(replay(graph, times).length_ns, 355);
}

TEST(StepGraph, LateLaunchesShrinkToThoseOfThePeers) {
  std::vector<MadeOp> ops;
  for (const std::int32_t rank : {0, 1, 2}) {
    const std::int64_t late_ns = rank == 2 ? 80 : 0;
    ops.push_back(op(rank, 0, 100, "gemm"));
    ops.back().launch_ns = -5;
    ops.push_back(op(rank, 105 + late_ns, 200 + late_ns, "silu"));
    ops.back().launch_ns = rank == 2 ? 180 : 2;
  }
  const MeasuredGraph graph = graph_of(ops);
  const GraphTimes ideal = ideal_times(graph, peers_of(graph, no_stages), IdealForm::median);
  EXPECT_EQ(replay(graph, graph.measured).length_ns, 280);
  EXPECT_EQ(replay(graph, ideal).length_ns, 200);
}

// All launch as fast as each other; rank 2 lost 80 before its second launch and is late in both collectives by that.
TEST(StepGraph, ALagThatPersistsIsTakenBackOnce) {
  std::vector<MadeOp> ops;
  for (const std::int32_t rank : {0, 1, 2}) {
    const std::int64_t late_ns = rank == 2 ? 80 : 0;
    ops.push_back(op(rank, 0, 10, "gemm"));
    ops.back().launch_ns = -2;
    const std::int64_t first_ns = 50 + late_ns, second_ns = std::max<std::int64_t>(150 + late_ns, 140);
    ops.push_back(reduce(rank, first_ns, 140, 1));
    ops.back().launch_ns = first_ns - 2;
    ops.push_back(reduce(rank, second_ns, 240, 2));
    ops.back().launch_ns = second_ns - 2;
  }
  const MeasuredGraph graph = graph_of(ops);
  EXPECT_EQ(replay(graph, graph.measured).length_ns, 240);
  EXPECT_EQ(replay(graph, ideal_times(graph, peers_of(graph, no_stages), IdealForm::median)).length_ns, 160);
}

TEST(StepGraph, ALateStartIsALateLaunchToo) {
  std::vector<MadeOp> ops{op(0, 0, 100, "gemm"), op(1, 30, 130, "gemm"), op(2, 0, 100, "gemm")};
  ops[1].launch_ns = 20;
  const MeasuredGraph graph = graph_of(ops);
  EXPECT_EQ(replay(graph, graph.measured).length_ns, 130);
  EXPECT_EQ(replay(graph, ideal_times(graph, peers_of(graph, no_stages), IdealForm::median)).length_ns, 100);
}

TEST(StepGraph, OfMatchesThatContradictTheOrderOnTheRanksTheWorstIsCut) {
  // Rank 0 has match 1 before 2, rank 1 has 2 before 1; of match 2 the members are further apart. Match 3 is well.
  std::vector<MadeOp> ops{reduce(0, 0, 30, 1),  reduce(0, 40, 50, 2), reduce(0, 60, 80, 3),
                           reduce(1, 0, 10, 2), reduce(1, 20, 30, 1), reduce(1, 70, 80, 3)};
  const MeasuredGraph graph = graph_of(ops);
  EXPECT_EQ(graph.cut, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 3}}));
  EXPECT_EQ(graph.match, (std::vector<std::int32_t>{0, -1, 1, -1, 0, 1}));
  EXPECT_EQ(graph.order.size(), graph.size());
  EXPECT_EQ(replay(graph, graph.measured).length_ns, 80);
  std::int64_t sum_ns = 0;
  for (const PathPart& part : critical_path_of(graph)) sum_ns += part.length_ns();
  EXPECT_EQ(sum_ns, 80);
}

TEST(StepGraph, ManyContradictionsAreCutAndTheRestStays) {
  // Pairs 2k and 2k + 1 are crossed; every fifth match after them is well.
  std::vector<MadeOp> ops;
  std::int64_t t_ns = 0;
  std::uint64_t id = 1;
  for (int k = 0; k < 100; ++k, t_ns += 100, id += 3) {
    ops.push_back(reduce(0, t_ns, t_ns + 10, id)), ops.push_back(reduce(0, t_ns + 20, t_ns + 30, id + 1));
    ops.push_back(reduce(1, t_ns, t_ns + 10, id + 1)), ops.push_back(reduce(1, t_ns + 20, t_ns + 30, id));
    ops.push_back(reduce(0, t_ns + 50, t_ns + 60, id + 2)), ops.push_back(reduce(1, t_ns + 55, t_ns + 60, id + 2));
  }
  const MeasuredGraph graph = graph_of(ops);
  EXPECT_EQ(graph.cut.size(), 100U);
  EXPECT_EQ(graph.first_member.size() - 1, 200U);  // one of each crossed pair and the good ones
}

TEST(StepGraph, AMatchThatARankHasTwiceIsCut) {
  const MeasuredGraph graph = graph_of({reduce(0, 0, 10, 1), reduce(0, 20, 30, 1), reduce(1, 0, 10, 1)});
  EXPECT_EQ(graph.cut.size(), 1U);
  EXPECT_EQ(graph.order.size(), 3U);
}

TEST(StepGraph, AMemberWhoseOthersAreMissingStandsAlone) {
  const MeasuredGraph graph = graph_of({reduce(0, 0, 10, 1), op(0, 20, 30, "gemm")});
  EXPECT_EQ(graph.match, (std::vector<std::int32_t>{-1, -1}));
  EXPECT_EQ(replay(graph, graph.measured).length_ns, 30);
}

TEST(StepGraph, AnIdleStretchIsReplayedAfterAllThatEndedBefore) {
  // The second kernel starts after the copy on another stream has ended; both are its predecessors.
  MadeOp copy = op(0, 20, 60, "memcpy", 5);
  copy.kind = EventKind::memory_copy;
  const MeasuredGraph graph = graph_of({op(0, 0, 50, "gemm"), copy, op(0, 70, 90, "silu")});
  ASSERT_EQ(graph.preds_of(2).size(), 2U);
  EXPECT_EQ(graph.measured.gap_ns[2], 10);
}

/// Two ranks: kernels on one stream, a gather on another that the last kernel needs. Rank 0 takes twice as long, so that
TEST(StepGraph, WhatARankDidNotWaitForIsNotNeededOnItsPeers) {
  const MeasuredGraph graph = graph_of(slow_and_fast());
  ASSERT_EQ(graph.ops[3].start_ns, 400);  // of rank 0: the third kernel, after the gather
  EXPECT_EQ(graph.preds_of(3).size(), 1U);
  EXPECT_EQ(graph.preds_of(4).size(), 2U) << "both need it for the last";
  std::vector<MadeOp> alone = slow_and_fast();
  alone.resize(5);
  EXPECT_EQ(graph_of(alone).preds_of(3).size(), 2U) << "without peers the order is all that is known";
}

TEST(StepGraph, OfTwoPeersTheFasterOneIsTheMeasure) {
  const MeasuredGraph graph = graph_of(slow_and_fast());
  const GraphTimes ideal = ideal_times(graph, peers_of(graph, {0, 0}), IdealForm::median);
  EXPECT_EQ(replay(graph, graph.measured).length_ns, 900);
  EXPECT_EQ(replay(graph, ideal).length_ns, 600);
  EXPECT_EQ(ideal_times(graph, peers_of(graph, {0, 0}), IdealForm::mean).run_ns[0], 150);
}

TEST(StepGraph, TheFirstOperationOfADeviceStartsNoLaterThanOnItsPeers) {
  std::vector<MadeOp> ops{op(0, 0, 100, "gemm"), op(1, 40, 140, "gemm"), op(2, 0, 100, "gemm")};
  for (MadeOp& made : ops) made.launch_ns = -50;  // long before: the GPU was busy with the step before
  const MeasuredGraph graph = graph_of(ops);
  EXPECT_EQ(replay(graph, ideal_times(graph, peers_of(graph, no_stages), IdealForm::median)).length_ns, 100);
}

TEST(StepGraph, OperationsThatEndAsTheyStartDoNotWaitForEachOther) {
  const MeasuredGraph graph = graph_of({op(0, 0, 10, "gemm"), op(0, 10, 10, "memset", 1), op(0, 10, 10, "memset", 2)});
  EXPECT_TRUE(graph.cut.empty());
  EXPECT_EQ(graph.preds_of(0).size(), 0U);
}

TEST(StepGraph, WhatAnotherHasWaitedForIsNotWaitedForAgain) {
  const auto waits_of_last = [](std::int64_t end_of_first) {
    // On stream 1 two follow each other, the second behind the first of stream 0; the last waits for both streams.
    const MeasuredGraph graph = graph_of({op(0, 0, 10, "gemm"), op(0, 0, end_of_first, "copy", 1), op(0, 12, 20, "copy", 1),
                                          op(0, 20, 30, "gemm")});
    const auto preds = graph.preds_of(graph.size() - 1);
    std::vector<std::int64_t> starts_ns;
    for (const std::uint32_t pred : preds) starts_ns.push_back(graph.ops[pred].start_ns);
    return starts_ns;
  };
  EXPECT_EQ(waits_of_last(12), std::vector<std::int64_t>{12});
  // It began before its own stream was free: a replay may end it before what it waited for.
  EXPECT_EQ(waits_of_last(13), (std::vector<std::int64_t>{0, 12}));
}

TEST(CriticalPath, GoesThroughTheLastRankAndAddsUpToTheStep) {
  const MeasuredGraph graph = graph_of(slow_rank());
  std::vector<std::tuple<std::int32_t, PathCategory, std::int64_t>> seen;
  for (const PathPart& part : critical_path_of(graph))
    seen.emplace_back(graph.ops[part.op].rank_row, part.category, part.length_ns());
  const std::vector<std::tuple<std::int32_t, PathCategory, std::int64_t>> expected{
      {0, PathCategory::compute, 40},
      {0, PathCategory::idle, 5},
      {0, PathCategory::communication, 50},
      {1, PathCategory::idle, 10},
      {1, PathCategory::compute, 300}};
  EXPECT_EQ(seen, expected);
}

TEST(CriticalPath, IdleBeforeALateLaunchIsLaunchTime) {
  std::vector<MadeOp> ops{op(0, 5, 100, "gemm"), op(0, 150, 200, "silu")};
  ops[1].launch_ns = 140;
  const std::vector<PathPart> path = critical_path_of(graph_of(ops));
  ASSERT_EQ(path.size(), 3U);
  EXPECT_EQ(path[1].category, PathCategory::launch);
  EXPECT_EQ(path[1].length_ns(), 50);
}

TEST(StepGraph, TransfersBetweenHostsAreNoPeersOfThoseWithinOne) {
  // Ranks 0 and 1 are on one host and reduce in 10, ranks 0 and 2 on two hosts in 50, three times each.
  std::vector<MadeOp> ops;
  std::uint64_t id = 1;
  for (std::int64_t t_ns = 0; t_ns < 300; t_ns += 100, id += 2) {
    ops.push_back(reduce(0, t_ns, t_ns + 10, id)), ops.push_back(reduce(1, t_ns, t_ns + 10, id));
    ops.push_back(reduce(0, t_ns + 20, t_ns + 70, id + 1)), ops.push_back(reduce(2, t_ns + 20, t_ns + 70, id + 1));
  }
  for (MadeOp& op : ops) op.group_size = 2;
  const MeasuredGraph graph = graph_of(ops);
  const GraphTimes apart = ideal_times(graph, peers_of(graph, no_stages, {0, 0, 1}), IdealForm::median);
  EXPECT_EQ(apart.run_ns, graph.measured.run_ns);
  EXPECT_NE(ideal_times(graph, peers_of(graph, no_stages), IdealForm::median).run_ns, graph.measured.run_ns);
}

TEST(UnseenTransfer, IsThatOfCompleteOnesOfItsKind) {
  // Ranks 0 and 1 of a group of three, then all three of them, whose transfer is 20.
  std::vector<MadeOp> ops{reduce(0, 0, 100, 1), reduce(1, 30, 100, 1)};
  for (const std::int32_t rank : {0, 1, 2}) ops.push_back(reduce(rank, rank == 1 ? 130 : 110, 150, 2));
  const MeasuredGraph graph = graph_of(ops);
  EXPECT_EQ(graph.unseen.of(0), 20);   // ops are by rank: this is rank 0 of the first
  EXPECT_EQ(graph.unseen.of(1), -1);
  std::map<PathCategory, std::int64_t> sums;
  for (const PathPart& part : critical_path_of(graph)) sums[part.category] += part.length_ns();
  EXPECT_EQ(sums[PathCategory::communication], 20 + 20);
  EXPECT_EQ(sums[PathCategory::unseparated], 50);  // from rank 1's start to 20 before the end
  const GraphTimes ideal = ideal_times(graph, peers_of(graph, no_stages), IdealForm::median);
  EXPECT_EQ(ideal.run_ns[0], 20);
}

TEST(UnseenTransfer, WithoutACompleteOneNothingIsTakenForTransfer) {
  const MeasuredGraph graph = graph_of({reduce(0, 0, 100, 1), reduce(1, 30, 100, 1)});
  EXPECT_EQ(graph.unseen.of(0), 0);
  std::map<PathCategory, std::int64_t> sums;
  for (const PathPart& part : critical_path_of(graph)) sums[part.category] += part.length_ns();
  EXPECT_EQ(sums[PathCategory::communication], 0);
  EXPECT_EQ(sums[PathCategory::unseparated], 70);
  EXPECT_EQ(ideal_times(graph, peers_of(graph, no_stages), IdealForm::median).run_ns, graph.measured.run_ns);
}

TEST(Slack, IsNoneOnThePathAndTheWaitElsewhere) {
  const MeasuredGraph graph = graph_of(slow_rank());
  const std::vector<std::int64_t> slack = slack_ns(graph, graph.measured);
  EXPECT_EQ(slack, (std::vector<std::int64_t>{200, 200, 0, 0, 0, 0, 200, 200, 0}));
}

}  // namespace
}  // namespace ccl
