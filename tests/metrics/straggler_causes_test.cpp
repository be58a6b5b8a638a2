#include "metrics/straggler_causes.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

using namespace straggler;

// Two all-reduces on stream 8; between them `compute_ns` of two kernels and then `idle_ns` before a late launch.
RankTrace between(std::int32_t rank, std::int64_t compute_ns, std::int64_t idle_ns) {
  const std::int64_t start = 100 + compute_ns + idle_ns;
  TraceBuilder builder;
  builder.rank(rank).group("dp", "mesh_dp", {0, 1, 2}, -1, Dimension::dp).step(0, 0, 10000);
  builder.stream(8).collective(CollectiveOp::all_reduce, "dp", 64, 0, 100);
  builder.stream(7).kernel("gemm", 100, compute_ns / 2, 1).kernel("gemm", 100 + compute_ns / 2, compute_ns / 2, 2);
  builder.stream(8).collective(CollectiveOp::all_reduce, "dp", 64, start, 2000 - start, idle_ns > 0 ? start - 1 : 3);
  return builder.build();
}

std::string cause_of_rank_2(RankTrace late) {
  SmallRun run;
  run.add(between(0, 400, 0)).add(between(1, 400, 0)).add(std::move(late));
  const MetricResult result = run.result("straggler_lag");
  std::int64_t blame_ns = 0;
  std::string cause;
  const ResultTable& causes = table(result, "causes");
  for (std::int64_t row = 0; row < causes.rows_count; ++row) {
    EXPECT_EQ(integer_at(result, "causes", row, "rank"), 2);
    EXPECT_EQ(integer_at(result, "causes", row, "origin_rank"), 2);
    blame_ns += integer_at(result, "causes", row, "blame_ns");
    cause += text_at(result, "causes", row, "cause") + " ";
  }
  EXPECT_EQ(blame_ns, 300) << "the parts are the delay";
  return cause;
}

TEST(StragglerCauses, SlowKernelsAndLateLaunchesAreTold) {
  EXPECT_EQ(cause_of_rank_2(between(2, 700, 0)), "slow_compute ");
  EXPECT_EQ(cause_of_rank_2(between(2, 400, 300)), "late_launch ");
}

CauseSums blamed(std::int32_t rank, std::uint64_t group, std::int64_t delay_ns, std::int64_t by_compute_ns,
                 std::int64_t by_communication_ns) {
  CauseSums row;
  row.step.step = 1;
  row.rank = RankId(rank);
  row.group = GroupId(group);
  row.last_count = row.instances_count = 1;
  row.delay_ns = delay_ns;
  row.by_compute_ns = by_compute_ns;
  row.by_communication_ns = by_communication_ns;
  return row;
}
Elsewhere elsewhere(std::int32_t rank, std::uint64_t group, std::uint64_t other, std::int32_t whom, std::int64_t ns) {
  return {-1, RankId(rank), -1, GroupId(group), GroupId(other), whom, ns, 1};
}

TEST(StragglerCauses, BlameMovesOnThroughNestedGroups) {
  // Rank 4 is late in group 1 for it waits for rank 2 in group 2, which waits for rank 0 in group 3: slow kernels.
  const std::vector<CauseSums> causes = {blamed(0, 3, 500, 500, 0), blamed(2, 2, 800, 0, 800),
                                         blamed(4, 1, 1000, 100, 900)};
  const std::vector<Elsewhere> waits = {elsewhere(2, 2, 3, 0, 5000), elsewhere(4, 1, 2, 2, 900)};
  const Explanation explanation = explain(causes, waits, {}, Groups(), Stages(), -1);
  std::int64_t total_ns = 0, from_rank_0_ns = 0;
  for (const Origin& origin : explanation.origins) {
    if (origin.rank != RankId(4)) continue;
    total_ns += origin.blame_ns;
    if (origin.origin_rank == RankId(0) && origin.cause == Cause::compute) from_rank_0_ns += origin.blame_ns;
  }
  EXPECT_EQ(total_ns, 1000);
  EXPECT_EQ(from_rank_0_ns, 900);
  EXPECT_NE(cause_sentence(explanation, causes, -1, RankId(4), Groups()).find("it waits for rank 0"), std::string::npos);
}

