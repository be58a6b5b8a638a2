#include "core/intervals.hpp"

#include <gtest/gtest.h>

#include <random>

namespace ccl {
namespace {

// The same answers from one byte per nanosecond.
struct Bitmap {
  explicit Bitmap(const Intervals& list) : on(2000, false) {
    for (const Interval& i : list)
      for (std::int64_t t = i.start_ns; t < i.end_ns; ++t) on[static_cast<std::size_t>(t)] = true;
  }
  std::vector<bool> on;
};

Intervals random_list(std::mt19937& random, int count) {
  Intervals list;
  for (int i = 0; i < count; ++i) {
    const auto start = static_cast<std::int64_t>(random() % 1800);
    list.push_back({start, start + static_cast<std::int64_t>(random() % 60)});
  }
  return list;
}

TEST(Intervals, MergeJoinsTouchingAndDropsEmpty) {
  EXPECT_EQ(merge_intervals({{5, 7}, {1, 3}, {3, 5}, {9, 9}}), (Intervals{{1, 7}}));
}

TEST(Intervals, SubtractCutsTheMiddle) {
  EXPECT_EQ(subtract(Intervals{{0, 10}}, Intervals{{2, 3}, {5, 6}}), (Intervals{{0, 2}, {3, 5}, {6, 10}}));
}

TEST(Intervals, MergedLengthCountsWhatTheListWouldHold) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Intervals any = random_list(random, round % 20);
    std::sort(any.begin(), any.end());
    Intervals list;
    MergedLength length;
    for (const Interval& interval : any) {
      EXPECT_EQ(length.before_ns(interval.start_ns), length_ns(clip(list, {-1, interval.start_ns})));
      append_merged(list, interval);
      length.add(interval);
    }
    EXPECT_EQ(length.length_ns(), length_ns(list));
    EXPECT_EQ(length.empty(), list.empty());
    if (list.empty()) continue;
    EXPECT_EQ(length.end_ns(), list.back().end_ns);
  }
}

TEST(Intervals, RandomListsAgreeWithABitmap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const Intervals c = merge_intervals(random_list(random, 1 + round % 20));
    const Intervals k = merge_intervals(random_list(random, 1 + round % 13));
    const Intervals m = merge_intervals(random_list(random, round % 7));
    const Bitmap bc(c), bk(k), bm(m);
    std::int64_t both = 0, either = 0, only_c = 0, memory_only = 0, busy = 0;
    for (std::size_t t = 0; t < 2000; ++t) {
      both += bc.on[t] && bk.on[t];
      either += bc.on[t] || bk.on[t];
      only_c += bc.on[t] && !bk.on[t];
      memory_only += bm.on[t] && !bc.on[t] && !bk.on[t];
      busy += bm.on[t] || bc.on[t] || bk.on[t];
    }
    EXPECT_EQ(overlap_ns(c, k), both);
    EXPECT_EQ(length_ns(intersect(c, k)), both);
    EXPECT_EQ(length_ns(unite(c, k)), either);
    EXPECT_EQ(length_ns(subtract(c, k)), only_c);
    const Budget b = budget(c, k, m, {0, 2000});
    EXPECT_EQ(b.exposed_ns, only_c);
    EXPECT_EQ(b.memory_only_ns, memory_only);
    EXPECT_EQ(b.busy_ns, busy);
    EXPECT_EQ(b.compute_only_ns + b.overlap_ns + b.exposed_ns + b.memory_only_ns + b.idle_ns, 2000);
  }
}

}  // namespace
}  // namespace ccl
