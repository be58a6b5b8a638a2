#include "core/number_list.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace ccl {
namespace {

TEST(NumberList, ConsecutiveNumbersAreFoldedFromTheAskedLengthOn) {
  EXPECT_EQ(number_list({9, 1, 2, 5, 6, 7, 2}, SIZE_MAX, 2), "1-2, 5-7, 9");
  EXPECT_EQ(number_list({9, 1, 2, 5, 6, 7, 2}, SIZE_MAX, 3), "1, 2, 5-7, 9");
  EXPECT_EQ(number_list({}, SIZE_MAX, 2), "");
}

TEST(NumberList, HowManyAreNotShownIsSaid) {
  EXPECT_EQ(number_list({0, 2, 4, 5, 6}, 2, 2), "0, 2 and 3 more");
  EXPECT_EQ(rank_list({3, 0, 1, 2, 9, 7, 6}), "0-3, 6, 7, 9");
  EXPECT_EQ(rank_list({0, 2, 4, 6, 8, 10}, 3), "0, 2, 4 and 3 more");
}

TEST(NumberList, OneRankIsNoPlural) {
  EXPECT_EQ(ranks_text({5}), "rank 5");
  EXPECT_EQ(ranks_text({7, 0, 1, 2}), "ranks 0-2, 7");
}

}  // namespace
}  // namespace ccl
