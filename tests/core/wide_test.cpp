#include "core/wide.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace ccl {
namespace {

TEST(Wide, ProductsOf128BitsAreDividedWhole) {
  EXPECT_EQ(scaled(7, 3, 2), 10);
  EXPECT_EQ(scaled(-7, 3, 2), -10);  // towards zero
  EXPECT_EQ(scaled(INT64_MAX, 6, 9), 6148914691236517204);
  EXPECT_EQ(scaled(-INT64_MAX, 1'000'000'000, 1'000'000'000), -INT64_MAX);
  EXPECT_EQ(scaled(1'000'000, 9'000'000'000'000'000, 1'000'000'000), 9'000'000'000'000);  // 9.0e21 does not fit 64 bits
}

}  // namespace
}  // namespace ccl
