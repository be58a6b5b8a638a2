#include <gtest/gtest.h>

#include "metrics/inference_passes.hpp"
#include "support/small_run.hpp"

namespace ccl::test {
namespace {

TEST(PassMarker, NamesOfTheEnginesTellKindRequestsAndTokens) {
  const auto read = [](const char* name) {
    PassMarker marker;
    EXPECT_TRUE(read_pass_marker(name, marker)) << name;
    return marker;
  };
  const PassMarker prefill = read("execute_context_4(512)_generation_0(0)");
  EXPECT_EQ(prefill.kind, PassKind::prefill);
  EXPECT_EQ(prefill.prefill_requests_count, 4);
  EXPECT_EQ(prefill.prefill_tokens_count, 512);
  EXPECT_EQ(read("execute_context_1(7)_generation_3(3)").kind, PassKind::mixed);
  const PassMarker decode = read("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)");
  EXPECT_EQ(decode.kind, PassKind::decode);
  EXPECT_EQ(decode.decode_requests_count, 32);
  EXPECT_EQ(decode.decode_tokens_count, 32);
  EXPECT_EQ(read("step[EXTEND bs=2 toks=640]").prefill_tokens_count, 640);
  EXPECT_EQ(read("step[DECODE bs=16]").decode_tokens_count, 16);
  EXPECT_EQ(read("step[EXTEND bs=2 toks=12 c_sqsq=80 c_sqsk=120 c_sk=20]").prefill_tokens_count, 12);
  const PassMarker mixed = read("step[MIXED bs=3 c=1 g=2 c_sq=5 c_sk=8 g_sq=2 g_sk=12]");
  EXPECT_EQ(mixed.kind, PassKind::mixed);
  EXPECT_EQ(mixed.prefill_tokens_count, 5);
  EXPECT_EQ(mixed.decode_requests_count, 2);
  EXPECT_EQ(read("step[TARGET_VERIFY bs=4]").kind, PassKind::decode);
  EXPECT_EQ(read("step[TARGET_VERIFY bs=4]").decode_tokens_count, -1);
  EXPECT_FALSE(read("execute_model").kind_known);
  PassMarker none;
  EXPECT_FALSE(read_pass_marker("execute_context_0(0)_generation_0(0)", none)) << "an empty pass is none";
  EXPECT_FALSE(read_pass_marker("ProfilerStep#3", none));
  EXPECT_FALSE(read_pass_marker("step[IDLE bs=0]", none));
}

// Two ranks: one prefill of 100 and 120 ns, two decodes; communication within.
SmallRun serving_run() {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    TraceBuilder builder;
    builder.rank(rank).group("tp", "mesh_tp", {0, 1}, -1, Dimension::tp).step(0, 0, 1000);
    builder.slice(SliceKind::user_annotation, "execute_context_2(64)_generation_0(0)", 100, 200 + 20 * rank);
    builder.slice(SliceKind::user_annotation, "execute_context_0(0)_generation_2(2)", 300, 340);
    builder.slice(SliceKind::user_annotation, "execute_context_0(0)_generation_2(2)", 400, 460);
    builder.stream(7).kernel("gemm", 110, 50, 105).kernel("gemm", 310, 10, 305);
    builder.stream(8).collective(CollectiveOp::all_reduce, "tp", 64, 150, 30, 120);
    builder.collective(CollectiveOp::all_reduce, "tp", 64, 320, 20, 306);
    run.add(builder.build());
  }
  return run;
}

TEST(Ttft, IsTheFirstPrefillPassOnTheSlowestRank) {
  SmallRun run = serving_run();
  const MetricResult r = run.result("ttft", 2);
  EXPECT_EQ(headline(r, "ttft_ns"), 120);
  ASSERT_EQ(table(r, "passes").rows_count, 2);
  EXPECT_EQ(text_at(r, "passes", 0, "kind"), "prefill");
  EXPECT_EQ(integer_at(r, "passes", 0, "communication_ns"), 30);
  EXPECT_EQ(integer_at(r, "passes", 0, "exposed_ns"), 20) << "10 ns lie under the kernel";
  EXPECT_EQ(integer_at(r, "passes", 0, "gpu_end_ns"), 180);
  EXPECT_EQ(headline(r, "communication_ratio"), 60.0 / 220);
  EXPECT_EQ(headline(r, "until_gpu_end_ns"), 120);
}

TEST(Ttft, SharesAreOfTheTimeUntilTheGpuIsDone) {
  TraceBuilder builder;
  builder.rank(0).group("tp", "mesh_tp", {0, 1}, -1, Dimension::tp).step(0, 0, 1000);
  builder.slice(SliceKind::user_annotation, "execute_context_2(64)_generation_0(0)", 100, 150);
  builder.collective(CollectiveOp::all_reduce, "tp", 64, 200, 100, 120);
  SmallRun run;
  const MetricResult r = run.add(builder.build()).result("ttft");
  EXPECT_EQ(headline(r, "ttft_ns"), 50);
  EXPECT_EQ(headline(r, "until_gpu_end_ns"), 200);
  EXPECT_EQ(headline(r, "communication_ratio"), 0.5) << "the marker is over before the kernel starts";
}

TEST(Ttft, APassThatLostGpuEventsHasNoneAndCountsInNeitherPartOfTheShare) {
  SmallRun run;
  for (const std::int64_t until_ns : {std::int64_t{400}, std::int64_t{240}}) {
    TraceBuilder builder;
    builder.rank(until_ns < 300 ? 1 : 0).group("tp", "mesh_tp", {0, 1}, -1, Dimension::tp).step(0, 0, 1000);
    builder.slice(SliceKind::user_annotation, "execute_context_2(64)_generation_0(0)", 100, 150);
    builder.slice(SliceKind::user_annotation, "execute_context_2(64)_generation_0(0)", 200, 300);
    builder.collective(CollectiveOp::all_reduce, "tp", 64, 120, 10, 110);
    builder.collective(CollectiveOp::all_reduce, "tp", 64, 230, 50, 220);
    builder.raw().loss = FileLoss::rest;
    builder.raw().launches_until_ns = until_ns;
    run.add(builder.build());
    run.ranks.entries.back().facts.loss = FileLoss::rest;
  }
  const MetricResult r = run.result("ttft");
  ASSERT_EQ(table(r, "passes").rows_count, 4);
  EXPECT_EQ(integer_at(r, "passes", 3, "dur_ns"), 100) << "the marker is whole";
  EXPECT_EQ(integer_at(r, "passes", 3, "communication_count"), 0);
  EXPECT_DOUBLE_EQ(headline(r, "communication_ratio"), (10.0 + 50 + 10) / (50 + 100 + 50));

  TraceBuilder all;
  all.rank(0).step(0, 0, 1000).slice(SliceKind::user_annotation, "execute_context_2(64)_generation_0(0)", 100, 150);
  all.kernel("gemm", 120, 10, 110);
  all.raw().loss = FileLoss::rest;
  all.raw().launches_until_ns = 110;
  SmallRun lost;
  lost.add(all.build()).ranks.entries.back().facts.loss = FileLoss::rest;
  const std::string page = page_of(lost.result("ttft"));
  EXPECT_NE(page.find("communication unknown (the GPU events of every pass"), std::string::npos) << page;
}

TEST(Ttft, BenchmarkResultsStandBesideTheTraces) {
  SmallRun run = serving_run();
  run.workload.bench.file = "bench_results.jsonl";
  run.workload.bench.median_ttft_s = 0.0415;
  const MetricResult r = run.result("ttft");
  EXPECT_EQ(headline(r, "bench_median_s"), 0.0415);
  EXPECT_NE(page_of(r).find("median 41.5 ms (bench_results.jsonl)"), std::string::npos) << page_of(r);
}

TEST(Ttft, TrainingAndInferenceExcludeEachOther) {
  SmallRun run = serving_run();
  run.workload.phase = {"training", "card"};
  EXPECT_EQ(run.result("ttft").report.status, Status::not_applicable);
  run.workload.phase = {"inference", "card"};
  EXPECT_EQ(run.result("ttft").report.status, Status::ok);
  for (const char* name : {"throughput_tokens", "mfu", "pipeline_bubble", "training_phases", "fsdp"})
    EXPECT_EQ(run.result(name).report.reason, "a question about training: the card says phase inference") << name;
}

}  // namespace
}  // namespace ccl::test
