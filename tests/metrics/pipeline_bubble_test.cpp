#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// Stage 0 computes 0–400 and sends; stage 1 waits in its recv from 0, computes 400–800 on its own clock + 5000.
SmallRun two_stages(std::int64_t clock_ns) {
  SmallRun run;
  run.add(TraceBuilder()
              .rank(0)
              .step(1, 0, 2000)
              .kernel("gemm", 0, 400)
              .group("pp", "mesh_pp", {0, 1}, -1, Dimension::pp)
              .stream(9)
              .collective(CollectiveOp::send, "pp", 64, 400, 10)
              .peer(1)
              .build(),
          "a");
  run.add(TraceBuilder()
              .rank(1)
              .step(1, clock_ns, clock_ns + 2000)
              .group("pp", "mesh_pp", {0, 1}, -1, Dimension::pp)
              .stream(9)
              .collective(CollectiveOp::recv, "pp", 64, clock_ns + 100, 300)
              .peer(0)
              .stream(7)
              .kernel("gemm", clock_ns + 400, 400)
              .build(),
          clock_ns == 0 ? "a" : "b");
  if (clock_ns != 0) run.clock.hosts[1].offset_ns = -clock_ns;
  return run;
}

TEST(PipelineBubble, WaitingInAPipelineKernelIsBubble) {
  SmallRun run = two_stages(0);
  const MetricResult result = run.result("pipeline_bubble");
  EXPECT_DOUBLE_EQ(headline(result, "bubble_ratio"), 0.5);
  EXPECT_DOUBLE_EQ(headline(result, "pp_wait_ratio"), 310 / 1600.0);
  EXPECT_EQ(integer_at(result, "rows", 1, "idle_ns"), 100);
  EXPECT_EQ(integer_at(result, "rows", 1, "stage"), 1);
}

TEST(PipelineBubble, TheWindowIsCommonOnTheCorrectedClock) {
  SmallRun run = two_stages(5000);
  const MetricResult result = run.result("pipeline_bubble");
  EXPECT_EQ(integer_at(result, "rows", 0, "window_ns"), 800);
  EXPECT_DOUBLE_EQ(headline(result, "bubble_ratio"), 0.5);
}

// Forward 0–100, backward 300–400 on the autograd thread, optimizer 500–900; its pipeline kernel fills 100–300.
RankTrace phased_stage(std::int32_t rank, std::int64_t at) {
  TraceBuilder builder;
  builder.rank(rank).step(1, 0, 2000).group("pp", "mesh_pp", {0, 1}, -1, Dimension::pp);
  builder.slice(SliceKind::cpu_op, "autograd::engine::evaluate_function: MmBackward0", at + 290, at + 399);
  builder.slice(SliceKind::user_annotation, "Optimizer.step#AdamW.step", at + 450, at + 950);
  builder.kernel("gemm", at, 100, at).kernel("gemm", at + 300, 100, at + 295).kernel("adam", at + 500, 400, at + 460);
  builder.stream(9).collective(CollectiveOp::send, "pp", 64, at + 100, 200, at + 20).peer(1 - rank);
  return builder.build();
}

TEST(PipelineBubble, TheWindowGoesFromTheFirstForwardToTheLastBackward) {
  SmallRun run;
  run.add(phased_stage(0, 10), "a").add(phased_stage(1, 30), "a");
  const MetricResult result = run.result("pipeline_bubble");
  EXPECT_EQ(integer_at(result, "rows", 0, "window_ns"), 420) << "10 to 430: the optimizer is no part of it";
  EXPECT_EQ(integer_at(result, "rows", 0, "window_by_compute"), 0);
  EXPECT_EQ(integer_at(result, "rows", 0, "bubble_ns"), 220);
  EXPECT_EQ(integer_at(result, "rows", 0, "pp_wait_ns"), 200);
  EXPECT_EQ(page_of(result).find("phases are not told apart"), std::string::npos) << page_of(result);
}

TEST(PipelineBubble, OneRankWithoutPhasesMakesTheWindowThatOfAllCompute) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(1).step(1, 0, 2000).group("pp", "mesh_pp", {0, 1}, -1, Dimension::pp).kernel("gemm", 30, 970);
  run.add(phased_stage(0, 10), "a").add(builder.build(), "a");
  const MetricResult result = run.result("pipeline_bubble");
  EXPECT_EQ(integer_at(result, "rows", 0, "window_by_compute"), 1);
  EXPECT_EQ(integer_at(result, "rows", 0, "window_ns"), 990);
  EXPECT_NE(page_of(result).find("phases are not told apart"), std::string::npos) << page_of(result);
}

