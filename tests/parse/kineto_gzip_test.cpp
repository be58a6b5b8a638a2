// Compressed traces, with both inflaters: recognised by their bytes, any number of members, cut and damaged ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/kineto_text.hpp"
#include "support/numbered.hpp"

namespace ccl::test {
namespace {

using testing::ElementsAre;

struct Way {
  std::int64_t window_bytes;
  InflateBackend inflate;
};

class KinetoGzipTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (make_inflater(GetParam().inflate) == nullptr) GTEST_SKIP() << "built without ISA-L";
  }
  ReadResult read(std::string_view bytes) const {
    ReadSettings settings;
    settings.window_bytes = GetParam().window_bytes;
    settings.inflate = GetParam().inflate;
    return read_text(bytes, settings);
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, KinetoGzipTest,
                         testing::Values(Way{largest_window_bytes, InflateBackend::zlib}, Way{64, InflateBackend::zlib},
                                         Way{1000, InflateBackend::zlib}, Way{largest_window_bytes, InflateBackend::isal},
                                         Way{64, InflateBackend::isal}, Way{1000, InflateBackend::isal}));

std::string small_trace() {
  return trace_text(kernel_text("a", "1", "1") + ",\n" + kernel_text("b", "3", "1"), R"("distributedInfo": {"rank": 4},)");
}

/// Does not compress well, so that cuts fall between many events.
std::string long_trace(std::size_t events) {
  std::mt19937_64 random(3);
  std::string all;
  for (std::size_t i = 0; i < events; ++i) {
    std::string name = test::numbered("k", i) + "_";
    for (int letter = 0; letter < 60; ++letter) name.push_back(static_cast<char>('a' + random() % 26));
    all.append(i == 0 ? "" : ",\n").append(kernel_text(name, std::to_string(10 * i), "1"));
  }
  return trace_text(all);
}

TEST_P(KinetoGzipTest, IsRecognisedByItsBytesWhateverItsName) {
  const ReadResult r = read(gzip(small_trace()));
  EXPECT_THAT(r.names(), ElementsAre("a", "b"));
  EXPECT_EQ(r.trace.rank, RankId(4));
  EXPECT_TRUE(r.problems.count(Severity::data_loss) == 0);
  const ScratchFile plain(small_trace(), "trace.json.gz");
  EXPECT_THAT(read_path(plain.path()).names(), ElementsAre("a", "b"));
}

TEST_P(KinetoGzipTest, MembersAreReadAsOneText) {
  const std::string text = long_trace(300);
  std::string members;
  for (std::size_t at = 0; at < text.size(); at += 777) members += gzip(text.substr(at, 777));
  const ReadResult r = read(members + gzip(""));
  EXPECT_EQ(r.trace.events.size(), 300U);
  EXPECT_EQ(r.count(Code::gzip_cut), 0);
  EXPECT_EQ(r.count(Code::gzip_trailing_bytes), 0);
  EXPECT_EQ(r.count(Code::file_cut), 0);
}

TEST_P(KinetoGzipTest, BytesBehindTheDataAreNamed) {
  for (const char* const tail : {"garbage", "\x1f", "\x1fz"}) {
    const ReadResult r = read(gzip(small_trace()) + tail);
    EXPECT_THAT(r.names(), ElementsAre("a", "b"));
    EXPECT_EQ(r.count(Code::gzip_trailing_bytes), 1);
    EXPECT_EQ(r.count(Code::gzip_cut), 0);
  }
  const ReadResult padded = read(gzip(small_trace()) + std::string(512, '\0'));
  EXPECT_EQ(padded.count(Code::gzip_trailing_bytes), 0);
  EXPECT_EQ(padded.count(Code::gzip_cut), 0);
}

TEST_P(KinetoGzipTest, CutAnywhereKeepsWhatCameBefore) {
  const std::string bytes = gzip(long_trace(150));
  std::size_t before = 0;
  for (std::size_t size = 2; size < bytes.size(); size += 1 + bytes.size() / 50) {
    const ReadResult r = read(bytes.substr(0, size));
    ASSERT_EQ(r.count(Code::gzip_cut), 1) << size;
    ASSERT_EQ(r.count(Code::file_cut), 0) << size;
    ASSERT_GE(r.trace.events.size(), before) << size;
    before = r.trace.events.size();
    for (std::size_t i = 0; i < before; ++i) ASSERT_TRUE(r.name(i).starts_with(test::numbered("k", i) + "_"));
  }
  EXPECT_GT(before, 100U);
}

TEST_P(KinetoGzipTest, WrongChecksumIsDamage) {
  std::string bytes = gzip(small_trace());
  bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] ^ 0x55);
  const ReadResult r = read(bytes);
  EXPECT_THAT(r.names(), ElementsAre("a", "b"));
  EXPECT_EQ(r.count(Code::gzip_cut), 1);
  EXPECT_EQ(r.trace.loss, FileLoss::nothing);  // the text is whole; where it is false, if it is, nobody knows
}

TEST_P(KinetoGzipTest, AWholeTextHasLostNothingWithItsChecksum) {
  const std::string bytes = gzip(small_trace());
  for (std::size_t missing = 1; missing <= 8; ++missing) {
    const ReadResult r = read(bytes.substr(0, bytes.size() - missing));
    EXPECT_THAT(r.names(), ElementsAre("a", "b")) << missing;
    EXPECT_EQ(r.count(Code::gzip_cut), 1) << missing;
    EXPECT_EQ(r.trace.loss, FileLoss::nothing) << missing;
  }
}

