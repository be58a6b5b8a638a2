#include "exchange/ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "exchange/coverage.hpp"
#include "rank_builder.hpp"

namespace ccl {
namespace {

using test::rank_numbers;
using test::RankBuilder;
using testing::ElementsAre;

TEST(Ranks, F13ContentBeforeNameBeforeNothing) {
  RankBuilder b;
  b.add("rank5.json", 0, 4, 5);
  b.add("rank1.json", -1, 4, 1);
  b.add("x3.json", -1, 4, 3);
  b.input.files[2].rank_by_option = true;
  b.add("nameless.json", -1);
  const Ranks ranks = b.resolve();
  EXPECT_THAT(rank_numbers(ranks), ElementsAre(0, 1, 3));
  EXPECT_EQ(ranks.entries[0].source, RankSource::content);
  EXPECT_EQ(ranks.entries[1].source, RankSource::file_name);
  EXPECT_EQ(ranks.entries[2].source, RankSource::option);
  ASSERT_EQ(b.problems.count(Code::no_rank), 1);
  EXPECT_EQ(b.problems.rows()[0].file, "nameless.json");
  EXPECT_EQ(ranks.left_out.size(), 1u);
}

TEST(Ranks, NameFirstWhenAskedFor) {
  RankBuilder b;
  b.add("rank5.json", 0, -1, 5);
  b.add("other.json", 3);
  b.config.input.rank_from_name = true;
  const Ranks ranks = b.resolve();
  EXPECT_THAT(rank_numbers(ranks), ElementsAre(3, 5));
  EXPECT_EQ(ranks.entries[0].source, RankSource::content);
}

TEST(Ranks, OfTwoProfilersOfOneRankThatOfPyTorchIsUsed) {
  RankBuilder b;
  b.add("iteration_3/rank0.json", 0, 2, 0).iteration = 3;
  b.add("node0.sqlite", 0, 2).rank_source = RankSource::label;
  b.add("node0.sqlite", 1, 2).rank_source = RankSource::label;
  for (const std::size_t i : {1U, 2U}) b.input.files[i].format = TraceFormat::nsys_sqlite;
  const Ranks ranks = b.resolve();
  ASSERT_EQ(ranks.entries.size(), 2U);  // rank 1 is in the export alone
  EXPECT_EQ(ranks.entries[0].rank, RankId(1));
  EXPECT_EQ(ranks.entries[0].source, RankSource::label);
  EXPECT_EQ(ranks.entries[1].iteration, 3);
  ASSERT_EQ(b.problems.count(Code::two_profilers), 1);
  EXPECT_EQ(b.problems.rows()[0].detail, "rank 0 of it left out");
}

TEST(Ranks, OnlyFileIsRankZeroPerIteration) {
  RankBuilder b;
  b.add("iteration_1/trace.json", -1).iteration = 1;
  b.add("iteration_2/trace.json", -1).iteration = 2;
  const Ranks ranks = b.resolve();
  EXPECT_THAT(rank_numbers(ranks), ElementsAre(0, 0));
  EXPECT_EQ(ranks.entries[1].source, RankSource::only_file);
  EXPECT_EQ(ranks.covered(), 1);
  EXPECT_TRUE(b.problems.rows().empty());
}

TEST(Ranks, AHostMapWithoutALineIsNamed) {
  RankBuilder b;
  b.add("rank0.json", 0, 1);
  b.config.input.host_map = "hosts.txt";
  b.resolve();
  ASSERT_EQ(b.problems.count(Code::config_file_invalid), 1);
  EXPECT_EQ(b.problems.rows()[0].detail, "--host-map names no rank");
}

TEST(Ranks, IdenticalCopyIsUsedOnceAndNamedInTheCoverage) {
  RankBuilder b;
  b.add("a/rank0.json", 0, 2);
  b.add("b/rank0.json", 0, 2).fingerprint = b.facts[0].fingerprint;
  b.add("rank1.json", 1, 2);
  const Ranks ranks = b.resolve();
  EXPECT_THAT(rank_numbers(ranks), ElementsAre(0, 1));
  EXPECT_EQ(ranks.entries[0].facts.file, 0);
  EXPECT_EQ(ranks.left_out.size(), 1u);
  EXPECT_TRUE(b.problems.rows().empty());
  EXPECT_EQ(coverage_text(ranks, "analysed", &b.input), "2 of 2 analysed, 1 file left out (a copy: b/rank0.json)");
}

TEST(Ranks, ACopyUnderTheNameOfAnotherRankIsNamed) {
  RankBuilder b;
  b.add("rank2.json", 2, 4, 2);
  b.add("rank3.json", 2, 4, 3).fingerprint = b.facts[0].fingerprint;
  const Ranks ranks = b.resolve();
  EXPECT_THAT(rank_numbers(ranks), ElementsAre(2));
  ASSERT_EQ(b.problems.count(Code::duplicate_rank), 1);
  EXPECT_EQ(b.problems.rows()[0].rank, 2);
  EXPECT_EQ(b.problems.rows()[0].file, "rank3.json");
  EXPECT_EQ(b.problems.rows()[0].detail, "the same content as rank2.json");
}

TEST(Ranks, DistinctNamesSettleAClash) {
  RankBuilder b;
  b.add("rank0.json", 0, 4, 0);
  b.add("rank1.json", 0, 4, 1);
  b.add("rank2.json", 2, 4, 2);
  b.add("rank3.json", 0, 4, 3);
  const Ranks ranks = b.resolve();
  EXPECT_THAT(rank_numbers(ranks), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(ranks.entries[1].source, RankSource::name_after_clash);
  EXPECT_EQ(ranks.entries[2].source, RankSource::content);
  EXPECT_EQ(b.problems.count(Code::rank_from_name_after_clash), 3);
  EXPECT_EQ(b.problems.count(Code::duplicate_rank), 0);
}

TEST(Ranks, OtherwiseTheFirstInPathOrderIsUsed) {
  RankBuilder b;
  b.add("a.json", 1, 2);
  b.add("b.json", 1, 2);
  b.add("c.json", 1, 2, 7);
  const Ranks ranks = b.resolve();
  EXPECT_THAT(rank_numbers(ranks), ElementsAre(1));
  EXPECT_EQ(ranks.entries[0].facts.file, 0);
  ASSERT_EQ(b.problems.count(Code::duplicate_rank), 2);
  EXPECT_EQ(b.problems.rows()[0].file, "b.json");
  EXPECT_EQ(b.problems.rows()[0].detail, "used instead: a.json");
}

TEST(Ranks, NamesThatWouldClashAgainAreNotUsed) {
  RankBuilder b;
  b.add("rank0.json", 1, 3, 0);
  b.add("rank2.json", 1, 3, 2);
  b.add("rank9.json", 2, 3, 9);
  EXPECT_THAT(rank_numbers(b.resolve()), ElementsAre(1, 2));
  EXPECT_EQ(b.problems.count(Code::duplicate_rank), 1);
}

TEST(Ranks, SameRankInOtherIterationOrReplicaIsNoDuplicate) {
  RankBuilder b;
  b.add("iteration_10/replica_0/rank0.json", 0).iteration = 10;
  b.add("iteration_10/replica_1/rank0.json", 0).iteration = 10;
  b.facts[1].replica = 1;
  b.add("iteration_2/rank0.json", 0).iteration = 2;
  const Ranks ranks = b.resolve();
  ASSERT_EQ(ranks.entries.size(), 3u);
  EXPECT_EQ(ranks.entries[0].iteration, 2);
  EXPECT_EQ(ranks.find(10, 1, RankId(0)), 2);
  EXPECT_EQ(ranks.find(10, 2, RankId(0)), -1);
  EXPECT_TRUE(b.problems.rows().empty());
}

TEST(Ranks, WorldSizeIsVotedByFilesAndTheRestLeftOut) {
  RankBuilder b;
  b.add("a.json", 0, 4);
  b.add("b.json", 1, 4);
  b.add("stray.json", 0, 8);
  b.add("silent.json", 2, -1);
  const Ranks ranks = b.resolve();
  EXPECT_EQ(ranks.world_size, 4);
  EXPECT_THAT(rank_numbers(ranks), ElementsAre(0, 1, 2));
  ASSERT_EQ(b.problems.count(Code::other_world_size), 1);
  EXPECT_EQ(b.problems.count(Code::duplicate_rank), 0);
}

TEST(Ranks, WorldSizeTieGoesToTheLarger) {
  RankBuilder b;
  b.add("a.json", 0, 2);
  b.add("b.json", 1, 16);
  EXPECT_EQ(b.resolve().world_size, 16);
}

TEST(Ranks, AbsurdWorldSizeDoesNotVote) {
  RankBuilder b;
  b.add("a.json", 0, std::int64_t{1} << 60);
  const Ranks ranks = b.resolve();
  EXPECT_EQ(ranks.world_size, -1);
  EXPECT_EQ(ranks.expected, 1);
}

TEST(Ranks, AWorldSizeThatARankContradictsIsNone) {
  RankBuilder b;
  b.add("a.sqlite", 0, 1);
  b.add("b.sqlite", 1);
  const Ranks ranks = b.resolve();
  EXPECT_EQ(ranks.world_size, -1);
  EXPECT_EQ(ranks.expected, 2);
}

TEST(Ranks, ARankThatTheRunDoesNotHaveIsNotBelieved) {
  for (const std::int32_t wrong : {4, 1999999999}) {
    RankBuilder b;
    for (std::int32_t rank = 0; rank < 3; ++rank) b.add("rank" + std::to_string(rank) + ".json", rank, 4, rank);
    b.add("rank3.json", wrong, 4, 3);
    const Ranks ranks = b.resolve();
    EXPECT_EQ(ranks.world_size, 4);
    EXPECT_THAT(rank_numbers(ranks), ElementsAre(0, 1, 2, 3)) << "the name tells it";
    ASSERT_EQ(b.problems.rows().size(), 1U);
    EXPECT_EQ(b.problems.rows()[0].code, Code::rank_from_name_after_clash);
    EXPECT_EQ(b.problems.rows()[0].detail, "it claims rank " + std::to_string(wrong) + " of a run of 4");
  }
}

TEST(Ranks, WhereTheNameDoesNotTellItTheFileIsLeftOutAndNamed) {
  RankBuilder b;
  for (std::int32_t rank = 0; rank < 3; ++rank) b.add("t" + std::to_string(rank) + ".json", rank, 4);
  b.add("t3.json", 1999999999, 4);
  const Ranks ranks = b.resolve();
  EXPECT_THAT(rank_numbers(ranks), ElementsAre(0, 1, 2));
  EXPECT_EQ(ranks.expected, 4);
  EXPECT_THAT(ranks.missing, ElementsAre(3));
  ASSERT_EQ(b.problems.count(Code::no_rank), 1);
  EXPECT_EQ(b.problems.rows()[0].detail, "it claims rank 1999999999 of a run of 4");
}

TEST(Ranks, ARankOrWorldThatNoRunHasIsNotBelievedAlone) {
  RankBuilder b;
  b.add("a.json", 1999999999);
  Ranks ranks = b.resolve();
  EXPECT_THAT(rank_numbers(ranks), ElementsAre(0)) << "the only file";
  EXPECT_EQ(ranks.expected, 1);
  EXPECT_EQ(b.problems.rows()[0].detail, "it claims rank 1999999999, more than any run has");
  RankBuilder large;
  large.add("a.json", 0, 16'000'000);
  large.add("b.json", 1, 16'000'000);
  ranks = large.resolve();
  EXPECT_EQ(ranks.world_size, -1);
  EXPECT_EQ(ranks.expected, 2);
  ASSERT_EQ(large.problems.count(Code::size_limit), 2);
  EXPECT_EQ(large.problems.rows()[0].detail, "a world size of 16000000 is more than any run has, and is not used");
}

TEST(Ranks, TheGroupsOfARankTellHowManyThereAreAtLeast) {
  RankBuilder b;
  b.add("a.json", 0).least_world_size = 4;
  EXPECT_EQ(b.resolve().expected, 4);
  EXPECT_THAT(b.resolve().missing, ElementsAre(1, 2, 3));
  b.facts[0].world_size = 2;
  EXPECT_EQ(b.resolve().expected, 2) << "what the trace says itself is believed";
}

TEST(Ranks, GroupsTellByTheirMembersAndWithoutThemByTheirSize) {
  RankTrace trace;
  trace.groups.resize(3);
  trace.groups[0].size = 3;
  trace.groups[1].members = {1, 6};
  trace.groups[1].size = 500;
  EXPECT_EQ(facts_of(trace, 0).least_world_size, 7);
  trace.groups[2].members = {0, 1999999999};
  EXPECT_EQ(facts_of(trace, 0).least_world_size, 7) << "no run has so many";
  trace.groups.clear();
  EXPECT_EQ(facts_of(trace, 0).least_world_size, -1);
}

TEST(Ranks, ARankThatLacksAnIterationIsNamed) {
  RankBuilder b;
  b.add("10/a.json", 0, 2).iteration = 10;
  b.add("10/b.json", 1, 2).iteration = 10;
  b.add("20/a.json", 0, 2).iteration = 20;
  const Ranks ranks = b.resolve();
  EXPECT_THAT(ranks.missing, ::testing::IsEmpty());
  ASSERT_EQ(b.problems.count(Code::missing_ranks), 1);
  EXPECT_EQ(b.problems.rows()[0].iteration, 20);
  EXPECT_EQ(b.problems.rows()[0].detail, "rank 1, with a trace in another iteration");
}

TEST(Ranks, HostMapOfOtherRanksIsNamed) {
  RankBuilder b;
  b.add("a.json", 0, 2);
  b.add("b.json", 1, 2);
  b.config.input.host_map = "hosts.txt";
  b.input.host_map = {{0, "a"}, {1, "a"}, {2, "b"}, {3, "b"}};
  b.resolve();
  ASSERT_EQ(b.problems.rows().size(), 1u);
  EXPECT_EQ(b.problems.rows()[0].file, "hosts.txt");
  EXPECT_EQ(b.problems.rows()[0].detail, "--host-map names ranks 2-3, the run has 2 ranks");
}

TEST(Ranks, ExpectedAndMissing) {
  RankBuilder b;
  b.add("a.json", 1, 10);
  b.add("b.json", 5, 10);
  Ranks ranks = b.resolve();
  EXPECT_EQ(ranks.expected, 10);
  EXPECT_THAT(ranks.missing, ElementsAre(0, 2, 3, 4, 6, 7, 8, 9));
  ASSERT_EQ(b.problems.count(Code::missing_ranks), 8);
  EXPECT_EQ(b.problems.rows().size(), 1u);
  EXPECT_EQ(b.problems.rows()[0].detail, "ranks 0, 2-4, 6-9 of a run of 10");

  for (RankFacts& f : b.facts) f.world_size = -1;
  EXPECT_EQ(b.resolve().expected, 6);
  b.input.workload.mesh.dp_shard = 8;
  b.input.workload.mesh.source = "card";
  EXPECT_EQ(b.resolve().expected, 8);
}

TEST(Ranks, CardThatDisagreesIsNamed) {
  RankBuilder b;
  b.add("a.json", 0, 2);
  b.add("b.json", 1, 2);
  b.input.workload.mesh.tp = 4;
  b.input.workload.mesh.source = "card";
  b.input.workload.card_file = "workload_card.yaml";
  EXPECT_EQ(b.resolve().expected, 2);
  ASSERT_EQ(b.problems.count(Code::card_disagrees), 1);
  EXPECT_EQ(b.problems.rows()[0].file, "workload_card.yaml");
}

TEST(Ranks, StatusTellsWhatIsThere) {
  RankBuilder b;
  b.add("a.json", 0);
  b.add("b.json", 1).gpu_events_count = 0;
  b.add("c.json", 2).lost_events_count = 1;
  b.add("d.json", 3).loss = FileLoss::rest;
  const Ranks ranks = b.resolve();
  EXPECT_EQ(ranks.entries[0].status, RankStatus::ok);
  EXPECT_EQ(ranks.entries[1].status, RankStatus::no_gpu_events);
  EXPECT_EQ(ranks.entries[2].status, RankStatus::partial);
  EXPECT_EQ(ranks.entries[3].status, RankStatus::partial) << "how much is behind a cut is not known";
}

TEST(Ranks, RowOfAWorkersTrace) {
  RankBuilder b;
  b.add("a.json", 1).worker = 3;
  b.add("b.json", 0).local = 2;
  const Ranks ranks = b.resolve();
  EXPECT_EQ(ranks.row_of(3, 0), 1);
  EXPECT_EQ(ranks.row_of(0, 2), 0);
  EXPECT_EQ(ranks.row_of(1, 1), -1);
}

TEST(Ranks, OrderOfTheFactsDoesNotMatter) {
  RankBuilder b;
  for (int i = 0; i < 6; ++i) b.add("f" + std::to_string(i) + ".json", i / 2, i == 5 ? 4 : 8, i < 4 ? i : -1);
  const Ranks first = b.resolve();
  const auto rows = b.problems.rows();
  std::sort(b.facts.begin(), b.facts.end(), [](const auto& x, const auto& y) { return x.file < y.file; });
  do {
    const Ranks again = b.resolve();
    ASSERT_EQ(rank_numbers(again), rank_numbers(first));
    ASSERT_EQ(b.problems.rows(), rows);
    for (std::size_t i = 0; i < first.entries.size(); ++i)
      ASSERT_EQ(again.entries[i].facts.file, first.entries[i].facts.file);
  } while (std::next_permutation(b.facts.begin(), b.facts.end(),
                                 [](const auto& x, const auto& y) { return x.file < y.file; }));
}

TEST(RankFacts, PackedAndUnpacked) {
  RankTrace trace;
  trace.file = 3;
  trace.rank = RankId(7);
  trace.world_size = 8;
  trace.host = "node1";
  trace.devices = {1};
  trace.events_count = 99;
  trace.fingerprint = 5;
  trace.launches_count = 1;
  trace.events.start_ns.push_back(100);
  trace.events.start_ns.push_back(150);
  trace.events.dur_ns.push_back(200);
  trace.events.dur_ns.push_back(10);
  trace.steps.push_back({9, 90, 400, StepSource::marker, {{1, 100, 300, 5}}});
  ByteWriter out;
  facts_of(trace, 4).pack(out);
  const Bytes bytes = out.take();
  ByteReader in(bytes);
  const RankFacts f = RankFacts::unpack(in);
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(f.local, 4);
  EXPECT_EQ(f.rank, RankId(7));
  EXPECT_EQ(f.gpu_events_count, 2);
  EXPECT_EQ(f.first_ns, 100);
  EXPECT_EQ(f.last_ns, 300);
  EXPECT_TRUE(f.has_launches);
  EXPECT_EQ(f.host, "node1");
  ASSERT_EQ(f.steps.size(), 1u);
  EXPECT_EQ(f.steps[0].number, 9);
  EXPECT_EQ(f.steps[0].devices[0].gap_ns, 5);
}

}  // namespace
}  // namespace ccl
