#include <gtest/gtest.h>

#include "metrics/layers.hpp"
#include "metrics/phases.hpp"
#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// One step as PyTorch records it: forward on thread 1, backward on thread 2 with a part of the forward repeated in it,
// gradients clipped, optimizer.
TraceBuilder one_step() {
  TraceBuilder builder;
  builder.rank(0).step(3, 0, 1000).thread("1/1");
  builder.slice(SliceKind::user_annotation, "ProfilerStep#3", 0, 1000);
  builder.slice(SliceKind::user_annotation, "enumerate(DataLoader)#Loader.__next__", 0, 20)
      .copy("Memcpy HtoD", 8, 100, 10, 5);
  builder.slice(SliceKind::user_annotation, "Attention", 30, 80).kernel("gemm", 110, 100, 40);
  builder.slice(SliceKind::user_annotation, "FSDP::all_gather (layers.4)", 90, 95);
  builder.stream(20).collective(CollectiveOp::all_gather, "dp", 64, 150, 70, 92).stream(7);
  builder.slice(SliceKind::user_annotation, "optimizer", 400, 600).kernel("norm", 600, 30, 410);
  builder.slice(SliceKind::user_annotation, "Optimizer.step#AdamW.step", 450, 500).kernel("adam", 650, 50, 460);
  builder.kernel("log", 720, 10, 700);
  builder.thread("1/2").slice(SliceKind::cpu_op, "autograd::engine::evaluate_function: MmBackward0", 200, 300);
  builder.slice(SliceKind::user_annotation, "Attention", 210, 220).kernel("gemm", 300, 40, 215);
  builder.kernel("gemm", 340, 160, 250).kernel("hook", 500, 10, 310);
  return builder;
}

std::int64_t phase_ns(const MetricResult& result, const std::string& phase) {
  return integer_at(result, "rows", 0, phase + "_ns");
}

TEST(TrainingPhases, ThePhaseIsThatOfTheLaunch) {
  SmallRun run;
  run.add(one_step().build());
  const MetricResult result = run.result("training_phases");
  EXPECT_EQ(phase_ns(result, "forward"), 110) << "gemm [110,210) and its all-gather [150,220)";
  EXPECT_EQ(phase_ns(result, "recompute"), 40) << "an annotation of the forward, repeated on the autograd thread";
  EXPECT_EQ(phase_ns(result, "backward"), 170) << "the hook after the last node is on the autograd thread too";
  EXPECT_EQ(phase_ns(result, "grad_clip"), 30) << "between backward and Optimizer.step";
  EXPECT_EQ(phase_ns(result, "optimizer"), 50);
  EXPECT_EQ(phase_ns(result, "other"), 20) << "input copy and what follows the optimizer";
  EXPECT_EQ(integer_at(result, "rows", 0, "period_ns"), 730);
  EXPECT_DOUBLE_EQ(headline(result, "backward_ratio"), 170.0 / 730);
}

TEST(TrainingPhases, SumCommunicationAndCpuWallPerPhase) {
  SmallRun run;
  run.add(one_step().build());
  const MetricResult result = run.result("training_phases");
  ASSERT_EQ(table(result, "by_phase").rows_count, 6);
  EXPECT_EQ(text_at(result, "by_phase", 0, "phase"), "forward");
  EXPECT_EQ(integer_at(result, "by_phase", 0, "sum_ns"), 170);
  EXPECT_EQ(integer_at(result, "by_phase", 0, "communication_ns"), 70);
  EXPECT_EQ(integer_at(result, "by_phase", 0, "compute_ns"), 100);
  EXPECT_EQ(integer_at(result, "by_phase", 0, "cpu_wall_ns"), 215 - 40) << "launches at 40, 92, then 215 of recompute";
  EXPECT_EQ(integer_at(result, "by_phase", 2, "cpu_wall_ns"), 410 - 250);
}

TEST(TrainingPhases, LayersCountOnlyWhatIsLaunchedInASliceThatNamesOne) {
  SmallRun run;
  run.add(one_step().build());
  const MetricResult result = run.result("training_phases");
  ASSERT_EQ(table(result, "layers").rows_count, 1);
  EXPECT_EQ(integer_at(result, "layers", 0, "layer"), 4);
  EXPECT_EQ(integer_at(result, "layers", 0, "sum_ns"), 70) << "the kernel, not the annotation";
  EXPECT_EQ(layer_in("model.layers.12.attention"), 12);
  EXPECT_EQ(layer_in("layers.norm"), -1);
}

TEST(TrainingPhases, F2AndF3NestedCpuSlicesAreNoGpuTimeAndNoShareIsAboveOne) {
  SmallRun run;
  TraceBuilder builder = one_step();
  builder.thread("1/2");
  for (int depth = 0; depth < 20; ++depth)
    builder.slice(SliceKind::cpu_op, "autograd::engine::evaluate_function: AddBackward0", 320 + depth, 390 - depth);
  run.add(builder.build());
  const MetricResult result = run.result("training_phases");
  EXPECT_EQ(phase_ns(result, "backward"), 170);
  for (const Headline& line : result.report.headlines) {
    if (!line.name.ends_with("_ratio")) continue;
    EXPECT_LE(line.value, 1) << line.name;
  }
}

TEST(TrainingPhases, F4ProfilerStepIsNoOptimizer) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(3, 0, 1000).slice(SliceKind::user_annotation, "ProfilerStep#3", 0, 1000).kernel("gemm", 10, 50);
  run.add(builder.build());
  EXPECT_EQ(run.result("training_phases").report.status, Status::absent) << "a step marker tells no phase";
}

TEST(TrainingPhases, F5TheGpuCopyOfAnAnnotationIsNotNeeded) {
  SmallRun run;
  run.add(one_step().build());
  EXPECT_EQ(table(run.result("training_phases"), "rows").rows_count, 1);
}

TEST(TrainingPhases, F10WithoutCpuSlicesItIsAbsentNotZero) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(0, 0, 100).kernel("gemm", 0, 50).build());
  const MetricResult result = run.result("training_phases");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_NE(result.report.reason.find("no trace has"), std::string::npos);
}

TEST(TrainingPhases, F24DevicesOfOneRankAreNeverUnited) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(0, 0, 100).slice(SliceKind::user_annotation, "Optimizer.step#SGD.step", 0, 50);
  builder.device(0).kernel("sgd", 60, 10, 5).device(1).kernel("sgd", 60, 30, 6);
  run.add(builder.build());
  const MetricResult result = run.result("training_phases");
  ASSERT_EQ(table(result, "rows").rows_count, 2);
  EXPECT_EQ(integer_at(result, "rows", 0, "optimizer_ns"), 10);
  EXPECT_EQ(integer_at(result, "rows", 1, "optimizer_ns"), 30);
}

TEST(TrainingPhases, BackwardOnTheOnlyThreadIsToldByItsSlices) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(0, 0, 100).slice(SliceKind::user_annotation, "ProfilerStep#0", 0, 100);
  builder.kernel("gemm", 100, 10, 5);
  builder.slice(SliceKind::cpu_op, "autograd::engine::evaluate_function: MmBackward0", 20, 40)
      .kernel("gemm", 120, 30, 25);
  builder.kernel("log", 160, 5, 50);
  run.add(builder.build());
  const MetricResult result = run.result("training_phases");
  EXPECT_EQ(phase_ns(result, "forward"), 10);
  EXPECT_EQ(phase_ns(result, "backward"), 30);
  EXPECT_EQ(phase_ns(result, "other"), 5);
}

}  // namespace
}  // namespace ccl::test
