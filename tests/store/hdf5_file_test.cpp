#include "store/hdf5_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <new>

#include "core/problems.hpp"
#include "store/sample_rows.hpp"
#include "store/write_table.hpp"
#include "support/sanitized.hpp"

namespace ccl {
namespace {

using test::Folder;
using test::own;
using test::sample_table;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(OutputFile, TableComesBackAsItWasWritten) {
  const Folder folder(own("table"));
  for (const std::int64_t rows : {0, 1, 3, 5000}) {
    const ResultTable table = sample_table(0, rows);
    OutputFile out(folder.file("a.h5"));
    write_table(out, "/metrics/sample/rows", table);
    out.commit();
    const ResultTable back = InputFile(folder.file("a.h5")).table("/metrics/sample/rows");
    ASSERT_EQ(back.columns.size(), table.columns.size());
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      EXPECT_EQ(back.columns[c].name, table.columns[c].name);
      EXPECT_EQ(back.columns[c].type, table.columns[c].type);
      EXPECT_EQ(back.columns[c].width, table.columns[c].width);
    }
    EXPECT_EQ(back.rows_count, rows);
    EXPECT_TRUE(back.packed == table.packed);
  }
  EXPECT_THAT(folder.entries(), ElementsAre("a.h5"));
}

TEST(OutputFile, AttributesKeepTypeAndOddText) {
  const Folder folder(own("attributes"));
  const std::string long_text(200'000, 'x');
  {
    OutputFile out(folder.file("a.h5"));
    out.group("/a/b");
    out.attribute("/a", "text", std::string("line\n\"quoted\" ü"));
    out.attribute("/a", "long", long_text);
    out.attribute("/a", "broken",
                  std::string("a\xFF"
                              "b\0c",
                              5));
    out.attribute("/a", "whole", std::int64_t{INT64_MIN});
    out.attribute("/a", "real", 0.1);
    out.commit();
  }
  const InputFile in(folder.file("a.h5"));
  EXPECT_THAT(in.attributes("/a"),
              ElementsAre(Pair("broken", AttributeValue("a\xEF\xBF\xBD"
                                                        "b\xEF\xBF\xBD"
                                                        "c")),
                          Pair("long", AttributeValue(long_text)), Pair("real", AttributeValue(0.1)),
                          Pair("text", AttributeValue("line\n\"quoted\" ü")),
                          Pair("whole", AttributeValue(std::int64_t{INT64_MIN}))));
  EXPECT_TRUE(in.exists("/a/b"));
  EXPECT_FALSE(in.exists("/a/c/d"));
}

TEST(OutputFile, ObjectsAreListedInByteOrder) {
  const Folder folder(own("objects"));
  {
    OutputFile out(folder.file("a.h5"));
    write_vector(out, {"/b/edges", "edges", "ns", {1, 2, 3}});
    out.group("/a");
    out.commit();
  }
  std::vector<std::string> paths;
  for (const StoredObject& object : InputFile(folder.file("a.h5")).objects()) paths.push_back(object.path);
  EXPECT_THAT(paths, ElementsAre("/", "/a", "/b", "/b/edges"));
}

TEST(OutputFile, InvalidTextBytesInTablesBecomeQuestionMarks) {
  const Folder folder(own("bytes"));
  struct Row {
    std::string name;
  };
  const std::vector<Row> rows{{"ok"}, {"a\xC3"}, {"\x80z"}};
  OutputFile out(folder.file("a.h5"));
  write_table(out, "/t", make_table("t", "d", std::vector{column("name", &Row::name, "", "a name")}, rows));
  out.commit();
  const ResultTable back = InputFile(folder.file("a.h5")).table("/t");
  EXPECT_EQ(std::get<std::string>(cell_at(back, 1, "name")), "a?");
  EXPECT_EQ(std::get<std::string>(cell_at(back, 2, "name")), "?z");
}

TEST(OutputFile, ReplacesATargetOnlyOnCommit) {
  const Folder folder(own("replace"));
  std::ofstream(folder.file("a.h5")) << "old";
  {
    OutputFile dropped(folder.file("a.h5"));
    write_table(dropped, "/t", sample_table(0, 10));
  }
  EXPECT_EQ(std::filesystem::file_size(folder.file("a.h5")), 3U);
  OutputFile out(folder.file("a.h5"));
  out.commit();
  EXPECT_NO_THROW(InputFile(folder.file("a.h5")));
  EXPECT_THAT(folder.entries(), ElementsAre("a.h5"));
}

TEST(OutputFile, ModeFollowsTheUmask) {
  const Folder folder(own("mode"));
  const mode_t before = umask(027);
  OutputFile(folder.file("a.h5")).commit();
  umask(before);
  struct stat found {};
  ASSERT_EQ(stat(folder.file("a.h5").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0640U);
}

TEST(OutputFile, UnusablePlacesAreBadRequestsOfOneLine) {
  const Folder folder(own("places"));
  std::ofstream(folder.file("plain")) << "x";
  for (const std::string& place : {folder.file("missing/a.h5"), folder.file("plain/a.h5"), folder.file(""),
                                   std::string("/dev/full"), std::string("/proc/ccl.h5"), std::string()}) {
    ::testing::internal::CaptureStderr();
    try {
      OutputFile out(place);
      FAIL() << place;
    } catch (const FatalError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::bad_request) << place;
      EXPECT_THAT(error.what(), HasSubstr("cannot write '" + place + "' ("));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  }
  EXPECT_THAT(folder.entries(), ElementsAre("plain"));
}

// In a process of its own: the limit on file size stands for the full disk.
void write_into_a_full_disk(const std::string& path) {
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{100'000, 100'000};
  setrlimit(RLIMIT_FSIZE, &limit);
  try {
    OutputFile out(path);
    write_table(out, "/t", sample_table(0, 100'000));
    out.commit();
  } catch (const FatalError& error) {
    std::fprintf(stderr, "exit %d: %s", static_cast<int>(error.exit_code()), error.what());
    std::exit(7);
  }
  std::exit(0);
}

TEST(OutputFile, FullDiskIsARuntimeFailureAndLeavesNothing) {
  const Folder folder(own("full"));
  EXPECT_EXIT(write_into_a_full_disk(folder.file("a.h5")), ::testing::ExitedWithCode(7),
              "^exit 1: cannot write '.*a.h5' \\(File too large\\)$");
  EXPECT_THAT(folder.entries(), IsEmpty());
}

/// Ends the process with code 7 where opening is said to fail for want of memory.
template <class Open>
[[noreturn]] void open_without_memory(Open open) {
  const rlimit limit{0, 0};  // of the address space: nothing more is mapped
  setrlimit(RLIMIT_AS, &limit);
  for (std::size_t bytes = std::size_t{1} << 20; bytes >= 64 << 10; bytes /= 2)
    while (::operator new(bytes, std::nothrow) != nullptr) {}
  try {
    open();
  } catch (const std::bad_alloc&) {
    std::_Exit(7);
  }
  std::_Exit(0);
}

TEST(OutputFile, WithoutMemoryItFailsBeforeHdf5Crashes) {
  if (test::dies_without_memory) GTEST_SKIP() << test::why_it_dies;
  const Folder folder(own("memory"));
  const std::string path = folder.file("a.h5");
  EXPECT_EXIT(open_without_memory([&] { OutputFile out(path); }), ::testing::ExitedWithCode(7), "");
  OutputFile(path).commit();
  EXPECT_EXIT(open_without_memory([&] { InputFile in(path); }), ::testing::ExitedWithCode(7), "");
}

TEST(InputFile, AnythingElseIsABadRequest) {
  const Folder folder(own("other"));
  std::ofstream(folder.file("text.h5")) << "no HDF5";
  EXPECT_THROW(InputFile(folder.file("text.h5")), FatalError);
  EXPECT_THROW(InputFile(folder.file("missing.h5")), FatalError);
}

}  // namespace
}  // namespace ccl
