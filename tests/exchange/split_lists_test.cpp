#include <gtest/gtest.h>

#include "exchange/match_parts.hpp"
#include "exchange/planted_world.hpp"

namespace ccl {
namespace {

using test::PlantedWorld;
using test::ranks_up_to;

/// What one member tells of an all-to-all of uint8 rows: In and Out elements, and the lists.
struct Told {
  std::int64_t in;
  std::vector<std::int64_t> sent;
  std::int64_t out;
  std::vector<std::int64_t> received;
  std::int32_t group_size;
  bool cut = false;
};

RankTrace trace_of(const Told& told) {
  RankTrace trace;
  trace.groups.push_back({});
  Collective c;
  c.op = CollectiveOp::all_to_allv;
  c.dtype = Dtype::uint8;
  c.group_size = told.group_size;
  c.in_elements = told.in;
  c.out_elements = told.out;
  c.splits_cut = told.cut;
  c.splits_count = static_cast<std::uint32_t>(told.sent.size());
  c.first_out_split = c.splits_count;
  c.out_splits_count = static_cast<std::uint32_t>(told.received.size());
  trace.splits = told.sent;
  trace.splits.insert(trace.splits.end(), told.received.begin(), told.received.end());
  trace.collectives.push_back(c);
  return trace;
}

/// One all-to-all of ranks 0, 1, 2… that tell these lists; the detail of what is wrong with it.
std::string dispute_of(const std::vector<Told>& told, std::int32_t group_size, int workers = 1) {
  PlantedWorld world(std::vector<std::int32_t>(told.size(), 0));
  const GroupId ep = world.add_group("ep", ranks_up_to(group_size));
  for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(told.size()); ++rank) {
    const RankTrace trace = trace_of(told[static_cast<std::size_t>(rank)]);
    const Collective& c = trace.collectives[0];
    CollectiveRecord& record = world.add(ep, rank, 100 + rank, 200, CollectiveOp::all_to_allv, c.in_bytes());
    record.out_bytes = c.out_bytes();
  }
  Problems problems;
  const auto shares = world.shares(workers);
  std::vector<CollectiveRecord> owned;
  SplitWords splits;
  for (std::size_t w = 0; w < shares.size(); ++w) {
    SplitWords words;  // of the worker's ranks; each has one record
    for (const CollectiveRecord& record : shares[w])
      add_splits(trace_of(told[static_cast<std::size_t>(record.rank.value)]), record.local, words);
    words = renumbered(words, static_cast<std::uint32_t>(w), [](std::uint32_t record) { return std::int64_t{record}; });
    for (const SplitWords& part : route_splits(words, shares[w], world.groups, {}, 1))
      splits.insert(splits.end(), part.begin(), part.end());
    owned.insert(owned.end(), shares[w].begin(), shares[w].end());
  }
  assemble(owned, world.ranks, world.groups, problems, splits);
  std::string text;
  for (const Problem& problem : problems.rows())
    if (problem.code == Code::inout_disagree) text += problem.detail + "\n";
  return text;
}

TEST(SplitLists, MembersThatAgreeAreNotNamed) {
  EXPECT_EQ(dispute_of({Told{40, {1, 3}, 60, {1, 5}, 2}, Told{80, {5, 3}, 60, {3, 3}, 2}}, 2), "");
}

TEST(SplitLists, TheWorstPairIsNamedWithBothCounts) {
  const std::vector<Told> traces = {Told{60, {1, 3, 2}, 60, {1, 2, 3}, 3}, Told{60, {2, 2, 2}, 100, {3, 2, 5}, 3},
                                    Told{60, {2, 2, 2}, 60, {2, 2, 2}, 3}};
  for (const int workers : {1, 2, 3}) {
    const std::string text = dispute_of(traces, 3, workers);
    EXPECT_NE(
        text.find("two ranks disagree on what one sends the other; worst: rank 2 sends rank 1 20 bytes, which expects "
                  "50 bytes, the worst of 2 pairs of this call"),
        std::string::npos)
        << text;
  }
}

TEST(SplitLists, AnEmptyListMeansEqualParts) {
  EXPECT_EQ(dispute_of({Told{8, {}, 8, {4, 4}, 2}, Told{8, {4, 4}, 8, {}, 2}}, 2), "");
  const std::string text = dispute_of({Told{8, {}, 8, {5, 3}, 2}, Told{8, {3, 5}, 8, {}, 2}}, 2);
  EXPECT_NE(text.find("rank 0 sends rank 0 4 bytes, which expects 5 bytes"), std::string::npos) << text;
}

TEST(SplitLists, WhatIsBeyondACutIsUnknown) {
  // The profiler kept two of three entries; how wide a row is they do not tell.
  const std::vector<Told> traces = {Told{60, {1, 3}, 60, {1, 4}, 3, true}, Told{60, {2, 2}, 60, {3, 2}, 3, true},
                                    Told{60, {2, 2}, 60, {9, 9}, 3, true}};
  const std::string text = dispute_of(traces, 3);
  EXPECT_NE(
      text.find(
          "worst: rank 1 sends rank 0 2 rows, which expects 4 rows (5 pairs are unknown: lists are cut or absent)"),
      std::string::npos)
      << text;
}

TEST(SplitLists, WithoutListsTheSumsOfAllMembersAreCompared) {
  const std::string text = dispute_of({Told{40, {}, 60, {}, 2}, Told{80, {}, 70, {}, 2}}, 2);
  EXPECT_NE(text.find("worst: members send 120 bytes in all and receive 130"), std::string::npos) << text;
  EXPECT_EQ(dispute_of({Told{40, {}, 60, {}, 2}}, 2), "");  // the other member has no trace
}

TEST(SplitLists, ListsOfAnotherLengthAreLeftOut) {
  SplitWords words;
  add_splits(trace_of({40, {1, 3, 4}, 60, {1, 5}, 2}), 0, words);
  EXPECT_TRUE(words.empty());
}

}  // namespace
}  // namespace ccl
