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

TEST(RangeTurns, AThreadGetsAheadWhileTheFirstHasTwoMoreToRead) {
  RangeTurns turns(12, 2, {1}, 1);  // the first is dealt 7, the fourth turn of the thread
  EXPECT_EQ(turns.next(1, -1), 1);
  EXPECT_EQ(turns.next(1, 1), 3);
  EXPECT_EQ(turns.next(1, 3), 5);
  EXPECT_EQ(turns.next(1, 5), 6);  // the first is still at 0, and 2 and 4 are before it
  for (int number = 0; number < 6; ++number) EXPECT_EQ(turns.reach(number), number % 2);
  EXPECT_EQ(turns.reach(6), 1);
  EXPECT_EQ(turns.next(1, 6), 9);  // 7 and 8 are the first's, too close to it
  EXPECT_EQ(turns.reach(7), 0);
  EXPECT_EQ(turns.reach(8), 0);
  EXPECT_EQ(turns.next(1, 9), 11);
  EXPECT_EQ(turns.next(1, 11), 12);
  EXPECT_EQ(turns.reach(9), 1);
  EXPECT_EQ(turns.reach(10), 0);
  EXPECT_EQ(turns.reach(11), 1);
}

TEST(RangeTurns, WhoIsNoThreadIsDealtTheSame) {
  RangeTurns of_first(12, 3, {1}, 1), of_other(12, 3);
  for (RangeTurns* turns : {&of_first, &of_other}) EXPECT_EQ(turns_of(*turns, 2, 12), (std::vector{2, 5, 8, 11}));
  for (int number = 0; number < 12; ++number) EXPECT_EQ(of_first.reach(number) == 2, number % 3 == 2);
}

TEST(RangeTurns, WhoLendsWithoutAThreadLeavesItsTurnsToTheFirst) {
  RangeTurns turns(8, 4, {1, 2}, 1);
  EXPECT_EQ(turns.next(1, -1), 1);
  for (int number = 0; number < 8; ++number) EXPECT_EQ(turns.reach(number), number == 2 || number == 6 ? 0 : number % 4);
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
