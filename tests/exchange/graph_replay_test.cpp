// Steps replayed: with the measured times, and by many cases at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "exchange/graph_ideal.hpp"
#include "exchange/graph_ops.hpp"
#include "exchange/graph_short.hpp"

namespace ccl {
namespace {

using test::MadeOp;
using test::graph_of;
using test::op;
using test::reduce;
using test::slow_and_fast;
using test::slow_rank;

/// Ranks with two streams and messages in all directions, on clocks that differ: some members of a match end before others start.
std::vector<MadeOp> step_by_chance(unsigned seed) {
  std::mt19937 random(seed);
  const auto up_to = [&](unsigned most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  std::vector<MadeOp> ops;
  std::vector<std::int64_t> now_ns(8), off_ns;
  for (std::size_t rank = 0; rank < now_ns.size(); ++rank) off_ns.push_back(up_to(40));
  const auto kernel = [&](std::size_t rank) {
    const std::int64_t start_ns = now_ns[rank] + up_to(5), end_ns = start_ns + up_to(30);
    ops.push_back(op(static_cast<std::int32_t>(rank), off_ns[rank] + start_ns, off_ns[rank] + end_ns, "gemm", up_to(2) == 0 ? 2 : 0));
    now_ns[rank] = end_ns;
  };
  for (std::uint64_t id = 1; id <= 60; ++id) {
    std::vector<std::size_t> members;
    for (std::size_t rank = 0; rank < now_ns.size(); ++rank)
      if (up_to(2) == 0) members.push_back(rank);
    if (members.size() < 2) continue;
    std::int64_t last_ns = 0;
    for (const std::size_t rank : members) {
      for (std::int64_t kernels = up_to(3); kernels > 0; --kernels) kernel(rank);
      last_ns = std::max(last_ns, now_ns[rank]);
    }
    for (const std::size_t rank : members) {
      const std::int64_t end_ns = last_ns + 1 + up_to(20);
      ops.push_back(reduce(static_cast<std::int32_t>(rank), off_ns[rank] + now_ns[rank], off_ns[rank] + end_ns, id));
      if (up_to(3) > 0) now_ns[rank] = end_ns;  // else what follows runs beside it
    }
  }
  return ops;
}

TEST(StepGraph, EveryStartAndEndIsGivenBackByTheMeasuredTimes) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const MeasuredGraph graph = graph_of(step_by_chance(seed));
    const Replay again = replay(graph, graph.measured);
    std::size_t different = 0;
    for (std::size_t i = 0; i < graph.size(); ++i)
      different += again.start_ns[i] != graph.ops[i].start_ns - graph.start_ns || again.end_ns[i] != graph.ops[i].end_ns - graph.start_ns;
    EXPECT_EQ(different, 0U) << "of " << graph.size();
    EXPECT_EQ(again.length_ns, graph.length_ns());
    }
}

TEST(ShortGraph, ReplaysAsTheWholeGraph) {
  const MeasuredGraph graph = graph_of(slow_and_fast());
  const Peers peers = peers_of(graph, {0, 0});
  const GraphTimes ideal = ideal_times(graph, peers, IdealForm::median);
  const ShortGraph less = shorten(graph, ideal);
  EXPECT_EQ(less.ops.size(), 6U) << "three kernels of each rank are one";
  GraphTimes hidden = graph.measured;
  for (std::size_t i = 0; i < graph.size(); ++i) hidden.run_ns[i] = 0;
  const auto length_ns = [&](const GraphTimes& from, const GraphTimes& to, std::int32_t rank, bool with_gaps) {
    const auto run = [&](std::size_t i) { return graph.ops[i].rank_row == rank; };
    return replay(graph, changed_times(from, to, run, [&](std::size_t i) { return with_gaps && run(i); })).length_ns;
  };
  const std::vector<Processors> lent(2, own_processors());
  for (const std::size_t lent_count : {0U, 1U, 2U}) {
    SCOPED_TRACE(lent_count);
    CaseReplays replays(less, std::span(lent).first(lent_count));
    // More than go in one pass, and both kinds of change in turn.
    std::vector<std::size_t> both, runs, hides;
    const std::vector<std::int32_t> ranks{-1, 0, 1, 2};  // -1 and 2: nobody's times change
    for (const std::int32_t rank : ranks) {
      both.push_back(replays.add(ShortChange::ideal, [&](const ShortKind& op, bool) { return op.rank_row == rank; }));
      runs.push_back(replays.add(ShortChange::ideal, [&](const ShortKind& op, bool run) { return run && op.rank_row == rank; }));
      if (rank == 1) hides.push_back(replays.add(ShortChange::hidden, [&](const ShortKind& op, bool run) { return run && op.rank_row == rank; }));
    }
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      EXPECT_EQ(replays.of(both[r]).fixed_ns, length_ns(graph.measured, ideal, ranks[r], true)) << ranks[r];
      EXPECT_EQ(replays.of(both[r]).only_ns, length_ns(ideal, graph.measured, ranks[r], true)) << ranks[r];
      EXPECT_EQ(replays.of(runs[r]).fixed_ns, length_ns(graph.measured, ideal, ranks[r], false)) << ranks[r];
      EXPECT_EQ(replays.of(runs[r]).only_ns, length_ns(ideal, graph.measured, ranks[r], false)) << ranks[r];
    }
    EXPECT_EQ(replays.of(hides[0]).fixed_ns, length_ns(graph.measured, hidden, 1, false));
    EXPECT_EQ(replays.of(hides[0]).only_ns, length_ns(ideal, graph.measured, 1, false));
  }
}

