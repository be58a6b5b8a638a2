#include <gtest/gtest.h>

#include "exchange/ranks.hpp"
#include "support/mpi_world.hpp"
#include "support/numbered.hpp"

namespace ccl {

TEST(RanksOverWorkers, EveryWorkerGetsTheSameRowsAndOneWarns) {
  const Comm& comm = test::world();
  Input input;
  std::vector<RankFacts> mine;
  for (std::int32_t i = 0; i < 7; ++i) {
    TraceFile file;
    file.shown = test::numbered("f", i);
    input.files.push_back(file);
    if (i % comm.num_workers() != comm.worker()) continue;
    RankFacts f;
    f.file = i;
    f.local = static_cast<std::int32_t>(mine.size());
    f.rank = RankId(6 - i);
    f.world_size = 8;
    f.gpu_events_count = 1;
    mine.push_back(f);
  }
  Problems problems;
  const Ranks ranks = agree_on_ranks(mine, input, Config(), comm, problems);
  ASSERT_EQ(ranks.entries.size(), 7u);
  for (std::int32_t r = 0; r < 7; ++r) EXPECT_EQ(ranks.entries[static_cast<std::size_t>(r)].facts.file, 6 - r);
  for (std::size_t i = 0; i < mine.size(); ++i)
    EXPECT_EQ(ranks.row_of(comm.worker(), static_cast<std::int32_t>(i)), mine[i].rank.value);
  EXPECT_EQ(comm.sum(problems.count(Code::missing_ranks)), 1);
}

TEST(RanksOverWorkers, FilesThatGaveNoRankAreKnownToEveryWorker) {
  const Comm& comm = test::world();
  Input input;
  std::vector<RankFacts> mine;
  Problems problems;
  for (std::int32_t i = 0; i < 3; ++i) {
    TraceFile file;
    file.shown = test::numbered("f", i);
    input.files.push_back(file);
    if (i % comm.num_workers() != comm.worker()) continue;
    if (i == 1) {
      problems.add({.code = Code::json_invalid, .file = file.shown, .detail = "database disk image is malformed"});
      continue;
    }
    if (i == 2) problems.add({.code = Code::file_cut, .file = file.shown});  // and the events before the cut are used
    RankFacts f;
    f.file = i;
    f.local = static_cast<std::int32_t>(mine.size());
    f.rank = RankId(i);
    f.world_size = 3;
    mine.push_back(f);
  }
  const Ranks ranks = agree_on_ranks(mine, input, Config(), comm, problems);
  ASSERT_EQ(ranks.unread.size(), 1u);
  EXPECT_EQ(ranks.unread[0].file, test::numbered("f", 1));
  EXPECT_EQ(ranks.unread[0].why, "database disk image is malformed");
  EXPECT_EQ(ranks.missing, std::vector<std::int32_t>{1});
}

}  // namespace ccl
