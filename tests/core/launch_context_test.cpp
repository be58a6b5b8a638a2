#include "core/launch_context.hpp"

#include <gtest/gtest.h>

#include "support/trace_builder.hpp"

namespace ccl::test {
namespace {

std::string innermost(const RankTrace& trace, const LaunchContext& context, std::size_t event) {
  const std::int32_t slice = context.innermost[event];
  return slice < 0 ? "-" : std::string(trace.strings.text(trace.slices[static_cast<std::size_t>(slice)].name));
}

TEST(LaunchContext, InnermostSliceOfTheLaunchingThreadCounts) {
  const RankTrace trace = TraceBuilder()
                              .thread("1/1")
                              .slice(SliceKind::user_annotation, "outer", 0, 100)
                              .slice(SliceKind::cpu_op, "inner", 20, 40)
                              .kernel("a", 1000, 1, 10)
                              .kernel("b", 1001, 1, 20)
                              .kernel("c", 1002, 1, 40)
                              .kernel("d", 1003, 1, 100)
                              .thread("1/2")
                              .slice(SliceKind::cpu_op, "other thread", 25, 35)
                              .kernel("e", 1004, 1, 30)
                              .kernel("f", 1005, 1, 50)
                              .build();
  const LaunchContext context = launch_context(trace);
  std::string all;
  for (std::size_t i = 0; i < 6; ++i) all += innermost(trace, context, i) + "|";
  EXPECT_EQ(all, "outer|inner|outer|-|other thread|-|");
  EXPECT_EQ(context.parent, (std::vector<std::int32_t>{-1, 0, -1}));
}

TEST(LaunchContext, AThreadWithoutSlicesBetweenTwoThatHaveSome) {
  const RankTrace trace = TraceBuilder()
                              .thread("1/1")
                              .slice(SliceKind::cpu_op, "first", 0, 100)
                              .thread("1/2")
                              .kernel("a", 1000, 1, 50)
                              .thread("1/3")
                              .slice(SliceKind::cpu_op, "third", 0, 100)
                              .kernel("b", 1001, 1, 50)
                              .thread("1/4")
                              .kernel("c", 1002, 1, 50)
                              .build();
  const LaunchContext context = launch_context(trace);
  EXPECT_EQ(innermost(trace, context, 0), "-");
  EXPECT_EQ(innermost(trace, context, 1), "third");
  EXPECT_EQ(innermost(trace, context, 2), "-");
}

TEST(LaunchContext, EventsWithoutALaunchHaveNone) {
  const RankTrace trace =
      TraceBuilder().slice(SliceKind::cpu_op, "op", 0, 100).kernel("a", 50, 1, not_launched).build();
  EXPECT_EQ(innermost(trace, launch_context(trace), 0), "-");
}

TEST(LaunchContext, SlicesThatAreNotNestedAreLeftWhenTheyEnd) {
  const RankTrace trace = TraceBuilder()
                              .slice(SliceKind::cpu_op, "early", 0, 50)
                              .slice(SliceKind::cpu_op, "late", 40, 90)
                              .kernel("a", 1000, 1, 60)
                              .build();
  const LaunchContext context = launch_context(trace);
  EXPECT_EQ(innermost(trace, context, 0), "late");
  const auto is_early = [&](const CpuSlice& slice) { return trace.strings.text(slice.name) == "early"; };
  EXPECT_EQ(context.find(trace, 0, is_early), -1);
  EXPECT_EQ(context.find(trace, 0, [](const CpuSlice&) { return true; }), 1);
}

}  // namespace
}  // namespace ccl::test
