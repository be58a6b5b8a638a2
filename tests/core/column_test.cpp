#include "core/column.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "core/processors.hpp"
#include "support/sanitized.hpp"

namespace ccl {
namespace {

TEST(Column, KeepsItsValuesWhileItGrowsOverManyChunks) {
  Column<std::int64_t> column;
  constexpr std::size_t count = 3'000'000;
  for (std::size_t i = 0; i < count; ++i) column.push_back(static_cast<std::int64_t>(i * 7));
  ASSERT_EQ(column.size(), count);
  for (std::size_t i = 0; i < count; i += 997) ASSERT_EQ(column[i], static_cast<std::int64_t>(i * 7));
  EXPECT_EQ(column.back(), static_cast<std::int64_t>((count - 1) * 7));
  EXPECT_EQ(column.span().size(), count);
}

TEST(Column, GrowsByABoundedChunk) {
  Column<std::int64_t> column;
  for (std::size_t i = 0; i < 4'000'000; ++i) column.push_back(0);
  EXPECT_LE(column.capacity_bytes() - column.size() * sizeof(std::int64_t), std::size_t{5} << 20);
}

TEST(Column, StaysWhereItIsWhileItGrowsFourfold) {
  Column<std::int64_t> column;
  column.push_back(1);
  const std::int64_t* const at = column.begin();
  const std::size_t rows = column.capacity_bytes() / sizeof(std::int64_t);
  column.resize(4 * rows);
  EXPECT_EQ(column.begin(), at);
  EXPECT_EQ(column[0], 1);
}

#ifdef __linux__
[[noreturn]] void grow_with_few_addresses() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  Column<std::int64_t> column;
  const rlim_t most = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{40} << 20);
  const rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
  constexpr std::int64_t count = 3'000'000;  // 24 MB; 96 are not to be had
  for (std::int64_t i = 0; i < count; ++i) column.push_back(i);
  for (std::int64_t i = 0; i < count; ++i)
    if (column[static_cast<std::size_t>(i)] != i) std::exit(1);
  std::exit(0);
}

TEST(ColumnDeathTest, GrowsWhereAddressesAreLimited) {
  if (test::dies_without_memory) GTEST_SKIP() << test::why_it_dies;
  EXPECT_EXIT(grow_with_few_addresses(), testing::ExitedWithCode(0), "");
}
#endif

TEST(Column, ClearKeepsThePages) {
  Column<std::int32_t> column;
  column.resize(100'000);
  const std::size_t before = column.capacity_bytes();
  column.clear();
  EXPECT_TRUE(column.empty());
  EXPECT_EQ(column.capacity_bytes(), before);
}

TEST(Column, ResizeFillsWithZerosEvenOverOldValues) {
  Column<std::int32_t> column;
  for (int i = 0; i < 10; ++i) column.push_back(9);
  column.clear();
  column.resize(10);
  for (const std::int32_t value : column) EXPECT_EQ(value, 0);
}

TEST(Column, AddedRowsStandBehindThoseThatAreThere) {
  Column<std::int32_t> column;
  column.push_back(1);
  const std::span<std::int32_t> added = column.add_rows(100'000);
  ASSERT_EQ(added.size(), 100'000U);
  for (std::int32_t& row : added) row = 7;
  ASSERT_EQ(column.size(), 100'001U);
  EXPECT_EQ(column[0], 1);
  EXPECT_EQ(column[1], 7);
  EXPECT_EQ(column.back(), 7);
  EXPECT_TRUE(column.add_rows(0).empty());
}

TEST(Column, MovesLeaveNothingBehind) {
  Column<std::uint16_t> from;
  from.push_back(5);
  Column<std::uint16_t> to = std::move(from);
  ASSERT_EQ(to.size(), 1U);
  EXPECT_EQ(to[0], 5);
  Column<std::uint16_t> other;
  other.push_back(1);
  other.push_back(2);
  to.swap(other);
  EXPECT_EQ(to.size(), 2U);
  EXPECT_EQ(other.size(), 1U);
}

// Pages that one thread gives up when it grows, another takes: ThreadSanitizer must see that.
TEST(Column, ThreadsGrowTheirOwn) {
  const auto grow = [] {
    for (int turn = 0; turn < 30; ++turn) {
      Column<std::int64_t> first, second;
      for (std::int64_t i = 0; i < 60000; ++i) {
        first.push_back(i);
        second.push_back(-i);
      }
      for (const std::int64_t i : {0, 8191, 8192, 59999}) {
        EXPECT_EQ(first[static_cast<std::size_t>(i)], i);
        EXPECT_EQ(second[static_cast<std::size_t>(i)], -i);
      }
    }
  };
  side_by_side(std::vector<Processors>{own_processors()}, {grow, grow});
}

}  // namespace
}  // namespace ccl
