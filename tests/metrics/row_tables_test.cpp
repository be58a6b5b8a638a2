#include <gtest/gtest.h>

#include "metrics/metric.hpp"

namespace ccl {
namespace {

struct Counted {
  std::int64_t name = 0, count = 0;
  auto key() const { return name; }
  void combine(const Counted& other) { count += other.count; }
};

TEST(RowTables, FoldingAsListsDoubleKeepsFewRowsAndEverySum) {
  RowTables<Counted> tables;
  std::vector<Counted>& rows = tables.of<Counted>();
  std::size_t most = 0;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    rows.push_back({i % 50, 1});
    tables.fold_when_doubled<Counted>();
    most = std::max(most, rows.size());
  }
  EXPECT_LT(most, 1200U);
  sort_and_fold(rows);
  ASSERT_EQ(rows.size(), 50U);
  for (const Counted& row : rows) EXPECT_EQ(row.count, 2000);
}

TEST(RowTables, RowsThatAllDifferAreAllKept) {
  RowTables<Counted> tables;
  for (std::int64_t i = 5000; i > 0; --i) {
    tables.of<Counted>().push_back({i, i});
    tables.fold_all_when_doubled();
  }
  EXPECT_EQ(tables.of<Counted>().size(), 5000U);
}

TEST(RowTables, ListsInOrderAndTwoBehindEachOtherFoldAsAnyOther) {
  const std::vector<Counted> ordered{{1, 1}, {2, 2}, {2, 20}, {5, 5}}, more{{0, 7}, {2, 200}, {9, 9}}, mixed{{5, 1}, {0, 1}, {5, 2}};
  const auto folded = [](std::vector<Counted> rows, const std::vector<Counted>& behind) {
    rows.insert(rows.end(), behind.begin(), behind.end());
    sort_and_fold(rows);
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    for (const Counted& row : rows) out.emplace_back(row.name, row.count);
    return out;
  };
  using Expected = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(folded(ordered, {}), (Expected{{1, 1}, {2, 22}, {5, 5}}));
  EXPECT_EQ(folded(ordered, more), (Expected{{0, 7}, {1, 1}, {2, 222}, {5, 5}, {9, 9}}));
  EXPECT_EQ(folded(ordered, mixed), (Expected{{0, 1}, {1, 1}, {2, 22}, {5, 8}}));
  EXPECT_EQ(folded({}, {}), Expected{});
}

struct OfRank {
  static constexpr bool until_closing = true;
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  int value = 0;
};

TEST(RowTables, RowsUntilClosingAreFoundByTheirRank) {
  const std::vector<OfRank> rows{{{0, 1}, RankId(3), -1, 1}, {{0, 2}, RankId(3), -1, 2}, {{0, 1}, RankId(4), -1, 3},
                                 {{1, 1}, RankId(3), -1, 4}};  // by iteration, replica and rank
  RankEntry entry;
  entry.iteration = 0;
  entry.rank = RankId(3);
  const auto own = rows_of(rows, entry);
  ASSERT_EQ(own.size(), 2U);
  EXPECT_EQ(own[1].value, 2);
  entry.iteration = 1;
  EXPECT_EQ(rows_of(rows, entry).front().value, 4);
  entry.rank = RankId(5);
  EXPECT_TRUE(rows_of(rows, entry).empty());
}

}  // namespace
}  // namespace ccl
