#include "exchange/graph_alone.hpp"

#include <gtest/gtest.h>

#include "exchange/graph_ops.hpp"

namespace ccl {
namespace {

using test::MadeOp;
using test::graph_of;

MadeOp made(std::int32_t rank, std::int64_t start_ns, std::int64_t end_ns, std::uint64_t instance = 0) {
  MadeOp op;
  op.start_ns = start_ns;
  op.end_ns = end_ns;
  op.rank_row = rank;
  op.instance = instance;
  if (instance == 0) return op;
  op.kind = EventKind::communication;
  op.op = CollectiveOp::all_reduce;
  op.group_size = 2;
  return op;
}

TEST(GraphAlone, ComputeOfAStageWithOneRankHasNoPeers) {
  const StepGraph step = graph_of({made(0, 0, 10), made(1, 0, 20), made(2, 0, 40)});
  const ComputeTime time = compute_time(step, {0, 1, 0});
  EXPECT_EQ(time.all_ns, 70);
  EXPECT_EQ(time.one_rank_ns, 20);
  EXPECT_EQ(compute_time(step, {-1, -1, -1}).one_rank_ns, 0);
}

TEST(GraphAlone, CommunicationThatOneGroupOnlyHasIsComparedWithItself) {
  std::vector<MadeOp> ops{made(0, 0, 10, 1), made(1, 0, 10, 1), made(0, 20, 30, 2), made(1, 20, 30, 2)};
  EXPECT_EQ(one_group_ns(graph_of(ops)), 40);
  ops.push_back(made(2, 0, 10, 3)), ops.push_back(made(3, 0, 10, 3));
  EXPECT_EQ(one_group_ns(graph_of(ops)), 0);
}

}  // namespace
}  // namespace ccl
