#include "same_build.hpp"

#include <gmock/gmock.h>

#include "core/problems.hpp"
#include "support/mpi_world.hpp"

namespace ccl {
namespace {

using test::world;
using testing::HasSubstr;

TEST(SameBuild, OneProgramIsAccepted) {
  EXPECT_NO_THROW(refuse_mixed_builds(this_build(), world()));
  EXPECT_THAT(this_build(), testing::StartsWith(CCL_VERSION));
}

TEST(SameBuild, AnotherVersionOnTheLastWorkerIsRefusedByAll) {
  if (world().num_workers() == 1) return;
  const int last = world().num_workers() - 1;
  const std::string mine = world().worker() == last ? "9.9.9 (build ab12)" : "0.1.0 (build ab12)";
  try {
    refuse_mixed_builds(mine, world());
    FAIL() << "not refused on worker " << world().worker();
  } catch (const FatalError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    EXPECT_THAT(error.what(), HasSubstr("are 2 different builds of ccl-analyze: worker 0 0.1.0 (build ab12), worker " +
                                        std::to_string(last) + " 9.9.9 (build ab12) (first worker of each)"));
  }
}

TEST(SameBuild, EveryWorkerAnotherBuildIsNamedOnce) {
  if (world().num_workers() == 1) return;
  try {
    refuse_mixed_builds("0.1.0 (build " + std::to_string(world().worker()) + ")", world());
    FAIL() << "not refused on worker " << world().worker();
  } catch (const FatalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("are " + std::to_string(world().num_workers()) + " different builds"));
  }
}

}  // namespace
}  // namespace ccl
