#include "metrics/format.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ccl {
namespace {

TEST(Format, TimesChooseTheirUnit) {
  EXPECT_EQ(milliseconds(12'345'678), "12.3 ms");
  EXPECT_EQ(milliseconds(1'234'567), "1.23 ms");
  EXPECT_EQ(milliseconds(99'000), "99.0 us");
  EXPECT_EQ(milliseconds(12e9), "12.0 s");
  EXPECT_EQ(milliseconds(0), "0.00 ms");
  EXPECT_EQ(microseconds(2'500'000), "2500 us");
}

TEST(Format, UnknownIsAWordNotANumber) {
  EXPECT_EQ(milliseconds(std::nan("")), "unknown");
  EXPECT_EQ(percent(std::nan("")), "unknown");
  EXPECT_EQ(gigabytes(std::nan("")), "unknown");
}

TEST(Format, ANameThatIsCutSaysSo) {
  EXPECT_EQ(short_name("kernel<4096>", 12), "kernel<4096>");
  EXPECT_EQ(short_name("kernel<4096>", 9), "kernel<40…");
}

TEST(Format, BytesAreDecimal) {
  EXPECT_EQ(gigabytes(1.5e9), "1.50 GB");
  EXPECT_EQ(gigabytes(2.5e6), "2.50 MB");
  EXPECT_EQ(gigabytes(750), "750 B");
}

TEST(Format, NamesOfStepsAndRanks) {
  EXPECT_EQ(step_name({10, 9}), "step 9 (iteration_10)");
  EXPECT_EQ(step_name({-1, 9}), "step 9");
  EXPECT_EQ(step_name({3, outside_step}), "outside every step");
  EXPECT_EQ(rank_name(-1, RankId(2)), "rank 2");
  EXPECT_EQ(rank_name(1, RankId(2)), "rank 2 of replica 1");
  EXPECT_EQ(group_name(Groups(), GroupId(5)), "an unknown group");
}

TEST(Format, LongLinesAreWrappedAtAHundredColumns) {
  std::vector<std::string> lines;
  std::string text;
  for (int i = 0; i < 40; ++i) text.append(i == 0 ? "" : " ").append("word").append(std::to_string(i));
  add_line(lines, "late", text);
  ASSERT_GT(lines.size(), 2U);
  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), 100U);
    joined.append(joined.empty() ? "" : " ").append(line, 14);
  }
  EXPECT_EQ(joined, text);
  EXPECT_EQ(lines[0].substr(0, 14), "late          ");
  EXPECT_EQ(lines[1].substr(0, 14), std::string(14, ' '));
}

TEST(Format, AWordLongerThanALineIsCut) {
  std::vector<std::string> lines;
  add_line(lines, "x", std::string(200, 'a'));
  EXPECT_EQ(lines.size(), 3U);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 100U);
}

TEST(Format, ListsAreCappedAndSayHowMuchIsMissing) {
  std::vector<std::string> lines;
  add_capped(lines, {"a", "b", "c"}, 2);
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "b", "  and 1 more in the HDF5 file"}));
}

TEST(Format, LinesThatAreNotShownAreNotMade) {
  int made = 0;
  CappedLines capped(2);
  for (int i = 0; i < 5; ++i) capped.add([&] { return std::to_string(++made); });
  std::vector<std::string> lines;
  capped.add_to(lines);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(lines, (std::vector<std::string>{"1", "2", "  and 3 more in the HDF5 file"}));
}

}  // namespace
}  // namespace ccl
