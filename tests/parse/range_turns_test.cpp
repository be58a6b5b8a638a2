#include "parse/range_turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace ccl {
namespace {

std::vector<int> turns_of(RangeTurns& turns, int reader, int ranges_count) {
  std::vector<int> own;
  for (int number = turns.next(reader, -1); number < ranges_count; number = turns.next(reader, number)) own.push_back(number);
  return own;
}

TEST(RangeTurns, RangesGoRound) {
  RangeTurns turns(7, 3);
  EXPECT_EQ(turns_of(turns, 1, 7), (std::vector{1, 4}));
  EXPECT_EQ(turns_of(turns, 2, 7), (std::vector{2, 5}));
  for (int number = 0; number < 7; ++number) EXPECT_EQ(turns.reach(number), number % 3);
}

TEST(RangeTurns, AThreadLeavesTheFirstTwoToRead) {
  RangeTurns turns(20, 2, {1}, 1);
  EXPECT_EQ(turns.next(1, -1), 3);
  EXPECT_EQ(turns.next(1, 3), 4);  // the first is still at 0, and 1 and 2 are before it
  for (int number = 0; number < 3; ++number) EXPECT_EQ(turns.reach(number), 0);
  EXPECT_EQ(turns.next(1, 4), 7);
  for (int number = 3; number < 5; ++number) EXPECT_EQ(turns.reach(number), 1);
  EXPECT_EQ(turns.next(1, 7), 8);
}

TEST(RangeTurns, ASlowThreadKeepsNobodyWaiting) {
  RangeTurns turns(20, 2, {1}, 1);
  EXPECT_EQ(turns.next(1, -1), 3);
  for (int number = 0; number < 3; ++number) EXPECT_EQ(turns.reach(number), 0);
  EXPECT_EQ(turns.reach(3), 1);  // waits for it no longer than for one range
  EXPECT_EQ(turns.next(1, 3), 6);
  for (int number = 4; number < 6; ++number) EXPECT_EQ(turns.reach(number), 0);
  EXPECT_EQ(turns.reach(6), 1);
}

TEST(RangeTurns, OfTheLastTheFirstIsLeftOneThenNone) {
  RangeTurns two(2, 2, {1}, 1);
  EXPECT_EQ(two.next(1, -1), 1);
  EXPECT_EQ(two.next(1, 1), 2);
  RangeTurns turns(10, 2, {1}, 1);
  EXPECT_EQ(turns.next(1, -1), 3);
  EXPECT_EQ(turns.reach(2), 0);
  EXPECT_EQ(turns.next(1, 3), 5);
  EXPECT_EQ(turns.next(1, 5), 6);
  EXPECT_EQ(turns.next(1, 6), 7);
  EXPECT_EQ(turns.next(1, 7), 8);
  EXPECT_EQ(turns.next(1, 8), 9);
  EXPECT_EQ(turns.next(1, 9), 10);
  EXPECT_EQ(turns.reach(4), 0);
}

TEST(RangeTurns, WhoIsNoThreadIsDealtTheSame) {
  RangeTurns of_first(12, 3, {1}, 1), of_other(12, 3);
  for (RangeTurns* turns : {&of_first, &of_other}) EXPECT_EQ(turns_of(*turns, 2, 12), (std::vector{2, 5, 8, 11}));
  for (int number = 0; number < 12; ++number) EXPECT_EQ(of_first.reach(number) == 2, number % 3 == 2);
}

TEST(RangeTurns, WhoLendsWithoutAThreadLeavesItsTurnsToTheFirst) {
  RangeTurns turns(8, 4, {1, 2}, 1);
  EXPECT_EQ(turns.next(1, -1), 2);  // 0 is the first's in any case, and 3 is read elsewhere
  for (int number = 0; number < 8; ++number) EXPECT_EQ(turns.reach(number), number == 2 ? 1 : number % 4 == 3 ? 3 : 0);
}

TEST(RangeTurns, EachRangeIsReadByOne) {
  constexpr int count = 2000;
  RangeTurns turns(count, 3, {1, 2}, 2);
  std::vector<int> own[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i) threads[i] = std::thread([&, i] { own[i] = turns_of(turns, i + 1, count); });
  std::vector<int> readers;
  for (int number = 0; number < count; ++number) readers.push_back(turns.reach(number));
  for (std::thread& thread : threads) thread.join();
  for (int number = 0; number < count; ++number)
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(readers[static_cast<std::size_t>(number)] == i + 1,
                std::find(own[i].begin(), own[i].end(), number) != own[i].end());
}

}  // namespace
}  // namespace ccl
