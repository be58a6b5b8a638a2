#include "core/result_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ccl {
namespace {

struct Row {
  RankId rank;
  std::int64_t time_ns = 0;
  bool tie = false;
  CollectiveOp op = CollectiveOp::unknown;
  std::string host;
};

std::vector<ColumnSpec<Row>> columns() {
  return {column("rank", &Row::rank, "", "rank"),
          column("time_ns", &Row::time_ns, "ns", "time", -1),
          column("tie", &Row::tie, "", "tie"),
          column("op", &Row::op, "", "operation"),
          column("host", &Row::host, "", "host"),
          derived<Row>("rate_ratio", "", "rate", [](const Row& row) {
            return row.time_ns < 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(row.time_ns) / 2;
          })};
}

std::vector<Row> rows() {
  return {{RankId(3), 10, true, CollectiveOp::all_gather, "n1"},
          {RankId(70000), -1, false, CollectiveOp::send, "knoten"}};
}

TEST(ResultTable, CellsComeBackAsTheyWentIn) {
  const ResultTable table = make_table("rows", "test", columns(), rows());
  EXPECT_EQ(std::get<std::int64_t>(cell_at(table, 0, "rank")), 3);
  EXPECT_EQ(std::get<std::int64_t>(cell_at(table, 1, "rank")), 70000);
  EXPECT_EQ(std::get<std::int64_t>(cell_at(table, 1, "time_ns")), -1);
  EXPECT_EQ(std::get<std::int64_t>(cell_at(table, 0, "tie")), 1);
  EXPECT_EQ(std::get<std::string>(cell_at(table, 0, "op")), "all_gather");
  EXPECT_EQ(std::get<std::string>(cell_at(table, 0, "host")), "n1");
  EXPECT_EQ(std::get<double>(cell_at(table, 0, "rate_ratio")), 5);
  EXPECT_TRUE(std::isnan(std::get<double>(cell_at(table, 1, "rate_ratio"))));
}

TEST(ResultTable, RowsArePackedWithoutGaps) {
  const ResultTable table = make_table("rows", "test", columns(), rows());
  EXPECT_EQ(table.row_bytes(), 4U + 8 + 1 + 10 + 6 + 8);
  EXPECT_EQ(table.packed.size(), 2U * table.row_bytes());
  EXPECT_EQ(table.columns[1].absent_value, -1);
}

TEST(ResultTable, AnEmptyTableStillHasItsColumns) {
  const ResultTable table = make_table("rows", "test", columns(), std::vector<Row>());
  EXPECT_EQ(table.rows_count, 0);
  EXPECT_EQ(table.columns.size(), 6U);
  EXPECT_EQ(table.columns[4].width, 1U);
}

TEST(ResultTable, SlicesWidenTheirTextsToOneWidth) {
  ResultTable wide = make_table("rows", "test", columns(), std::vector<Row>{rows()[0]});
  widen_text(wide, {0, 0, 0, 10, 12, 0});
  EXPECT_EQ(wide.columns[4].width, 12U);
  EXPECT_EQ(std::get<std::string>(cell_at(wide, 0, "host")), "n1");
  EXPECT_EQ(std::get<double>(cell_at(wide, 0, "rate_ratio")), 5);
}

TEST(ResultTable, LongTextIsCutBetweenCharacters) {
  Bytes packed(5);
  pack_text({packed.data(), packed.size(), 4}, "abc\xC3\xA4");  // "abcä": the ä would be cut in half
  EXPECT_EQ(packed[2], std::byte{'c'});
  EXPECT_EQ(packed[3], std::byte{0});
  EXPECT_EQ(packed[4], std::byte{0});
}

// Rows are packed in blocks, each column by column.
TEST(ResultTable, EveryRowOfALongTableHasItsCells) {
  std::vector<Row> many;
  for (int i = 0; i < 1000; ++i)
    many.push_back({RankId(i), 10 * i, i % 3 == 0, i == 999 ? CollectiveOp::reduce_scatter : CollectiveOp::send,
                    std::string(static_cast<std::size_t>(i % 7), 'n')});
  const ResultTable table = make_table("rows", "test", columns(), many);
  ASSERT_EQ(table.packed.size(), 1000U * table.row_bytes());
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(std::get<std::int64_t>(cell_at(table, i, "rank")), i);
    EXPECT_EQ(std::get<std::int64_t>(cell_at(table, i, "time_ns")), 10 * i);
    EXPECT_EQ(std::get<std::int64_t>(cell_at(table, i, "tie")), i % 3 == 0 ? 1 : 0);
    EXPECT_EQ(std::get<std::string>(cell_at(table, i, "op")), i == 999 ? "reduce_scatter" : "send");
    EXPECT_EQ(std::get<std::string>(cell_at(table, i, "host")).size(), static_cast<std::size_t>(i % 7));
    EXPECT_EQ(std::get<double>(cell_at(table, i, "rate_ratio")), 5.0 * i);
  }
}

TEST(ResultTable, AnUnknownColumnIsOurBug) {
  const ResultTable table = make_table("rows", "test", columns(), rows());
  EXPECT_THROW(cell_at(table, 0, "nothing"), std::logic_error);
}

}  // namespace
}  // namespace ccl
