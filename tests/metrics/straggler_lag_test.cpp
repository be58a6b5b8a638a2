#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// durations[step][call]: one all-reduce after the other on the group, 1000 ns apart; a step is 10000 ns.
RankTrace with_durations(std::int32_t rank, std::vector<std::vector<std::int64_t>> durations,
                         std::vector<std::int32_t> members = {0, 1, 2}, const std::string& group = "dp") {
  TraceBuilder builder;
  builder.rank(rank).group(group, "mesh_dp", std::move(members), -1, Dimension::dp);
  for (std::size_t step = 0; step < durations.size(); ++step) {
    const auto start = static_cast<std::int64_t>(step) * 10000;
    builder.step(static_cast<std::int64_t>(step), start, start + 10000);
    builder.kernel("gemm", start, 10000);
    for (std::size_t call = 0; call < durations[step].size(); ++call)
      builder.stream(8).collective(CollectiveOp::all_reduce, group, 64,
                                   start + 1000 + 1000 * static_cast<std::int64_t>(call), durations[step][call]);
    builder.stream(7);
  }
  return builder.build();
}

// Rank 2 is last in all four collectives of two steps, by 300 ns, and rank 1 in none.
SmallRun late_rank_2() {
  SmallRun run;
  run.add(with_durations(0, {{500, 500}, {500, 500}}));
  run.add(with_durations(1, {{400, 400}, {400, 400}}));
  run.add(with_durations(2, {{100, 100}, {100, 100}}));
  return run;
}

TEST(StragglerLag, WordsOfOneCollectiveAreClockFree) {
  SmallRun run = late_rank_2();
  const MetricResult result = run.result("straggler_lag");
  ASSERT_EQ(table(result, "rows").rows_count, 6);
  EXPECT_EQ(integer_at(result, "rows", 0, "wait_ns"), 800) << "rank 0, step 0: twice 500 - 100";
  EXPECT_EQ(integer_at(result, "rows", 0, "first_count"), 2);
  EXPECT_EQ(integer_at(result, "rows", 1, "wait_ns"), 600);
  EXPECT_EQ(integer_at(result, "rows", 1, "lateness_ns"), 200);
  EXPECT_EQ(integer_at(result, "rows", 2, "last_count"), 2);
  EXPECT_EQ(integer_at(result, "rows", 2, "blame_ns"), 600) << "second smallest - smallest";
  EXPECT_EQ(integer_at(result, "rows", 2, "blamed_wait_ns"), 1400);
  EXPECT_DOUBLE_EQ(headline(result, "lag_mean_ns"), 400);
  EXPECT_DOUBLE_EQ(headline(result, "lag_max_ns"), 400);
}

TEST(StragglerLag, ThePageNamesTheStragglerAndTheGain) {
  SmallRun run = late_rank_2();
  const MetricResult result = run.result("straggler_lag");
  EXPECT_EQ(headline(result, "straggler_rank"), 2);
  const std::string page = page_of(result);
  EXPECT_NE(page.find("rank 2 is the straggler: last in 4 of 4 collectives"), std::string::npos) << page;
  EXPECT_NE(page.find("in all 2 steps"), std::string::npos) << page;
  EXPECT_NE(page.find("'mesh_dp' (dp, 3 ranks)"), std::string::npos) << page;
  EXPECT_NE(page.find("step period (3.0 %)"), std::string::npos) << page;
}

TEST(StragglerLag, ARankThatMeetsNobodyIsNotJudged) {
  SmallRun run;
  run.add(with_durations(0, {{500, 500}, {500, 500}}));
  run.add(with_durations(1, {{400, 400}, {400, 400}}));
  run.add(TraceBuilder().rank(2).step(0, 0, 10000).kernel("gemm", 0, 10000).step(1, 10000, 20000).kernel("gemm", 10000, 10000).build());
  const MetricResult result = run.result("straggler_lag");
  EXPECT_EQ(result.report.status, Status::partial);
  const std::string page = page_of(result);
  EXPECT_NE(page.find("not judged: rank 2 (none of its collectives is matched with other ranks)"), std::string::npos) << page;
}

// 70 groups of four; one rank of each is 300 ns late in all collectives of two steps of 10000 ns.
TEST(StragglerLag, TheLongFormTells64StragglersAndHowManyMore) {
  SmallRun run;
  for (std::int32_t first = 0; first < 280; first += 4)
    for (std::int32_t rank = first; rank < first + 4; ++rank) {
      const std::int64_t duration = rank == first ? 100 : 400;
      run.add(with_durations(rank, {{duration, duration}, {duration, duration}},
                             {first, first + 1, first + 2, first + 3}, std::to_string(first)));
    }
  const MetricResult result = run.result("straggler_lag");
  EXPECT_EQ(headline(result, "stragglers_count"), 70);
  std::string text = page_of(result);
  for (const std::string& line : result.report.details) text += '\n' + line;
  const auto count = [&text](std::string_view words) {
    std::size_t found = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(" too: "), 63) << text;  // the first is told in full
  EXPECT_EQ(count("and 6 ranks more in own_blame of the HDF5 file"), 1) << text;
}

