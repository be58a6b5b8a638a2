#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "exchange/groups.hpp"

namespace ccl {
namespace {

Ranks ranks_of(std::int32_t count, std::int32_t replica = -1) {
  Ranks ranks;
  for (std::int32_t r = 0; r < count; ++r) {
    RankEntry& entry = ranks.entries.emplace_back();
    entry.rank = RankId(r);
    entry.replica = replica;
  }
  ranks.world_size = count;
  return ranks;
}

LocalGroup seen(std::int32_t rank, std::uint32_t local, std::string name, std::string description, std::int32_t size,
                std::vector<std::int32_t> members) {
  LocalGroup group;
  group.rank_row = rank;
  group.local = local;
  group.group.name = std::move(name);
  group.group.description = std::move(description);
  group.group.size = size;
  group.group.members = std::move(members);
  group.sequence_everywhere = true;
  return group;
}

TEST(Groups, OneGroupSeenByAllMembers) {
  const Ranks ranks = ranks_of(4);
  const Groups groups = unite_groups({seen(0, 0, "3", "mesh_tp", 2, {0, 1}), seen(1, 5, "3", "mesh_tp", 2, {0, 1})}, ranks, {});
  ASSERT_EQ(groups.groups.size(), 1U);
  EXPECT_TRUE(groups.groups[0].members_complete);
  EXPECT_EQ(groups.groups[0].dimension, Dimension::tp);
  EXPECT_EQ(groups.id_of(0, 0), groups.id_of(1, 5));
  EXPECT_EQ(groups.row_of(groups.id_of(1, 5)), 0);
  EXPECT_FALSE(groups.id_of(1, 4).known());
}

TEST(Groups, CutMemberListIsCompletedFromAnyRank) {
  const Ranks ranks = ranks_of(8);
  const Groups groups = unite_groups({seen(0, 0, "2", "d", 4, {0, 2}), seen(2, 0, "2", "d", 4, {}),
                                      seen(4, 0, "2", "d", 4, {0, 2, 4, 6})},
                                     ranks, {});
  ASSERT_EQ(groups.groups.size(), 1U);
  EXPECT_EQ(groups.groups[0].members, (std::vector<std::int32_t>{0, 2, 4, 6}));
}

TEST(Groups, MembersWhoKnowOnlyTheirPlacesMakeTheList) {
  const auto placed = [](std::int32_t rank, std::int32_t place) {
    LocalGroup group = seen(rank, 0, "comm 0xa", "", 2, {});
    group.group.place = place;
    return group;
  };
  const Mesh mesh{.pp = 2, .dp_shard = 2, .tp = 2, .source = "toml"};
  const Groups known = unite_groups({placed(6, 1), placed(2, 0)}, ranks_of(8), mesh);
  EXPECT_EQ(known.groups[0].members, (std::vector<std::int32_t>{2, 6}));
  EXPECT_EQ(known.groups[0].dimension, Dimension::pp);
  const Groups one_missing = unite_groups({placed(2, 0)}, ranks_of(8), mesh);
  EXPECT_FALSE(one_missing.groups[0].members_complete);
  const Groups two_on_one_place = unite_groups({placed(2, 0), placed(4, 0), placed(6, 1)}, ranks_of(8), mesh);
  EXPECT_FALSE(two_on_one_place.groups[0].members_complete);
}

TEST(Groups, CutListIsNotCompletedFromAGroupWithoutThatRank) {
  const Ranks ranks = ranks_of(8);
  const Groups groups =
      unite_groups({seen(1, 0, "2", "d", 2, {}), seen(0, 0, "2", "d", 2, {0, 4}), seen(5, 0, "2", "d", 2, {1, 5})}, ranks, {});
  ASSERT_EQ(groups.groups.size(), 2U);
  EXPECT_EQ(groups.id_of(1, 0), groups.id_of(5, 0));
}

TEST(Groups, SameNameWithOtherMembersIsAnotherGroup) {
  const Ranks ranks = ranks_of(4);
  const Groups groups = unite_groups({seen(0, 0, "17", "mesh_tp", 2, {0, 1}), seen(2, 0, "17", "mesh_tp", 2, {2, 3})}, ranks, {});
  ASSERT_EQ(groups.groups.size(), 2U);
  EXPECT_EQ(groups.groups[1].members.front(), 2);
  EXPECT_NE(groups.id_of(0, 0), groups.id_of(2, 0));
}

TEST(Groups, MembersMayCallOneGroupDifferently) {
  const Ranks ranks = ranks_of(2);
  const Groups groups = unite_groups({seen(0, 0, "8", "mesh_tp", 2, {0, 1}), seen(1, 0, "11", "mesh_tp", 2, {0, 1})}, ranks, {});
  EXPECT_EQ(groups.groups.size(), 1U);
}

TEST(Groups, TwoNamesOnOneRankAreTwoGroups) {
  const Ranks ranks = ranks_of(2);
  const Groups groups = unite_groups({seen(0, 0, "gather", "fsdp", 2, {0, 1}), seen(0, 1, "scatter", "fsdp", 2, {0, 1}),
                                      seen(1, 0, "scatter", "fsdp", 2, {0, 1}), seen(1, 1, "gather", "fsdp", 2, {0, 1})},
                                     ranks, {});
  ASSERT_EQ(groups.groups.size(), 2U);
  EXPECT_EQ(groups.id_of(0, 0), groups.id_of(1, 1));
  EXPECT_EQ(groups.id_of(0, 1), groups.id_of(1, 0));
}

TEST(Groups, TwoNamesThatDifferOverMembersGoByFirstUse) {
  const Ranks ranks = ranks_of(2);
  const Groups groups = unite_groups({seen(0, 0, "3", "fsdp", 2, {0, 1}), seen(0, 1, "4", "fsdp", 2, {0, 1}),
                                      seen(1, 0, "7", "fsdp", 2, {0, 1}), seen(1, 1, "8", "fsdp", 2, {0, 1})},
                                     ranks, {});
  ASSERT_EQ(groups.groups.size(), 2U);
  EXPECT_EQ(groups.id_of(0, 0), groups.id_of(1, 0));
  EXPECT_EQ(groups.id_of(0, 1), groups.id_of(1, 1));
}

TEST(Groups, ReplicasDoNotMix) {
  Ranks ranks = ranks_of(4);
  ranks.entries[2].replica = ranks.entries[3].replica = 1;
  ranks.entries[2].rank = RankId(0);
  ranks.entries[3].rank = RankId(1);
  const Groups groups = unite_groups({seen(0, 0, "0", "mesh_tp", 2, {0, 1}), seen(2, 0, "0", "mesh_tp", 2, {0, 1})}, ranks, {});
  ASSERT_EQ(groups.groups.size(), 2U);
  EXPECT_NE(groups.groups[0].replica, groups.groups[1].replica);
}

TEST(Groups, CollectivesWithoutGroupArgumentsShareTheGroupAll) {
  const Ranks ranks = ranks_of(4);
  const Groups groups = unite_groups({seen(3, 0, "", "", -1, {}), seen(1, 0, "", "", -1, {})}, ranks, {});
  ASSERT_EQ(groups.groups.size(), 1U);
  EXPECT_EQ(groups.groups[0].name, "all");
  EXPECT_EQ(groups.groups[0].members, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(groups.groups[0].dimension, Dimension::unknown);
}

TEST(Groups, GroupAsLargeAsTheWorldIsTheWorld) {
  const Groups groups = unite_groups({seen(0, 0, "0", "undefined", 4, {0, 1})}, ranks_of(4), {});
  EXPECT_EQ(groups.groups[0].members, (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(groups.groups[0].dimension, Dimension::world);
}

TEST(Groups, CompletedMembersTellTheDimensionByTheMesh) {
  Mesh mesh;
  mesh.dp_shard = 4;
  mesh.tp = 2;
  mesh.source = "card";
  const Groups groups =
      unite_groups({seen(0, 0, "5", "undefined", 4, {0, 2}), seen(2, 0, "5", "undefined", 4, {0, 2, 4, 6})}, ranks_of(8), mesh);
  EXPECT_EQ(groups.groups[0].dimension, Dimension::dp);
  EXPECT_EQ(groups.groups[0].dimension_source, "mesh: card");
}

TEST(Groups, EachIsFoundByItsId) {
  std::vector<LocalGroup> all;
  for (std::int32_t r = 0; r < 500; ++r) all.push_back(seen(r, 0, std::to_string(r), "mesh_tp", 2, {r, r + 1}));
  const Groups groups = unite_groups(all, ranks_of(501), {});
  ASSERT_EQ(groups.groups.size(), 500U);
  for (std::size_t row = 0; row < groups.groups.size(); ++row) {
    EXPECT_EQ(groups.row_of(groups.groups[row].id), static_cast<std::int32_t>(row));
    EXPECT_EQ(groups.find(groups.groups[row].id), &groups.groups[row]);
    EXPECT_EQ(groups.row_of(GroupId{groups.groups[row].id.value + 1}), -1);
  }
  EXPECT_EQ(groups.row_of(GroupId()), -1);
}

TEST(Groups, IdsOfOnePlaceOfTheIndexAreToldApart) {
  Groups groups;
  for (const std::uint64_t id : {7, 15, 23, 8}) groups.groups.emplace_back().id = GroupId{id};  // 23 begins at the place of 7
  groups.fill_index();
  for (std::size_t row = 0; row < groups.groups.size(); ++row)
    EXPECT_EQ(groups.row_of(groups.groups[row].id), static_cast<std::int32_t>(row));
  for (const std::uint64_t id : {31, 39, 9, 0}) EXPECT_EQ(groups.row_of(GroupId{id}), -1);
  Groups none;
  none.fill_index();
  EXPECT_EQ(none.row_of(GroupId{7}), -1);
}

TEST(Groups, SequenceEverywhereNeedsEveryMember) {
  std::vector<LocalGroup> all{seen(0, 0, "3", "mesh_tp", 2, {0, 1}), seen(1, 0, "3", "mesh_tp", 2, {0, 1})};
  EXPECT_TRUE(unite_groups(all, ranks_of(2), {}).groups[0].sequence_everywhere);
  all[1].sequence_everywhere = false;
  EXPECT_FALSE(unite_groups(all, ranks_of(2), {}).groups[0].sequence_everywhere);
}

TEST(Groups, OrderOfWhatIsSaidDoesNotMatter) {
  std::vector<LocalGroup> all;
  for (std::int32_t r = 0; r < 8; ++r) {
    const std::int32_t first = r / 2 * 2;
    all.push_back(seen(r, 0, "1", "mesh_tp", 2, {first, first + 1}));
    all.push_back(seen(r, 1, "2", "mesh_dp", 4, r == 3 ? std::vector<std::int32_t>{1, 3, 5, 7} : std::vector<std::int32_t>{}));
    all.push_back(seen(r, 2, r == 5 ? "x" : "0", "default_pg", 8, {0, 1, 2}));
  }
  const Groups expected = unite_groups(all, ranks_of(8), {});
  std::mt19937 random(3);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(all.begin(), all.end(), random);
    const Groups groups = unite_groups(all, ranks_of(8), {});
    ASSERT_EQ(groups.groups.size(), expected.groups.size());
    for (std::size_t i = 0; i < groups.groups.size(); ++i) {
      EXPECT_EQ(groups.groups[i].id, expected.groups[i].id);
      EXPECT_EQ(groups.groups[i].name, expected.groups[i].name);
      EXPECT_EQ(groups.groups[i].members, expected.groups[i].members);
    }
  }
}

}  // namespace
}  // namespace ccl
