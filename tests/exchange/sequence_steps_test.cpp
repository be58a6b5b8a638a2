#include "exchange/sequence_steps.hpp"

#include <gtest/gtest.h>

#include <set>

#include "exchange/planted_world.hpp"

namespace ccl {
namespace {

using test::numbers_of;
using test::PlantedWorld;
using test::ranks_up_to;

/// Four ranks; eight steps of five numbered collectives of all of them.
PlantedWorld numbered_world() {
  PlantedWorld world({0, 0, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  const GroupId all = world.add_group("all", ranks_up_to(4));
  world.groups.groups[0].sequence_everywhere = true;
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::size_t first = world.records.size();
    world.collective(all, {i * 1000, i * 1000 + 10, i * 1000 + 30, i * 1000 + 20}, i * 1000 + 500,
                     CollectiveOp::all_reduce, 1024, i / 5);
    for (std::size_t r = first; r < world.records.size(); ++r) world.records[r].sequence = 100 + i;
  }
  return world;
}

GroupInIteration key_of(const CollectiveRecord& record) { return {record.group, record.iteration, record.replica}; }

/// Records by worker.
std::vector<std::size_t> loads(const PlantedWorld& world, int workers) {
  std::vector<std::size_t> counts;
  for (const auto& list : route(world.records, world.groups, SequenceSteps(sequences_of(world.records, world.groups)), workers))
    counts.push_back(list.size());
  return counts;
}

TEST(SequenceSteps, WorkersShareTheStepsOfOneGroup) {
  const PlantedWorld world = numbered_world();
  EXPECT_EQ(loads(world, 2), (std::vector<std::size_t>{80, 80}));
  EXPECT_EQ(loads(world, 4), (std::vector<std::size_t>{40, 40, 40, 40}));
  Problems alone, shared;
  EXPECT_EQ(numbers_of(world.assemble_with(4, 7, shared)), numbers_of(world.assemble_alone(alone)));
  EXPECT_EQ(shared.rows().size(), alone.rows().size());
}

TEST(SequenceSteps, NumberOutsideOfStepsGoesWithItsPartners) {
  PlantedWorld world = numbered_world();
  world.records[4 * 7 + 2].step = outside_step;  // of number 107: step 1
  EXPECT_EQ(loads(world, 4), (std::vector<std::size_t>{40, 40, 40, 40}));
  Problems alone, shared;
  EXPECT_EQ(numbers_of(world.assemble_with(3, 7, shared)), numbers_of(world.assemble_alone(alone)));
  const SequenceSteps steps(sequences_of(world.records, world.groups));
  CollectiveRecord record = world.records[0];
  const auto* const list = steps.steps_of(key_of(record));
  ASSERT_NE(list, nullptr);
  record.step = outside_step;
  for (const auto& [sequence, step] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {99, outside_step}, {100, 0}, {107, 1}, {139, 7}, {140, outside_step}}) {
    record.sequence = sequence;
    EXPECT_EQ(step_by_sequence(record, *list), step) << sequence;
  }
}

TEST(SequenceSteps, GroupWhoseStepsShareANumberStaysWithOneWorker) {
  PlantedWorld world = numbered_world();
  world.records[4 * 4 + 1].step = 1;  // number 104 is in step 0 on the other ranks
  const std::vector<std::size_t> counts = loads(world, 4);
  EXPECT_EQ(std::multiset<std::size_t>(counts.begin(), counts.end()), (std::multiset<std::size_t>{0, 0, 0, 160}));
  Problems alone, shared;
  const MatchedCollectives matched = world.assemble_with(4, 7, shared);
  EXPECT_EQ(matched.instances.size(), 40U);
  EXPECT_EQ(numbers_of(matched), numbers_of(world.assemble_alone(alone)));
}

TEST(SequenceSteps, IterationsAndGroupsAreApart) {
  PlantedWorld world = numbered_world();
  std::vector<CollectiveRecord> later = world.records;
  for (CollectiveRecord& record : later) record.iteration = 20, record.step += 1;  // the same numbers, another step
  world.records.insert(world.records.end(), later.begin(), later.end());
  const SequenceSteps steps(sequences_of(world.records, world.groups));
  ASSERT_NE(steps.steps_of(key_of(world.records.front())), nullptr);
  ASSERT_NE(steps.steps_of(key_of(world.records.back())), nullptr);
  EXPECT_EQ(steps.steps_of(key_of(world.records.front()))->front().step, 0);
  EXPECT_EQ(steps.steps_of(key_of(world.records.back()))->front().step, 1);
  EXPECT_EQ(steps.steps_of({GroupId(1), -1, -1}), nullptr);
}

}  // namespace
}  // namespace ccl
