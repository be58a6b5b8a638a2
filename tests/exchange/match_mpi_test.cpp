#include <gtest/gtest.h>

#include "comm/lending.hpp"
#include "exchange/deal.hpp"
#include "exchange/planted_world.hpp"
#include "support/mpi_world.hpp"

namespace ccl {
namespace {

using test::PlantedWorld;
using test::ranks_up_to;
using test::world;

constexpr std::int64_t ms = 1'000'000;

PlantedWorld three_hosts() {
  PlantedWorld planted({0, 0, 1, 1, 2, 2}, {0, 1, 2, 3});
  planted.host_offset_ns = {0, 1'000'000'123, -500'000'456};
  planted.host_drift_ppb = {0, 20'000, -7'000};
  const GroupId all = planted.add_group("all ranks", ranks_up_to(6));
  const GroupId pair = planted.add_group("pair", {1, 4});
  std::mt19937 random(5);
  for (std::int64_t step = 0; step < 4; ++step)
    for (std::int64_t k = 0; k < 15; ++k) {
      const std::int64_t t = (step * 50 + k) * ms;
      std::vector<std::int64_t> starts;
      for (int r = 0; r < 6; ++r) starts.push_back(t + static_cast<std::int64_t>(random() % 300'000U));
      starts[3] = t + 400'000;  // always last
      planted.collective(all, starts, t + 500'000, CollectiveOp::all_reduce, 1024, step);
      planted.collective(pair, {t, t + 5}, t + 100, CollectiveOp::all_gather, 64, step);
    }
  return planted;
}

/// All workers' instances in one list, in an order that does not depend on the owners.
MatchedCollectives collect(const MatchedCollectives& mine) {
  MatchedCollectives all;
  for (const Bytes& part : world().gather_all([&] {
         ByteWriter out;
         out.array(mine.instances);
         out.array(mine.members);
         return out.take();
       }())) {
    ByteReader in(part);
    const auto first = static_cast<std::uint32_t>(all.members.size());
    for (MatchedInstance i : in.array<MatchedInstance>()) {
      i.first_member += first;
      all.instances.push_back(i);
    }
    for (const MatchedMember& m : in.array<MatchedMember>()) all.members.push_back(m);
  }
  std::sort(all.instances.begin(), all.instances.end(), [](const MatchedInstance& a, const MatchedInstance& b) {
    return std::tuple(a.group, a.step, a.ordinal) < std::tuple(b.group, b.step, b.ordinal);
  });
  return all;
}

std::vector<CollectiveRecord> all_at_the_first(PlantedWorld& planted) {
  planted.deal_ranks(1);
  return world().worker() == 0 ? planted.shares(1)[0] : std::vector<CollectiveRecord>();
}

TEST(MatchOverWorkers, WhereOneWorkerHasAllRanksNothingTravels) {
  PlantedWorld planted = three_hosts();
  const std::vector<CollectiveRecord> records = all_at_the_first(planted);
  Problems problems;
  const Matched matched = match(records, planted.ranks, planted.groups, world(), problems);
  EXPECT_EQ(matched.bytes_out + matched.bytes_back, 0);
  EXPECT_EQ(matched.mine.instances.size(), world().worker() == 0 ? 120U : 0U);
  ASSERT_EQ(matched.verdicts.size(), records.size());
  EXPECT_EQ(collect(matched.mine).instances.size(), planted.assemble_alone().instances.size());
}

/// A rank that talks to itself and to others that are not there, in steps whose numbers jump and outside of them.
PlantedWorld rank_alone() {
  PlantedWorld planted({0}, {3, 4, 5, 9, 20, 21, 22, 23});
  const GroupId all = planted.add_group("all ranks", ranks_up_to(4)), early = planted.add_group("early", {0, 2});
  planted.groups.groups[1].sequence_everywhere = true;
  std::int64_t sequence = 0;
  for (const std::int64_t step : {outside_step, std::int64_t{3}, std::int64_t{4}, std::int64_t{5}, std::int64_t{9}, std::int64_t{20},
                                  std::int64_t{21}, std::int64_t{22}, std::int64_t{23}})
    for (std::int64_t k = 0; k < 6; ++k) {
      const std::int64_t t = (step * 50 + k) * ms;
      for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::send, CollectiveOp::recv, CollectiveOp::unknown})
        planted.add(all, 0, t, t + 1000 * (k + 1), op).step = step;
      planted.records.back().launched = planted.records.back().has_arguments = k != 2;
      for (CollectiveRecord* r : {&planted.records.end()[-3], &planted.records.end()[-2]}) r->peer = 0;
      CollectiveRecord& numbered = planted.add(early, 0, t + 10, t + 90, CollectiveOp::all_gather, k == 3 ? 64 : 128);
      numbered.step = step;
      numbered.sequence = sequence++ / 2;
    }
  return planted;
}

TEST(MatchOverWorkers, OfARankAloneTheStepsAreSharedAndTheSameIsSaid) {
  PlantedWorld planted = rank_alone();
  const std::vector<CollectiveRecord> records = all_at_the_first(planted);
  Problems said, expected;
  lend_processors_for_test(false);
  const Matched by_one = match(records, planted.ranks, planted.groups, world(), expected);
  lend_processors_for_test(true);
  const Matched shared = match(records, planted.ranks, planted.groups, world(), said);
  EXPECT_EQ(by_one.mine.instances.empty(), world().worker() != 0);
  EXPECT_EQ(test::numbers_of(shared.mine), test::numbers_of(by_one.mine));
  EXPECT_EQ(said.pack(), expected.pack());
  EXPECT_EQ(expected.rows().empty(), world().worker() != 0);
}

TEST(MatchOverWorkers, InstancesClockAndVerdictsAreThoseOfOneWorker) {
  PlantedWorld planted = three_hosts();
  planted.deal_ranks(world().num_workers());
  const auto me = static_cast<std::size_t>(world().worker());
  const std::vector<CollectiveRecord> records = planted.shares(world().num_workers())[me];
  Problems problems;
  const Matched matched = match(records, planted.ranks, planted.groups, world(), problems);

  const MatchedCollectives all = collect(matched.mine);
  ASSERT_EQ(all.instances.size(), 120U);
  for (const MatchedInstance& i : all.instances) {
    EXPECT_TRUE(i.credible);
    EXPECT_EQ(i.last_rank, i.members_seen == 6 ? 3 : 4);
  }
  const MatchedCollectives alone = planted.assemble_alone();
  ASSERT_EQ(alone.instances.size(), all.instances.size());
  for (std::size_t i = 0; i < all.instances.size(); ++i) {
    const MatchedInstance &mine = all.instances[i], &expected = alone.instances[i];
    EXPECT_EQ(mine.transfer_ns, expected.transfer_ns);
    EXPECT_EQ(mine.wait_sum_ns, expected.wait_sum_ns);
    EXPECT_EQ(mine.start_spread_file_ns, expected.start_spread_file_ns);
    EXPECT_LE(mine.end_spread_ns, 20);  // planted: none
  }
  // Planted −20 and +7 ppm. Offsets are those at t_ref on a host's own clock, so drift times offset comes on top.
  const auto clock = [&](std::size_t host) {
    const HostClock& c = matched.clock.hosts[host];
    return std::vector<std::int64_t>{c.offset_ns, c.drift_ppb, c.residual_ns, c.instances_count};
  };
  EXPECT_EQ(clock(1), (std::vector<std::int64_t>{-999'980'118, -20'000, 1, 60}));
  EXPECT_EQ(clock(2), (std::vector<std::int64_t>{500'003'955, 7'000, 3, 120}));

  ASSERT_EQ(matched.verdicts.size(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(matched.verdicts[i].local, i);
    EXPECT_EQ(matched.verdicts[i].last_rank, records[i].group_size == 6 ? 3 : 4);
    EXPECT_GE(records[i].dur_ns, matched.verdicts[i].transfer_ns);
    EXPECT_NE(matched.verdicts[i].last_start_ns, absent_ns);
  }
  EXPECT_EQ(matched.bytes_out > 0, world().num_workers() > 1);
  EXPECT_LE(world().sum(matched.bytes_back), 32 * world().sum(static_cast<std::int64_t>(records.size())));
}

TEST(MatchOverWorkers, RecordsThatTravelInSeveralRoundsAllArrive) {
  constexpr std::int64_t steps = 20, in_step = 1000;
  constexpr std::size_t all = steps * in_step;
  std::vector<std::int64_t> numbers(steps);
  std::iota(numbers.begin(), numbers.end(), 0);
  PlantedWorld planted({0, 0, 0, 0, 0, 0}, numbers);
  const GroupId group = planted.add_group("all ranks", ranks_up_to(6));
  for (std::int64_t i = 0; i < steps * in_step; ++i) {
    std::vector<std::int64_t> starts(6, i * ms);
    starts[static_cast<std::size_t>(i % 6)] += 1000 + i;
    planted.collective(group, starts, i * ms + 500'000, CollectiveOp::all_reduce, 1024, i / in_step);
  }
  planted.deal_ranks(world().num_workers());
  const std::vector<CollectiveRecord> records =
      planted.shares(world().num_workers())[static_cast<std::size_t>(world().worker())];
  Problems problems;
  const Matched matched = match(records, planted.ranks, planted.groups, world(), problems);
  EXPECT_EQ(collect(matched.mine).instances.size(), all);
  EXPECT_TRUE(problems.rows().empty());
  std::size_t wrong = 0;
  for (std::size_t r = 0; r < records.size(); ++r) {
    const std::int64_t i = records[r].start_ns / ms;  // the collective's number
    const RecordVerdict& verdict = matched.verdicts[r];
    wrong += verdict.last_rank != i % 6 || verdict.lag_ns != 1000 + i || verdict.local != r ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0U);
}

TEST(Deal, RowsEndInOneOrderOverTheWorkers) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = world().worker(); i < 1000; i += world().num_workers()) rows.push_back(i * 7919 % 1000);
  const auto mine = deal(rows, world(), std::less<>());
  const auto all = gather_all_rows(world(), mine);
  ASSERT_EQ(all.size(), 1000U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<std::int64_t>(i));
}

TEST(Deal, SamplesGoToOneWorkerOnly) {
  constexpr std::int64_t own_rows = 64, row_bytes = 8;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < own_rows; ++i) rows.push_back(i * world().num_workers() + world().worker());
  const std::int64_t before = world().sent_bytes();
  deal(rows, world(), std::less<>());
  const std::int64_t sent = world().sum(world().sent_bytes() - before);
  // Rows once, samples once, and splitters: nothing grows with workers × samples.
  EXPECT_LE(sent, world().num_workers() * (3 * own_rows * row_bytes + 256));
}

TEST(Deal, OneWorkerHasEverything) {
  std::vector<std::int64_t> rows;
  if (world().worker() == world().num_workers() - 1) rows = {3, 1, 2};
  EXPECT_EQ(gather_all_rows(world(), deal(rows, world(), std::less<>())), (std::vector<std::int64_t>{1, 2, 3}));
}

}  // namespace
}  // namespace ccl