TEST(StragglerLag, TheBlameMatrixSaysWhoWaitsForWhom) {
  SmallRun run = late_rank_2();
  const MetricResult result = run.result("straggler_lag");
  ASSERT_EQ(table(result, "blame_matrix").rows_count, 2);
  EXPECT_EQ(integer_at(result, "blame_matrix", 0, "waiting_rank"), 0);
  EXPECT_EQ(integer_at(result, "blame_matrix", 0, "last_rank"), 2);
  EXPECT_EQ(integer_at(result, "blame_matrix", 0, "wait_ns"), 1600);
  EXPECT_EQ(integer_at(result, "blame_matrix", 1, "wait_ns"), 1200);
  EXPECT_EQ(integer_at(result, "by_group", 2, "blame_ns"), 1200);
  EXPECT_EQ(text_at(result, "by_dimension", 2, "dimension"), "dp");
}

TEST(StragglerLag, NobodyStandsOutBelowOnePercent) {
  SmallRun run;
  run.add(with_durations(0, {{500, 500, 500}})).add(with_durations(1, {{480, 480, 480}}));
  const MetricResult result = run.result("straggler_lag");
  EXPECT_EQ(headline(result, "straggler_rank"), -1);
  EXPECT_NE(page_of(result).find("no rank stands out (largest: rank 1, 0.02 us, 0.2 % of its steps)"),
            std::string::npos)
      << page_of(result);
}

TEST(StragglerLag, MissingMembersAreNeverHidden) {
  SmallRun run;
  run.add(with_durations(0, {{500, 500, 500}}, {0, 1, 2, 3})).add(with_durations(2, {{100, 100, 100}}, {0, 1, 2, 3}));
  const std::string page = page_of(run.result("straggler_lag"));
  EXPECT_NE(page.find("rank 2 is last of the 2 ranks seen in 3 of 3 collectives"), std::string::npos) << page;
  EXPECT_EQ(page.find("the straggler"), std::string::npos) << page;
}

TEST(StragglerLag, BelowTheErrorNoLagIsClaimed) {
  SmallRun run = late_rank_2();
  run.clock.residual_ns = 250;
  const MetricResult result = run.result("straggler_lag");
  EXPECT_EQ(headline(result, "straggler_rank"), -1) << "blame 1200 is below 2 x 250 x 4";
  EXPECT_NE(page_of(result).find("lag <= error"), std::string::npos) << page_of(result);
}

TEST(StragglerLag, WhatIsNotCredibleIsAbsent) {
  SmallRun run = late_rank_2();
  run.not_credible("dp");
  const MetricResult result = run.result("straggler_lag");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_EQ(result.report.reason, "matching_not_credible");
  EXPECT_EQ(table(result, "rows").rows_count, 0);
}

// Of twelve all-reduces rank 2 ends one 5 ms before the others, by a wrong duration.
TEST(StragglerLag, SuspectCollectivesBlameNobody) {
  SmallRun run;
  for (const std::int32_t rank : {0, 1, 2}) {
    std::vector<std::int64_t> durations(12, 500);
    if (rank != 2) durations[5] = 5'000'000;
    run.add(with_durations(rank, {durations}));
  }
  const MetricResult result = run.suspect(5).result("straggler_lag");
  EXPECT_EQ(headline(result, "straggler_rank"), -1);
  EXPECT_EQ(headline(result, "collectives_count"), 11);
  EXPECT_EQ(headline(result, "lag_max_ns"), 0);
  EXPECT_EQ(result.report.status, Status::partial);
  EXPECT_EQ(result.report.reason, "1 of 12 collectives left out as suspect");
}

// Rank 2 comes later than its whole step is long: its lateness is from before, or times are wrong.
TEST(StragglerLag, NobodyGainsMoreThanAStep) {
  SmallRun run;
  for (const std::int32_t rank : {0, 1, 2})
    run.add(with_durations(rank, std::vector(4, std::vector<std::int64_t>(1, rank == 2 ? 100 : 15000))));
  const std::string page = page_of(run.result("straggler_lag"));
  EXPECT_NE(page.find("rank 2 is the straggler"), std::string::npos) << page;
  EXPECT_NE(page.find("gain unknown: the delay is longer than its 10.0 us step period"), std::string::npos) << page;
  EXPECT_EQ(page.find("gain if"), std::string::npos) << page;
}

TEST(StragglerLag, OneRankAloneHasNothingToCompare) {
  SmallRun alone;
  alone.add(with_durations(0, {{500}}, {0}));
  EXPECT_EQ(alone.result("straggler_lag").report.status, Status::not_applicable);
  SmallRun one_of_many;
  one_of_many.add(with_durations(0, {{500}}));
  one_of_many.ranks.expected = 3;
  const MetricResult result = one_of_many.result("straggler_lag");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_EQ(page_of(result), "late          unknown: the trace of one rank only: nothing to compare it with");
}

TEST(StragglerLag, MessagesBlameNobody) {
  SmallRun run;
  for (const std::int32_t rank : {0, 1})
    run.add(TraceBuilder()
                .rank(rank)
                .step(0, 0, 100)
                .group("pp", "mesh_pp", {0, 1})
                .collective(rank == 0 ? CollectiveOp::send : CollectiveOp::recv, "pp", 64, 0, 50)
                .build());
  EXPECT_EQ(run.result("straggler_lag").report.status, Status::absent);
}

}  // namespace
}  // namespace ccl::test
