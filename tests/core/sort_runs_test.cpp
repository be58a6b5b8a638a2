#include "core/sort_runs.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>

namespace ccl {
namespace {

TEST(SortRuns, GivesWhatAnySortGives) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> rows(random() % 400);
    std::iota(rows.begin(), rows.end(), 0U);
    std::vector<int> times(rows.size());
    const std::size_t queue = 1 + random() % 100;  // rows of one queue ascend
    for (std::size_t i = 0; i < times.size(); ++i)
      times[i] = static_cast<int>(i % queue * 3) + static_cast<int>(random() % (round % 2 == 0 ? 3 : 50));
    const auto less = [&](std::uint32_t a, std::uint32_t b) { return std::pair(times[a], a) < std::pair(times[b], b); };
    std::vector<std::uint32_t> expected = rows;
    std::sort(expected.begin(), expected.end(), less);
    sort_runs(rows, less);
    ASSERT_EQ(rows, expected) << round;
  }
}

TEST(SortRuns, NothingAndOneRowAreSorted) {
  std::vector<std::uint32_t> rows;
  sort_runs(rows, std::less<>());
  EXPECT_TRUE(rows.empty());
  rows = {4};
  sort_runs(rows, std::less<>());
  EXPECT_EQ(rows, std::vector<std::uint32_t>{4});
}

}  // namespace
}  // namespace ccl
