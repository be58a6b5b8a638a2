#include "core/strings.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

TEST(StringTable, AKnownTextKeepsItsIndex) {
  StringTable table;
  const std::uint32_t a = table.index("alpha");
  EXPECT_NE(table.index("beta"), a);
  EXPECT_EQ(table.index("alpha"), a);
  EXPECT_EQ(table.text(a), "alpha");
  EXPECT_EQ(table.text(table.id(a)), "alpha");
}

TEST(StringTable, TheEmptyTextHasTheEmptyId) {
  StringTable table;
  EXPECT_EQ(table.intern(""), StringId());
  EXPECT_FALSE(table.intern("").known());
  EXPECT_EQ(table.text(StringId()), "");
  EXPECT_EQ(table.text(string_id("never added")), "");
}

TEST(StringTable, IdsDoNotDependOnTheOrder) {
  StringTable one, other;
  one.index("a");
  EXPECT_EQ(one.intern("kernel"), other.intern("kernel"));
  EXPECT_EQ(one.intern("kernel"), string_id("kernel"));
}

TEST(StringTable, GrowthKeepsEverything) {
  StringTable table;
  for (int i = 0; i < 5000; ++i) table.index("text " + std::to_string(i));
  EXPECT_EQ(table.size(), 5001U);
  for (int i = 0; i < 5000; ++i)
    EXPECT_EQ(table.text(string_id("text " + std::to_string(i))), "text " + std::to_string(i));
}

TEST(StringTable, UnitedTablesKnowBothSides) {
  StringTable one, other;
  one.index("left");
  const StringId right = other.intern("right");
  one.unite(other);
  EXPECT_EQ(one.text(right), "right");
  EXPECT_EQ(one.size(), 3U);
}

TEST(StringTable, ClearForgetsTheTexts) {
  StringTable table;
  const StringId id = table.intern("gone");
  table.clear();
  EXPECT_EQ(table.text(id), "");
  EXPECT_EQ(table.size(), 1U);
}

TEST(StableHash, IsTheSameForEveryBuild) {
  // The hash decides which worker owns what: a build that hashes differently can not talk to this one.
  EXPECT_EQ(stable_hash("ncclDevKernel_AllReduce"), stable_hash(std::string("ncclDevKernel_") + "AllReduce"));
  EXPECT_NE(stable_hash("ab"), stable_hash("ba"));
  EXPECT_NE(stable_hash(std::string_view("a\0", 2)), stable_hash("a"));
  EXPECT_NE(hash_combine(hash_combine(1, 2), 3), hash_combine(hash_combine(1, 3), 2));
}

}  // namespace
}  // namespace ccl
