#include <gtest/gtest.h>

#include <cmath>

#include "metrics/fsdp_slices.hpp"
#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// Two layers in forward: the first all-gather is waited for, the second one runs under the compute of the first layer
// but for its last 10 ns.
TraceBuilder two_layers() {
  TraceBuilder builder;
  builder.rank(0).step(0, 0, 1000).group("dp", "mesh_fsdp", {0, 1}, -1, Dimension::dp);
  builder.group("tp", "mesh_tp", {0, 1}, -1, Dimension::tp);
  for (int layer = 0; layer < 2; ++layer) {
    const std::int64_t t = 100 * layer;
    const std::string name = "(layers." + std::to_string(layer) + ")";
    builder.slice(SliceKind::user_annotation, "FSDP::pre_forward " + name, t, t + 60);
    builder.slice(SliceKind::user_annotation, "FSDP::all_gather " + name, t + 10, t + 30);
    builder.slice(SliceKind::user_annotation, "FSDP::all_gather_copy_out " + name, t + 40, t + 50);
  }
  builder.stream(20).collective(CollectiveOp::all_gather, "dp", 64, 100, 40, 20);   // [100,140)
  builder.stream(7).kernel("copy", 140, 10, 45).kernel("gemm", 150, 100, 80);       // [140,250)
  builder.stream(20).collective(CollectiveOp::all_gather, "dp", 64, 200, 60, 120);  // [200,260)
  builder.stream(7).kernel("copy", 260, 10, 145).kernel("gemm", 270, 30, 180);
  builder.stream(21).collective(CollectiveOp::all_gather, "tp", 64, 280, 40, 190);
  return builder;
}

TEST(Fsdp, OverheadIsExposedCommunicationAndCopiesOnTheComputeStream) {
  SmallRun run;
  run.add(two_layers().build());
  const MetricResult result = run.result("fsdp");
  EXPECT_EQ(integer_at(result, "rows", 0, "communication_ns"), 100);
  EXPECT_EQ(integer_at(result, "rows", 0, "exposed_ns"), 40 + 10);
  EXPECT_EQ(integer_at(result, "rows", 0, "copy_ns"), 20);
  EXPECT_EQ(integer_at(result, "rows", 0, "overhead_ns"), 70);
  EXPECT_EQ(integer_at(result, "rows", 0, "period_ns"), 320);
  EXPECT_DOUBLE_EQ(headline(result, "overhead_ratio"), 70.0 / 320);
}

TEST(Fsdp, PrefetchEfficiencyIsWhatTheComputeStreamDidNotWaitFor) {
  SmallRun run;
  run.add(two_layers().build());
  const MetricResult result = run.result("fsdp");
  EXPECT_EQ(integer_at(result, "rows", 0, "stall_ns"), 40 + 10);
  EXPECT_DOUBLE_EQ(headline(result, "prefetch_efficiency_ratio"), 1 - 50.0 / 100);
  EXPECT_DOUBLE_EQ(headline(result, "prefetch_efficiency_inner_ratio"), 1 - 10.0 / 60);
  EXPECT_DOUBLE_EQ(headline(result, "prefetched_count"), 1);
}

TEST(Fsdp, F10WithoutACopyOutTheEfficiencyIsUnknownNotOne) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(0, 0, 100).group("dp", "mesh_fsdp", {0, 1}, -1, Dimension::dp);
  builder.slice(SliceKind::user_annotation, "FSDP::all_gather (layers.0)", 0, 10);
  builder.collective(CollectiveOp::all_gather, "dp", 64, 5, 40).stream(8).kernel("gemm", 15, 10, 50);
  run.add(builder.build());
  const MetricResult result = run.result("fsdp");
  EXPECT_TRUE(std::isnan(headline(result, "prefetch_efficiency_ratio")));
  EXPECT_DOUBLE_EQ(headline(result, "gather_hidden_ratio"), 10.0 / 40);
  EXPECT_NE(page_of(result).find("unknown (no copy-out slices)"), std::string::npos) << page_of(result);
}

TEST(Fsdp, F3NestedSlicesGiveSelfTimeBelowTheStep) {
  SmallRun run;
  run.add(two_layers().build());
  const MetricResult result = run.result("fsdp");
  EXPECT_EQ(integer_at(result, "rows", 0, "cpu_self_ns"), 120) << "what the outermost slices cover, not 180";
  ASSERT_EQ(text_at(result, "by_op", 0, "op"), "all_gather");
  EXPECT_EQ(integer_at(result, "by_op", 0, "self_ns"), 40);
  EXPECT_EQ(text_at(result, "by_op", 2, "op"), "pre_forward");
  EXPECT_EQ(integer_at(result, "by_op", 2, "self_ns"), 60);
}

TEST(Fsdp, F23AllGatherOfTensorParallelismIsNotFsdp) {
  SmallRun run;
  run.add(two_layers().build());
  EXPECT_EQ(integer_at(run.result("fsdp"), "rows", 0, "kernels_count"), 2);
}

TEST(Fsdp, PerModule) {
  SmallRun run;
  run.add(two_layers().build());
  const MetricResult result = run.result("fsdp");
  ASSERT_EQ(table(result, "layers").rows_count, 2);
  for (std::int64_t row = 0; row < 2; ++row) {
    const bool first = text_at(result, "layers", row, "module") == "layers.0";
    EXPECT_EQ(integer_at(result, "layers", row, "gather_ns"), first ? 40 : 60);
    EXPECT_EQ(integer_at(result, "layers", row, "stall_ns"), first ? 40 : 10);
    EXPECT_EQ(integer_at(result, "layers", row, "copy_ns"), 10);
  }
}

TEST(Fsdp, F32WithoutFsdpSlicesItDoesNotApply) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(0, 0, 100).kernel("gemm", 0, 50).build());
  EXPECT_EQ(run.result("fsdp").report.status, Status::not_applicable);
}

TEST(Fsdp, NamesOfSlices) {
  EXPECT_EQ(fsdp_op_in("FSDP::all_gather (layers.3)"), FsdpOp::all_gather);
  EXPECT_EQ(fsdp_op_in("fsdp::all_gather_copy_in"), FsdpOp::copy_in);
  EXPECT_EQ(fsdp_op_in("fsdp::split_with_sizes_copy"), FsdpOp::copy_out);
  EXPECT_EQ(fsdp_op_in("FSDP::post_backward_reduce (norm, output)"), FsdpOp::reduce_scatter);
  EXPECT_EQ(fsdp_op_in("FSDP::backward_prefetch for layers.4"), FsdpOp::prefetch);
  EXPECT_EQ(fsdp_op_in("aten::mm"), FsdpOp::none);
  EXPECT_EQ(fsdp_module_in("FSDP::all_gather (norm, output)"), "norm, output");
  EXPECT_EQ(fsdp_module_in("FSDP::backward_prefetch for layers.4"), "layers.4");
  EXPECT_EQ(fsdp_module_in("fsdp::chunk_cat"), "");
}

}  // namespace
}  // namespace ccl::test
