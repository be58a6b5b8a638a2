#include <gtest/gtest.h>

#include <string>

#include "exchange/align.hpp"
#include "exchange/robust.hpp"

namespace ccl {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// One item per letter; item i ends at first_ns + i · 1000.
std::vector<AlignItem> items(const std::string& letters, std::int64_t first_ns = 0) {
  std::vector<AlignItem> all;
  for (const char c : letters) {
    all.push_back({static_cast<std::uint64_t>(c), first_ns, true});
    first_ns += 1000;
  }
  return all;
}

TEST(Align, EqualSequences) { EXPECT_EQ(align(items("abc"), items("abc")), (Pairs{{0, 0}, {1, 1}, {2, 2}})); }
TEST(Align, NothingInCommon) { EXPECT_TRUE(align(items("abc"), items("xyz")).empty()); }
TEST(Align, OneSideEmpty) { EXPECT_TRUE(align(items("abc"), {}).empty()); }
TEST(Align, GapInTheMiddle) { EXPECT_EQ(align(items("abcd"), items("abd")), (Pairs{{0, 0}, {1, 1}, {3, 2}})); }
TEST(Align, BothSidesHaveExtras) { EXPECT_EQ(align(items("xab"), items("aby")), (Pairs{{1, 0}, {2, 1}})); }

TEST(Align, AmongEqualSignaturesTheEndsDecide) {
  // Uneven spacing: of the shifts 0…2 only one has constant end differences.
  std::vector<AlignItem> a = items("aaaaaa"), b;
  for (std::size_t i = 0; i < a.size(); ++i) a[i].end_ns += static_cast<std::int64_t>(i * i) * 100;
  for (const std::size_t i : {1U, 2U, 3U, 4U}) b.push_back({a[i].signature, a[i].end_ns + 77'000, true});
  EXPECT_EQ(align(a, b), (Pairs{{1, 0}, {2, 1}, {3, 2}, {4, 3}}));
  EXPECT_EQ(align(b, a), (Pairs{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
}

TEST(Align, BeyondTheCostBoundOnlyShiftsAreTried) {
  EXPECT_EQ(align(items("abcd"), items("cd"), 4), (Pairs{{2, 0}, {3, 1}}));
  EXPECT_TRUE(align(items("abcd"), items("bd"), 4).empty());
}

TEST(Robust, MedianOfIntegers) {
  EXPECT_EQ(middle_value({5}), 5);
  EXPECT_EQ(middle_value({9, 1, 5}), 5);
  EXPECT_EQ(middle_value({1, 4}), 2);
  EXPECT_EQ(middle_value({-4, -1}), -3);
}

TEST(Robust, PercentileInterpolates) {
  EXPECT_EQ(percentile_value({0, 100}, 95), 95);
  EXPECT_EQ(percentile_value({7}, 95), 7);
  EXPECT_EQ(percentile_value({40, 10, 30, 0, 20}, 50), 20);
  EXPECT_EQ(percentile_value({30, 0, 20, 10}, 95), 28);
}

}  // namespace
}  // namespace ccl
