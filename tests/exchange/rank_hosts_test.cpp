#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/ranks.hpp"
#include "rank_builder.hpp"

namespace ccl {
namespace {

using test::RankBuilder;
using testing::ElementsAre;

std::vector<std::string> hosts_of(const Ranks& ranks) {
  std::vector<std::string> hosts;
  for (const RankEntry& e : ranks.entries) hosts.push_back(e.host);
  return hosts;
}

LinkClass link(const Ranks& ranks, std::vector<std::int32_t> members) { return ranks.link_class(-1, -1, members); }

/// Ranks as given, each on the device of its number modulo `ordinals`.
RankBuilder placed(std::vector<std::int32_t> numbers, std::int32_t ordinals, std::int32_t gpus_in_node = 0) {
  RankBuilder b;
  for (const std::int32_t rank : numbers) {
    RankFacts& f = b.add("rank" + std::to_string(rank) + ".json", rank);
    f.devices = {rank % ordinals};
    f.gpus_in_node = gpus_in_node;
  }
  return b;
}

TEST(Hosts, OrderOfTrust) {
  RankBuilder b;
  b.add("a", 0).host = "inside";
  b.add("b", 1).host = "inside";
  b.add("c", 2);
  b.input.files[2].host_in_name = "named";
  b.add("d", 3);
  b.input.host_map = {{0, "mapped"}};
  b.input.workload.gpus_per_node = {4, "card"};
  const Ranks ranks = b.resolve();
  EXPECT_THAT(hosts_of(ranks), ElementsAre("mapped", "inside", "named", "mapped"));
  EXPECT_EQ(ranks.entries[0].host_source, HostSource::option);
  EXPECT_EQ(ranks.entries[1].host_source, HostSource::content);
  EXPECT_EQ(ranks.entries[2].host_source, HostSource::file_name);
  EXPECT_EQ(ranks.entries[3].host_source, HostSource::card);
  EXPECT_THAT(ranks.hosts, ElementsAre("inside", "mapped", "named"));
  EXPECT_EQ(ranks.entries[0].host_index, 1);
}

TEST(Hosts, AlignedDeviceOrdinalsAreBlocks) {
  const Ranks ranks = placed({0, 1, 6, 7, 16}, 8, 8).resolve();
  EXPECT_THAT(hosts_of(ranks), ElementsAre("ranks 0-7", "ranks 0-7", "ranks 0-7", "ranks 0-7", "ranks 16-23"));
  EXPECT_EQ(ranks.entries[0].host_source, HostSource::block);
  EXPECT_EQ(link(ranks, {0, 7}), LinkClass::intra);
  EXPECT_EQ(link(ranks, {0, 16}), LinkClass::inter);
  EXPECT_EQ(link(ranks, {0, 3}), LinkClass::intra);  // 3 has no trace, but its block is known
  EXPECT_EQ(link(ranks, {0, 12}), LinkClass::inter);
}

TEST(Hosts, HighestOrdinalCountsWhenLarger) {
  const Ranks ranks = placed({0, 1, 2, 3, 4, 5, 6, 7}, 4, 1).resolve();
  EXPECT_EQ(ranks.hosts.size(), 2u);
}

TEST(Hosts, OneVisibleGpuPerProcessTellsNothing) {
  const Ranks ranks = placed({0, 1, 2}, 1, 1).resolve();
  EXPECT_THAT(ranks.hosts, ElementsAre("?0", "?1", "?2"));
  EXPECT_EQ(ranks.entries[0].host_source, HostSource::unknown);
  EXPECT_EQ(link(ranks, {0, 1}), LinkClass::unknown);
  EXPECT_EQ(link(ranks, {0, 9}), LinkClass::unknown);
}

TEST(Hosts, OrdinalsOutOfPlaceTellNothing) {
  RankBuilder shifted = placed({0, 1, 2, 3}, 4);
  shifted.facts[0].devices = {3};
  shifted.facts[3].devices = {0};
  EXPECT_EQ(shifted.resolve().entries[1].host_source, HostSource::unknown);
  RankBuilder several = placed({0, 1, 2, 3}, 4);
  several.facts[2].devices = {2, 3};
  EXPECT_EQ(several.resolve().entries[1].host_source, HostSource::unknown);
}

TEST(Hosts, CardCountWhenNothingElse) {
  RankBuilder b = placed({0, 1, 2, 3}, 1, 1);
  b.input.workload.gpus_per_node = {2, "card"};
  const Ranks ranks = b.resolve();
  EXPECT_THAT(ranks.hosts, ElementsAre("ranks 0-1", "ranks 2-3"));
  EXPECT_EQ(ranks.entries[0].host_source, HostSource::card);
  EXPECT_EQ(link(ranks, {2, 3}), LinkClass::intra);
}

TEST(Hosts, RanksDealtOutInTurnContradictTheBlocksOfTheCard) {
  RankBuilder b = placed({0, 1, 2, 3, 4, 5, 6, 7}, 4, 4);
  for (RankFacts& f : b.facts) f.devices = {f.rank.value / 2};
  b.input.workload.gpus_per_node = {4, "card"};
  b.input.workload.card_file = "card.yaml";
  const Ranks ranks = b.resolve();
  EXPECT_EQ(ranks.hosts.size(), 8U);
  EXPECT_EQ(ranks.ranks_per_host, 0);
  EXPECT_EQ(ranks.entries[0].host_source, HostSource::unknown);
  EXPECT_EQ(link(ranks, {0, 1}), LinkClass::unknown);
  ASSERT_EQ(b.problems.count(Code::card_disagrees), 1);
  EXPECT_EQ(b.problems.rows()[0].file, "card.yaml");
  EXPECT_EQ(b.problems.rows()[0].detail,
            "its 4 GPUs in a node would put ranks 0 and 1 on one host, but both used GPU 0: hosts are unknown (give --host-map)");
}

TEST(Hosts, WhoGaveAMapIsToldToMendIt) {
  Ranks ranks;
  EXPECT_EQ(host_map_advice(ranks, 0, 1), "give --host-map");
  ranks.host_map = {{0, "a"}, {1, "a"}};
  EXPECT_EQ(host_map_advice(ranks, 0, 1), "correct --host-map");
  EXPECT_EQ(host_map_advice(ranks, 0, 2), "add them to --host-map");
}

TEST(Hosts, OneHostKnownByNameDoesNotHideThatTheCardIsWrong) {
  RankBuilder b = placed({0, 1, 2, 3}, 2, 2);
  for (RankFacts& f : b.facts) f.devices = {f.rank.value / 2};
  b.facts[0].host = "node1";
  b.input.workload.gpus_per_node = {2, "card"};
  EXPECT_THAT(b.resolve().hosts, ElementsAre("?1", "?2", "?3", "node1"));
  EXPECT_EQ(b.problems.count(Code::card_disagrees), 1);
}

TEST(Hosts, EqualOrdinalsTellNothingWhereAllRanksShowThem) {
  RankBuilder b = placed({0, 1, 2, 3}, 1, 2);  // each process sees the two GPUs it uses
  for (RankFacts& f : b.facts) f.devices = {0, 1};
  b.input.workload.gpus_per_node = {4, "card"};
  EXPECT_THAT(b.resolve().hosts, ElementsAre("ranks 0-3"));
  EXPECT_EQ(b.problems.count(Code::card_disagrees), 0);
}

TEST(Hosts, ASecondDeviceThatAllRanksTouchIsNoContradiction) {
  RankBuilder b = placed({0, 1, 2, 3}, 4, 4);
  for (RankFacts& f : b.facts)
    if (f.rank.value > 0) f.devices = {0, f.rank.value};
  b.input.workload.gpus_per_node = {4, "card"};
  EXPECT_THAT(b.resolve().hosts, ElementsAre("ranks 0-3"));
  EXPECT_EQ(b.problems.count(Code::card_disagrees), 0);
}

TEST(Hosts, SeveralIterationsOfARankShareItsDevice) {
  RankBuilder b = placed({0, 1, 3}, 4, 1);  // with a gap, and the ordinals of 3 out of place
  b.facts[2].devices = {2};
  for (const std::int32_t rank : {0, 1, 3}) {
    RankFacts& f = b.add("later" + std::to_string(rank), rank);
    f.iteration = 2;
    f.devices = b.facts[rank == 3 ? 2U : static_cast<std::size_t>(rank)].devices;
  }
  for (std::size_t i = 0; i < 3; ++i) b.facts[i].iteration = 1;
  b.input.workload.gpus_per_node = {4, "card"};
  EXPECT_THAT(b.resolve().hosts, ElementsAre("ranks 0-3"));
  EXPECT_EQ(b.problems.count(Code::card_disagrees), 0);
}

TEST(Hosts, HostMapCoversRanksWithoutATrace) {
  RankBuilder b = placed({0, 1}, 1, 1);
  b.input.host_map = {{0, "a"}, {1, "b"}, {2, "b"}};
  const Ranks ranks = b.resolve();
  EXPECT_EQ(link(ranks, {1, 2}), LinkClass::intra);
  EXPECT_EQ(link(ranks, {0, 1, 2}), LinkClass::inter);
  EXPECT_EQ(link(ranks, {0, 3}), LinkClass::unknown);
}

TEST(Hosts, ABlockNamesNoRankThatTheJobDoesNotHave) {
  RankBuilder b = placed({0, 1, 2, 3}, 4, 8);
  for (RankFacts& f : b.facts) f.world_size = 4;
  EXPECT_THAT(b.resolve().hosts, ElementsAre("ranks 0-3"));
}

TEST(Hosts, ARankWithoutGpuEventsDoesNotSpoilTheBlocks) {
  RankBuilder b = placed({0, 1, 2, 3}, 4, 4);
  b.facts[2].devices.clear();
  const Ranks ranks = b.resolve();
  EXPECT_EQ(ranks.entries[0].host, "ranks 0-3");
  EXPECT_EQ(ranks.entries[2].host, "?2");
}

TEST(Hosts, WhatADamagedFileSaysOfItsNodeCountsOnlyWhereNoWholeOneDoes) {
  RankBuilder b = placed({0, 1, 2, 3}, 4, 4);
  b.facts[1].gpus_in_node = 2357;
  b.facts[1].lost_events_count = 1;
  EXPECT_EQ(b.resolve().entries[0].host, "ranks 0-3");
  EXPECT_EQ(gpus_in_node(b.resolve().entries).count, 4);
  EXPECT_FALSE(gpus_in_node(b.resolve().entries).of_damaged);
  for (RankFacts& f : b.facts) f.loss = FileLoss::rest;
  EXPECT_EQ(gpus_in_node(b.resolve().entries).count, 4) << "three of the four say so";
  EXPECT_TRUE(gpus_in_node(b.resolve().entries).of_damaged);
}

TEST(Hosts, ReplicasNeverShareABlock) {
  RankBuilder b;
  for (std::int32_t replica = 0; replica < 2; ++replica) {
    RankFacts& f = b.add("replica" + std::to_string(replica), 0);
    f.replica = replica;
    f.devices = {0};
    f.gpus_in_node = 4;
  }
  EXPECT_THAT(b.resolve().hosts, ElementsAre("replica 0 ranks 0-3", "replica 1 ranks 0-3"));
}

TEST(Hosts, WhatHasNoNameIsSaidByItsRanks) {
  EXPECT_EQ(host_text("nid001234"), "host nid001234");
  EXPECT_EQ(host_text("ranks 4-7"), "the host of ranks 4-7");
  EXPECT_EQ(host_text("replica 1 ranks 0-3"), "the host of replica 1 ranks 0-3");
  EXPECT_EQ(host_text("?5"), "the host of rank 5");
  EXPECT_EQ(host_text("?1/5"), "the host of replica 1 rank 5");
}

TEST(Hosts, SortedAsPeopleNumberThem) {
  const Ranks ranks = placed({0, 8, 16}, 8, 8).resolve();
  EXPECT_THAT(ranks.hosts, ElementsAre("ranks 0-7", "ranks 8-15", "ranks 16-23"));
}

}  // namespace
}  // namespace ccl
