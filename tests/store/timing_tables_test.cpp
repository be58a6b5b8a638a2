#include <gtest/gtest.h>

#include "store/run_tables.hpp"

namespace ccl {
namespace {

TEST(TimingTables, StagesTellSumsExtremesAndImbalance) {
  std::vector<WorkerTimings> workers(2);
  workers[0].timings.stages = {{"analyze", 3.0, 1.0, 1000, 10, 0, 50}, {"match", 0.5, 0.25, 0, 4, 70, 60}};
  workers[1].worker = 1;
  workers[1].timings.stages = {{"analyze", 3.5, 3.0, 5000, 30, 0, 90}, {"match", 0.5, 0.25, 0, 6, 30, 95}};
  const ResultTable table = stage_table(workers);
  ASSERT_EQ(table.rows_count, 2);
  EXPECT_EQ(cell_at(table, 0, "stage"), Cell("analyze"));
  EXPECT_EQ(cell_at(table, 0, "wall_max_ns"), Cell(std::int64_t{3'500'000'000}));
  EXPECT_EQ(cell_at(table, 0, "cpu_min_ns"), Cell(std::int64_t{1'000'000'000}));
  EXPECT_EQ(cell_at(table, 0, "cpu_mean_ns"), Cell(std::int64_t{2'000'000'000}));
  EXPECT_EQ(cell_at(table, 0, "imbalance_ratio"), Cell(1.5));
  EXPECT_EQ(cell_at(table, 0, "read_bytes"), Cell(std::int64_t{6000}));
  EXPECT_EQ(cell_at(table, 0, "items_count"), Cell(std::int64_t{40}));
  EXPECT_EQ(cell_at(table, 0, "peak_memory_bytes"), Cell(std::int64_t{90}));
  EXPECT_EQ(cell_at(table, 1, "sent_bytes"), Cell(std::int64_t{100}));
  EXPECT_EQ(cell_at(table, 1, "imbalance_ratio"), Cell(1.0));
}

}  // namespace
}  // namespace ccl
