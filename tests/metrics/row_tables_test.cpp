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

}  // namespace
}  // namespace ccl
