#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/coverage.hpp"
#include "exchange/ranks_in_part.hpp"
#include "metrics/not_judged.hpp"

namespace ccl {
namespace {

using test::rank;
using test::ranks_of;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(NotJudged, NobodyWhereAllHaveTheSameSteps) {
  const Ranks ranks = ranks_of({rank(0, {4, 5}), rank(1, {4, 5})});
  EXPECT_EQ(not_judged(ranks).all, "");
  EXPECT_THAT(steps_not_of_all(ranks), IsEmpty());
}

TEST(NotJudged, RanksAndStepsAreNamedWithTheReason) {
  const Ranks ranks = ranks_of({rank(0, {4, 5, 6, 7}), rank(1, {4}, {5, 6, 7}), rank(2, {5, 6, 7}), rank(3, {}, {4, 5, 6, 7})});
  EXPECT_EQ(not_judged(ranks).with_trace,
            "rank 1 in steps 5-7, rank 3 in any step (lost with the damage of the file); rank 2 in step 4 (no GPU events "
            "of it in the file)");
  EXPECT_THAT(steps_not_of_all(ranks), ElementsAre(StepId{10, 4}, StepId{10, 5}, StepId{10, 6}, StepId{10, 7}));
}

TEST(NotJudged, RanksOfOneReasonShareAPlaceAndThoseWithoutTraceAreSaidWhereAsked) {
  Ranks ranks = ranks_of({rank(0, {4, 5}), rank(1, {4}, {5}), rank(3, {4}, {5})});
  ranks.missing = {2, 4, 5, 6};
  EXPECT_EQ(not_judged(ranks).with_trace, "ranks 1, 3 in step 5 (lost with the damage of the file)");
  EXPECT_EQ(not_judged(ranks).all,
            "ranks 1, 3 in step 5 (lost with the damage of the file); ranks 2, 4-6 (no trace)");
}

TEST(NotJudged, AFileThatIsCutBeforeItsFirstStepIsDamagedNotEmpty) {
  Ranks ranks = ranks_of({rank(0, {4, 5}), rank(1, {})});
  EXPECT_EQ(not_judged(ranks).with_trace, "rank 1 in any step (no GPU events of them in the file)");
  ranks.entries[1].facts.loss = FileLoss::rest;
  EXPECT_EQ(not_judged(ranks).with_trace, "rank 1 in any step (lost with the damage of the file)");
}

TEST(NotJudged, AFileThatGaveNoRankIsNamedWhereRanksAreMissing) {
  Ranks ranks = ranks_of({rank(0, {4, 5})});
  ranks.missing = {1, 2, 3};
  ranks.unread = {{"node1.sqlite", "database disk image is malformed"}};
  EXPECT_EQ(not_judged(ranks).all,
            "ranks 1-3 (no trace; node1.sqlite could not be read: database disk image is malformed)");
  ranks.unread.push_back({"node2.sqlite", "empty_file"});
  ranks.unread.push_back({"node3.sqlite", "empty_file"});
  EXPECT_EQ(not_judged(ranks).all,
            "ranks 1-3 (no trace; node1.sqlite could not be read: database disk image is malformed; nor could 2 more "
            "files)");
}

TEST(NotJudged, OfManyPlacesTheFirstAreSaidAndHowManyRanksMore) {
  const Ranks ranks = ranks_of({rank(0, {4, 5, 6, 7, 8, 9}), rank(1, {5, 6, 7, 8, 9}, {4}), rank(2, {4, 6, 7, 8, 9}, {5}),
                                rank(3, {4, 5, 7, 8, 9}, {6}), rank(4, {4, 5, 6, 8, 9}, {7}), rank(5, {4, 5, 6, 7, 9}, {8})});
  EXPECT_EQ(not_judged(ranks).with_trace,
            "rank 1 in step 4, rank 2 in step 5, rank 3 in step 6 (lost with the damage of the file); and 2 more ranks");
}

TEST(NotJudged, AStepThatAllRanksLostIsNamedToo) {
  EXPECT_EQ(not_judged(ranks_of({rank(0, {4}, {5})})).all,
            "rank 0 in step 5 (lost with the damage of the file)");
  EXPECT_EQ(not_judged(ranks_of({rank(0, {4}, {5}), rank(1, {4}, {5})})).with_trace,
            "ranks 0, 1 in step 5 (lost with the damage of the file)");
}

TEST(NotJudged, StepsCountAsTheRunNumbersThem) {
  Ranks ranks = ranks_of({rank(0, {4, 5}), rank(1, {14, 15})});
  ranks.entries[1].step_shift = -10;
  EXPECT_EQ(not_judged(ranks).all, "");
  ranks.entries[1].takes_part = false;
  EXPECT_EQ(not_judged(ranks).all, "rank 1 in any step (its steps fit no other rank's)");
  EXPECT_EQ(not_judged(ranks, StepsBy::rank_alone).all, "");
}

TEST(NotJudged, ARankWithoutATraceInOneIterationIsNotJudgedThere) {
  Ranks ranks = ranks_of({rank(0, {4, 5}), rank(1, {4, 5}), rank(0, {14, 15})});
  ranks.entries[2].iteration = 20;
  EXPECT_EQ(not_judged(ranks).with_trace, "rank 1 in any step of iteration_20 (no trace there)");
}

TEST(NotJudged, OfSeveralIterationsEachIsNamed) {
  Ranks ranks = ranks_of({rank(0, {4, 5}), rank(0, {4, 5}), rank(1, {4}, {5}), rank(1, {4, 5})});
  ranks.entries[1].iteration = ranks.entries[3].iteration = 20;
  EXPECT_EQ(not_judged(ranks).all,
            "rank 1 in step 5 of iteration_10 (lost with the damage of the file)");
  EXPECT_THAT(steps_not_of_all(ranks), ElementsAre(StepId{10, 5}));
}

}  // namespace
}  // namespace ccl
