#include <gtest/gtest.h>

#include "exchange/match_parts.hpp"
#include "exchange/planted_world.hpp"

namespace ccl {
namespace {

using test::PlantedWorld;
using test::ranks_up_to;

TEST(Match, RecordsStay128BytesAndVerdicts24) {
  EXPECT_EQ(sizeof(CollectiveRecord), 128U);
  EXPECT_LE(sizeof(RecordVerdict), 32U);
}

TEST(Match, OneLateRankIsNamed) {
  PlantedWorld world({0, 0, 0, 0});
  const GroupId dp = world.add_group("dp", ranks_up_to(4));
  world.collective(dp, {100, 130, 900, 110}, 1000);
  const MatchedCollectives matched = world.assemble_alone();
  ASSERT_EQ(matched.instances.size(), 1U);
  const MatchedInstance& i = matched.instances[0];
  EXPECT_EQ(i.rule, MatchRule::ordinal);
  EXPECT_EQ(i.last_rank, 2);   // the smallest duration
  EXPECT_EQ(i.first_rank, 0);
  EXPECT_EQ(i.transfer_ns, 100);
  EXPECT_EQ(i.lag_ns, 800);
  EXPECT_EQ(i.delay_ns, 770);  // until rank 1, the second last
  EXPECT_EQ(i.wait_sum_ns, 800 + 770 + 0 + 790);
  EXPECT_EQ(i.start_spread_file_ns, 800);
  EXPECT_EQ(i.members_seen, 4);
  EXPECT_FALSE(i.tie);
  EXPECT_FALSE(i.incomplete);
  EXPECT_EQ(i.payload_bytes, 1024);
  EXPECT_EQ(i.wire_bytes, 1024 * 2 * 3 / 4);
  EXPECT_EQ(matched.members[1].wait_ns, 770);
}

TEST(Match, TieGoesToTheLowestRank) {
  PlantedWorld world({0, 0, 0});
  const GroupId dp = world.add_group("dp", ranks_up_to(3));
  world.collective(dp, {100, 500, 500}, 1000);
  const MatchedInstance i = world.assemble_alone().instances.at(0);
  EXPECT_EQ(i.last_rank, 1);
  EXPECT_TRUE(i.tie);
  EXPECT_EQ(i.delay_ns, 0);
}

TEST(Match, MissingMemberMakesItIncomplete) {
  PlantedWorld world({0, 0});  // ranks 2 and 3 have no trace
  const GroupId dp = world.add_group("dp", ranks_up_to(4));
  world.collective(dp, {100, 200}, 1000);
  Problems problems;
  const MatchedInstance i = world.assemble_alone(problems).instances.at(0);
  EXPECT_TRUE(i.incomplete);
  EXPECT_EQ(i.group_size, 4);
  EXPECT_EQ(i.members_seen, 2);
  EXPECT_EQ(problems.count(Code::collective_incomplete), 1);
}

TEST(Match, KernelsFromBeforeTheProfilerAreNoCandidates) {
  PlantedWorld world({0, 0});
  const GroupId dp = world.add_group("dp", ranks_up_to(2));
  for (int k = 0; k < 3; ++k) {  // only on rank 0
    CollectiveRecord& early = world.add(dp, 0, k * 10, k * 10 + 5);
    early.has_arguments = early.launched = false;
  }
  world.collective(dp, {100, 150}, 200);
  world.collective(dp, {300, 310}, 400);
  Problems problems;
  const MatchedCollectives matched = world.assemble_alone(problems);
  ASSERT_EQ(matched.instances.size(), 2U);
  EXPECT_EQ(matched.instances[0].transfer_ns, 50);
  EXPECT_EQ(matched.instances[0].rule, MatchRule::ordinal);
  EXPECT_EQ(problems.count(Code::collective_unmatched), 0);
}

TEST(Match, DroppedLeadingKernelsAreAlignedByTheEnds) {
  PlantedWorld world({0, 0, 0});
  const GroupId dp = world.add_group("dp", ranks_up_to(3));
  for (std::int64_t k = 0; k < 10; ++k) {
    const std::int64_t end_ns = 1'000'000 * (k + 1) + 3000 * k * k;  // unevenly spaced, all of one size
    for (std::int32_t r = 0; r < 3; ++r)
      if (r != 1 || k >= 3) world.add(dp, r, end_ns - 500 - 100 * r, end_ns);
  }
  Problems problems;
  const MatchedCollectives matched = world.assemble_alone(problems);
  ASSERT_EQ(matched.instances.size(), 10U);
  for (std::size_t k = 0; k < 10; ++k) {
    EXPECT_EQ(matched.instances[k].rule, MatchRule::aligned);
    EXPECT_EQ(matched.instances[k].members_seen, k < 3 ? 2 : 3);
    EXPECT_TRUE(matched.instances[k].credible);
    EXPECT_EQ(matched.instances[k].last_rank, 0);
  }
  EXPECT_EQ(problems.count(Code::collective_unmatched), 0);
}

TEST(Match, UnequalCountsAreAlignedBySignature) {
  PlantedWorld world({0, 0});
  const GroupId dp = world.add_group("dp", ranks_up_to(2));
  const std::vector<std::int64_t> sizes{10, 20, 30, 40};
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const auto end_ns = static_cast<std::int64_t>(1000 * (k + 1));
    world.add(dp, 0, end_ns - 300, end_ns, CollectiveOp::all_reduce, sizes[k]);
    if (k != 2) world.add(dp, 1, end_ns - 200, end_ns, CollectiveOp::all_reduce, sizes[k]);
  }
  world.collective(dp, {100'000, 100'100}, 101'000, CollectiveOp::all_gather, 1);
  Problems problems;
  const MatchedCollectives matched = world.assemble_alone(problems);
  ASSERT_EQ(matched.instances.size(), 4U);
  std::vector<std::int64_t> payloads;
  for (const MatchedInstance& i : matched.instances)
    if (i.rule == MatchRule::aligned) payloads.push_back(i.payload_bytes);
  EXPECT_EQ(payloads, (std::vector<std::int64_t>{10, 20, 40}));
  EXPECT_EQ(problems.count(Code::collective_unmatched), 1);
}

TEST(Match, EqualCountsWithOtherSizesAreNotTrusted) {
  PlantedWorld world({0, 0});
  const GroupId dp = world.add_group("dp", ranks_up_to(2));
  for (const std::int32_t rank : {0, 1})
    for (std::int64_t k = rank; k < 3 + rank; ++k)  // rank 1 misses the first, rank 0 the last
      world.add(dp, rank, 1000 * k, 1000 * k + 500, CollectiveOp::all_reduce, 100 + k);
  const MatchedCollectives matched = world.assemble_alone();
  ASSERT_EQ(matched.instances.size(), 2U);
  EXPECT_EQ(matched.instances[0].payload_bytes, 101);
  EXPECT_EQ(matched.instances[0].rule, MatchRule::aligned);
}

TEST(Match, StepsThatOneMemberLacksAreLeftOut) {
  PlantedWorld world({0, 0}, {5, 6});
  world.ranks.entries[1].facts.steps.pop_back();
  const GroupId dp = world.add_group("dp", ranks_up_to(2));
  world.collective(dp, {100, 150}, 200, CollectiveOp::all_reduce, 8, 5);
  world.add(dp, 0, 300, 400).step = 6;
  Problems problems;
  const MatchedCollectives matched = world.assemble_alone(problems);
  ASSERT_EQ(matched.instances.size(), 1U);
  EXPECT_EQ(matched.instances[0].step, 5);
  ASSERT_EQ(problems.count(Code::collective_unmatched), 1);
  EXPECT_NE(problems.rows()[0].detail.find("step_only_here"), std::string::npos);
}

TEST(Match, RanksOutsideCrossRankNumbersAreLeftOut) {
  PlantedWorld world({0, 0, 0});
  world.ranks.entries[2].takes_part = false;
  const GroupId dp = world.add_group("dp", ranks_up_to(3));
  world.collective(dp, {100, 150, 120}, 200);
  const MatchedInstance i = world.assemble_alone().instances.at(0);
  EXPECT_EQ(i.members_seen, 2);
  EXPECT_TRUE(i.incomplete);
}

TEST(Match, SequenceNumbersIgnoreTheStep) {
  PlantedWorld world({0, 0});
  const GroupId dp = world.add_group("dp", ranks_up_to(2));
  world.groups.groups[0].sequence_everywhere = true;
  for (std::int64_t k = 0; k < 4; ++k) {
    CollectiveRecord& a = world.add(dp, 0, 1000 * k, 1000 * k + 300);
    a.sequence = 70 + k;
    if (k == 0) continue;  // rank 1's window starts one collective later, and its step one after that
    CollectiveRecord& b = world.add(dp, 1, 1000 * k + 100, 1000 * k + 300);
    b.sequence = 70 + k;
    if (k == 1) b.step = outside_step;
  }
  Problems problems;
  const MatchedCollectives matched = world.assemble_alone(problems);
  ASSERT_EQ(matched.instances.size(), 3U);
  EXPECT_EQ(matched.instances[0].sequence, 71);
  EXPECT_EQ(matched.instances[0].step, 0);
  EXPECT_EQ(matched.instances[0].rule, MatchRule::sequence);
  EXPECT_EQ(problems.count(Code::collective_unmatched), 1);
}

TEST(Match, SendsMeetTheirReceives) {
  PlantedWorld world({0, 0, 0});
  const GroupId pp = world.add_group("pp", ranks_up_to(3));
  for (std::int64_t k = 0; k < 2; ++k) {
    world.add(pp, 0, 1000 * k, 1000 * k + 400, CollectiveOp::send, 64).peer = 1;
    world.add(pp, 1, 1000 * k + 200, 1000 * k + 410, CollectiveOp::recv, 64).peer = 0;
    world.add(pp, 1, 1000 * k + 500, 1000 * k + 600, CollectiveOp::send, 32).peer = 2;
    world.add(pp, 2, 1000 * k + 300, 1000 * k + 600, CollectiveOp::recv, 32).peer = 1;
  }
  world.add(pp, 2, 5000, 5100, CollectiveOp::send_recv);  // peer unknown
  Problems problems;
  const MatchedCollectives matched = world.assemble_alone(problems);
  ASSERT_EQ(matched.instances.size(), 4U);
  for (const MatchedInstance& i : matched.instances) {
    EXPECT_EQ(i.rule, MatchRule::pair);
    EXPECT_EQ(i.last_rank, -1);
    EXPECT_FALSE(i.incomplete);
    EXPECT_LT(matched.members[i.first_member].rank, matched.members[i.first_member + 1].rank);  // sender first
  }
  EXPECT_EQ(problems.count(Code::collective_unmatched), 1);
}

TEST(Match, MessagesThatOvertakeEachOtherAreSuspect) {
  for (const bool overtaken : {true, false}) {
    PlantedWorld world({0, 0});
    const GroupId pp = world.add_group("pp", ranks_up_to(2));
    for (const std::int64_t k : {0, 1, 2, 3}) world.add(pp, 0, 1000 * k, 1000 * k + 100, CollectiveOp::send, 64).peer = 1;
    // Of two communicators: the second receive, begun later, gets the message of the second send.
    for (const auto& [start, end] : {std::pair{0, 100}, {200, 2100}, {900, 1100}, {2900, 3100}})
      world.add(pp, 1, start, overtaken || end != 2100 ? end : 300, CollectiveOp::recv, 64).peer = 0;
    Problems problems;
    const MatchedCollectives matched = world.assemble_alone(problems);
    ASSERT_EQ(matched.instances.size(), 4U);
    for (const MatchedInstance& i : matched.instances) {
      EXPECT_EQ(i.suspect, overtaken && (i.ordinal == 1 || i.ordinal == 2)) << i.ordinal;
      EXPECT_EQ(i.transfer_ns < 0, i.suspect);
      EXPECT_TRUE(i.credible);
    }
    EXPECT_EQ(problems.count(Code::collective_suspect), overtaken ? 2 : 0);
  }
}

TEST(Match, MessagesOfAnotherSizeMayOvertake) {
  PlantedWorld world({0, 0});
  const GroupId pp = world.add_group("pp", ranks_up_to(2));
  for (const std::int64_t k : {0, 1, 2}) {
    world.add(pp, 0, 1000 * k, 1000 * k + 100, CollectiveOp::send, k == 0 ? 8 : 64).peer = 1;
    world.add(pp, 1, 1000 * k + 10, k == 0 ? 2500 : 1000 * k + 100, CollectiveOp::recv, k == 0 ? 8 : 64).peer = 0;
  }
  Problems problems;
  for (const MatchedInstance& i : world.assemble_alone(problems).instances) EXPECT_FALSE(i.suspect && i.rule == MatchRule::pair && i.ordinal > 0);
}

TEST(Match, InAGroupOfTwoThePeerIsTheOther) {
  PlantedWorld world({0, 0});
  const GroupId pp = world.add_group("pp", ranks_up_to(2));
  world.add(pp, 1, 100, 200, CollectiveOp::send, 64);
  world.add(pp, 0, 150, 200, CollectiveOp::recv, 64);
  const MatchedCollectives matched = world.assemble_alone();
  ASSERT_EQ(matched.instances.size(), 1U);
  EXPECT_EQ(matched.members[0].rank, RankId(1));
  EXPECT_EQ(matched.instances[0].payload_bytes, 64);
}

TEST(Match, AllToAllTakesTheLargerSideOfAnyMember) {
  PlantedWorld world({0, 0});
  const GroupId ep = world.add_group("ep", ranks_up_to(2));
  world.collective(ep, {100, 110}, 200, CollectiveOp::all_to_allv, 100);
  world.records[1].in_bytes = 60;
  world.records[1].out_bytes = 300;
  const MatchedCollectives matched = world.assemble_alone();
  ASSERT_EQ(matched.instances.size(), 1U);
  EXPECT_EQ(matched.instances[0].payload_bytes, 300);
  EXPECT_EQ(matched.members[1].payload_bytes, 60);
}

TEST(Match, ContradictingSizesAreCounted) {
  PlantedWorld world({0, 0});
  const GroupId dp = world.add_group("dp", ranks_up_to(2));
  world.collective(dp, {100, 110}, 200, CollectiveOp::all_gather, 100);  // in = out, though n = 2
  Problems problems;
  world.assemble_alone(problems);
  EXPECT_EQ(problems.count(Code::inout_disagree), 2);
  EXPECT_NE(problems.rows()[0].detail.find("most on rank 0 (1 of 2); first: all_gather with In 100 and Out 100 bytes"),
            std::string::npos)
      << problems.rows()[0].detail;
}

std::string only_detail(const PlantedWorld& world, Code code) {
  Problems problems;
  world.assemble_alone(problems);
  std::string text;
  for (const Problem& problem : problems.rows())
    if (problem.code == code) text += problem.detail + "\n";
  return text;
}

TEST(Match, TheMissingMemberIsNamed) {
  PlantedWorld world({0, 0, 0});
  const GroupId dp = world.add_group("dp", {0, 1, 2, 5, 9});
  for (const std::int32_t rank : {0, 1, 2}) world.add(dp, rank, 100 + rank, 500);
  EXPECT_NE(only_detail(world, Code::collective_incomplete).find("rank 5 and 1 more of it are missing"), std::string::npos);
}

TEST(Match, OperationsThatDisagreeUnderOneNumberAreNamed) {
  PlantedWorld world({0, 0, 0});
  const GroupId dp = world.add_group("dp", ranks_up_to(3));
  world.groups.groups[0].sequence_everywhere = true;
  for (const std::int32_t rank : {0, 1, 2})
    world.add(dp, rank, 100, 500, rank == 2 ? CollectiveOp::all_gather : CollectiveOp::all_reduce, 96).sequence = 71;
  const std::string detail = only_detail(world, Code::collective_unmatched);
  EXPECT_NE(detail.find("differ in operation or size under one sequence number"), std::string::npos) << detail;
  EXPECT_NE(detail.find("sequence 71, rank 0 all_reduce of 96 bytes, rank 2 all_gather of 96 bytes"), std::string::npos) << detail;
}

TEST(Match, TheRankWithMostUnmatchedIsNamed) {
  PlantedWorld world({0, 0, 0});
  const GroupId dp = world.add_group("dp", ranks_up_to(3));
  for (std::int64_t k = 0; k < 2; ++k) world.collective(dp, {1000 * k, 1000 * k + 10, 1000 * k + 20}, 1000 * k + 500);
  for (std::int64_t k = 2; k < 5; ++k) world.add(dp, 1, 1000 * k, 1000 * k + 500, CollectiveOp::barrier, 0);
  const std::string detail = only_detail(world, Code::collective_unmatched);
  EXPECT_NE(detail.find("no other member has it, all on rank 1; first: rank 1 barrier"), std::string::npos) << detail;
}

TEST(Match, SplitListsThatDoNotFitTheSizesAreNoticed) {
  RankTrace trace;
  trace.events.start_ns.push_back(100);
  trace.events.dur_ns.push_back(50);
  trace.events.name.push_back(0);
  trace.events.kind.push_back(EventKind::communication);
  trace.events.step.push_back(-1);
  trace.events.correlation.push_back(0);
  trace.events.launch_ns.push_back(absent_ns);
  trace.events.launch_thread.push_back(0);
  trace.events.lane.push_back(0);
  trace.lanes = {{0, 7}};
  trace.devices = {0};
  trace.groups.emplace_back();
  trace.splits = {3, 5, 4, 4};
  Collective exchange;
  exchange.op = CollectiveOp::all_to_allv;
  exchange.dtype = Dtype::bfloat16;
  exchange.in_elements = 8 * 64, exchange.out_elements = 8 * 64;
  exchange.first_split = 0, exchange.splits_count = 2, exchange.first_out_split = 2, exchange.out_splits_count = 2;
  trace.collectives.push_back(exchange);
  EXPECT_FALSE(make_records(trace, 0).at(0).splits_disagree);
  trace.splits[0] = 4;  // nine rows can not fill eight
  EXPECT_TRUE(make_records(trace, 0).at(0).splits_disagree);
}

TEST(Match, BroadcastHasATransferAndNothingElse) {
  PlantedWorld world({0, 0});
  const GroupId dp = world.add_group("dp", ranks_up_to(2));
  world.collective(dp, {100, 150}, 200, CollectiveOp::broadcast);
  const MatchedInstance i = world.assemble_alone().instances.at(0);
  EXPECT_EQ(i.transfer_ns, 50);
  EXPECT_EQ(i.lag_ns, -1);
  EXPECT_EQ(i.last_rank, -1);
}

}  // namespace
}  // namespace ccl