TEST(StragglerCauses, CirclesEnd) {
  const std::vector<CauseSums> causes = {blamed(0, 1, 1000, 0, 1000), blamed(1, 2, 1000, 0, 1000)};
  const std::vector<Elsewhere> waits = {elsewhere(0, 1, 2, 1, 1000), elsewhere(1, 2, 1, 0, 1000)};
  std::int64_t total_ns = 0;
  for (const Origin& origin : explain(causes, waits, {}, Groups(), Stages(), -1).origins) total_ns += origin.blame_ns;
  EXPECT_EQ(total_ns, 2000);
}

TEST(StragglerCauses, ASlowLinkIsOneAmongLikeGroups) {
  std::vector<Transfer> transfers;
  for (std::uint64_t group = 1; group <= 4; ++group) {
    Transfer row;
    row.group = GroupId(group);
    row.dimension = Dimension::tp;
    row.group_size = 2;
    row.payload_bytes = 64;
    row.count = 10;
    row.transfer_ns = group == 3 ? 4000 : 1000;
    transfers.push_back(row);
  }
  transfers.push_back(transfers[0]);
  transfers.back().group = GroupId(9);
  transfers.back().payload_bytes = 640;  // nothing like it
  transfers.back().transfer_ns = 90000;
  const std::vector<CauseSums> causes = {blamed(5, 7, 3000, 0, 3000)};
  const std::vector<Elsewhere> waits = {elsewhere(5, 7, 3, -1, 4000)};
  const Explanation explanation = explain(causes, waits, transfers, Groups(), Stages(), -1);
  ASSERT_EQ(explanation.slow_groups.size(), 1U);
  EXPECT_EQ(explanation.slow_groups[0].group, GroupId(3));
  EXPECT_DOUBLE_EQ(explanation.slow_groups[0].times, 4);
  ASSERT_EQ(explanation.origins.size(), 1U);
  EXPECT_EQ(explanation.origins[0].cause, Cause::link);
  EXPECT_EQ(explanation.origins[0].blame_ns, 3000);
}

/// Ranks 0 and 1 are stage 0 and ranks 2 and 3 stage 1 of two pipelines: groups 1 "dp" of stage 0, 2 "pp" of ranks 0, 2.
Groups two_pipelines() {
  Groups groups;
  const auto add = [&](std::uint64_t id, Dimension dimension, std::vector<std::int32_t> members) {
    Group group;
    group.id = GroupId(id);
    group.dimension = dimension;
    group.size = static_cast<std::int32_t>(members.size());
    group.members = std::move(members);
    group.members_complete = true;
    groups.groups.push_back(group);
  };
  add(1, Dimension::dp, {0, 1});
  add(2, Dimension::pp, {0, 2});
  add(3, Dimension::pp, {1, 3});
  return groups;
}

TEST(StragglerCauses, BeingLastByTheOrderOfStagesIsNotItsOwn) {
  const Groups groups = two_pipelines();
  Ranks ranks;
  ranks.expected = 4;
  const Stages stages(ranks, groups, Workload());
  EXPECT_TRUE(stages.alone(groups.groups[1], RankId(0)));
  EXPECT_FALSE(stages.alone(groups.groups[0], RankId(0)));
  const std::vector<CauseSums> causes = {blamed(0, 1, 300, 200, 60), blamed(0, 2, 5000, 0, 0)};
  const std::vector<OwnBlame> own = own_blames(causes, {}, groups, stages);
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0].by_step, (std::vector<std::pair<StepId, std::int64_t>>{{causes[0].step, 240}})) << "300 - 60 elsewhere";
  EXPECT_EQ(own[0].last_count, 1);
}

