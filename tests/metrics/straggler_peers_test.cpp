// What is looked up once for all ranks: the same answers as among all others for each, at a cost that follows the ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "core/statistics.hpp"
#include "metrics/pipeline_stage.hpp"
#include "metrics/straggler_causes.hpp"

namespace ccl::test {
namespace {

using namespace straggler;

Group group_with(std::uint64_t id, Dimension dimension, std::vector<std::int32_t> members) {
  Group group;
  group.id = GroupId(id);
  group.dimension = dimension;
  group.size = static_cast<std::int32_t>(members.size());
  group.members = std::move(members);
  group.members_complete = true;
  return group;
}

/// One group of all ranks, each of which is late in one step by more than it computes longer than the others.
struct OneGroup {
  explicit OneGroup(std::int32_t ranks) {
    std::mt19937 random(7);
    groups.groups.push_back(group_with(1, Dimension::dp, {}));
    groups.groups[0].size = ranks;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      groups.groups[0].members.push_back(rank);
      Compute compute;
      compute.step.step = 1;
      compute.rank = RankId(rank);
      compute.compute_ns = 10'000 + static_cast<std::int64_t>(random() % 1000);
      computes.push_back(compute);
      CauseSums row;
      row.step.step = 1;
      row.rank = RankId(rank);
      row.group = GroupId(1);
      row.last_count = row.instances_count = 1;
      row.delay_ns = row.behind_ns = 5000;
      row.compute_ns = compute.compute_ns;
      causes.push_back(row);
    }
  }
  /// CPU seconds of everything that compares a rank with its peers; the least of three.
  double cpu_s() const {
    double least = 1e9;
    for (int turn = 0; turn < 3; ++turn) {
      const std::clock_t began = std::clock();
      EXPECT_EQ(own_blames(causes, computes, groups, Stages()).size(), causes.size());
      EXPECT_EQ(settle_causes(causes, groups, Stages()).size(), causes.size());
      least = std::min(least, static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC);
    }
    return least;
  }
  Groups groups;
  std::vector<Compute> computes;
  std::vector<CauseSums> causes;
};

TEST(StragglerPeers, EachRankIsHeldAgainstTheLowerMedianOfAllOthers) {
  for (const std::int32_t ranks : {2, 3, 8, 9}) {
    const OneGroup job(ranks);
    const std::vector<OwnBlame> own = own_blames(job.causes, job.computes, job.groups, Stages());
    const std::vector<CauseSums> settled = settle_causes(job.causes, job.groups, Stages());
    ASSERT_EQ(own.size(), job.causes.size());
    for (std::size_t r = 0; r < own.size(); ++r) {
      std::vector<std::int64_t> others;
      for (std::size_t o = 0; o < own.size(); ++o)
        if (o != r) others.push_back(job.computes[o].compute_ns);
      std::sort(others.begin(), others.end());
      const std::int64_t more_ns =
          std::max<std::int64_t>(0, job.computes[r].compute_ns - others[(others.size() - 1) / 2]);
      EXPECT_EQ(own[r].by_step[0].second, more_ns) << r << " of " << ranks;
      EXPECT_EQ(settled[r].by_compute_ns, more_ns) << r << " of " << ranks;
    }
  }
}

TEST(StragglerPeers, TheLatestBeginOfTheOthersCounts) {
  OneGroup job(4);
  const std::int64_t launches_ns[] = {100, 900, 400, absent_ns};
  for (std::size_t r = 0; r < 4; ++r) {
    job.computes[r].compute_ns = 10'000;
    job.computes[r].first_launch_ns = launches_ns[r];
    job.causes[r].behind_ns = 0;
    job.causes[r].late_ns = job.causes[r].first_ns = 5000;
  }
  const std::vector<OwnBlame> own = own_blames(job.causes, job.computes, job.groups, Stages());
  ASSERT_EQ(own.size(), 4U);
  EXPECT_EQ(own[1].parts.at({Cause::before, GroupId(1)})[0].second, 500) << "900 against 400";
  for (const std::size_t other : {0U, 2U, 3U}) EXPECT_EQ(own[other].parts.count({Cause::before, GroupId(1)}), 0U);
}

TEST(StragglerPeers, CostFollowsTheRanks) {
  const double few_s = std::max(OneGroup(512).cpu_s(), 1e-4), many_s = OneGroup(8192).cpu_s();
  EXPECT_LT(many_s, 100 * few_s) << "16 times as many ranks; each among all others costs 256 times";
}

TEST(StragglerPeers, TheMedianOfTheOthersLeavesOneOut) {
  EXPECT_DOUBLE_EQ(median_of_others(std::vector<double>{1, 2, 4, 9}, 1), 4);
  EXPECT_DOUBLE_EQ(median_of_others(std::vector<double>{1, 2, 4, 9}, 9), 2);
  EXPECT_DOUBLE_EQ(median_of_others(std::vector<double>{1, 2, 4}, 4), 1.5);
}

TEST(PipelineStages, TheLargestPipelineOfTheReplicaCounts) {
  Groups groups;
  groups.groups.push_back(group_with(1, Dimension::pp, {0, 6}));  // embedding: first and last stage
  groups.groups.push_back(group_with(2, Dimension::pp, {0, 2, 4, 6}));
  groups.groups.push_back(group_with(3, Dimension::dp, {0, 1, 2, 3, 4, 5, 6, 7}));
  groups.groups.push_back(group_with(4, Dimension::pp, {6, 4, 2, 0, 8}));
  groups.groups.back().replica = 5;
  const PipelineStages places(groups, Mesh());
  RankEntry entry;
  entry.rank = RankId(6);
  EXPECT_EQ(places.of(entry).stage, 3);
  EXPECT_EQ(places.of(entry).members, (std::vector<std::int32_t>{0, 2, 4, 6}));
  entry.replica = 5;
  EXPECT_EQ(places.of(entry).stage, 0);
  entry.rank = RankId(7);
  EXPECT_FALSE(places.of(entry).known());
}

}  // namespace
}  // namespace ccl::test
