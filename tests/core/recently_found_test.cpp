#include "core/recently_found.hpp"

#include <gtest/gtest.h>

#include <map>

namespace ccl {
namespace {

TEST(RecentlyFound, CountsAsTheMapItselfWouldWhateverTheKinds) {
  std::map<int, int> direct, counted{{3, 5}};
  direct[3] = 5;
  RecentlyFound count(counted);
  for (int i = 0; i < 5000; ++i) {
    const int key = i * i % 11 + i / 1000;
    ++direct[key];
    ++count(key, static_cast<std::size_t>(i % 3 == 0 ? key : 300 * key));
  }
  EXPECT_EQ(counted, direct);
}

}  // namespace
}  // namespace ccl
