#include "discover/walk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include "temp_tree.hpp"

namespace ccl {
namespace {

using test::TempTree;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> shown(const FileTree& tree) {
  std::vector<std::string> names;
  for (const FoundFile& file : tree.files) names.push_back(file.shown);
  return names;
}

std::string message_of(const std::vector<std::string>& folders) {
  Problems problems;
  try {
    walk(folders, problems);
  } catch (const FatalError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    return error.what();
  }
  return "no error";
}

TEST(Walk, FindsFilesBelowInNaturalOrder) {
  const TempTree tree;
  tree.add("iteration_10/rank0.json", "0123456789");
  tree.add("iteration_2/rank1.json", "x");
  tree.add("iteration_2/rank0 with spaces.json", "x");
  tree.add(".hidden/rank7.json", "x");
  tree.add("._rank0.json", "x");
  Problems problems;
  const FileTree found = walk({tree.path()}, problems);
  EXPECT_THAT(shown(found),
              ElementsAre("iteration_2/rank0 with spaces.json", "iteration_2/rank1.json", "iteration_10/rank0.json"));
  EXPECT_EQ(found.files[2].bytes, 10);
  EXPECT_EQ(found.root, tree.path());
  EXPECT_TRUE(problems.rows().empty());
}

TEST(Walk, TrailingSlashAndDotsChangeNothing) {
  const TempTree tree;
  tree.add("a/b/r.json", "x");
  Problems problems;
  EXPECT_EQ(walk({tree.path("a/") + "/"}, problems).root, tree.path("a"));
  EXPECT_THAT(shown(walk({tree.path("a/./b/../")}, problems)), ElementsAre("b/r.json"));
}

TEST(Walk, SeveralFoldersAreOneTreeAndNothingComesTwice) {
  const TempTree tree;
  tree.add("x/iteration_1/r.json", "x");
  tree.add("x/iteration_2/r.json", "x");
  tree.add("x/iteration_3/r.json", "x");
  Problems problems;
  const FileTree found =
      walk({tree.path("x/iteration_2"), tree.path("x/iteration_1"), tree.path("x/iteration_1/r.json")}, problems);
  EXPECT_EQ(found.root, tree.path("x"));
  EXPECT_THAT(shown(found), ElementsAre("iteration_1/r.json", "iteration_2/r.json"));
}

TEST(Walk, OneFileIsEnough) {
  const TempTree tree;
  tree.add("a/r.json", "x");
  tree.add("a/other.json", "x");
  Problems problems;
  const FileTree found = walk({tree.path("a/r.json")}, problems);
  EXPECT_EQ(found.root, tree.path("a"));
  EXPECT_THAT(shown(found), ElementsAre("r.json"));
}

TEST(Walk, LinksNeitherLoopNorLeadOutside) {
  const TempTree outside;
  outside.add("far/r9.json", "x");
  const TempTree tree;
  tree.add("a/r0.json", "x");
  tree.link("a/loop", tree.path());
  tree.link("a/latest.json", tree.path("a/r0.json"));
  tree.link("a/away", outside.path("far"));
  tree.link("a/notes.txt", outside.path("far/r9.json"));
  tree.link("a/gone.json", tree.path("nowhere"));
  Problems problems;
  EXPECT_THAT(shown(walk({tree.path()}, problems)), ElementsAre("a/r0.json"));
  ASSERT_EQ(problems.count(Code::unreadable_file), 2);
  EXPECT_EQ(problems.rows()[0].file, "a/away");
  EXPECT_EQ(problems.rows()[1].file, "a/gone.json");
}

TEST(Walk, ANamedLinkIsFollowed) {
  const TempTree tree;
  tree.add("real/r0.json", "x");
  tree.link("named", tree.path("real"));
  Problems problems;
  EXPECT_THAT(shown(walk({tree.path("named")}, problems)), ElementsAre("r0.json"));
}

TEST(Walk, PipesAreNotOpened) {
  const TempTree tree;
  tree.add("r0.json", "x");
  ASSERT_EQ(mkfifo(tree.path("pipe.json").c_str(), 0600), 0);
  Problems problems;
  EXPECT_THAT(shown(walk({tree.path()}, problems)), ElementsAre("r0.json"));
}

TEST(Walk, ClosedFolderIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads every folder";
  const TempTree tree;
  tree.add("r0.json", "x");
  tree.add("closed/r1.json", "x");
  chmod(tree.path("closed").c_str(), 0);
  Problems problems;
  EXPECT_THAT(shown(walk({tree.path()}, problems)), ElementsAre("r0.json"));
  chmod(tree.path("closed").c_str(), 0700);
  ASSERT_EQ(problems.count(Code::unreadable_file), 1);
  EXPECT_EQ(problems.rows()[0].file, "closed");
}

TEST(Walk, MissingFolderGetsASuggestion) {
  const TempTree tree;
  tree.add("profile_traces/r.json", "x");
  EXPECT_THAT(message_of({tree.path("profile_trace")}), HasSubstr(": " + tree.path("profile_trace") + ". Did you mean " + tree.path("profile_traces") + "?"));
  EXPECT_THAT(message_of({tree.path("something-else-entirely")}), testing::Not(HasSubstr("Did you mean")));
  EXPECT_THAT(message_of({}), HasSubstr("no trace folder"));
  std::filesystem::create_symlink(tree.path("loop"), tree.path("loop"));
  EXPECT_THAT(message_of({tree.path("loop")}), HasSubstr("loop cannot be read (a link that leads to nothing)"));
}

TEST(Walk, TraceLikeNames) {
  for (const char* name : {"a.json", "a.JSON", "a.json.gz", "a.sqlite", "x/a.pickle", "a.gz"})
    EXPECT_TRUE(has_trace_like_name(name)) << name;
  for (const char* name : {"a.txt", "a.pdf", "json", "a.yaml", "a.json.bak"})
    EXPECT_FALSE(has_trace_like_name(name)) << name;
}

}  // namespace
}  // namespace ccl
