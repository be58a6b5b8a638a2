#include "compare/fail_if.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/problems.hpp"

namespace ccl {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_bound(text);
  } catch (const FatalError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    return error.what();
  }
  return "accepted";
}

TEST(ParseBound, ChangeInPercent) {
  const Bound bound = parse_bound("iter_time > +3%");
  EXPECT_EQ(bound.metric, "iter_time");
  EXPECT_EQ(bound.column, "");
  EXPECT_TRUE(bound.above && bound.relative);
  EXPECT_DOUBLE_EQ(bound.limit, 0.03);
  const Bound falls = parse_bound("mfu<-2.5%");
  EXPECT_FALSE(falls.above);
  EXPECT_DOUBLE_EQ(falls.limit, -0.025);
}

TEST(ParseBound, ChangeInPoints) {
  const Bound bound = parse_bound("mfu<-2pt");
  EXPECT_TRUE(bound.relative && bound.points);
  EXPECT_DOUBLE_EQ(bound.limit, -0.02);
  EXPECT_FALSE(parse_bound("mfu<-2%").points);
  EXPECT_THAT(refusal("mfu<2pt"), ::testing::HasSubstr("+ or - is missing"));
}

TEST(ParseBound, ValueWithUnit) {
  const Bound time = parse_bound("comm_comp_overlap.exposed_ns>250ms");
  EXPECT_EQ(time.column, "exposed_ns");
  EXPECT_FALSE(time.relative);
  EXPECT_DOUBLE_EQ(time.limit, 250e6);
  EXPECT_DOUBLE_EQ(parse_bound("gpu_utilization<80%").limit, 0.8);
  EXPECT_DOUBLE_EQ(parse_bound("coll_call_num>100").limit, 100);
}

TEST(ParseBound, AnythingElseIsRefusedInOneLine) {
  EXPECT_EQ(refusal("iter_time"), "--fail-if 'iter_time' (not METRIC>BOUND or METRIC<BOUND). Example: iter_time>+3%");
  EXPECT_THAT(refusal(">3%"), ::testing::HasSubstr("not METRIC"));
  EXPECT_THAT(refusal("iter_time>"), ::testing::HasSubstr("no number after >"));
  EXPECT_THAT(refusal("iter_time>+-3%"), ::testing::HasSubstr("no number after >"));
  EXPECT_THAT(refusal("mfu<--3pt"), ::testing::HasSubstr("no number after <"));
  EXPECT_THAT(refusal("iter_time>nan"), ::testing::HasSubstr("no number"));
  EXPECT_THAT(refusal("iter_time>3parsec"), ::testing::HasSubstr("unknown unit 'parsec'"));
  EXPECT_THAT(refusal("iter_time>+3ms"), ::testing::HasSubstr("a change is in percent"));
}

TEST(ParseBound, SizesAndRates) {
  EXPECT_DOUBLE_EQ(parse_bound("memory.peak_bytes>3GB").limit, 3e9);
  EXPECT_DOUBLE_EQ(parse_bound("bandwidth.x_bytes_per_s<20GB/s").limit, 20e9);
  EXPECT_DOUBLE_EQ(parse_bound("throughput_tokens<400000tokens/s").limit, 400000);
}

TEST(ParseBound, ANewStragglerIsABoundOfItsOwn) {
  EXPECT_TRUE(parse_bound("new_straggler").new_straggler);
  EXPECT_FALSE(parse_bound("iter_time>+3%").new_straggler);
  EXPECT_THAT(refusal("new_straggler>1"), ::testing::EndsWith("(new_straggler takes no bound). Write --fail-if new_straggler."));
  EXPECT_THAT(refusal("new_stragler"), ::testing::HasSubstr("Did you mean 'new_straggler'"));
}

Change change(double first, double second, double band) {
  Change out = compare_samples({first}, {second}, Better::lower);
  out.band = band;
  out.verdict = std::abs(out.difference) <= band ? Verdict::same : out.difference < 0 ? Verdict::better : Verdict::worse;
  return out;
}

TEST(Outcome, AGainThatDidNotHappenIsBroken) {
  const Bound half = parse_bound("iter_time>-50%");
  EXPECT_EQ(outcome_of(half, change(100, 100, 6.5)), BoundOutcome::broken);
  EXPECT_EQ(outcome_of(half, change(100, 60, 6.5)), BoundOutcome::broken);
  EXPECT_EQ(outcome_of(half, change(100, 55, 6.5)), BoundOutcome::within_noise);
  EXPECT_EQ(outcome_of(half, change(100, 45, 6.5)), BoundOutcome::kept);
  EXPECT_EQ(outcome_of(half, change(100, 55, NAN)), BoundOutcome::broken) << "one repetition: the bound alone";
  const Bound more = parse_bound("mfu<+10%");
  EXPECT_EQ(outcome_of(more, change(100, 100, 6.5)), BoundOutcome::broken);
  EXPECT_EQ(outcome_of(more, change(100, 105, 6.5)), BoundOutcome::within_noise);
  EXPECT_EQ(outcome_of(more, change(100, 111, 6.5)), BoundOutcome::kept);
}

TEST(Outcome, PointsOfAShareAreNoPercentOfIt) {
  const Change falls = change(0.4, 0.39, 0.001);  // 1 point, 2.5 %
  EXPECT_EQ(outcome_of(parse_bound("mfu<-2%"), falls), BoundOutcome::broken);
  EXPECT_EQ(outcome_of(parse_bound("mfu<-2pt"), falls), BoundOutcome::kept);
  EXPECT_EQ(outcome_of(parse_bound("mfu<-0.5pt"), falls), BoundOutcome::broken);
  EXPECT_EQ(outcome_of(parse_bound("mfu<-0.5pt"), change(0.4, 0.39, 0.02)), BoundOutcome::within_noise);
  EXPECT_EQ(outcome_of(parse_bound("mfu<+1pt"), change(0.4, 0.405, 0.01)), BoundOutcome::within_noise) << "misses 0.5 of 1 point";
  EXPECT_EQ(outcome_of(parse_bound("mfu<+1pt"), change(0.4, 0.405, 0.002)), BoundOutcome::broken);
}

TEST(Outcome, ALossYieldsToNoise) {
  const Bound bound = parse_bound("iter_time>+3%");
  EXPECT_EQ(outcome_of(bound, change(100, 105, 6.5)), BoundOutcome::within_noise);
  EXPECT_EQ(outcome_of(bound, change(100, 105, 4)), BoundOutcome::broken);
  EXPECT_EQ(outcome_of(bound, change(100, 102, 1)), BoundOutcome::kept);
  EXPECT_EQ(outcome_of(parse_bound("iter_time>50ns"), change(100, 60, 90)), BoundOutcome::broken) << "a value has no noise";
}

}  // namespace
}  // namespace ccl
