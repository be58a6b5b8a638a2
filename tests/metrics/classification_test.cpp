// What simple analyses of Megatron traces get wrong: each test is one such case.
#include <gtest/gtest.h>

#include <map>

#include "exchange/event_rows.hpp"
#include "metrics/microbatches.hpp"
#include "support/small_run.hpp"

namespace ccl::test {
namespace {

constexpr std::string_view schedules = "megatron/core/pipeline_parallel/schedules.py(403): ";
constexpr auto python = SliceKind::python_function;

std::string call(std::string_view function) { return std::string(schedules) + std::string(function); }

struct Found {
  std::string category, phase;
  std::int32_t microbatch = -1;
  bool operator==(const Found&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Found& f) {
  return out << f.category << " in " << f.phase << " of " << f.microbatch;
}

EventRoles roles_of(const RankTrace& trace) {
  return event_roles(trace, Classifier(embedded_config("kernels")), {});
}

std::vector<Found> found(TraceBuilder& builder) {
  const RankTrace trace = builder.build();
  const EventRoles roles = roles_of(trace);
  std::vector<Found> out;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const std::int32_t m = roles.microbatch[i];
    out.push_back({std::string(to_text(roles.category[i])), std::string(to_text(roles.phase[i])),
                   m < 0 ? -1 : roles.microbatches[static_cast<std::size_t>(m)].number});
  }
  return out;
}

TraceBuilder with_groups() {
  TraceBuilder b;
  b.rank(0).step(1, 0, 2000).thread("1/1");
  b.group("tp", "tp", {0, 1}, -1, Dimension::tp).group("dp", "dp", {0, 2}, -1, Dimension::dp);
  return b;
}

TEST(Classification, AGradientReductionBelongsToDataParallelismAndRunsInTheBackward) {
  TraceBuilder b = with_groups();
  b.slice(python, call("backward_step"), 100, 300).thread("1/2");
  b.slice(python, "megatron/core/distributed/param_and_grad_buffer.py(1): start_grad_sync", 150, 170);
  b.stream(20).collective(CollectiveOp::reduce_scatter, "dp", 64, 500, 50, 160);
  EXPECT_EQ(found(b), (std::vector<Found>{{"dp_communication", "backward", 0}})) << "once, with both facts apart";
}

TEST(Classification, AParameterGatherUnderAForwardBelongsToDataParallelism) {
  TraceBuilder b = with_groups();
  b.slice(python, call("forward_step"), 100, 300).stream(20).collective(CollectiveOp::all_gather, "dp", 64, 500, 50, 160);
  EXPECT_EQ(found(b), (std::vector<Found>{{"dp_communication", "forward", 0}}));
}

TEST(Classification, ReductionsOfTheModelAreNoDataParallelism) {
  TraceBuilder b = with_groups();
  b.slice(python, call("forward_step"), 10, 20).kernel("gemm", 11, 5, 11);
  b.slice(python, "megatron/core/optimizer/optimizer.py(1): step", 900, 1100);
  b.slice(python, "megatron/core/optimizer/clip_grads.py(1): get_grad_norm_fp32", 910, 950);
  b.collective(CollectiveOp::all_reduce, "tp", 4, 920, 10, 920);
  b.slice(python, "megatron/core/distributed/finalize_model_grads.py(1): finalize_model_grads", 700, 800);
  b.collective(CollectiveOp::all_reduce, "tp", 64, 750, 10, 750);
  const std::vector<Found> all = found(b);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].category, "tp_communication") << "gradients of layers that tensor parallelism shares";
  EXPECT_EQ(all[2].category, "grad_norm");
}

TEST(Classification, ScalingTheLossIsNoOptimizerStep) {
  TraceBuilder b = with_groups();
  b.slice(python, call("forward_step"), 100, 300);
  b.slice(python, "megatron/core/optimizer/optimizer.py(225): scale_loss", 200, 250).kernel("mul", 400, 10, 210);
  EXPECT_EQ(found(b), (std::vector<Found>{{"forward", "forward", 0}}));
}

