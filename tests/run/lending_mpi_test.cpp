#include "comm/lending.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/mpi_world.hpp"

namespace ccl {
namespace {

using test::world;

// All workers of a test are on one node.
TEST(Lending, WhoHasNothingToDoLendsToTheBusyOnesInTurnAndComesBack) {
  const int workers = world().num_workers(), me = world().worker();
  for (int busy_count = 1; busy_count <= workers; ++busy_count) {
    std::vector<int> busy;
    for (int i = 0; i < busy_count; ++i) busy.push_back(i * workers / busy_count);
    const auto at = std::find(busy.begin(), busy.end(), me);
    const Lending lending = lend_to_busy(busy, world());
    if (at == busy.end()) {
      EXPECT_TRUE(lending.has_lent());
      EXPECT_TRUE(lending.lenders().empty());
      continue;
    }
    EXPECT_FALSE(lending.has_lent());
    std::vector<int> expected;
    for (int worker = 0, idle = 0; worker < workers; ++worker) {
      if (std::find(busy.begin(), busy.end(), worker) != busy.end()) continue;
      if (idle++ % busy_count == at - busy.begin()) expected.push_back(worker);
    }
    std::vector<int> lenders = lending.lenders();
    std::sort(lenders.begin(), lenders.end());
    EXPECT_EQ(lenders, expected);
    EXPECT_LE(lending.processors().size(), lenders.size());
    std::vector<int> done(8, 0);
    std::vector<std::function<void()>> tasks;
    for (int& one : done) tasks.emplace_back([&one] { ++one; });
    side_by_side(lending.processors(), tasks);
    EXPECT_EQ(done, std::vector<int>(8, 1));
  }
  EXPECT_EQ(world().sum(1), workers) << "nobody waits any more";
}

TEST(Lending, NobodyLendsWhereItIsOff) {
  lend_processors_for_test(false);
  const Lending lending = lend_to_busy({0}, world());
  EXPECT_FALSE(lending.has_lent());
  EXPECT_TRUE(lending.lenders().empty());
  lend_processors_for_test(true);
}

}  // namespace
}  // namespace ccl
