#include "store/unfinished_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/scratch_folder.hpp"

namespace ccl {
namespace {

TEST(UnfinishedFile, IsRemovedWhileItIsUnfinishedOnly) {
  const test::ScratchFolder folder;
  const std::string finished = folder.write("finished", "rows"), first = folder.write("first", "rows"),
                    second = folder.write("second", "rows");
  { const UnfinishedFile done(finished); }
  const UnfinishedFile one(first), two(second);
  remove_unfinished_files();
  EXPECT_TRUE(std::filesystem::exists(finished));
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_FALSE(std::filesystem::exists(second));
}

}  // namespace
}  // namespace ccl
