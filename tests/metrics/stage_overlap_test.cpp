#include <gtest/gtest.h>

#include <cmath>

#include "metrics/stages.hpp"
#include "support/small_run.hpp"

namespace ccl::test {
namespace {

constexpr const char* label = "rank=3; pp=1/2 dp=0/1 cp=0/1 ep=3/4; mbs=1 seq=2048";
constexpr const char* pair = "forward chunk 0 (phase4) backward chunk 1 (phase4)";

// Three overlapped chunks; the middle one is [1000, 2000). Computing [1000, 1400) on stream 7.
TraceBuilder chunks() {
  TraceBuilder builder;
  builder.rank(3).slice(SliceKind::user_annotation, label, 0, 9000);
  for (const std::int64_t t : {0, 1000, 2000}) builder.slice(SliceKind::user_annotation, pair, t, t + 1000);
  builder.slice(SliceKind::user_annotation, "layer00.stage2_f", 1010, 1100);
  builder.slice(SliceKind::user_annotation, "layer00_stage5_f_layer01_stage1_f", 1200, 1300);
  builder.slice(SliceKind::user_annotation, "layer01.stage4_b", 1310, 1400);
  builder.stream(7).kernel("gemm", 1000, 400, 1005);
  return builder;
}

std::int64_t row_of(const MetricResult& result, const std::string& stage) {
  for (std::int64_t row = 0; row < table(result, "by_stage").rows_count; ++row)
    if (text_at(result, "by_stage", row, "stage") == stage) return row;
  return -1;
}

TEST(StageOverlap, HiddenShareOfEachStageInTheMiddleChunk) {
  TraceBuilder builder = chunks();
  builder.stream(20).collective(CollectiveOp::all_to_all, "ep", 64, 1050, 100, 1050);  // all hidden
  builder.collective(CollectiveOp::all_to_all, "ep", 64, 1350, 100, 1060);             // half
  builder.collective(CollectiveOp::all_to_all, "ep", 64, 1500, 200, 1350);             // not at all
  builder.collective(CollectiveOp::all_to_all, "ep", 64, 1950, 100, 1360);             // leaves the window
  SmallRun run;
  run.add(builder.build());
  const MetricResult result = run.result("stage_overlap");
  const std::int64_t dispatch = row_of(result, "stage2_f"), combine = row_of(result, "stage4_b");
  EXPECT_EQ(integer_at(result, "by_stage", dispatch, "communication_ns"), 200);
  EXPECT_EQ(integer_at(result, "by_stage", dispatch, "exposed_ns"), 50);
  EXPECT_DOUBLE_EQ(std::get<double>(cell_at(table(result, "by_stage"), dispatch, "hidden_min_ratio")), 0.5);
  EXPECT_DOUBLE_EQ(std::get<double>(cell_at(table(result, "by_stage"), dispatch, "hidden_max_ratio")), 1);
  EXPECT_EQ(integer_at(result, "by_stage", combine, "communication_ns"), 200);
  EXPECT_EQ(integer_at(result, "by_stage", combine, "union_communication_ns"), 250);  // with the part inside
  EXPECT_DOUBLE_EQ(headline(result, "worst_hidden_ratio"), 0);
  EXPECT_EQ(text_at(result, "rows", 0, "window_source"), "chunk");
  EXPECT_EQ(integer_at(result, "rows", 0, "window_start_ns"), 1000);
  EXPECT_EQ(integer_at(result, "rows", 0, "candidates_count"), 3);
}

TEST(StageOverlap, CommunicationOnAComputeStreamIsABarrierAndExposesNothing) {
  TraceBuilder builder = chunks();
  builder.collective(CollectiveOp::all_reduce, "dp", 64, 1500, 300, 1050);
  SmallRun run;
  run.add(builder.build());
  const MetricResult result = run.result("stage_overlap");
  EXPECT_EQ(integer_at(result, "by_stage", 0, "communication_count"), 0);
  EXPECT_EQ(integer_at(result, "by_stage", 0, "barrier_ns"), 300);
  EXPECT_EQ(integer_at(result, "rows", 0, "barrier_ns"), 300);
  EXPECT_EQ(result.report.status, Status::absent);
}

TEST(StageOverlap, SetUpOfTheProgramsLabel) {
  SmallRun run;
  run.add(chunks().build());
  const MetricResult result = run.result("stage_overlap");
  EXPECT_EQ(integer_at(result, "rows", 0, "pp"), 1);
  EXPECT_EQ(integer_at(result, "rows", 0, "pp_size"), 2);
  EXPECT_EQ(integer_at(result, "rows", 0, "ep"), 3);
  EXPECT_EQ(integer_at(result, "rows", 0, "sequence_length"), 2048);
}

TEST(StageOverlap, WithoutStagesItIsNotApplicable) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).kernel("gemm", 0, 10).build());
  EXPECT_EQ(run.result("stage_overlap").report.status, Status::not_applicable);
}

TEST(StageWindow, TheMiddleStepWhereThereIsNoChunkElseTheCapture) {
  const Classifier classifier(embedded_config("kernels"));
  TraceBuilder steps;
  steps.rank(0);
  for (std::int64_t n = 0; n < 4; ++n) steps.step(n, 100 * n, 100 * n + 100).kernel("gemm", 100 * n + 10, 50);
  const StageWindow step = stage_window(steps.build(), Config(), classifier);
  EXPECT_EQ(step.source, "step");
  EXPECT_EQ(step.time, (Interval{210, 260}));
  const RankTrace bare = TraceBuilder().rank(0).kernel("gemm", 5, 10).kernel("gemm", 40, 10).build();
  EXPECT_EQ(stage_window(bare, Config(), classifier).time, (Interval{5, 50}));
  Config config;
  config.window_start = "10";
  EXPECT_EQ(stage_window(bare, config, classifier).time, (Interval{15, 50}));
  config.window_start = "step:7";
  EXPECT_EQ(stage_window(bare, config, classifier).time.start_ns, absent_ns);
}

TEST(StageWindow, EdgesAreNanosecondsAChunkOrAStep) {
  for (const char* good : {"0", "1500", "chunk", "step:12"}) EXPECT_TRUE(is_window_edge(good)) << good;
  for (const char* bad : {"", "-1", "5ms", "step:", "step:x", "chunks", "99999999999999999999"})
    EXPECT_FALSE(is_window_edge(bad)) << bad;
}

}  // namespace
}  // namespace ccl::test
