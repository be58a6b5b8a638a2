#include <gtest/gtest.h>

#include "exchange/end_differences.hpp"
#include "exchange/planted_world.hpp"

namespace ccl {
namespace {

using test::PlantedWorld;
using test::ranks_up_to;

/// Two collectives, the later one first among the instances. Ranks 1 and 2 share a host.
PlantedWorld four_ranks() {
  PlantedWorld world({1, 0, 0, 2});
  const GroupId all = world.add_group("all", ranks_up_to(4));
  for (const auto& [op, end_ns] : {std::pair(CollectiveOp::all_reduce, 2100), std::pair(CollectiveOp::all_gather, 1100)})
    for (const auto& [rank, late_ns] : {std::pair(0, 0), std::pair(1, 10), std::pair(2, 20), std::pair(3, 40)})
      world.add(all, rank, end_ns - 100, end_ns + late_ns, op);
  return world;
}

TEST(EndDifferences, AscendByPairWithTheMedianOfEachHost) {
  const PlantedWorld world = four_ranks();
  const EndDifferences expected{{{-1, 0, 1}, {{1115, 1100}, {2115, 2100}}}, {{-1, 0, 2}, {{1115, 1140}, {2115, 2140}}}};
  EXPECT_EQ(end_differences(world.assemble_alone(), world.ranks), expected);
}

TEST(EndDifferences, UnknownHostTellsNothing) {
  PlantedWorld world = four_ranks();
  world.ranks.entries[3].host_index = -1;
  const EndDifferences expected{{{-1, 0, 1}, {{1115, 1100}, {2115, 2100}}}};
  EXPECT_EQ(end_differences(world.assemble_alone(), world.ranks), expected);
}

}  // namespace
}  // namespace ccl