TEST_P(KinetoGzipTest, ADamagedHeadOfALaterMemberIsDamageOfTheGzipFile) {
  const std::string text = long_trace(60), first = gzip(text.substr(0, text.size() / 2));
  std::string bytes = first + gzip(text.substr(text.size() / 2));
  bytes[first.size()] = 'x';
  const ReadResult r = read(bytes);
  EXPECT_EQ(r.count(Code::gzip_cut), 1);
  EXPECT_EQ(r.count(Code::file_cut), 0);
  EXPECT_EQ(r.trace.loss, FileLoss::rest);
}

TEST_P(KinetoGzipTest, WrongLengthIsDamage) {
  std::string bytes = gzip(small_trace());
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  const ReadResult r = read(bytes);
  EXPECT_THAT(r.names(), ElementsAre("a", "b"));
  EXPECT_EQ(r.count(Code::gzip_cut), 1);
}

TEST_P(KinetoGzipTest, TextEndsBehindTheMemberWithTheWrongChecksum) {
  const std::string text = long_trace(60);
  const std::size_t parts = 6, part = text.size() / parts + 1;
  for (std::size_t wrong = 0; wrong < parts; ++wrong) {
    std::string members, whole;
    for (std::size_t i = 0; i < parts; ++i) {
      members += gzip(text.substr(i * part, part));
      if (i <= wrong) whole = text.substr(0, (i + 1) * part);
      if (i == wrong) members[members.size() - 8] = static_cast<char>(members[members.size() - 8] ^ 1);
    }
    const ReadResult r = read(members), expected = read_text(whole, {});
    EXPECT_EQ(r.trace.events.size(), expected.trace.events.size()) << wrong;
    EXPECT_EQ(r.count(Code::gzip_cut), 1) << wrong;
    if (GetParam().inflate == InflateBackend::isal && GetParam().window_bytes == largest_window_bytes) {
      EXPECT_EQ(r.first(Code::gzip_cut).detail.find("what follows is not read") != std::string::npos, wrong + 1 < parts) << wrong;
    }
  }
}

TEST_P(KinetoGzipTest, NamesAndCommentsInTheHeaderAreSkipped) {
  std::string bytes = gzip(small_trace());
  bytes[3] = 4 | 8 | 16;  // extra field, name, comment
  bytes.insert(10, std::string_view("\x03\0xyztrace.json\0a comment\0", 26));
  const ReadResult r = read(bytes);
  EXPECT_THAT(r.names(), ElementsAre("a", "b"));
  EXPECT_EQ(r.count(Code::gzip_cut), 0);
}

TEST_P(KinetoGzipTest, DamagedDataNeverHangsOrThrows) {
  const std::string good = gzip(long_trace(50));
  std::mt19937_64 random(5);
  for (int round = 0; round < 40; ++round) {
    std::string bytes = good;
    for (int change = 0; change < 3; ++change) bytes[2 + random() % (bytes.size() - 2)] = static_cast<char>(random());
    const ReadResult r = read(bytes);
    EXPECT_LE(r.trace.events.size(), 60U);
  }
}

TEST_P(KinetoGzipTest, NothingInsideIsAnEmptyFile) {
  const ReadResult r = read(gzip(""));
  EXPECT_FALSE(r.called);
  EXPECT_EQ(r.count(Code::empty_file), 1);
}

TEST_P(KinetoGzipTest, EventsLongerThanTheWindowAreRead) {
  const std::string name(30'000, 'n');
  const ReadResult r = read(gzip(trace_text(kernel_text(name, "1", "1").append(",").append(kernel_text("b", "3", "1")))));
  EXPECT_THAT(r.names(), ElementsAre(name, "b"));
}

class StopAtOnce final : public Progress {
 public:
  void add_bytes(std::int64_t bytes) override { bytes_ += bytes; }
  bool stop_requested() const override { return stop_; }
  std::int64_t bytes_ = 0;
  bool stop_ = true;
};

TEST_P(KinetoGzipTest, StopsBetweenWindowsAndCountsCompressedBytes) {
  const std::string bytes = gzip(long_trace(400));
  const ScratchFile path(bytes);
  TraceFile file;
  file.path = path.path();
  ReadOptions options;
  options.window_bytes = GetParam().window_bytes < 4096 ? GetParam().window_bytes : 4096;
  options.classifier = &classifier();
  KinetoReader reader(KinetoReader::default_limit_bytes, GetParam().inflate);
  StopAtOnce progress;
  Problems stopped;
  reader.read(file, options, stopped, progress, [](const RankTrace&) { FAIL(); });
  EXPECT_EQ(stopped.count(Code::not_read), 1);

  progress.stop_ = false;
  progress.bytes_ = 0;
  int calls = 0;
  reader.read(file, options, stopped, progress, [&](const RankTrace& trace) {
    ++calls;
    EXPECT_EQ(trace.events.size(), 400U);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(progress.bytes_, static_cast<std::int64_t>(bytes.size()));
}

}  // namespace
}  // namespace ccl::test
