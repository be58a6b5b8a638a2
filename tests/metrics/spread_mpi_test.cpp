#include <gtest/gtest.h>

#include <random>

#include "metrics/spread.hpp"
#include "support/mpi_world.hpp"

namespace ccl {
namespace {

using test::world;

/// Values of group 1 + i, the same on every worker; those of a worker are dealt by chance.
struct Planted {
  std::vector<std::vector<double>> values;  // by group, in order
  std::vector<Valued<GroupId>> mine;

  explicit Planted(const std::vector<std::size_t>& counts, std::int64_t largest) : values(counts.size()) {
    std::mt19937 random(7);
    for (std::size_t g = 0; g < counts.size(); ++g) {
      for (std::size_t i = 0; i < counts[g]; ++i) {
        const auto value = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * largest + 1)) - largest;
        values[g].push_back(static_cast<double>(value));
        if (random() % static_cast<unsigned>(world().num_workers()) == static_cast<unsigned>(world().worker()))
          mine.push_back({GroupId(g + 1), value, 1});
      }
      std::sort(values[g].begin(), values[g].end());
    }
  }
};

void expect_exact(Planted planted) {
  const std::vector<SpreadOf<GroupId>> slice = spreads(planted.mine, world());
  EXPECT_TRUE(planted.mine.empty());
  std::vector<SpreadOf<GroupId>> all = gather_all_rows(world(), slice);
  sort_and_fold(all);
  std::size_t at = 0;
  for (std::size_t g = 0; g < planted.values.size(); ++g) {
    const std::vector<double>& values = planted.values[g];
    if (values.empty()) continue;
    ASSERT_LT(at, all.size());
    ASSERT_EQ(all[at].of, GroupId(g + 1));
    const Spread& spread = all[at++].spread;
    const auto positive = std::lower_bound(values.begin(), values.end(), 0.0);
    EXPECT_EQ(spread.count, static_cast<std::int64_t>(values.size()));
    EXPECT_EQ(spread.mean(), mean(values));
    EXPECT_EQ(spread.positive_count, values.end() - positive);
    if (positive != values.end()) {
      EXPECT_EQ(spread.positive_mean(), mean(std::span(positive, values.end())));
    }
    EXPECT_EQ(spread.least(), values.front());
    EXPECT_EQ(spread.p50(), percentile(values, 50));
    EXPECT_EQ(spread.p95(), percentile(values, 95));
    EXPECT_EQ(spread.most(), values.back());
  }
  EXPECT_EQ(at, all.size());
}

TEST(Spread, OneGroupHasNearlyAll) { expect_exact(Planted({3, 20000, 1, 2, 0, 40}, 1'000'000)); }
TEST(Spread, FewValuesThatOccurOften) { expect_exact(Planted({500, 700}, 2)); }
TEST(Spread, ManySmallGroups) { expect_exact(Planted(std::vector<std::size_t>(300, 5), 1'000'000)); }
TEST(Spread, OneValue) { expect_exact(Planted({1}, 10)); }
TEST(Spread, Nothing) { expect_exact(Planted({}, 10)); }

TEST(Spread, NoWorkerGetsMoreThanItsShare) {
  const auto workers = static_cast<std::size_t>(world().num_workers());
  std::vector<Valued<GroupId>> rows;  // all with the last worker, all of one group
  if (world().worker() + 1 == world().num_workers())
    for (std::int64_t i = 0; i < 10000; ++i) rows.push_back({GroupId(1), i, 1});
  std::int64_t count = 0;
  for (const auto& at : spreads(rows, world())) count += at.spread.count;
  EXPECT_LE(count, static_cast<std::int64_t>(10000 / workers + 10000 / 32));
}

}  // namespace
}  // namespace ccl
