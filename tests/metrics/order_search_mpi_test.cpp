#include "metrics/order_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/statistics.hpp"
#include "support/mpi_world.hpp"

namespace ccl {
namespace {

using test::world;

constexpr double percents[] = {0, 5, 50, 95, 100};

/// The same values on every worker; each keeps some of them, by chance.
void expect_exact(const std::vector<std::vector<double>>& values) {
  std::mt19937 random(7);
  std::vector<std::vector<double>> mine(values.size());
  std::vector<Asked> asked;
  std::vector<double> expected;
  for (std::size_t list = 0; list < values.size(); ++list) {
    for (const double value : values[list])
      if (random() % static_cast<unsigned>(world().num_workers()) == static_cast<unsigned>(world().worker()))
        mine[list].push_back(value);
    std::sort(mine[list].begin(), mine[list].end());
    for (const double percent : percents) {
      asked.push_back({{list}, percent});
      expected.push_back(percentile(values[list], percent));
    }
  }
  std::vector<double> all;
  asked.push_back({{}, 50});
  for (std::size_t list = 0; list < values.size(); ++list) {
    all.insert(all.end(), values[list].begin(), values[list].end());
    asked.back().lists.push_back(list);
  }
  expected.push_back(median(all));
  const std::vector<double> found = percentiles(mine, asked, world());
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i])) EXPECT_TRUE(std::isnan(found[i]));
    else EXPECT_EQ(found[i], expected[i]) << "question " << i;
  }
}

std::vector<double> by_chance(std::size_t count, double least, double most) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::uniform_real_distribution<double> any(least, most);
  std::vector<double> values(count);
  for (double& value : values) value = any(random);
  return values;
}

TEST(OrderSearch, OfEachListAndOfAllTogether) {
  expect_exact({by_chance(2000, 1e9, 3e11), by_chance(3, 0, 1), {}, by_chance(701, 1e-3, 1e12), {4.5}});
}
TEST(OrderSearch, NegativeNumbersAndZero) { expect_exact({by_chance(500, -1000, 1000), {-2, -1, 0, 1, 2}, {-1, -1e-300, 1e300}}); }
TEST(OrderSearch, FewValuesThatOccurOften) {
  std::vector<double> values(900, 3.0);
  values.insert(values.end(), 50, 2.0);
  values.insert(values.end(), 50, 4.0);
  expect_exact({values});
}
TEST(OrderSearch, NothingAtAll) {
  expect_exact({});
  expect_exact({{}, {}});
}

TEST(OrderSearch, OneWorkerHasAll) {
  std::vector<double> values = by_chance(1000, 0, 1);
  std::sort(values.begin(), values.end());
  const bool mine = world().worker() + 1 == world().num_workers();
  const std::vector<std::vector<double>> lists{mine ? values : std::vector<double>()};
  EXPECT_EQ(percentiles(lists, {{{0}, 95}}, world()), std::vector<double>{percentile(values, 95)});
}

}  // namespace
}  // namespace ccl
