#include "config/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/problems.hpp"
#include "support/scratch_folder.hpp"

namespace ccl {
namespace {

std::string refusal(const std::string& hdf5, const std::string& timeline = "") {
  Config config;
  config.output.hdf5 = hdf5;
  config.timeline_export.file = timeline;
  try {
    check_output_place(config);
  } catch (const FatalError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(OutputPlace, IsCheckedBeforeAnyTraceIsRead) {
  const test::ScratchFolder folder;
  EXPECT_EQ(refusal(folder.path("x.h5")), "accepted");
  EXPECT_THAT(refusal(folder.path("no/x.h5")), ::testing::HasSubstr("there is no folder"));
  EXPECT_THAT(refusal(folder.path()), ::testing::HasSubstr("is a folder"));
  EXPECT_THAT(refusal(folder.write("f", "") + "/x.h5"), ::testing::HasSubstr("is not a folder"));
  EXPECT_THAT(refusal(""), ::testing::HasSubstr("the name is empty"));
  EXPECT_EQ(refusal(folder.path("x.h5"), folder.path("t.json.gz")), "accepted");
  EXPECT_THAT(refusal(folder.path("x.h5"), folder.path("no/t.json")),
              ::testing::AllOf(::testing::HasSubstr("--timeline-json"), ::testing::HasSubstr("there is no folder")));
  EXPECT_THAT(refusal(folder.path("x.h5"), folder.path()), ::testing::HasSubstr("is a folder"));
}

TEST(OutputPlace, ADashIsNoFile) {
  EXPECT_EQ(refusal("-"),
            "output - (is not written to stdout). Name a file; the page is on stdout, with --output-json as JSON.");
  EXPECT_THAT(refusal("jobs/-"), ::testing::HasSubstr("not written to stdout")) << "as a job file's path is read";
  EXPECT_THAT(refusal("x.h5", "-"), ::testing::StartsWith("--timeline-json - (is not written to stdout)"));
  EXPECT_EQ(refusal("x-.h5"), "accepted");
  EXPECT_THROW(refuse_stdout("--report-dir", "-"), FatalError);
  EXPECT_NO_THROW(refuse_stdout("--report-dir", ""));
}

TEST(Window, EndsBehindItsStart) {
  const auto refused = [](const char* start, const char* end) {
    Config config;
    config.window_start = start;
    config.window_end = end;
    try {
      check_window(config);
    } catch (const FatalError&) {
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refused("step:9", "step:3"));
  EXPECT_TRUE(refused("100", "50"));
  EXPECT_TRUE(refused("100", "100"));
  EXPECT_FALSE(refused("step:3", "step:3"));
  EXPECT_FALSE(refused("50", "100"));
  EXPECT_FALSE(refused("step:9", "100"));
  EXPECT_FALSE(refused("chunk", "step:3"));
  EXPECT_FALSE(refused("", "5"));
}

TEST(EachRun, HasAnOutputOfItsOwn) {
  Config config;
  config.output.hdf5 = "out/all.h5";
  config.input.each_run = true;
  const std::vector<Config> all = one_config_per_run(config, {"a", "b/c", "b_c", "."});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].output.hdf5, "out/all.a.h5");
  EXPECT_EQ(all[1].output.hdf5, "out/all.b_c.h5");
  EXPECT_EQ(all[2].output.hdf5, "out/all.b_c-2.h5");
  EXPECT_EQ(all[3].output.hdf5, "out/all.run.h5");
  EXPECT_EQ(all[1].input.run, "b/c");
  EXPECT_FALSE(all[1].input.each_run);
}

}  // namespace
}  // namespace ccl
