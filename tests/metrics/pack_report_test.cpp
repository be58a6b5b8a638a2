#include "metrics/pack_report.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ccl {
namespace {

TEST(PackReport, AllButTheTablesArrives) {
  Report report;
  report.status = Status::partial;
  report.reason = "3 of 4 ranks present have a value";
  report.ranks_covered = 3;
  report.value("mean_ns", 12.5, "mean over steps");
  report.value("p99_ns", NAN);
  report.note("worst_rank", "rank 3", "the slowest");
  report.page = {"late          rank 3", ""};
  report.details = {"  rank 3"};
  report.vectors = {{"/timeline/edges_ns", "edges", "ns", {0, 10, 20}}, {"/b", "", "", {}}};
  report.extra_tables.emplace_back().name = "stays";
  struct R {
    std::int64_t delay_ns = -1;
    std::string why;
  };
  const std::vector<ColumnSpec<R>> columns{column("delay_ns", &R::delay_ns, "ns", "by how much", -1), column("why", &R::why, "", "")};
  MetricResult metric;
  metric.report = report;
  metric.report.show(make_table("late", "who is late", columns, std::vector<R>(100, R{7, "slow"})));
  keep_shown(metric);
  report = metric.report;
  ByteWriter out;
  pack_report(report, out);
  out.text("behind");
  const Bytes packed = out.take();
  ByteReader in(packed);
  Report came;
  unpack_report(in, came);
  EXPECT_EQ(in.text(), "behind");
  EXPECT_EQ(came.status, Status::partial);
  EXPECT_EQ(came.reason, report.reason);
  EXPECT_EQ(came.ranks_covered, 3);
  ASSERT_EQ(came.headlines.size(), 3U);
  EXPECT_EQ(came.headlines[0].name, "mean_ns");
  EXPECT_EQ(came.headlines[0].value, 12.5);
  EXPECT_EQ(came.headlines[0].description, "mean over steps");
  EXPECT_TRUE(std::isnan(came.headlines[1].value));
  EXPECT_EQ(came.headlines[2].text, "rank 3");
  EXPECT_EQ(came.page, report.page);
  EXPECT_EQ(came.details, report.details);
  ASSERT_EQ(came.vectors.size(), 2U);
  EXPECT_EQ(came.vectors[0].path, "/timeline/edges_ns");
  EXPECT_EQ(came.vectors[0].unit, "ns");
  EXPECT_EQ(came.vectors[0].values, (std::vector<std::int64_t>{0, 10, 20}));
  EXPECT_TRUE(came.extra_tables.empty());
  ASSERT_EQ(came.shown.size(), 1U);
  const ResultTable& late = came.shown[0].first_rows;
  EXPECT_EQ(came.shown[0].rows_count, 100);
  EXPECT_EQ(late.rows_count, most_shown_rows);
  EXPECT_EQ(late.name + ", " + late.description, "late, who is late");
  EXPECT_EQ(late.columns[0].unit, "ns");
  EXPECT_EQ(late.columns[0].absent_value, -1);
  EXPECT_EQ(cell_at(late, 63, "delay_ns"), Cell(std::int64_t{7}));
  EXPECT_EQ(cell_at(late, 63, "why"), Cell("slow"));
}

}  // namespace
}  // namespace ccl
