#include <gtest/gtest.h>

#include "metrics/microbatches.hpp"
#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// Two micro-batches on the first of two stages as Megatron runs them with stacks: F0 F1 B0 B1, optimizer.
TraceBuilder two_micro_batches() {
  const std::string schedules = "megatron/core/pipeline_parallel/schedules.py(403): ";
  const std::string messages = "megatron/core/pipeline_parallel/p2p_communication.py(9): ";
  TraceBuilder b;
  b.rank(0).step(3, 0, 2000).thread("1/1").group("pp", "pp", {0, 1}, -1, Dimension::pp);
  b.group("tp", "tp", {0, 2}, -1, Dimension::tp).group("dp", "dp", {0, 4}, -1, Dimension::dp);
  for (std::int64_t k : {0, 1}) {
    const std::int64_t at = 100 + 200 * k;
    b.slice(SliceKind::python_function, schedules + "forward_step", at, at + 100);
    b.slice(SliceKind::python_function, "megatron/core/transformer_block.py(1): custom_forward", at + 5, at + 30);
    b.kernel("gemm", at + 500, 50, at + 10);
    b.stream(20).collective(CollectiveOp::all_gather, "tp", 64, at + 530, 40, at + 50).stream(7);
    b.slice(SliceKind::python_function, messages + "send_forward", at + 110, at + 130);
    b.stream(30).collective(CollectiveOp::send, "pp", 64, at + 570, 20, at + 120).peer(1).stream(7);
  }
  for (std::int64_t k : {0, 1}) {
    const std::int64_t at = 700 + 300 * k;
    b.thread("1/1").slice(SliceKind::python_function, messages + "recv_backward", at - 40, at - 20);
    b.stream(30).collective(CollectiveOp::recv, "pp", 64, at + 470, 20, at - 30).peer(1).stream(7);
    b.slice(SliceKind::python_function, schedules + "backward_step", at, at + 200);
    b.thread("1/2").slice(SliceKind::python_function, "megatron/core/x.py(1): custom_forward", at + 10, at + 40);
    b.kernel("gemm", at + 500, 30, at + 20);
    b.slice(SliceKind::cpu_op, "autograd::engine::evaluate_function: MmBackward0", at + 50, at + 120);
    b.kernel("gemm", at + 530, 100, at + 60);
    b.stream(21).collective(CollectiveOp::reduce_scatter, "dp", 64, at + 600, 80, at + 110).stream(7);
  }
  b.thread("1/1").slice(SliceKind::python_function, "megatron/core/optimizer/optimizer.py(1): step", 1500, 1700);
  b.slice(SliceKind::python_function, "megatron/core/optimizer/clip_grads.py(1): get_grad_norm_fp32", 1510, 1550);
  b.stream(20).collective(CollectiveOp::all_reduce, "tp", 4, 1900, 10, 1520).stream(7);
  b.kernel("adam", 1910, 50, 1600).kernel("queued before", 2000, 10, not_launched);
  b.raw().events.correlation.back() = -1;
  return b;
}

std::vector<std::string> categories(const EventRoles& roles) {
  std::vector<std::string> out;
  for (const WorkCategory category : roles.category) out.emplace_back(to_text(category));
  return out;
}

EventRoles roles_of(const RankTrace& trace) {
  return event_roles(trace, Classifier(embedded_config("kernels")), {});
}

TEST(Microbatch, EveryKernelHasOneCategoryAndItsMicroBatch) {
  const RankTrace trace = two_micro_batches().build();
  const EventRoles roles = roles_of(trace);
  const std::vector<std::string> want{
      "forward",  "tp_communication", "pp_communication", "forward",          "tp_communication", "pp_communication",
      "pp_communication", "recompute", "backward", "dp_communication", "pp_communication", "recompute", "backward",
      "dp_communication", "grad_norm", "optimizer"};
  std::vector<std::string> got = categories(roles);
  ASSERT_EQ(got.size(), 17u);
  EXPECT_EQ(got.back(), "unclassified") << "no launch tells what it is for";
  got.pop_back();
  EXPECT_EQ(got, want);
  std::vector<std::int32_t> numbers;
  for (const std::int32_t m : roles.microbatch)
    numbers.push_back(m < 0 ? -1 : roles.microbatches[static_cast<std::size_t>(m)].number);
  EXPECT_EQ(numbers, (std::vector<std::int32_t>{0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, -1, -1, -1}));
  EXPECT_EQ(to_text(roles.numbers), "order");
}