TEST(Classification, AWovenForwardAndBackwardAreTakenApart) {
  TraceBuilder b = with_groups();
  const std::string node = "megatron/core/pipeline_parallel/utils.py(182): ";
  b.slice(python, call("forward_step"), 10, 20).kernel("gemm", 30, 5, 11);
  b.slice(python, "megatron/core/pipeline_parallel/combined_1f1b.py(245): combined_forward_backward_step", 100, 300);
  b.slice(python, "pretrain_gpt.py(160): forward_step", 101, 109);
  b.slice(python, node + "forward", 110, 150).kernel("gemm", 400, 10, 120);
  b.slice(python, node + "backward", 150, 200).kernel("launched by the caller", 410, 10, 155);
  b.thread("1/2").kernel("launched by autograd", 420, 10, 160);
  b.thread("1/1").slice(python, call("backward_step"), 500, 600).kernel("gemm", 600, 10, 510);
  EXPECT_EQ(found(b), (std::vector<Found>{{"forward", "forward", 0},
                                          {"forward", "forward", 1},
                                          {"backward", "backward", 0},
                                          {"backward", "backward", 0},
                                          {"backward", "backward", 1}}));
}

TEST(Classification, TheFirstOfARowOfWovenPairsIsAForwardAlone) {
  TraceBuilder b = with_groups();
  const std::string combined = "megatron/core/pipeline_parallel/combined_1f1b.py(245): combined_forward_backward_step";
  const std::string node = "megatron/core/pipeline_parallel/utils.py(182): ";
  b.slice(python, combined, 100, 200).slice(python, node + "forward", 110, 190).kernel("gemm", 400, 10, 120);
  b.slice(python, combined, 200, 300).slice(python, node + "forward", 210, 250).kernel("gemm", 410, 10, 220);
  b.slice(python, node + "backward", 250, 290).kernel("gemm", 420, 10, 260);
  b.slice(python, combined, 300, 400).slice(python, node + "backward", 310, 390).kernel("gemm", 430, 10, 320);
  EXPECT_EQ(found(b), (std::vector<Found>{{"forward", "forward", 0},
                                          {"forward", "forward", 1},
                                          {"backward", "backward", 0},
                                          {"backward", "backward", 1}}));
}

TEST(Classification, ABackwardTakesLaunchesOfAllThreads) {
  TraceBuilder b = with_groups();
  b.slice(python, call("backward_step"), 100, 300).kernel("on the caller's thread", 400, 10, 150);
  b.thread("1/2").kernel("on autograd's", 410, 10, 160).thread("1/3").kernel("on a third", 420, 10, 170);
  EXPECT_EQ(found(b), (std::vector<Found>(3, Found{"backward", "backward", 0})));
}

TEST(Classification, OneThreadIsEnough) {
  TraceBuilder b = with_groups();
  b.slice(python, call("forward_step"), 100, 200).kernel("gemm", 400, 10, 150);
  b.slice(python, call("backward_step"), 200, 300).kernel("gemm", 410, 10, 250);
  EXPECT_EQ(found(b), (std::vector<Found>{{"forward", "forward", 0}, {"backward", "backward", 0}}));
}

TEST(Classification, EveryWayToComputeAgainIsRecompute) {
  for (const std::string frame :
       {"torch/utils/checkpoint.py(1523): recompute_fn", "megatron/core/tensor_parallel/random.py(2): _recompute",
        "megatron/core/transformer/transformer_block.py(1): custom_forward"}) {
    TraceBuilder b = with_groups();
    b.slice(python, call("backward_step"), 100, 300).thread("1/2").slice(python, frame, 120, 200);
    b.kernel("gemm", 400, 10, 150).kernel("gemm", 410, 10, 250);
    EXPECT_EQ(found(b), (std::vector<Found>{{"recompute", "recompute", 0}, {"backward", "backward", 0}})) << frame;
  }
}

TEST(Classification, TheSameFrameInAForwardIsForward) {
  TraceBuilder b = with_groups();
  b.slice(python, call("forward_step"), 100, 300);
  b.slice(python, "megatron/core/transformer/transformer_block.py(1): custom_forward", 120, 200).kernel("gemm", 400, 10, 150);
  EXPECT_EQ(found(b), (std::vector<Found>{{"forward", "forward", 0}}));
}

TEST(Classification, ForwardOperatorsWithGradientsInsideABackwardAreRecompute) {
  TraceBuilder b = with_groups();
  b.slice(SliceKind::user_annotation, "Optimizer.step#AdamW.step", 900, 950).kernel("gemm", 80, 10, 50);
  b.thread("1/2").slice(SliceKind::cpu_op, "autograd::engine::evaluate_function: MmBackward0", 100, 300, 41);
  b.slice(SliceKind::cpu_op, "aten::linear", 120, 160, 7).kernel("gemm", 400, 10, 150).kernel("gemm", 410, 10, 250);
  const std::vector<Found> all = found(b);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].category, "recompute");
  EXPECT_EQ(all[2].category, "backward");
}

