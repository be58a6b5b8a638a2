#include "compare/late.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

LateRanks late(const std::vector<double>& ranks, const std::set<double>& lacking = {}) {
  LateRanks out;
  out.told = true;
  for (const double rank : ranks) out.ranks.push_back({{-1, rank}, "rank " + std::to_string(static_cast<int>(rank)) + " since step 8"});
  out.lacking = lacking;
  return out;
}

TEST(LateDifference, WhoIsLateInEachRun) {
  EXPECT_EQ(late_difference(late({}), late({5})), "first none; second rank 5 since step 8");
  EXPECT_EQ(late_difference(late({5}), late({}, {5})), "first rank 5 since step 8; second none, rank 5 not wholly judged");
  EXPECT_EQ(late_difference(late({}), late({1, 2, 3, 4, 5})),
            "first none; second rank 1 since step 8, rank 2 since step 8, rank 3 since step 8 and 2 more");
  EXPECT_EQ(late_difference(late({5}), late({5})), "");
}

TEST(NewStragglers, ThoseOfTheSecondRunOnly) {
  EXPECT_EQ(new_stragglers(late({5}), late({5, 3})).found, "rank 3 since step 8");
  const NewStragglers none = new_stragglers(late({5}), late({}));
  EXPECT_EQ(none.found + none.not_judged, "");
}

TEST(NewStragglers, ARankThatOneRunLacksLeavesADoubt) {
  EXPECT_EQ(new_stragglers(late({}), late({}, {5})).not_judged, "the second run lacks rank 5 or a part of it");
  EXPECT_EQ(new_stragglers(late({}, {5}), late({5})).not_judged, "late rank 5 since step 8, and the first run lacks that or a part of it");
  EXPECT_EQ(new_stragglers(late({}, {5}), late({}, {5})).not_judged, "the second run lacks rank 5 or a part of it") << "also where the first does";
  EXPECT_EQ(new_stragglers(late({5}), late({}, {5})).not_judged, "") << "late or not, it is not new";
  const NewStragglers sure = new_stragglers(late({}), late({3}, {5}));
  EXPECT_EQ(sure.found, "rank 3 since step 8");
  EXPECT_EQ(sure.not_judged, "");
}

TEST(NewStragglers, ARankThatMeetsNobodyAnyMoreLeavesADoubt) {
  const auto judged = [](LateRanks of, const std::set<double>& ranks) {
    for (const double rank : ranks) of.judged.insert({-1, rank});
    return of;
  };
  EXPECT_EQ(new_stragglers(judged(late({}), {1, 5}), judged(late({}), {1})).not_judged, "no collective of rank 5 is matched in the second run");
  EXPECT_EQ(new_stragglers(judged(late({5}), {1, 5}), judged(late({}), {1})).not_judged, "") << "late or not, it is not new";
  EXPECT_EQ(new_stragglers(judged(late({}), {1}), judged(late({}), {1})).not_judged, "") << "it met nobody before either";
  EXPECT_EQ(new_stragglers(judged(late({}), {1, 5}), judged(late({1}), {1})).found, "rank 1 since step 8");
}

}  // namespace
}  // namespace ccl
