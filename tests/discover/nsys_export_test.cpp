#include "discover/nsys_export.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "find_alone.hpp"
#include "temp_tree.hpp"

namespace ccl {
namespace {

using test::find_alone;
using test::TempTree;
using testing::HasSubstr;

bool exports_only(TraceFormat format) { return format == TraceFormat::nsys_sqlite; }

/// A folder of reports, and PATH with a program nsys whose text is given.
class NsysExport : public testing::Test {
 protected:
  void SetUp() override { path_ = std::getenv("PATH"); }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }

  void install(std::string_view script) {
    tree.add("bin/nsys", script);
    std::filesystem::permissions(tree.path("bin/nsys"), std::filesystem::perms::owner_all);
    setenv("PATH", (tree.path("bin") + ":" + path_).c_str(), 1);
  }
  Input find() {
    Config config;
    config.input.folders = {tree.path("run")};
    config.input.nsys_export = true;
    return find_alone(config, exports_only, problems);
  }

  TempTree tree;
  Problems problems;

 private:
  std::string path_;
};

constexpr std::string_view good = R"(#!/bin/sh
[ "$1 $2 $3 $4 $5" = "export --type=sqlite --include-blobs=true --include-json=true --output" ] || exit 3
printf 'SQLite format 3\0' >"$6"
)";

TEST_F(NsysExport, ReportsAreExportedBesideThemselvesOnce) {
  install(good);
  tree.add("run/node 0.nsys-rep", "x");
  tree.add("run/node 1.nsys-rep", "x");
  tree.add("run/node 1.sqlite", "SQLite format 3 as it was");
  const Input input = find();
  ASSERT_EQ(input.files.size(), 1U);  // the other was there and is no database
  EXPECT_EQ(input.files[0].shown, "node 0.sqlite");
  EXPECT_EQ(std::filesystem::file_size(tree.path("run/node 1.sqlite")), 25U);
}

TEST_F(NsysExport, AReportThatFailsIsNamedAndTheRestIsUsed) {
  install(R"(#!/bin/sh
case "$7" in *bad*) exit 7;; esac
printf 'SQLite format 3\0' >"$6"
)");
  tree.add("run/bad.nsys-rep", "x");
  tree.add("run/good.nsys-rep", "x");
  EXPECT_EQ(find().files.size(), 1U);
  ASSERT_EQ(problems.count(Code::unreadable_file), 1);
  EXPECT_EQ(problems.rows()[0].detail, "nsys export ended with code 7");
}

TEST_F(NsysExport, WithoutTheProgramItIsABadRequestThatSaysWhatToDo) {
  setenv("PATH", tree.path("nowhere").c_str(), 1);
  tree.add("run/node.nsys-rep", "x");
  try {
    find();
    FAIL() << "no error";
  } catch (const FatalError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    EXPECT_THAT(error.what(), HasSubstr("--include-json=true node.nsys-rep"));
  }
}

TEST(NsysReports, AReportWithItsExportBesideItIsNoWarning) {
  const TempTree tree;
  tree.add("node.nsys-rep", "x");
  tree.add("node.sqlite", std::string_view("SQLite format 3\0", 16));
  Config config;
  config.input.folders = {tree.path()};
  Problems problems;
  EXPECT_EQ(find_alone(config, exports_only, problems).files.size(), 1U);
  EXPECT_TRUE(problems.rows().empty());
}

}  // namespace
}  // namespace ccl
