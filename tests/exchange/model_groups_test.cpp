#include "exchange/model_groups.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

Ranks present(std::initializer_list<std::int32_t> numbers, std::int64_t expected) {
  Ranks ranks;
  for (const std::int32_t number : numbers) {
    RankEntry entry;
    entry.rank = RankId(number);
    ranks.entries.push_back(entry);
  }
  ranks.expected = expected;
  return ranks;
}

Group group(Dimension dimension, std::vector<std::int32_t> members) {
  Group out;
  out.dimension = dimension;
  out.size = static_cast<std::int32_t>(members.size());
  out.members = std::move(members);
  out.members_complete = true;
  return out;
}

TEST(ModelGroups, MeshTellsPipelinesAndReplicas) {
  Workload workload;
  workload.mesh = {.pp = 2, .dp_shard = 2, .tp = 2, .source = "card"};
  const ModelGroups found = model_groups(present({0, 1, 2, 3, 4, 5, 6}, 8), {}, workload);
  EXPECT_EQ(found.pipelines_source, "mesh");
  EXPECT_EQ(found.of(RankId(5)).pipeline, 1) << "ranks 1 and 5";
  EXPECT_EQ(found.of(RankId(5)).stage, 1);
  EXPECT_EQ(found.of(RankId(5)).replica, 0) << "ranks 0 1 4 5";
  EXPECT_TRUE(found.of(RankId(5)).replica_complete);
  EXPECT_EQ(found.of(RankId(2)).replica, 1);
  EXPECT_FALSE(found.of(RankId(2)).replica_complete) << "rank 7 has no trace";
  EXPECT_TRUE(found.of(RankId(2)).pipeline_complete) << "ranks 2 and 6";
  EXPECT_FALSE(found.of(RankId(3)).pipeline_complete);
}

TEST(ModelGroups, ProcessGroupsConnectWhatNoMeshTells) {
  Groups groups;
  groups.groups = {group(Dimension::pp, {0, 2}), group(Dimension::pp, {1, 3}), group(Dimension::dp, {0, 1})};
  const ModelGroups found = model_groups(present({0, 1, 2, 3}, 4), groups, {});
  EXPECT_EQ(found.pipelines_source, "process groups");
  EXPECT_EQ(found.replicas_source, "process groups");
  EXPECT_EQ(found.of(RankId(2)).replica, found.of(RankId(0)).replica);
  EXPECT_NE(found.of(RankId(1)).replica, found.of(RankId(0)).replica) << "dp joins no replica";
}

TEST(ModelGroups, MegatronsFileWins) {
  Workload workload;
  workload.mesh = {.pp = 2, .source = "card"};
  workload.megatron_pp = {{1, 0}};
  workload.megatron_model = {{0, 1}};
  const ModelGroups found = model_groups(present({0, 1}, 2), {}, workload);
  EXPECT_EQ(found.pipelines_source, "megatron");
  EXPECT_EQ(found.of(RankId(0)).stage, 1);
  EXPECT_EQ(found.of(RankId(7)).replica, -1) << "outside the run";
}

}  // namespace
}  // namespace ccl
