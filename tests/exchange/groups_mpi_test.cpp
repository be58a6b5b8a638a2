#include <gtest/gtest.h>

#include "exchange/groups.hpp"
#include "support/mpi_world.hpp"

namespace ccl {
namespace {

using test::world;

constexpr std::int32_t ranks_count = 8;

LocalGroup seen(std::int32_t rank, std::uint32_t local, std::string name, std::int32_t size,
                std::vector<std::int32_t> members) {
  LocalGroup group;
  group.rank_row = rank;
  group.local = local;
  group.group.name = std::move(name);
  group.group.description = "mesh_dp";
  group.group.size = size;
  group.group.members = std::move(members);
  group.sequence_everywhere = true;
  return group;
}

TEST(GroupsOverWorkers, AllAgreeOnWhatOneWorkerWouldFind) {
  Ranks ranks;
  for (std::int32_t r = 0; r < ranks_count; ++r) ranks.entries.emplace_back().rank = RankId(r);
  std::vector<LocalGroup> all, mine;
  for (std::int32_t r = 0; r < ranks_count; ++r) {
    std::vector<std::int32_t> half{r / 4 * 4, r / 4 * 4 + 1, r / 4 * 4 + 2, r / 4 * 4 + 3};
    if (r % 4 != 2) half.resize(2);                        // only ranks 2 and 6 know the whole list
    all.push_back(seen(r, 0, "9", 4, half));
    all.push_back(seen(r, 1, "odd one", 100, {0, 7, 50}));  // nobody knows this one
    for (std::size_t i = all.size() - 2; i < all.size(); ++i)
      if (r % world().num_workers() == world().worker()) mine.push_back(all[i]);
  }
  const Groups expected = unite_groups(all, ranks, {});
  Problems problems;
  const Groups groups = agree_on_groups(mine, ranks, {}, world(), problems);
  ASSERT_EQ(groups.groups.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(groups.groups[i].id, expected.groups[i].id);
    EXPECT_EQ(groups.groups[i].members, expected.groups[i].members);
  }
  EXPECT_EQ(groups.mine.size(), mine.size());
  for (const LocalGroup& local : mine)
    EXPECT_EQ(groups.id_of(local.rank_row, local.local), expected.id_of(local.rank_row, local.local));
  EXPECT_EQ(world().sum(problems.count(Code::group_members_unknown)), 1);
}

}  // namespace
}  // namespace ccl