TEST(Microbatch, SpansAndOverlapOfEachDirection) {
  SmallRun run;
  run.add(two_micro_batches().build());
  const MetricResult result = run.result("microbatch");
  ASSERT_EQ(table(result, "by_phase").rows_count, 4);
  EXPECT_EQ(text_at(result, "by_phase", 0, "direction"), "forward");
  EXPECT_EQ(integer_at(result, "by_phase", 0, "wall_ns"), 70) << "gemm [600,650), all-gather [630,670)";
  EXPECT_EQ(integer_at(result, "by_phase", 0, "overlap_ns"), 20);
  EXPECT_EQ(text_at(result, "by_phase", 1, "direction"), "backward");
  EXPECT_EQ(integer_at(result, "by_phase", 1, "wall_ns"), 130) << "dp communication is no part of it";
  EXPECT_EQ(integer_at(result, "by_phase", 1, "recompute_ns"), 30);
  EXPECT_DOUBLE_EQ(headline(result, "forward_ns"), 70);
  EXPECT_DOUBLE_EQ(headline(result, "unclassified_count"), 0) << "the kernel without a launch is in no step";
}

TEST(Microbatch, TheInterleavedOrderGivesNumberAndVirtualStage) {
  // p = 2, v = 2, m = 4, as Megatron's schedule table: micro-batches 0 1 | 0 1 | 2 3 | 2 3, chunks 0 0 1 1 0 0 1 1.
  std::vector<MicroBatch> batches(8);
  std::vector<MicroBatch*> ordered;
  for (MicroBatch& m : batches) ordered.push_back(&m);
  number_in_order(ordered, 2, 2);
  std::vector<std::pair<int, int>> got;
  for (const MicroBatch& m : batches) got.emplace_back(m.number, m.chunk);
  EXPECT_EQ(got, (std::vector<std::pair<int, int>>{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {3, 0}, {2, 1}, {3, 1}}));
  for (MicroBatch& m : batches) m.direction = Direction::backward;
  number_in_order(ordered, 2, 2);
  EXPECT_EQ(batches[0].chunk, 1) << "the last virtual stage comes first";
}

TEST(Microbatch, TheWarmUpTellsTheNumberOfVirtualStages) {
  EXPECT_EQ(count_chunks({}, 8, 4, 0, 4), 1) << "1F1B: stage 0 of 4 runs 4 forwards first";
  EXPECT_EQ(count_chunks({}, 16, 2 * 3 + 4 + 1, 0, 4), 2);
  EXPECT_EQ(count_chunks({}, 16, 4 + 1, 3, 4), 2);
  EXPECT_EQ(count_chunks({}, 8, 8, 0, 4), 1) << "GPipe";
  Workload workload;
  workload.microbatches.value = 8;
  EXPECT_EQ(count_chunks(workload, 24, 8, 0, 4), 3);
}

TEST(Microbatch, WithoutSlicesStretchesBetweenThreadsAndMessagesTell) {
  TraceBuilder b;
  b.rank(0).step(0, 0, 1000).thread("1/1").slice(SliceKind::user_annotation, "Optimizer.step#AdamW.step", 800, 900);
  b.group("pp", "pp", {0, 1}, -1, Dimension::pp);
  b.kernel("gemm", 100, 10, 10).kernel("gemm", 110, 10, 20).collective(CollectiveOp::send, "pp", 8, 120, 5, 30);
  b.kernel("gemm", 130, 10, 40).kernel("gemm", 140, 10, 50).collective(CollectiveOp::send, "pp", 8, 150, 5, 60);
  b.collective(CollectiveOp::recv, "pp", 8, 160, 5, 70);
  for (std::int64_t at : {100, 200}) {
    b.thread("1/2").slice(SliceKind::cpu_op, "autograd::engine::evaluate_function: MmBackward0", at, at + 50);
    b.kernel("gemm", at + 100, 20, at + 10);
    if (at == 100) b.thread("1/1").collective(CollectiveOp::recv, "pp", 8, at + 130, 5, at + 60);
  }
  b.thread("1/1").kernel("adam", 900, 10, 850);
  const RankTrace trace = b.build();
  const EventRoles roles = roles_of(trace);
  EXPECT_EQ(to_text(roles.numbers), "launch_order");
  ASSERT_EQ(roles.microbatches.size(), 4u);
  EXPECT_EQ(roles.microbatches[1].number, 1);
  EXPECT_EQ(roles.microbatches[2].direction, Direction::backward);
  EXPECT_EQ(roles.microbatches[3].number, 1);
}

TEST(Microbatch, ATraceThatTellsNothingHasNoValue) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(1, 0, 100).kernel("gemm", 10, 20).build());
  EXPECT_EQ(run.result("microbatch").report.status, Status::absent);
}

}  // namespace
}  // namespace ccl::test
