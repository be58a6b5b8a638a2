#include <gtest/gtest.h>

#include <map>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

TraceBuilder with_stages() {
  TraceBuilder builder;
  builder.rank(0);
  builder.slice(SliceKind::user_annotation, "forward chunk 0 (phase4) backward chunk 0 (phase4)", 0, 1000);
  builder.slice(SliceKind::user_annotation, "layer00.stage2_f", 10, 100);
  builder.slice(SliceKind::user_annotation, "layer00.stage4_b", 110, 200);
  builder.slice(SliceKind::user_annotation, "layer00_stage5_f_layer01_stage1_f", 210, 300);
  builder.slice(SliceKind::user_annotation, "pipeline send/recv", 310, 400);
  return builder;
}

std::map<std::int64_t, std::string> roles(TraceBuilder& builder) {
  SmallRun run;
  run.add(builder.build());
  const MetricResult result = run.result("stream_roles");
  std::map<std::int64_t, std::string> found;
  for (std::int64_t row = 0; row < table(result, "by_stream").rows_count; ++row)
    found[integer_at(result, "by_stream", row, "stream")] = text_at(result, "by_stream", row, "role");
  return found;
}

TEST(StreamRoles, AllKernelsMustHaveOneRole) {
  TraceBuilder builder = with_stages();
  builder.stream(20);
  builder.collective(CollectiveOp::send_recv, "ep", 64, 50, 10, 20).collective(CollectiveOp::send_recv, "ep", 64, 70, 10, 120);
  builder.stream(21).collective(CollectiveOp::send_recv, "pp", 64, 320, 10, 320);
  builder.stream(22).collective(CollectiveOp::send_recv, "cp", 64, 220, 10, 220);
  // Nearly all of its kernels are expert exchange; a majority decides nothing.
  builder.stream(23).collective(CollectiveOp::send_recv, "ep", 64, 50, 10, 20);
  builder.collective(CollectiveOp::send_recv, "ep", 64, 70, 10, 21).collective(CollectiveOp::send_recv, "pp", 64, 330, 10, 330);
  builder.stream(24).collective(CollectiveOp::all_reduce, "dp", 64, 500, 10, 500);
  builder.stream(25).collective(CollectiveOp::all_reduce, "dp", 64, 600, 10, 20).kernel("gemm", 700, 10, 20);
  auto found = roles(builder);
  EXPECT_EQ(found[20], "ep_a2a");
  EXPECT_EQ(found[21], "pp_p2p");
  EXPECT_EQ(found[22], "cp_ring");  // of a fused pair only the later stage communicates
  EXPECT_EQ(found[23], "mixed");
  EXPECT_EQ(found[24], "unknown");
  EXPECT_EQ(found[25], "compute");
}

TEST(StreamRoles, KernelsOutsideTheWindowSayNothing) {
  TraceBuilder builder = with_stages();
  builder.stream(20).collective(CollectiveOp::send_recv, "ep", 64, 50, 10, 20);
  builder.stream(20).collective(CollectiveOp::send_recv, "pp", 64, 995, 10, 320);  // ends after it
  EXPECT_EQ(roles(builder)[20], "ep_a2a");
}

TEST(StreamRoles, WithoutNamedRangesItIsNotApplicable) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).kernel("gemm", 0, 10).build());
  EXPECT_EQ(run.result("stream_roles").report.status, Status::not_applicable);
}

}  // namespace
}  // namespace ccl::test
