#include "store/losses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/sample_results.hpp"
#include "support/numbered.hpp"

namespace ccl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string name(int rank) { return test::numbered("iteration_10/rank", rank) + "_trace.json"; }

TEST(Losses, NothingLostNothingSaid) {
  test::Run run = test::sample_run();
  run.problems = Problems();
  run.problems.add({.code = Code::missing_ranks, .rank = 4, .detail = "rank 4"});
  EXPECT_THAT(loss_lines(run.results(), 3), IsEmpty()) << "a notice is no loss";
}

TEST(Losses, EachFileIsNamedWithItsRankAndWhatItLost) {
  test::Run run = test::sample_run();
  run.problems = Problems();
  run.problems.add({.code = Code::event_damaged, .file = name(2), .offset = 500, .count = 2, .detail = "unclosed"});
  run.problems.add({.code = Code::event_damaged, .file = name(2), .offset = 900});
  run.problems.add({.code = Code::file_cut, .file = name(2), .offset = 1000});
  run.problems.add({.code = Code::json_invalid, .rank = 7, .file = name(7), .detail = "other file"});
  EXPECT_THAT(loss_lines(run.results(), 3),
              ElementsAre("rank 7, iteration_10/rank7_trace.json: json_invalid (other file)",
                          "rank 2, iteration_10/rank2_trace.json: file_cut at byte 1000 (events before the cut are "
                          "used; check that the profiler finished writing), 3 event_damaged, the first at byte 500 "
                          "(unclosed)"));
}

TEST(Losses, PlacesInACompressedFileAreThoseOfItsText) {
  test::Run run = test::sample_run();
  run.problems = Problems();
  run.input.files[2].gzip = true;
  run.input.files[2].shown += ".gz";
  run.problems.add({.code = Code::gzip_cut, .file = run.input.files[2].shown, .offset = 1000});
  run.problems.add({.code = Code::event_damaged, .file = run.input.files[2].shown, .offset = 500, .count = 2, .detail = "unclosed"});
  EXPECT_THAT(loss_lines(run.results(), 3),
              ElementsAre("rank 2, iteration_10/rank2_trace.json.gz: gzip_cut at byte 1000 of the unpacked text (events "
                          "before the damage are used; copy the file again), 2 event_damaged, the first at byte 500 of the "
                          "unpacked text (unclosed)"));
}

TEST(Losses, TheWorstComeFirstTheOthersAreCountedAndACodeIsExplainedOnce) {
  test::Run run = test::sample_run();
  run.problems = Problems();
  for (int rank = 0; rank < 15; ++rank) run.problems.add({.code = Code::file_cut, .file = name(rank)});
  run.problems.add({.code = Code::event_damaged, .file = name(9), .count = 40});
  run.problems.add({.code = Code::unreadable_file, .file = name(20)});
  const std::vector<std::string> lines = loss_lines(run.results(), 3);
  EXPECT_THAT(lines, ElementsAre("iteration_10/rank20_trace.json: unreadable_file (it is left out; check permissions and "
                                 "the file system)",
                                 "iteration_10/rank9_trace.json: file_cut (events before the cut are used; check that the "
                                 "profiler finished writing), 40 event_damaged (the rest of the file is used)",
                                 "rank 0, iteration_10/rank0_trace.json: file_cut",
                                 "and 13 more files; all are in /warnings/rows of the result file"));
  for (int rank = 0; rank < 300; ++rank) run.problems.add({.code = Code::empty_file, .file = test::numbered("e", rank)});
  EXPECT_EQ(loss_lines(run.results(), 3).back(),
            "and at least 113 more files; of empty_file (300 in all) /warnings/rows of the result file has the first 100 rows");
}

TEST(Losses, WhatIsNotWhollyKeptIsALeast) {
  test::Run run = test::sample_run();
  run.problems = Problems();
  for (int i = 0; i < 150; ++i) run.problems.add({.code = Code::event_damaged, .file = name(2), .offset = i, .count = 2, .detail = "unclosed"});
  EXPECT_THAT(loss_lines(run.results(), 3),
              ElementsAre("rank 2, iteration_10/rank2_trace.json: at least 200 event_damaged, the first at byte 0 (unclosed)",
                          "of event_damaged (300 in all) /warnings/rows of the result file has the first 100 rows"));
}

TEST(Losses, NamesWithAnyByteAreSafeToPrint) {
  test::Run run = test::sample_run();
  run.problems = Problems();
  run.problems.add({.code = Code::empty_file, .file = "a\xFF\x1B[2J\n.json"});
  EXPECT_THAT(loss_lines(run.results(), 3), ElementsAre("a??[2J .json: empty_file (it is left out; the profiler probably never wrote it)"));
}

TEST(Losses, AFileOfSeveralRanksNamesThemAll) {
  test::Run run = test::sample_run();
  run.problems = Problems();
  for (RankEntry& entry : run.ranks.entries) entry.facts.file = 0;
  run.problems.add({.code = Code::file_cut, .file = run.input.files[0].shown});
  EXPECT_THAT(loss_lines(run.results(), 3), SizeIs(1));
  EXPECT_THAT(loss_lines(run.results(), 3).front(), ::testing::StartsWith("ranks 0-3, " + run.input.files[0].shown));
}

}  // namespace
}  // namespace ccl
