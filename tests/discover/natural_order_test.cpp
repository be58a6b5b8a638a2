#include "discover/natural_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ccl {

TEST(NaturalOrder, NumbersCompareByValue) {
  EXPECT_TRUE(natural_less("iteration_2/rank0", "iteration_10/rank0"));
  EXPECT_FALSE(natural_less("iteration_10/rank0", "iteration_2/rank0"));
  EXPECT_TRUE(natural_less("rank9.json", "rank10.json"));
  EXPECT_TRUE(natural_less("99999999999999999999998", "99999999999999999999999"));
}

TEST(NaturalOrder, LeadingZerosOnlyBreakTies) {
  EXPECT_TRUE(natural_less("rank_0003", "rank_4"));
  EXPECT_TRUE(natural_less("rank_003", "rank_3"));
  EXPECT_FALSE(natural_less("rank_3", "rank_003"));
}

TEST(NaturalOrder, FolderContentStaysTogether) {
  std::vector<std::string> paths{"a-b/x", "a/x", "a", "a/x2/y", "a/x10", "a/x2"};
  std::sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) { return natural_less(a, b); });
  EXPECT_EQ(paths, (std::vector<std::string>{"a", "a/x", "a/x2", "a/x2/y", "a/x10", "a-b/x"}));
}

TEST(NaturalOrder, NothingComesBeforeItself) {
  for (const char* text : {"", "a1", "007", "x/y"}) EXPECT_FALSE(natural_less(text, text));
}

}  // namespace ccl
