#include "metrics/format.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

TEST(Format, AGroupThatIsNotThereIsUnknown) {
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
