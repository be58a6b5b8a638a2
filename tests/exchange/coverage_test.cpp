#include "exchange/coverage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/ranks_in_part.hpp"

namespace ccl {
namespace {

using test::rank;
using test::ranks_of;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Coverage, AWholeRunSaysHowMany) {
  const Ranks ranks = ranks_of({rank(0, {4, 5}), rank(1, {4, 5})});
  EXPECT_EQ(coverage_text(ranks, "analysed"), "2 of 2 analysed");
  EXPECT_EQ(whole_ranks_count(ranks), 2);
  EXPECT_THAT(partly_read(ranks), IsEmpty());
}

TEST(Coverage, WhoWasReadInPartIsNamedWithTheStepsThatAreLost) {
  const Ranks ranks = ranks_of({rank(0, {4, 5, 6, 7}), rank(1, {4, 5}, {6, 7}), rank(2, {4}, {5, 6, 7}), rank(3, {4, 5}, {6, 7})});
  EXPECT_EQ(coverage_text(ranks, "ranks analysed"),
            "4 of 4 ranks analysed, 3 of them in part: ranks 1, 3 (steps 6, 7 lost with the damage), rank 2 (steps 5-7 lost "
            "with the damage)");
  EXPECT_EQ(whole_ranks_count(ranks), 1);
  const std::vector<PartlyRead> parts = partly_read(ranks);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[1].entry, &ranks.entries[2]);
  EXPECT_THAT(parts[1].lost_steps, ElementsAre(5, 6, 7));
  EXPECT_FALSE(parts[1].every_step);
}

TEST(Coverage, StepsBehindACutAreKnownFromTheOtherRanks) {
  Ranks ranks = ranks_of({rank(0, {4, 5, 6}), rank(1, {4})});
  EXPECT_EQ(coverage_text(ranks, "analysed"), "2 of 2 analysed") << "its profiler ended earlier";
  ranks.entries[1].facts.loss = FileLoss::rest;
  EXPECT_EQ(coverage_text(ranks, "analysed"), "2 of 2 analysed, 1 of them in part: rank 1 (steps 5, 6 lost with the damage)");
}

TEST(Coverage, DamageThatCostNoStepIsToldToo) {
  Ranks ranks = ranks_of({rank(0, {4}), rank(1, {4})});
  ranks.entries[1].facts.lost_events_count = 2;
  EXPECT_EQ(coverage_text(ranks, "analysed"), "2 of 2 analysed, 1 of them in part: rank 1 (damaged, but no step lost)");
  EXPECT_EQ(whole_ranks_count(ranks), 1);
}

TEST(Coverage, WhoHasNoStepLeftIsNotAnalysed) {
  Ranks ranks = ranks_of({rank(0, {4, 5}), rank(1, {}, {4, 5}), rank(2, {4}, {5}), rank(3, {})});
  ranks.entries[3].status = RankStatus::no_gpu_events;
  ranks.expected = 6;
  ranks.missing = {4, 5};
  ranks.unread = {{"node1.sqlite", "empty_file"}};
  EXPECT_EQ(coverage_text(ranks, "analysed"),
            "2 of 6 analysed, 1 of them in part: rank 2 (step 5 lost with the damage), no GPU events on rank 3, every step of rank "
            "1 lost with the damage of its file, missing ranks 4, 5, 1 file could not be read");
  EXPECT_EQ(analysed_ranks_count(ranks), 2);
  EXPECT_EQ(whole_ranks_count(ranks), 1) << "of the two that are analysed";
  EXPECT_TRUE(partly_read(ranks).front().every_step);
}

TEST(Coverage, OfSeveralIterationsEachIsNamedAndOfManyPlacesTheFirst) {
  std::vector<RankEntry> entries{rank(0, {1, 2, 3, 4, 5})};
  for (std::int32_t number = 1; number <= 5; ++number) {
    std::vector<std::int64_t> kept;
    for (std::int64_t step = 1; step <= 5; ++step)
      if (step != number) kept.push_back(step);
    entries.push_back(rank(number, kept, {number}));
  }
  for (std::int32_t number = 0; number <= 5; ++number) {
    entries.push_back(number == 1 ? rank(1, {}, {7}) : rank(number, {7}));
    entries.back().iteration = 20;
  }
  EXPECT_EQ(coverage_text(ranks_of(entries), "analysed"),
            "6 of 6 analysed, 5 of them in part: rank 1 (step 1 of iteration_10 lost with the damage), rank 2 (step 2 of "
            "iteration_10 lost with the damage), rank 3 (step 3 of iteration_10 lost with the damage) and 2 more ranks");
  EXPECT_EQ(whole_ranks_count(ranks_of(entries)), 1);
}

/// ranks 0-3 in iteration_10, without rank 3 in iteration_20.
Ranks one_lacks_an_iteration() {
  std::vector<RankEntry> entries;
  for (const std::int32_t iteration : {10, 20})
    for (std::int32_t number = 0; number < (iteration == 10 ? 4 : 3); ++number) {
      entries.push_back(rank(number, {iteration - 2, iteration - 1}));
      entries.back().iteration = iteration;
    }
  return ranks_of(std::move(entries));
}

TEST(Coverage, ARankWithoutATraceInOneIterationIsReadInPart) {
  const Ranks ranks = one_lacks_an_iteration();
  EXPECT_EQ(coverage_text(ranks, "analysed"), "4 of 4 analysed, 1 of them in part: rank 3 (no trace in iteration_20)");
  EXPECT_EQ(whole_ranks_count(ranks), 3);
  EXPECT_THAT(steps_not_of_all(ranks), ElementsAre(StepId{20, 18}, StepId{20, 19}));
}

TEST(Coverage, IterationsThatHaveNoRankInCommonLackAllOfEachOther) {
  std::vector<RankEntry> entries{rank(0, {4}), rank(1, {4}), rank(2, {14}), rank(3, {14})};
  entries[2].iteration = entries[3].iteration = 20;
  EXPECT_EQ(coverage_text(ranks_of(entries), "analysed"),
            "4 of 4 analysed, 4 of them in part: ranks 2, 3 (no trace in iteration_10), ranks 0, 1 (no trace in iteration_20)");
  EXPECT_EQ(whole_ranks_count(ranks_of(entries)), 0);
}

TEST(Coverage, ReplicasMayEachHaveOtherIterationsAndATraceWithoutOneStandsForAll) {
  std::vector<RankEntry> entries{rank(0, {4}), rank(1, {4}), rank(0, {14})};
  entries[0].replica = entries[1].replica = 0;
  entries[2].replica = 1;
  entries[2].iteration = 20;
  EXPECT_THAT(not_in_dump(ranks_of(entries)), IsEmpty());
  entries = {rank(1, {0}), rank(0, {4}), rank(0, {14})};
  entries[0].iteration = -1;
  entries[2].iteration = 20;
  EXPECT_THAT(not_in_dump(ranks_of(entries)), IsEmpty()) << "an export of Nsight Systems beside the folders";
}

TEST(Coverage, StepsCountAsTheRunNumbersThem) {
  Ranks ranks = ranks_of({rank(0, {4, 5}), rank(1, {14}, {15})});
  ranks.entries[1].step_shift = -10;
  EXPECT_THAT(partly_read(ranks).front().lost_steps, ElementsAre(5));
  ranks.entries[1].step_shift = 0;
  ranks.entries[1].takes_part = false;
  EXPECT_THAT(partly_read(ranks).front().lost_steps, ElementsAre(15)) << "its numbers are its own";
}

}  // namespace
}  // namespace ccl
