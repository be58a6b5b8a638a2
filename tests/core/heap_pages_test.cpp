#include "core/heap_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/freed_memory.hpp"

namespace ccl {
namespace {

TEST(HeapPages, FreePagesGoToTheHostWhereTheKernelReportsSomeOrder) {
  EXPECT_FALSE(gives_pages_to_host(std::nullopt));  // a kernel without free page reporting
  EXPECT_FALSE(gives_pages_to_host(-1));            // nobody asked for it
  EXPECT_FALSE(gives_pages_to_host(4294967295));    // the same, as older kernels write it
  EXPECT_TRUE(gives_pages_to_host(0));
  EXPECT_TRUE(gives_pages_to_host(9));
  EXPECT_TRUE(gives_pages_to_host(10));
  EXPECT_FALSE(gives_pages_to_host(11));  // larger than any block: turned off
}

TEST(HeapPages, WhatWasAllocatedStays) {
  keep_freed_memory();
  use_huge_heap_pages();
  std::vector<std::vector<std::int64_t>> lists;
  for (std::int64_t i = 0; i < 64; ++i) {
    lists.emplace_back(std::size_t{1} << 15, i);
    advise_heap_growth();
  }
  keep_all_freed_memory();
  make_heap_room(std::size_t{64} << 20);
  make_heap_room(1);  // little: nothing is done
  for (std::int64_t i = 64; i < 128; ++i) lists.emplace_back(std::size_t{1} << 15, i);
  for (std::int64_t i = 0; i < 128; ++i) {
    ASSERT_EQ(lists[static_cast<std::size_t>(i)].front(), i);
    ASSERT_EQ(lists[static_cast<std::size_t>(i)].back(), i);
  }
}

}  // namespace
}  // namespace ccl
