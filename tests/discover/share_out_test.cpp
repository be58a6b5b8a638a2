#include <gtest/gtest.h>

#include "discover/discover.hpp"

namespace ccl {
namespace {

std::vector<std::int32_t> owners(const std::vector<std::int64_t>& sizes, int workers) {
  std::vector<TraceFile> files(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) files[i].bytes = sizes[i];
  share_out(files, workers);
  std::vector<std::int32_t> result;
  for (const TraceFile& file : files) result.push_back(file.owner);
  return result;
}

using Owners = std::vector<std::int32_t>;

TEST(ShareOut, LongestFirstOntoTheLeastLoaded) {
  EXPECT_EQ(owners({10, 70, 40, 30}, 2), (Owners{0, 0, 1, 1}));
  EXPECT_EQ(owners({5, 5, 5, 5}, 2), (Owners{0, 1, 0, 1}));
}

TEST(ShareOut, MoreWorkersThanFilesAndNoFiles) {
  EXPECT_EQ(owners({1, 2}, 5), (Owners{1, 0}));
  EXPECT_TRUE(owners({}, 3).empty());
}

TEST(ShareOut, AnExportOfANodeIsReadByAsManyAsItsBytesAreWorth) {
  std::vector<TraceFile> files(3);
  for (TraceFile& file : files) file.format = TraceFormat::nsys_sqlite;
  files[0].bytes = 10, files[1].bytes = 70, files[2].bytes = 40;  // a fair share of 4 workers: 30
  share_out(files, 4);
  EXPECT_EQ(files[1].readers, (Owners{0, 1, 2}));
  EXPECT_EQ(files[1].owner, 0);
  EXPECT_EQ(files[2].readers, (Owners{3, 0}));
  EXPECT_EQ(files[0].readers, Owners{}) << "one reader, as before";
  EXPECT_EQ(files[0].owner, 3);
  files[1].format = TraceFormat::kineto;
  share_out(files, 4);
  EXPECT_TRUE(files[1].readers.empty()) << "a small Kineto trace";
  share_out(files, 1);
  EXPECT_TRUE(files[2].readers.empty());
}

TEST(ShareOut, OnlyALargePlainKinetoTraceIsReadInParts) {
  std::vector<TraceFile> files(2);
  for (TraceFile& file : files) file.format = TraceFormat::kineto;
  files[0].bytes = 4 * smallest_split_bytes, files[1].bytes = smallest_split_bytes / 2;
  share_out(files, 3);
  EXPECT_EQ(files[0].readers, (Owners{0, 1, 2}));
  EXPECT_TRUE(files[1].readers.empty());
  files[0].gzip = true;
  share_out(files, 3);
  EXPECT_TRUE(files[0].readers.empty()) << "a gzip stream has no borders";
  files.resize(16, files[0]);
  for (TraceFile& file : files) file.gzip = false, file.bytes = 2 * smallest_split_bytes;
  share_out(files, 2);
  for (const TraceFile& file : files) EXPECT_TRUE(file.readers.empty()) << "more files than workers";
}

TEST(ShareOut, OneWorkerGetsAll) { EXPECT_EQ(owners({3, 1, 2}, 1), (Owners{0, 0, 0})); }

}  // namespace
}  // namespace ccl