TEST(Classification, CopiesAndFillsAreKept) {
  TraceBuilder b = with_groups();
  b.slice(python, call("forward_step"), 100, 300).copy("Memcpy HtoD (Pinned -> Device)", 4096, 400, 10, 150);
  EXPECT_EQ(found(b), (std::vector<Found>{{"memory", "forward", 0}}));
}

TEST(Classification, OneFrameInsideItsNamesakeIsOneMicroBatch) {
  TraceBuilder b = with_groups();
  b.slice(python, call("forward_step_helper"), 100, 300).slice(python, call("forward_step"), 110, 290);
  b.slice(python, "pretrain_gpt.py(160): forward_step", 120, 280).kernel("gemm", 400, 10, 150);
  b.slice(python, call("forward_step"), 300, 400).kernel("gemm", 500, 10, 350);
  EXPECT_EQ(found(b), (std::vector<Found>{{"forward", "forward", 0}, {"forward", "forward", 1}}));
}

TEST(Classification, TheKindOfCollectiveTellsNoDimension) {
  TraceBuilder b = with_groups();
  b.slice(python, call("backward_step"), 100, 300).stream(20);
  b.collective(CollectiveOp::all_gather, "tp", 64, 400, 10, 150).collective(CollectiveOp::reduce_scatter, "tp", 64, 410, 10, 160);
  b.collective(CollectiveOp::all_gather, "dp", 64, 420, 10, 170);
  const std::vector<Found> all = found(b);
  EXPECT_EQ(all[0].category, "tp_communication");
  EXPECT_EQ(all[1].category, "tp_communication");
  EXPECT_EQ(all[2].category, "dp_communication");
}

TEST(Classification, SumUnionAndSpanAreThreeNumbers) {
  SmallRun run;
  TraceBuilder b = with_groups();
  b.slice(python, call("forward_step"), 100, 300).kernel("a", 400, 40, 150).stream(8).kernel("b", 420, 40, 160);
  b.stream(7).kernel("c", 500, 10, 170);
  run.add(b.build());
  const MetricResult result = run.result("microbatch");
  EXPECT_EQ(integer_at(result, "rows", 0, "sum_ns"), 90);
  EXPECT_EQ(integer_at(result, "rows", 0, "union_ns"), 70);
  EXPECT_EQ(integer_at(result, "rows", 0, "hull_ns"), 110);
}

TEST(Classification, OverlapIsToldForEveryDimensionAndKindOfCompute) {
  SmallRun run;
  TraceBuilder b = with_groups();
  b.slice(python, call("backward_step"), 100, 300).kernel("gemm", 400, 100, 150);
  b.stream(20).collective(CollectiveOp::reduce_scatter, "dp", 64, 450, 100, 160);
  run.add(b.build());
  const MetricResult result = run.result("microbatch");
  ASSERT_EQ(table(result, "overlap").rows_count, 1);
  EXPECT_EQ(text_at(result, "overlap", 0, "communication"), "dp_communication");
  EXPECT_EQ(text_at(result, "overlap", 0, "compute"), "backward");
  EXPECT_EQ(integer_at(result, "overlap", 0, "overlap_ns"), 50);
}

TEST(Classification, DeviceAndStreamOfAnEventStayWithIt) {
  TraceBuilder b = with_groups();
  b.slice(python, call("forward_step"), 100, 300).device(3).stream(17).kernel("gemm", 400, 10, 150);
  const RankTrace trace = b.build();
  StringTable strings;
  const std::vector<EventRow> rows = event_rows(trace, roles_of(trace), strings);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].device, 3);
  EXPECT_EQ(rows[0].stream, 17);
  EXPECT_EQ(rows[0].microbatch, 0);
}

TEST(Classification, WeightGradientsApartBelongToTheBackwardThatLeftThem) {
  TraceBuilder b = with_groups();
  const auto part = [&](const std::string& name, std::int64_t at) {
    b.slice(SliceKind::user_annotation, name, at, at + 10).kernel("gemm", 1000 + at, 5, at + 2);
  };
  part("Forward 0", 100), part("Forward 0", 120), part("Backward 0", 140), part("Weight 0", 160), part("Backward 0", 180);
  const RankTrace trace = b.build();
  const EventRoles roles = roles_of(trace);
  std::vector<std::int32_t> chunks;
  for (const MicroBatch& m : roles.microbatches) chunks.push_back(m.chunk);
  EXPECT_EQ(chunks, (std::vector<std::int32_t>{0, 1, 1, 1, 0}));
  EXPECT_EQ(roles.chunks_count, 2);
}

}  // namespace
}  // namespace ccl::test
