#include "progress_line.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

TEST(ProgressLine, ShowsFilesBytesRateAndTimeLeft) {
  const ProgressState state{"analyze", 12, 40, 1'000'000'000, 4'000'000'000, 2.0};
  EXPECT_EQ(progress_line(state, 8), "analyze [##......] 12/40 files, 1.00 GB of 4.00 GB, 0.50 GB/s, 6 s left");
  EXPECT_EQ(progress_line(state, 0), "analyze 12/40 files, 1.00 GB of 4.00 GB, 0.50 GB/s, 6 s left");
}

TEST(ProgressLine, BeforeAnythingIsKnownOnlyTheStage) {
  EXPECT_EQ(progress_line({"discover", 0, 0, 0, 0, 0}, 8), "discover");
  EXPECT_EQ(progress_line({"analyze", 0, 2, 0, 0, 1}, 4), "analyze [....] 0/2 files, 0 B of 0 B");
}

TEST(ProgressLine, MoreBytesThanAnnouncedStayAtTheEndOfTheBar) {
  EXPECT_EQ(progress_line({"analyze", 1, 1, 30, 10, 1}, 4), "analyze [####] 1/1 files, 30 B of 10 B, 30 B/s");
}

TEST(Printable, ControlCharactersCannotReachTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\rc\x7f"), "a?[31mb?c?");
  EXPECT_EQ(printable("x\xc2\x9b" "31m"), "x??31m");
  EXPECT_EQ(printable("rank_é\tok\n"), "rank_é\tok\n");
}

TEST(SharedProgress, SignalsAndTimeLimitAskToStop) {
  int argc = 0;
  char** argv = nullptr;
  const Comm comm(argc, argv);
  std::atomic<int> stop{0};
  std::string written;
  SharedProgress progress(comm, ProgressStyle::bar, [&](const std::string& text) { written += text; }, stop, 0);
  progress.stage("analyze");
  progress.total(1, 10);
  EXPECT_FALSE(progress.stop_requested());
  progress.add_bytes(5);
  EXPECT_NE(written.find("analyze ["), std::string::npos);
  progress.stage("merge");
  EXPECT_EQ(written.substr(written.size() - 4), "\r\x1b[K") << "the bar is taken off";
  stop = 1;
  EXPECT_TRUE(progress.stop_requested());

  const std::atomic<int> never{0};
  EXPECT_TRUE(SharedProgress(comm, ProgressStyle::none, {}, never, 1e-9).stop_requested());
}

TEST(SharedProgress, QuietWritesNothing) {
  int argc = 0;
  char** argv = nullptr;
  const Comm comm(argc, argv);
  const std::atomic<int> stop{0};
  SharedProgress progress(comm, ProgressStyle::none, {}, stop, 0);  // an empty function would throw if called
  progress.stage("analyze");
  progress.total(1, 10);
  progress.add_bytes(10);
  progress.add_file();
  progress.clear();
}

}  // namespace
}  // namespace ccl
