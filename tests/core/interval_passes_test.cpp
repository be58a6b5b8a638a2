#include "core/interval_passes.hpp"

#include <gtest/gtest.h>

#include <random>

namespace ccl::test {
namespace {

/// In order of start; some are empty, some touch.
Intervals some_intervals(std::mt19937& random, int count) {
  Intervals all;
  std::int64_t start_ns = -500;
  for (int i = 0; i < count; ++i) {
    start_ns += static_cast<std::int64_t>(random() % 6);
    all.push_back({start_ns, start_ns + static_cast<std::int64_t>(random() % 8) - 1});
  }
  return all;
}

TEST(MergedWriter, WritesWhatAppendMergedWrites) {
  std::mt19937 random(5);
  for (const int count : {0, 1, 2, 30, 31, 32, 33, 34, 64, 1000}) {
    for (int trial = 0; trial < 20; ++trial) {
      Intervals written, appended;
      MergedWriter writer(written);
      for (const Interval& interval : some_intervals(random, count)) {
        writer.add(interval);
        append_merged(appended, interval);
      }
      writer.finish();
      EXPECT_EQ(written, appended) << count;
    }
  }
}

TEST(ForEachPair, FindsAllThatIsCommon) {
  std::mt19937 random(6);
  for (int trial = 0; trial < 100; ++trial) {
    const Intervals a = merge_intervals(some_intervals(random, 40)), b = merge_intervals(some_intervals(random, 25));
    std::int64_t common_ns = 0, expected_ns = 0;
    for_each_pair(a, b, [&](Interval common) { common_ns += std::max<std::int64_t>(common.length_ns(), 0); });
    for (const Interval& x : a)
      for (const Interval& y : b)
        expected_ns += std::max<std::int64_t>(std::min(x.end_ns, y.end_ns) - std::max(x.start_ns, y.start_ns), 0);
    EXPECT_EQ(common_ns, expected_ns);
    EXPECT_EQ(overlap_ns(a, b), expected_ns);
  }
}

}  // namespace
}  // namespace ccl::test
