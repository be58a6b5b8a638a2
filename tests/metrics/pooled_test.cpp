#include "metrics/pooled.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

struct Row {
  std::int32_t replica = -1;
  RankId rank;
  std::int64_t above = 0, below = 0;
};

PooledRatio pooled(const std::vector<Row>& rows) {
  return pooled_ratio(rows, [](const Row& row) { return row.above; }, [](const Row& row) { return row.below; });
}

TEST(PooledRatio, SumsOverRowsAndByRank) {
  const PooledRatio of = pooled({{-1, RankId(1), 1, 4}, {-1, RankId(0), 1, 2}, {-1, RankId(1), 2, 4}, {-1, RankId(2), 9, 0}});
  EXPECT_EQ(of.value, 0.4);
  EXPECT_EQ(of.smallest, 0.375);
  EXPECT_EQ(of.smallest_rank.second, RankId(1));
  EXPECT_EQ(of.largest, 0.5);
  EXPECT_EQ(of.ranks_count, 2U);
}

TEST(PooledRatio, WindowsOfClocksThatAreYearsApartFit) {
  constexpr std::int64_t years_ns = std::int64_t{1} << 61;
  std::vector<Row> rows;
  for (std::int32_t rank = 0; rank < 40; ++rank) rows.push_back({-1, RankId(rank), years_ns / 4, years_ns});
  EXPECT_EQ(pooled(rows).value, 0.25);
}

}  // namespace
}  // namespace ccl
