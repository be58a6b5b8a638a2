#include "parse/step_markers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t ms = 1'000'000, s = 1000 * ms;

std::vector<Step> markers(const std::vector<Interval>& windows) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < windows.size(); ++i)
    steps.push_back({static_cast<std::int64_t>(i + 4), windows[i].start_ns, windows[i].end_ns, StepSource::marker, {}});
  return steps;
}

std::vector<Interval> windows(const std::vector<Step>& steps) {
  std::vector<Interval> all;
  for (const Step& step : steps) all.push_back({step.start_ns, step.end_ns});
  return all;
}

TEST(StepMarkers, OneOverThoseBehindItEndsWhereTheNextBegins) {
  for (const MarkerOrder order : {MarkerOrder::one_after_the_other, MarkerOrder::any}) {
    std::vector<Step> steps = markers({{0, 10 * ms}, {10 * ms, 3600 * s}, {20 * ms, 30 * ms}, {30 * ms, 40 * ms}});
    const InvalidMarkers found = settle_markers(steps, order);
    EXPECT_EQ(found.count, 1);
    EXPECT_THAT(found.first, HasSubstr("step 5 lasts 3599.990 s and goes on behind the"));
    EXPECT_THAT(windows(steps), ElementsAre(Interval{0, 10 * ms}, Interval{10 * ms, 20 * ms}, Interval{20 * ms, 30 * ms},
                                            Interval{30 * ms, 40 * ms}));
  }
}

TEST(StepMarkers, OnlyWhatAProgramSetsMayOverlapTheNext) {
  std::vector<Step> steps = markers({{0, 15 * ms}, {10 * ms, 20 * ms}});
  EXPECT_EQ(settle_markers(steps, MarkerOrder::any).count, 0);
  EXPECT_EQ(steps[0].end_ns, 15 * ms);
  EXPECT_EQ(settle_markers(steps, MarkerOrder::one_after_the_other).count, 1);
  EXPECT_EQ(steps[0].end_ns, 10 * ms);
  steps = markers({{0, 10 * ms + 1000}, {10 * ms, 20 * ms}});
  EXPECT_EQ(settle_markers(steps, MarkerOrder::one_after_the_other).count, 0) << "rounded to microseconds";
}

TEST(StepMarkers, NoneEndsBehindTheRecording) {
  const std::vector<Step> told = markers({{0, 10 * ms}, {10 * ms, 3600 * s}});
  std::vector<Step> steps = told;
  EXPECT_EQ(settle_markers(steps, MarkerOrder::one_after_the_other).count, 0) << "a program may hang for an hour";
  const InvalidMarkers found = settle_markers(steps, MarkerOrder::one_after_the_other, {-5 * ms, 25 * ms});
  EXPECT_THAT(found.open, HasSubstr("behind the end of the recording: taken to end with the recording"));
  EXPECT_EQ(found.count, 0) << "PyTorch ends a marker that is open when it writes the trace";
  EXPECT_THAT(windows(steps), ElementsAre(Interval{0, 10 * ms}, Interval{10 * ms, 25 * ms}));
  steps = told;
  EXPECT_EQ(settle_markers(steps, MarkerOrder::one_after_the_other, {-5 * ms, 3601 * s}).count, 0);
}

TEST(StepMarkers, OneWithoutADurationEndsWhereTheNextBegins) {
  std::vector<Step> steps = markers({{0, 0}, {10 * ms, 5 * ms}, {20 * ms, 20 * ms}});
  EXPECT_EQ(settle_markers(steps, MarkerOrder::one_after_the_other, {0, 30 * ms}).count, 3);
  EXPECT_THAT(windows(steps), ElementsAre(Interval{0, 10 * ms}, Interval{10 * ms, 20 * ms}, Interval{20 * ms, 30 * ms}));
  steps = markers({{0, 10 * ms}, {10 * ms, 10 * ms}});
  EXPECT_EQ(settle_markers(steps, MarkerOrder::any).count, 1);
  EXPECT_THAT(windows(steps), ElementsAre(Interval{0, 10 * ms})) << "no end is known of the last";
}

TEST(StepMarkers, OneThatBeginsOutsideTheRecordingIsLeftOut) {
  std::vector<Step> steps = markers({{0, 10 * ms}, {-3600 * s, -3600 * s + 10 * ms}, {20 * ms, 30 * ms}});
  EXPECT_EQ(settle_markers(steps, MarkerOrder::one_after_the_other, {0, 30 * ms}).count, 1);
  EXPECT_THAT(windows(steps), ElementsAre(Interval{0, 10 * ms}, Interval{20 * ms, 30 * ms}));
  steps = {};
  EXPECT_THAT(settle_markers(steps, MarkerOrder::any, {0, 30 * ms}).first, IsEmpty());
}

}  // namespace
}  // namespace ccl