TEST(PipelineBubble, UncertainClocksGiveNoRatio) {
  SmallRun run = two_stages(5000);
  run.clock.residual_ns = 9;
  EXPECT_EQ(run.result("pipeline_bubble").report.status, Status::absent);
}

// Two stages that work in turn, each in a send or receive meanwhile, of which nobody says for which parallelism it is.
SmallRun untold_messages(std::int64_t message_ns, CollectiveOp op = CollectiveOp::send_recv) {
  SmallRun run;
  for (const std::int32_t rank : {0, 1})
    run.add(TraceBuilder()
                .rank(rank)
                .step(1, 0, 2000)
                .kernel("gemm", 0, rank == 0 ? 400 : 100)
                .kernel("gemm", rank == 0 ? 900 : 600, rank == 0 ? 100 : 400)
                .group("pp", "mesh_pp", {0, 1}, -1, Dimension::pp)
                .group("some", "", {}, -1, Dimension::unknown)
                .stream(9)
                .collective(op, "some", 64, rank == 0 ? 400 : 100, message_ns)
                .build(),
            "a");
  return run;
}

TEST(PipelineBubble, MessagesOfUnknownParallelismMakeItAbsent) {
  const MetricResult result = untold_messages(500).result("pipeline_bubble");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_EQ(result.report.reason, "0.0 % to 50.0 % of the pipeline's time: whether messages are the pipeline's own that take 50.0 % "
                                  "of it is not known");
  EXPECT_EQ(integer_at(result, "rows", 1, "unknown_ns"), 500);
}

TEST(PipelineBubble, CollectivesOfAGroupThatNobodyKnowsAreNoMessages) {
  const MetricResult result = untold_messages(500, CollectiveOp::all_gather).result("pipeline_bubble");
  EXPECT_EQ(result.report.status, Status::ok);
  EXPECT_DOUBLE_EQ(headline(result, "bubble_ratio"), 0.0);
}

TEST(PipelineBubble, FewMessagesOfUnknownParallelismDoNot) {
  const MetricResult result = untold_messages(10).result("pipeline_bubble");
  EXPECT_EQ(result.report.status, Status::ok);
  EXPECT_DOUBLE_EQ(headline(result, "bubble_ratio"), 0.49);
}

TEST(PipelineBubble, TheIdealStandsBeside) {
  SmallRun run = two_stages(0);
  run.workload.microbatches = {4, "toml"};
  EXPECT_DOUBLE_EQ(headline(run.result("pipeline_bubble"), "ideal_1f1b_ratio"), 0.2);
}

TEST(PipelineBubble, EachScheduleHasItsOwnIdealOrNone) {
  const auto told = [](const char* schedule, std::optional<std::int64_t> virtual_stages) {
    SmallRun run = two_stages(0);
    run.workload.microbatches = {4, "toml"};
    if (schedule != nullptr) run.workload.pipeline_schedule = {schedule, "toml"};
    if (virtual_stages) run.workload.virtual_stages = {*virtual_stages, "card"};
    const MetricResult result = run.result("pipeline_bubble");
    const std::string page = page_of(result);
    const std::size_t at = page.find("; ideal of ");
    EXPECT_EQ(std::isnan(headline(result, "ideal_1f1b_ratio")), at == std::string::npos);
    return at == std::string::npos ? "none" : page.substr(at + 11, page.find('%', at) - at - 10);
  };
  EXPECT_EQ(told(nullptr, {}), "1F1B 20.0 %");
  EXPECT_EQ(told("1F1B", {}), "1F1B 20.0 %");
  EXPECT_EQ(told("GPipe", {}), "GPipe 20.0 %");
  EXPECT_EQ(told("Interleaved1F1B", 2), "Interleaved1F1B 11.1 %");
  EXPECT_EQ(told(nullptr, 2), "interleaved 1F1B 11.1 %");
  EXPECT_EQ(told("Interleaved1F1B", {}), "none");
  for (const char* other : {"ZBVZeroBubble", "InterleavedZeroBubble", "LoopedBFS", "DualPipeV"})
    EXPECT_EQ(told(other, 2), "none") << other;
}

TEST(PipelineBubble, WithoutAPipelineTheQuestionHasNoSense) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(1, 0, 10).kernel("gemm", 0, 5).build());
  EXPECT_EQ(run.result("pipeline_bubble").report.status, Status::not_applicable);
}

}  // namespace
}  // namespace ccl::test
