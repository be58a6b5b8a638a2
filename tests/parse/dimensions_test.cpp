#include <gtest/gtest.h>

#include "support/trace_builder.hpp"

namespace ccl {
namespace {

ProcessGroup named(const std::string& description, std::vector<std::int32_t> members, const Mesh& mesh,
                   std::int64_t world_size = 16) {
  RankTrace trace = test::TraceBuilder().rank(0, world_size).group("7", description, std::move(members)).build();
  assign_dimensions(trace, mesh);
  return trace.groups.at(0);
}

// 16 ranks: pp 2 · dp_shard 2 · cp 2 · tp 2, tp innermost.
Mesh mesh() { return {.pp = 2, .dp_shard = 2, .cp = 2, .tp = 2, .source = "toml"}; }

TEST(Dimensions, DescriptionsOfTorchTitanAndMegatronAreKnown) {
  EXPECT_EQ(named("mesh_dp_shard_cp", {0, 1}, Mesh()).dimension, Dimension::dp);
  EXPECT_EQ(named("mesh_tp", {0, 1}, Mesh()).dimension, Dimension::tp);
  EXPECT_EQ(named("PIPELINE_MODEL_PARALLEL_GROUP", {0, 8}, Mesh()).dimension, Dimension::pp);
  EXPECT_EQ(named("DATA_PARALLEL_GROUP_WITH_CP_GLOO", {0, 1}, Mesh()).dimension, Dimension::dp);
  EXPECT_EQ(named("MODEL_PARALLEL_GROUP", {0, 1}, Mesh()).dimension, Dimension::mixed);
  EXPECT_EQ(named("mesh_ep", {0, 1}, Mesh()).dimension_source, "description");
}

TEST(Dimensions, MembersAreComparedWithTheRankGrid) {
  EXPECT_EQ(named("undefined", {2, 3}, mesh()).dimension, Dimension::tp);
  EXPECT_EQ(named("undefined", {1, 3}, mesh()).dimension, Dimension::cp);
  EXPECT_EQ(named("mesh_dim_0", {1, 5}, mesh()).dimension, Dimension::dp);
  EXPECT_EQ(named("", {7, 15}, mesh()).dimension, Dimension::pp);
  EXPECT_EQ(named("", {0, 2, 4, 6}, mesh()).dimension, Dimension::dp);  // dp and cp together
  EXPECT_EQ(named("", {0, 1, 8, 9}, mesh()).dimension, Dimension::mixed);
  EXPECT_EQ(named("", {0, 3}, mesh()).dimension, Dimension::unknown);   // a diagonal is no group of the mesh
  EXPECT_EQ(named("", {7, 15}, mesh()).dimension_source, "mesh: toml");
}

// Groups of two as the four ranks of one file know them: who of them is in, and at which place.
Dimension placed(std::vector<RankPlace> places, const Mesh& mesh, bool exchanges = false, std::int32_t size = 2) {
  RankTrace trace = test::TraceBuilder().rank(0, mesh.world()).group("comm 0xa", "", {}).build();
  trace.groups[0].size = size;
  trace.groups[0].place = places[0].place;
  trace.groups[0].places = std::move(places);
  trace.groups[0].exchanges = exchanges;
  assign_dimensions(trace, mesh);
  return trace.groups[0].dimension;
}

TEST(Dimensions, PlacesOfTheRanksInOneFileAreComparedWithTheRankGrid) {
  const Mesh three{.pp = 2, .dp_shard = 2, .tp = 2, .source = "toml"};
  EXPECT_EQ(placed({{0, 0}, {1, 1}, {2, -1}, {3, -1}}, three), Dimension::tp);
  EXPECT_EQ(placed({{0, 0}, {1, -1}, {2, 1}, {3, -1}}, three), Dimension::dp);
  EXPECT_EQ(placed({{0, 0}, {1, -1}, {2, -1}, {3, -1}}, three), Dimension::pp);
  EXPECT_EQ(placed({{0, 0}}, three), Dimension::unknown);  // alone in its file: first of any
  EXPECT_EQ(placed({{0, 1}, {1, 0}, {2, -1}, {3, -1}}, three), Dimension::unknown);
}

TEST(Dimensions, OfEqualMembersThoseWithAllToAllsHoldExperts) {
  const Mesh experts{.dp_shard = 4, .ep = 4, .source = "card"};
  const std::vector<RankPlace> all{{0, 0}, {1, 1}, {2, 2}, {3, 3}};
  EXPECT_EQ(placed(all, experts, true, 4), Dimension::ep);
  EXPECT_EQ(placed(all, experts, false, 4), Dimension::dp);
}

TEST(Dimensions, ExpertGroupsBorrowRanksOfDataParallelism) {
  const Mesh experts{.dp_shard = 8, .ep = 4, .source = "card"};
  EXPECT_EQ(named("", {0, 1, 2, 3}, experts, 8).dimension, Dimension::ep);
  EXPECT_EQ(named("", {0, 4}, experts, 8).dimension, Dimension::dp);
}

TEST(Dimensions, AGroupOfAllRanksIsTheOnlyDimensionOfAKnownMeshElseTheWorld) {
  const Mesh fsdp{.dp_shard = 4, .source = "toml"};
  EXPECT_EQ(named("default_pg", {0, 1, 2, 3}, fsdp, 4).dimension, Dimension::dp);
  EXPECT_EQ(named("default_pg", {0, 1, 2, 3}, fsdp, 4).dimension_source, "mesh: toml");
  EXPECT_EQ(named("undefined", {0, 1, 2, 3}, Mesh(), 4).dimension, Dimension::world);
  const Mesh two{.dp_shard = 2, .tp = 2, .source = "toml"};
  EXPECT_EQ(named("default_pg", {0, 1, 2, 3}, two, 4).dimension, Dimension::world);
}

TEST(Dimensions, AMeshOfAnotherSizeIsNoEvidence) {
  EXPECT_EQ(named("undefined", {2, 3}, mesh(), 32).dimension, Dimension::unknown);
  EXPECT_EQ(named("", {}, mesh()).dimension, Dimension::unknown);
}

}  // namespace
}  // namespace ccl
