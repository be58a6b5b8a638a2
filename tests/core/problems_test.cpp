#include "core/problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "support/numbered.hpp"

namespace ccl {
namespace {

TEST(Problems, EveryCodeStandsAtItsPlaceInTheTable) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < code_count; ++i) {
    const CodeInfo& row = info(static_cast<Code>(i));
    EXPECT_EQ(static_cast<std::size_t>(row.code), i) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.meaning.empty() || row.advice.empty()) << row.name;
  }
}

Problem problem(Code code, std::int32_t rank, const std::string& file, std::int64_t count) {
  Problem made;
  made.code = code;
  made.rank = rank;
  made.file = file;
  made.count = count;
  return made;
}

std::vector<Problem> many() {
  std::vector<Problem> all;
  for (int i = 0; i < 150; ++i) all.push_back(problem(Code::file_cut, i, test::numbered("f", i % 7), 1 + i % 3));
  all.push_back(problem(Code::no_rank, -1, "x", 1));
  all.push_back(problem(Code::missing_ranks, 3, "", 1));
  return all;
}

TEST(Problems, CountsAreFullRowsAreTheSmallestHundred) {
  Problems problems;
  for (const Problem& p : many()) problems.add(p);
  EXPECT_EQ(problems.count(Code::file_cut), 300);
  const std::vector<Problem> rows = problems.rows();
  EXPECT_EQ(rows.size(), 102U);
  EXPECT_EQ(rows.front().code, Code::no_rank) << "errors come first";
  EXPECT_EQ(rows.back().code, Code::missing_ranks) << "notices come last";
  EXPECT_EQ(rows[100].rank, 99);
}

TEST(Problems, SeveritiesAreSummed) {
  Problems problems;
  for (const Problem& p : many()) problems.add(p);
  EXPECT_EQ(problems.count(Severity::data_loss), 300);
  EXPECT_EQ(problems.count(Severity::error), 1);
  EXPECT_EQ(problems.count(Severity::notice), 1);
}

TEST(Problems, WhoCollectedThemDoesNotMatter) {
  Problems alone;
  for (const Problem& p : many()) alone.add(p);
  std::mt19937 random(3);
  for (int round = 0; round < 5; ++round) {
    std::vector<Problem> shuffled = many();
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    Problems workers[3];
    for (const Problem& p : shuffled) workers[random() % 3].add(p);
    Problems joined;
    for (const Problems& part : workers) joined.unite(Problems::unpack(part.pack()));
    EXPECT_EQ(joined.rows(), alone.rows());
    EXPECT_EQ(joined.pack(), alone.pack());
  }
}

TEST(Problems, EqualOnesAreOneRowWhoeverMetThem) {
  Problems alone, workers[2];
  for (int i = 0; i < 300; ++i) {
    const Problem p = problem(Code::event_damaged, i % 3, "node.sqlite", 1 + i % 2);
    alone.add(p);
    workers[i / 100 % 2].add(p);
  }
  Problems joined;
  for (const Problems& part : workers) joined.unite(part);
  ASSERT_EQ(alone.rows().size(), 3U);
  EXPECT_EQ(alone.rows()[0].count, 150);
  EXPECT_EQ(joined.rows(), alone.rows());
  EXPECT_EQ(joined.count(Code::event_damaged), 450);
}

TEST(Problems, ClosestWordIsSuggestedOnlyIfClose) {
  const std::vector<std::string> known{"iter_time", "comm_comp_overlap", "timeline"};
  EXPECT_EQ(closest("iter_tme", known), "iter_time");
  EXPECT_EQ(closest("com_comp_overlap", known), "comm_comp_overlap");
  EXPECT_EQ(closest("bandwidth", known), "");
  EXPECT_EQ(closest("x", {}), "");
}

}  // namespace
}  // namespace ccl
