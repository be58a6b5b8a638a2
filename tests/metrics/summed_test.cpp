#include "metrics/summed.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "metrics/corrected_list.hpp"

namespace ccl {
namespace {

struct Row {
  int step = 0, rank = 0, count = 0;
  auto key() const { return std::tuple(step, rank); }
  void combine(const Row& other) { count += other.count; }
};

TEST(Summed, AddsRowsOfOneKeyInWhateverOrderTheyCome) {
  Summed<Row> sums;
  for (const Row& row : {Row{2, 0, 1}, Row{1, 5, 10}, Row{2, 0, 2}, Row{2, 0, 4}, Row{1, 5, 20}}) sums.add(row);
  std::vector<Row> rows{{7, 7, 7}};
  sums.move_to(rows);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].count, 7);
  EXPECT_EQ(std::tuple(rows[1].step, rows[1].rank, rows[1].count), std::tuple(1, 5, 30));
  EXPECT_EQ(std::tuple(rows[2].step, rows[2].rank, rows[2].count), std::tuple(2, 0, 7));
}

TEST(Summed, WithoutRowsGivesNone) {
  std::vector<Row> rows;
  Summed<Row>().move_to(rows);
  EXPECT_TRUE(rows.empty());
}

TEST(SummedByRank, AddsRowsOfOneKeyGroupByGroup) {
  SummedByRank<Row> sums(2);
  // Of rank 0 the second group has steps before and between those of the first.
  for (const Row& row : {Row{2, 0, 1}, Row{4, 0, 10}, Row{1, 0, 100}, Row{2, 0, 2}, Row{3, 0, 1000}, Row{4, 0, 20}})
    sums.add(0, row);
  sums.add(1, {2, 1, 5});
  std::vector<Row> rows;
  sums.move_to(rows);
  ASSERT_EQ(rows.size(), 5U);
  const std::vector<int> counts{rows[0].count, rows[1].count, rows[2].count, rows[3].count, rows[4].count};
  EXPECT_EQ(counts, (std::vector<int>{100, 3, 1000, 30, 5})) << "by rank and step";
}

TEST(CorrectedList, IsTheListItselfWhereNothingIsCorrected) {
  const Intervals list{{10, 20}, {30, 40}};
  ClockModel clock;
  clock.hosts.resize(2);
  EXPECT_EQ(&CorrectedList(list, 1, clock).list(), &list);
  EXPECT_EQ(&CorrectedList(list, -1, clock).list(), &list);
}

TEST(CorrectedList, MovesTimesByOffsetDriftAndLaterOffsets) {
  const Intervals list{{10, 20}, {2'000'000'000, 2'000'000'040}};
  ClockModel clock;
  clock.hosts.resize(3);
  clock.hosts[1].offset_ns = 5;
  clock.hosts[2].drift_ppb = 500;
  EXPECT_EQ(CorrectedList(list, 1, clock).list(), (Intervals{{15, 25}, {2'000'000'005, 2'000'000'045}}));
  EXPECT_EQ(CorrectedList(list, 2, clock).list(), (Intervals{{10, 20}, {2'000'001'000, 2'000'001'040}}));
  clock.later.push_back({0, 1000, -3});
  EXPECT_EQ(CorrectedList(list, 0, clock).list(), (Intervals{{10, 20}, {1'999'999'997, 2'000'000'037}}));
}

}  // namespace
}  // namespace ccl
