#include <gtest/gtest.h>

#include <algorithm>

#include "exchange/graph.hpp"
#include "exchange/planted_world.hpp"
#include "support/mpi_world.hpp"
#include "support/trace_builder.hpp"

namespace ccl {
namespace {

using test::PlantedWorld;
using test::ranks_up_to;
using test::TraceBuilder;
using test::world;

constexpr std::int32_t ranks_count = 7, members_count = 6;  // the last rank is in no group
constexpr std::int64_t steps_count = 4, step_ns = 100'000;

std::int64_t begin_ns(std::int64_t step, std::int32_t rank) { return step * step_ns + 100 + rank; }
std::int64_t arrival_ns(std::int64_t step, std::int32_t rank) { return begin_ns(step, rank) + 1000; }
std::int64_t leave_ns(std::int64_t step) { return step * step_ns + 5000; }

PlantedWorld seven_ranks() {
  PlantedWorld planted({0, 0, 0, 0, 1, 1, 1}, {0, 1, 2, 3});
  planted.host_offset_ns = {0, 700};
  const GroupId group = planted.add_group("six", ranks_up_to(members_count));
  planted.groups.groups[0].dimension = Dimension::dp;
  for (std::int64_t step = 0; step < steps_count; ++step) {
    std::vector<std::int64_t> starts;
    for (std::int32_t r = 0; r < members_count; ++r) starts.push_back(arrival_ns(step, r));
    planted.collective(group, starts, leave_ns(step), CollectiveOp::all_reduce, 4096, step);
  }
  return planted;
}

/// A kernel on stream 7 and, of members, a collective on stream 20 in each step; the last rank has a kernel in step 1 only.
RankTrace trace_of(const PlantedWorld& planted, std::int32_t rank) {
  TraceBuilder builder;
  builder.rank(rank).group("six", "", ranks_up_to(members_count));
  const auto shown = [&](std::int64_t t_ns) { return planted.on_clock_of(rank, t_ns); };
  for (std::int64_t step = 0; step < steps_count; ++step) {
    builder.step(step, shown(step * step_ns), shown((step + 1) * step_ns));
    if (rank >= members_count && step != 1) continue;
    const std::int64_t start_ns = shown(begin_ns(step, rank));
    builder.stream(7).kernel("gemm of " + std::to_string(rank), start_ns, 50 + rank, start_ns - 20);
    if (rank >= members_count) continue;
    const std::int64_t arrival = shown(arrival_ns(step, rank));
    builder.stream(20).collective(CollectiveOp::all_reduce, "six", 4096, arrival, shown(leave_ns(step)) - arrival, arrival - 30);
  }
  return builder.build();
}

TEST(GraphGather, EachStepReachesItsOwnerByRankAndTimeWithWhatWasMatched) {
  PlantedWorld planted = seven_ranks();
  const std::int32_t workers = world().num_workers(), me = world().worker();
  planted.deal_ranks(workers);
  const std::vector<CollectiveRecord> records = planted.shares(workers)[static_cast<std::size_t>(me)];
  Problems problems;
  const Matched matched = match(records, planted.ranks, planted.groups, world(), problems);
  ASSERT_EQ(matched.clock.hosts[1].offset_ns, -700);

  StringTable strings;
  std::vector<RankChain> chains;
  std::size_t first_record = 0;
  for (std::int32_t rank = me; rank < ranks_count; rank += workers) {
    chains.insert(chains.begin(), {rank, Chain(trace_of(planted, rank), strings), {0, 1, 2, 3}, first_record});
    if (rank < members_count) first_record += steps_count;
  }
  ASSERT_EQ(first_record, records.size());
  GraphGather gather(std::move(chains), records, matched, planted.ranks, planted.groups, world());
  ASSERT_EQ(gather.rounds_count(), static_cast<std::size_t>((steps_count + workers - 1) / workers));
  for (std::size_t round = 0; round < gather.rounds_count(); ++round) {
    const auto [key, of_step] = gather.step_of(round);
    const std::vector<GraphOp>& ops = of_step.ops;
    const std::vector<int> owners = gather.owners(round);
    const auto own = std::find(owners.begin(), owners.end(), me);
    const std::int64_t step = static_cast<std::int64_t>(round) * workers + (own - owners.begin());
    if (own == owners.end()) {
      EXPECT_TRUE(ops.empty());
      continue;
    }
    EXPECT_EQ(key, (StepKey{{-1, step}, -1}));
    ASSERT_EQ(ops.size(), step == 1 ? 13U : 12U);
    EXPECT_NE(of_step.communication_of(1).instance, 0U);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const GraphOp& op = ops[i];
      const auto rank = static_cast<std::int32_t>(i / 2);
      EXPECT_EQ(op.rank_row, rank);
      const GraphCommunication& of = of_step.communication_of(i);
      EXPECT_EQ(op.device_row, 0);
      if (i % 2 == 0) {
        EXPECT_EQ(op.kind, EventKind::compute);
        EXPECT_EQ(op.name, string_id("gemm of " + std::to_string(rank)));
        EXPECT_EQ(op.start_ns, begin_ns(step, rank));
        EXPECT_EQ(op.end_ns, begin_ns(step, rank) + 50 + rank);
        EXPECT_EQ(op.launch_ns, begin_ns(step, rank) - 20);
        EXPECT_EQ(of.instance, 0U);
        EXPECT_EQ(of.group_size, -1);
        EXPECT_EQ(of.payload_bytes, -1);
        EXPECT_EQ(of.dimension, Dimension::unknown);
      } else {
        EXPECT_EQ(op.kind, EventKind::communication);
        EXPECT_EQ(op.start_ns, arrival_ns(step, rank));
        EXPECT_EQ(op.end_ns, leave_ns(step));
        EXPECT_EQ(op.launch_ns, arrival_ns(step, rank) - 30);
        EXPECT_EQ(of.instance, of_step.communication_of(1).instance);
        EXPECT_EQ(of.op, CollectiveOp::all_reduce);
        EXPECT_EQ(of.group_size, members_count);
        EXPECT_EQ(of.payload_bytes, 4096);
        EXPECT_EQ(of.dimension, Dimension::dp);
        EXPECT_NE(op.lane, ops[i - 1].lane);
      }
    }
  }
  EXPECT_EQ(world().sum(gather.bytes_sent()) > 0, workers > 1);
}

}  // namespace
}  // namespace ccl
