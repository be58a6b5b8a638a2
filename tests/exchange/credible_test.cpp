// Which matches are believed, and that nothing depends on how the work is shared.
#include <gtest/gtest.h>

#include "exchange/match_parts.hpp"
#include "exchange/planted_world.hpp"

namespace ccl {
namespace {

using test::numbers_of;
using test::PlantedWorld;
using test::ranks_up_to;

constexpr std::int64_t ms = 1'000'000;

/// Instances whose ends agree but for those listed, where rank 1 leaves `off_ns` later.
PlantedWorld with_bad_ends(std::int64_t count, const std::vector<std::int64_t>& bad, std::int64_t off_ns,
                           CollectiveOp op = CollectiveOp::all_reduce) {
  PlantedWorld world({0, 0});
  const GroupId dp = world.add_group("dp", ranks_up_to(2));
  for (std::int64_t k = 0; k < count; ++k) {
    const bool is_bad = std::find(bad.begin(), bad.end(), k) != bad.end();
    world.add(dp, 0, 100 * ms * k, 100 * ms * k + ms, op);
    world.add(dp, 1, 100 * ms * k, 100 * ms * k + ms + (is_bad ? off_ns : 0), op);
  }
  return world;
}

std::int64_t suspects(const MatchedCollectives& matched) {
  return std::count_if(matched.instances.begin(), matched.instances.end(),
                       [](const MatchedInstance& i) { return i.suspect; });
}

TEST(Credible, FewSuspectsAreMarkedOnly) {
  Problems problems;
  const MatchedCollectives matched = with_bad_ends(20, {3, 7}, 2 * ms).assemble_alone(problems);
  EXPECT_EQ(suspects(matched), 2);
  EXPECT_EQ(problems.count(Code::collective_suspect), 2);
  EXPECT_EQ(problems.count(Code::matching_not_credible), 0);
  EXPECT_GE(matched.instances[0].transfer_ns, 0);
}

// A duration that is not of this collective makes nobody wait, and nobody late.
TEST(Credible, SuspectsHaveNoTransferNoWaitsAndNoLast) {
  const MatchedCollectives matched = with_bad_ends(20, {3}, 50 * ms).assemble_alone();
  for (const MatchedInstance& i : matched.instances) {
    EXPECT_TRUE(i.credible);
    EXPECT_EQ(i.suspect, i.ordinal == 3);
    EXPECT_EQ(i.transfer_ns, i.suspect ? -1 : ms);
    EXPECT_EQ(i.lag_ns, i.suspect ? -1 : 0);
    EXPECT_EQ(i.delay_ns, i.suspect ? -1 : 0);
    EXPECT_EQ(i.wait_sum_ns, i.suspect ? -1 : 0);
    EXPECT_EQ(i.last_rank, i.suspect ? -1 : 0);
    EXPECT_EQ(i.first_rank, i.suspect ? -1 : 0);
    for (std::int32_t m = 0; m < i.members_seen; ++m)
      EXPECT_EQ(matched.members[i.first_member + static_cast<std::uint32_t>(m)].wait_ns, i.suspect ? -1 : 0);
  }
}

// Rank 1 lost one of three receives: which one, nothing says if they are alike.
TEST(Credible, MessagesThatCouldBeOthersAreSuspect) {
  for (const bool alike : {true, false}) {
    PlantedWorld world({0, 0});
    const GroupId pp = world.add_group("pp", ranks_up_to(2));
    for (std::int64_t k = 0; k < 3; ++k) {
      const std::int64_t bytes = alike ? 64 : 64 + k;
      world.add(pp, 0, 1000 * k, 1000 * k + 400, CollectiveOp::send, bytes);
      if (k != 1) world.add(pp, 1, 1000 * k, 1000 * k + 400, CollectiveOp::recv, bytes);
    }
    Problems problems;
    const MatchedCollectives matched = world.assemble_alone(problems);
    ASSERT_EQ(matched.instances.size(), 2U);
    EXPECT_EQ(suspects(matched), alike ? 2 : 0);
    EXPECT_EQ(problems.count(Code::collective_suspect), alike ? 2 : 0);
    for (const MatchedInstance& i : matched.instances) EXPECT_EQ(i.transfer_ns, alike ? -1 : 400);
  }
}

// 8 MB take no link less than 80 ns; of 4 bytes nothing is said.
TEST(Credible, MuchInNoTimeIsSuspect) {
  for (const std::int64_t bytes : {std::int64_t{8'000'000}, std::int64_t{4}}) {
    PlantedWorld world({0, 0});
    const GroupId dp = world.add_group("dp", ranks_up_to(2));
    const GroupId pp = world.add_group("pp", ranks_up_to(2));
    for (std::int64_t k = 0; k < 20; ++k) {
      const std::int64_t end = 1000 * k + 500;
      world.collective(dp, {end - 100, k == 3 ? end : end - 80}, end, CollectiveOp::all_reduce, bytes);
      world.add(pp, 0, k == 3 ? end : end - 100, end, CollectiveOp::send, bytes);
      world.add(pp, 1, end - 100, end, CollectiveOp::recv, bytes);
    }
    Problems problems;
    const MatchedCollectives matched = world.assemble_alone(problems);
    ASSERT_EQ(matched.instances.size(), 40U);
    EXPECT_EQ(suspects(matched), bytes > 4 ? 2 : 0);
    for (const MatchedInstance& i : matched.instances) EXPECT_EQ(i.transfer_ns < 0, bytes > 4 && i.ordinal == 3);
  }
}

TEST(Credible, TooManySuspectsMakeTheStepAbsent) {
  Problems problems;
  const MatchedCollectives matched = with_bad_ends(20, {3, 7, 9}, 2 * ms).assemble_alone(problems);
  EXPECT_EQ(problems.count(Code::matching_not_credible), 1);
  for (const MatchedInstance& i : matched.instances) {
    EXPECT_FALSE(i.credible);
    EXPECT_EQ(i.transfer_ns, -1);
    EXPECT_EQ(i.last_rank, -1);
    EXPECT_EQ(i.payload_bytes, 1024);  // sizes do not depend on the match
  }
}

TEST(Credible, AmongTwoInstancesOneSuspectIsTooMany) {
  Problems problems;
  const MatchedCollectives matched = with_bad_ends(2, {1}, 3 * ms).assemble_alone(problems);
  EXPECT_EQ(problems.count(Code::matching_not_credible), 1);
  EXPECT_FALSE(matched.instances[0].credible);
}

TEST(Credible, AllToAllMayEndFiveMillisecondsApart) {
  EXPECT_EQ(suspects(with_bad_ends(20, {3}, 4 * ms, CollectiveOp::all_to_all).assemble_alone()), 0);
  EXPECT_EQ(suspects(with_bad_ends(20, {3}, 6 * ms, CollectiveOp::all_to_all).assemble_alone()), 1);
}

TEST(Credible, ConstantClockDifferenceIsNoDeviation) {
  PlantedWorld world({0, 1});
  world.host_offset_ns[1] = 20'000 * ms;
  const GroupId dp = world.add_group("dp", ranks_up_to(2));
  for (std::int64_t k = 0; k < 5; ++k) world.collective(dp, {k * ms, k * ms + 500}, k * ms + 900);
  const MatchedCollectives matched = world.assemble_alone();
  EXPECT_EQ(suspects(matched), 0);
  EXPECT_EQ(end_deviations_ns(matched), (std::vector<std::int64_t>(5, 0)));
}

PlantedWorld busy_world() {
  PlantedWorld world({0, 0, 0, 1, 1, 1}, {0, 1, 2});
  const GroupId all = world.add_group("world", ranks_up_to(6));
  const GroupId odd = world.add_group("odd", {1, 3, 5});
  const GroupId numbered = world.add_group("numbered", {0, 2, 4});
  world.groups.groups[2].sequence_everywhere = true;
  std::mt19937 random(7);
  const auto jitter = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(most)); };
  for (std::int64_t step = 0; step < 3; ++step)
    for (std::int64_t k = 0; k < 12; ++k) {
      const std::int64_t t = (step * 100 + k) * ms;
      std::vector<std::int64_t> starts;
      for (int r = 0; r < 6; ++r) starts.push_back(t + jitter(500'000));
      world.collective(all, starts, t + 600'000, k % 3 == 0 ? CollectiveOp::all_gather : CollectiveOp::all_reduce,
                       1000 + k, step);
      if (k == 5) world.records.pop_back();  // rank 5 loses one
      world.collective(odd, {t + jitter(1000), t + jitter(1000), t + jitter(1000)}, t + 2000,
                       CollectiveOp::reduce_scatter, 300, step);
      const std::size_t first = world.records.size();
      world.collective(numbered, {t, t + jitter(900), t + jitter(900)}, t + 1000, CollectiveOp::all_reduce, 8, step);
      for (std::size_t i = first; i < world.records.size(); ++i) world.records[i].sequence = step * 12 + k;
    }
  return world;
}

TEST(Match, AnyNumberOfWorkersAndAnyOrderGiveTheSame) {
  const PlantedWorld world = busy_world();
  Problems expected_problems;
  const auto expected = numbers_of(world.assemble_with(1, 1, expected_problems));
  ASSERT_GT(expected.size(), 1000U);
  for (const int workers : {1, 2, 3, 5})
    for (const std::uint32_t seed : {2U, 3U}) {
      Problems problems;
      EXPECT_EQ(numbers_of(world.assemble_with(workers, seed, problems)), expected) << workers;
      EXPECT_EQ(problems.rows(), expected_problems.rows()) << workers;
    }
}

}  // namespace
}  // namespace ccl