TEST(StragglerCauses, WhoIsBehindInManyCollectivesIsLateOnce) {
  const Groups groups = two_pipelines();
  CauseSums row = blamed(1, 1, 9000, 500, 0);
  row.behind_ns = 8500;
  const std::vector<Compute> computes = {{row.step, RankId(0), -1, 10'000, 0, absent_ns, absent_ns},
                                         {row.step, RankId(1), -1, 13'000, 0, absent_ns, absent_ns}};
  const std::vector<OwnBlame> own = own_blames(std::vector<CauseSums>{row}, computes, groups, Stages());
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0].by_step[0].second, 3000) << "what it computes longer than rank 0";
  EXPECT_NE(own_sentence(own[0], std::vector<CauseSums>{row}, computes, {}, groups, Stages()).find("1.30 x as long"),
            std::string::npos);
}

/// A step of ranks 0 and 1: rank 1 is late by 3000 at 20 collectives; its CPU step and first launch begin late by so much.
CauseSums late_step(std::int64_t step, std::int64_t start_ns, std::int64_t launch_ns, std::vector<Compute>& computes) {
  CauseSums row = blamed(1, 1, 60'000, 0, 0);
  row.step.step = step;
  row.last_count = 20;
  row.by_launch_ns = row.late_ns = 60'000;
  row.lasting_ns = 57'000;
  row.first_ns = row.kept_ns = 3000;
  computes.push_back({row.step, RankId(0), -1, 10'000, 0, 0, 100});
  computes.push_back({row.step, RankId(1), -1, 10'000, 0, start_ns, 100 + launch_ns});
  return row;
}

TEST(StragglerCauses, LagThatLastsOverStepsIsMadeInTheFirst) {
  std::vector<Compute> computes;
  const std::vector<CauseSums> causes = {late_step(1, 0, 0, computes), late_step(2, 3000, 3000, computes),
                                         late_step(3, 0, 3000, computes)};
  const std::vector<OwnBlame> own = own_blames(causes, computes, two_pipelines(), Stages());
  ASSERT_EQ(own.size(), 1U);
  ASSERT_EQ(own[0].by_step.size(), 3U);
  EXPECT_EQ(own[0].by_step[0].second, 3000);
  EXPECT_EQ(own[0].by_step[1].second, 0) << "its step begins as late as the one before ended";
  EXPECT_EQ(own[0].by_step[2].second, 3000) << "its step begins with the others', and its first launch late";
  EXPECT_EQ(own[0].parts.count({Cause::launch, GroupId(1)}), 1U);
  EXPECT_EQ(own[0].parts.at({Cause::before, GroupId(1)}), (std::vector<std::pair<StepId, std::int64_t>>{{{-1, 3}, 3000}}));
}

TEST(StragglerCauses, ARankWithoutPeersIsHeldAgainstItsOwnHistory) {
  std::vector<Compute> computes;
  for (std::int64_t step = 0; step < 6; ++step)
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      Compute row;
      row.step.step = step;
      row.rank = RankId(rank);
      row.compute_ns = (rank == 1 && step >= 4 ? 13'000 : 10'000) + step;
      if (step >= 5) row.compute_ns += row.compute_ns / 5;  // for all
      computes.push_back(row);
    }
  const std::vector<Slower> slower = slower_than_before(computes);
  ASSERT_EQ(slower.size(), 1U);
  EXPECT_EQ(slower[0].rank, RankId(1));
  EXPECT_EQ(slower[0].since.step, 4);
  EXPECT_NEAR(slower[0].times, 1.3, 0.01);
  computes.resize(9);
  EXPECT_TRUE(slower_than_before(computes).empty()) << "three steps are no history";
}

/// Messages of four pairs in six steps; those of ranks 2 and 6 take three times as long in the steps given.
std::vector<Transfer> slow_in_steps(std::int64_t first, std::int64_t last) {
  std::vector<Transfer> transfers;
  for (std::int32_t pair = 0; pair < 4; ++pair)
    for (std::int64_t step = 0; step < 6; ++step) {
      Transfer row;
      row.step = {-1, step};
      row.group = GroupId(7);
      row.rank_a = pair, row.rank_b = pair + 4;
      row.payload_bytes = 64;
      row.count = 10;
      row.transfer_ns = pair == 2 && first <= step && step <= last ? 30'000 : 10'000;
      transfers.push_back(row);
    }
  return transfers;
}

TEST(StragglerCauses, SlownessOfALinkIsSaidOfTheStepsThatShowIt) {
  const char* const since[] = {"in all 6 steps", "since step 1 (5 of 6 steps)", "since step 2 (4 of 6 steps)",
                               "since step 3 (3 of 6 steps)", "since step 4 (2 of 6 steps)"};
  for (std::int64_t first = 0; first < 5; ++first) {
    const std::vector<SlowGroup> slow = find_slow_groups(slow_in_steps(first, 5), 0);
    ASSERT_EQ(slow.size(), 1U) << first;
    EXPECT_EQ(persistence_text(slow[0].persistence, slow[0].onset), since[first]);
    EXPECT_DOUBLE_EQ(slow[0].times, 3) << first;
    EXPECT_EQ(slow[0].steps_count, 6 - first);
    EXPECT_DOUBLE_EQ(slow[0].more_ns, 20'000.0 * static_cast<double>(6 - first));
  }
  const std::vector<SlowGroup> over = find_slow_groups(slow_in_steps(1, 3), 0);
  ASSERT_EQ(over.size(), 1U);
  EXPECT_EQ(persistence_text(over[0].persistence, over[0].onset), "in steps 1-3 only (3 of 6)");
  EXPECT_DOUBLE_EQ(over[0].times, 3);
}

TEST(StragglerCauses, MessagesOfASlowPairAreFoundAndOthersNot) {
  const std::vector<Transfer> transfers = slow_in_steps(4, 5);
  const std::vector<SlowGroup> slow = find_slow_groups(transfers, 200);
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow[0].rank_a, 2);
  EXPECT_EQ(slow[0].rank_b, 6);
  EXPECT_DOUBLE_EQ(slow[0].times, 3);
  EXPECT_EQ(slow[0].onset->step, 4);
  EXPECT_EQ(slow[0].steps_count, 2);
  EXPECT_TRUE(find_slow_groups(transfers, 2000).empty()) << "no more than the clocks may say falsely";
}

// Rank 0 is last in "dp" at 900; before, it waits in "tp" from 200 to 600 for rank 3 and transfers to 700.
TEST(StragglerCauses, WaitsInOtherGroupsBeforeBeingLastAreKept) {
  const GroupId dp(1), tp(2);
  std::vector<CollectiveRecord> records(2);
  records[0].group = tp;
  records[0].start_ns = 200;
  records[0].dur_ns = 500;
  records[1].group = dp;
  records[1].start_ns = 900;
  records[1].dur_ns = 10;
  records[1].before.compute_ns = 800;
  for (CollectiveRecord& record : records) {
    record.op = CollectiveOp::all_reduce;
    record.step = 1;
    record.rank = RankId(0);
  }
  const std::vector<RecordVerdict> verdicts = {{0, 3, 100, 600}, {1, 0, 10, 900}};
  RankEntry entry;
  entry.rank = RankId(0);
  std::vector<Elsewhere> out;
  add_elsewhere({0, entry, {}, records, verdicts}, out);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0].for_rank, -1);  // by key: the transfer first
  EXPECT_EQ(out[0].time_ns, 100);
  EXPECT_EQ(out[1].for_rank, 3);
  EXPECT_EQ(out[1].time_ns, 400);
}

}  // namespace
}  // namespace ccl::test
