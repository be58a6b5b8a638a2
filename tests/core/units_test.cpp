#include "core/units.hpp"

#include <gtest/gtest.h>

#include "core/result_table.hpp"

namespace ccl {
namespace {

TEST(Units, TheSuffixOfANameIsItsUnit) {
  EXPECT_EQ(unit_of("step_mean_ns"), "ns");
  EXPECT_EQ(unit_of("per_gpu_tokens_per_s"), "tokens_per_s");
  EXPECT_EQ(unit_of("ratio"), "ratio");
  EXPECT_EQ(unit_of("columns"), "") << "ends in ns, but not behind a _";
  EXPECT_EQ(unit_of("stage"), "");
}

struct Row {
  std::int64_t wait_ns = 0, calls_count = 0;
  std::int32_t stage = 0;
};

TEST(Units, AColumnHasTheUnitOfItsNameWhereNoneIsGiven) {
  EXPECT_EQ(column("calls_count", &Row::calls_count, "", "calls").info.unit, "count");
  EXPECT_EQ(column("wait_ns", &Row::wait_ns, "ns", "wait").info.unit, "ns");
  EXPECT_EQ(column("stage", &Row::stage, "", "stage").info.unit, "");
  const auto share = [](const Row&) { return 0.5; };
  EXPECT_EQ(derived<Row>("wait_ratio", "", "share", share).info.unit, "ratio");
}

}  // namespace
}  // namespace ccl