TEST(ShortGraph, ReplaysAnyStepAsTheWholeGraph) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const MeasuredGraph graph = graph_of(step_by_chance(seed));
    const std::vector<std::int32_t> stages(8, 0);
    const GraphTimes ideal = ideal_times(graph, peers_of(graph, stages), IdealForm::median);
    const ShortGraph less = shorten(graph, ideal);
    GraphTimes hidden = graph.measured;
    for (std::size_t i = 0; i < graph.size(); ++i)
      if (is_with_others(graph, i)) hidden.run_ns[i] = graph.unseen.of(i) < 0 ? 0 : hidden.run_ns[i] - graph.unseen.of(i);
    const auto never = [](std::size_t) { return false; };
    CaseReplays replays(less);
    for (std::int32_t rank = -1; rank < 8; ++rank) {
      const std::size_t hides = replays.add(ShortChange::hidden, [&](const ShortKind& op, bool run) {
        return run && op.with_others && op.rank_row != rank;
      });
      const auto hidden_of = [&](std::size_t i) { return is_with_others(graph, i) && graph.ops[i].rank_row != rank; };
      EXPECT_EQ(replays.of(hides).fixed_ns, replay(graph, changed_times(graph.measured, hidden, hidden_of, never)).length_ns) << rank;
      const std::size_t runs = replays.add(ShortChange::ideal, [&](const ShortKind& op, bool run) { return run && op.rank_row == rank; });
      const std::size_t number = replays.add(ShortChange::ideal, [&](const ShortKind& op, bool) { return op.rank_row == rank; });
      const auto of_rank = [&](std::size_t i) { return graph.ops[i].rank_row == rank; };
      EXPECT_EQ(replays.of(runs).fixed_ns, replay(graph, changed_times(graph.measured, ideal, of_rank, never)).length_ns) << rank;
      EXPECT_EQ(replays.of(number).fixed_ns, replay(graph, changed_times(graph.measured, ideal, of_rank, of_rank)).length_ns) << rank;
      EXPECT_EQ(replays.of(number).only_ns, replay(graph, changed_times(ideal, graph.measured, of_rank, of_rank)).length_ns) << rank;
    }
  }
}

TEST(ShortGraph, TimesOfMoreThanTwoSecondsAreKept) {
  constexpr std::int64_t far_ns = 5'000'000'000, most_ns = 2'147'483'647;
  ShortTimesList times(3);
  times.add(0, {1, 2, 3, 4}, 5);
  times.add(1, {far_ns, 0, 0, 0}, 0);
  times.add(1, {0, 0, 0, -far_ns}, 7);
  times.add(2, {most_ns, 0, 0, 0}, 0);
  times.add(2, {1, 0, 0, 0}, 0);
  times.add(2, {-2, 0, 0, 0}, 0);
  const auto all = [&](std::size_t i) {
    const ShortTimes of = times[i];
    return std::vector<std::int64_t>{of.measured_gap_ns, of.ideal_gap_ns, of.measured_run_ns, of.ideal_run_ns, times.hidden_run_ns(i)};
  };
  EXPECT_EQ(all(0), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(all(1), (std::vector<std::int64_t>{far_ns, 0, 0, -far_ns, 7}));
  EXPECT_EQ(all(2), (std::vector<std::int64_t>{most_ns - 1, 0, 0, 0, 0}));
  times.add(0, {0, 0, 0, 0}, far_ns);
  times.add(0, {0, 0, 0, 0}, -far_ns);
  EXPECT_EQ(all(0), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace ccl
