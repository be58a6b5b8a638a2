// Faults of older tools, by their number in the catalogue: what counts as communication, how many bytes, for whom.
#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

RankTrace one_collective(CollectiveOp op, std::int64_t payload_bytes, std::int32_t rank, std::int64_t dur_ns = 100) {
  return TraceBuilder()
      .rank(rank, 4)
      .step(1, 0, 1000)
      .kernel("gemm", 0, 50)
      .group("tp", "mesh_tp", rank < 2 ? std::vector{0, 1} : std::vector{2, 3}, -1, Dimension::tp)
      .slice(SliceKind::user_annotation, "nccl:all_gather", 0, 400)
      .slice(SliceKind::cpu_op, "c10d::_allgather_base_", 10, 390)
      .slice(SliceKind::cpu_op, "record_param_comms", 20, 380)
      .stream(9)
      .collective(op, "tp", payload_bytes, 100, dur_ns)
      .build();
}
SmallRun four_ranks(CollectiveOp op, std::int64_t payload_bytes) {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 4; ++rank) run.add(one_collective(op, payload_bytes, rank));
  return run;
}

TEST(FaultCatalogue, F1CpuOpsAndAnnotationsAreNotCountedBesideTheKernel) {
  SmallRun run = four_ranks(CollectiveOp::all_gather, 800);
  EXPECT_EQ(headline(run.result("communication"), "calls_count"), 4);
}

TEST(FaultCatalogue, F2CpuTimeIsNotCommunicationTime) {
  SmallRun run = four_ranks(CollectiveOp::all_gather, 800);
  EXPECT_EQ(integer_at(run.result("communication"), "rows", 0, "union_ns"), 100);
  EXPECT_EQ(integer_at(run.result("straggler"), "rows", 0, "compute_only_ns"), 50);
}

TEST(FaultCatalogue, F7AllGatherSizeFromOut) {
  SmallRun run = four_ranks(CollectiveOp::all_gather, 800);
  EXPECT_EQ(integer_at(run.result("communication"), "by_op", 0, "payload_bytes"), 800);
  EXPECT_EQ(integer_at(run.result("communication"), "by_op", 0, "wire_bytes"), 400);
}

TEST(FaultCatalogue, F7ReduceScatterOfTheSameTensorMovesAsMuch) {
  SmallRun gather = four_ranks(CollectiveOp::all_gather, 800), scatter = four_ranks(CollectiveOp::reduce_scatter, 800);
  EXPECT_EQ(headline(gather.result("traffic_distribution"), "wire_bytes"),
            headline(scatter.result("traffic_distribution"), "wire_bytes"));
}

TEST(FaultCatalogue, F8GroupSizeIsTheGroupsNotTheNumberOfFiles) {
  SmallRun run = four_ranks(CollectiveOp::all_reduce, 1000);
  // 2(n − 1)/n is 1 for the groups of two, 1.5 for the four files.
  EXPECT_DOUBLE_EQ(headline(run.result("communication"), "all_reduce_busbw_bytes_per_s"), 1000 * 1e9 / 100);
}

TEST(FaultCatalogue, F9BytesAreNotDurations) {
  SmallRun slow;
  slow.add(one_collective(CollectiveOp::all_gather, 800, 0, 900)).add(one_collective(CollectiveOp::all_gather, 800, 1, 900));
  EXPECT_EQ(headline(slow.result("traffic_distribution"), "wire_bytes"), 800);
}

TEST(FaultCatalogue, F10NoElementSizeIsAssumed) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(1, 0, 1000).group("dp", "mesh_dp", {0, 1}, -1, Dimension::dp);
  builder.collective(CollectiveOp::all_reduce, "dp", 64, 0, 100).dtype(Dtype::unknown, 64, 64);
  run.add(builder.build());
  const MetricResult result = run.result("communication");
  EXPECT_EQ(headline(result, "unknown_bytes_count"), 1);
  EXPECT_EQ(integer_at(result, "rows", 0, "payload_bytes"), -1);
}

TEST(FaultCatalogue, F10UnknownGpusHaveNoPeak) {
  SmallRun run = four_ranks(CollectiveOp::all_reduce, 1000);
  EXPECT_TRUE(std::isnan(std::get<double>(cell_at(table(run.result("communication"), "by_size"), 0, "share_of_peak_ratio"))));
}

TEST(FaultCatalogue, F22SendRecvIsNotAlwaysThePipeline) {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(1, 0, 1000).group("ep", "mesh_ep", {0, 1}, -1, Dimension::ep);
  builder.kernel("gemm", 0, 100).stream(9).collective(CollectiveOp::all_to_all, "ep", 64, 100, 400);
  run.add(builder.build());
  EXPECT_EQ(run.result("pipeline_bubble").report.status, Status::not_applicable);
  EXPECT_DOUBLE_EQ(headline(run.result("traffic_distribution"), "ep_of_time_ratio"), 1);
}

TEST(FaultCatalogue, F23AllGatherIsNotAlwaysDataParallel) {
  SmallRun run = four_ranks(CollectiveOp::reduce_scatter, 800);
  EXPECT_DOUBLE_EQ(headline(run.result("traffic_distribution"), "tp_of_wire_bytes_ratio"), 1);
}

TEST(FaultCatalogue, F26CopiesAreNoKernelsAndAreNotLost) {
  SmallRun run;
  run.add(TraceBuilder().rank(0).step(1, 0, 1000).kernel("gemm", 0, 100).copy("Memcpy HtoD", 64, 200, 300).build());
  EXPECT_EQ(headline(run.result("kernel"), "kernels_count"), 1);
  EXPECT_EQ(integer_at(run.result("comm_comp_overlap"), "rows", 0, "memory_only_ns"), 300);
}

TEST(FaultCatalogue, F27GigabytesAreDecimal) {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 2; ++rank) run.add(one_collective(CollectiveOp::all_reduce, 1 << 30, rank, 1'000'000'000));
  EXPECT_DOUBLE_EQ(headline(run.result("bandwidth"), "all_reduce_intra_median_busbw_bytes_per_s"), 1073741824.0);
  EXPECT_NE(page_of(run.result("bandwidth")).find("1.07 GB/s"), std::string::npos);
}

TEST(FaultCatalogue, F35WaitingIsNotTransfer) {
  SmallRun run;
  run.add(one_collective(CollectiveOp::all_reduce, 1000, 0, 800)).add(one_collective(CollectiveOp::all_reduce, 1000, 1, 100));
  EXPECT_DOUBLE_EQ(headline(run.result("bandwidth"), "all_reduce_intra_median_busbw_bytes_per_s"), 1000 * 1e9 / 100);
}

}  // namespace
}  // namespace ccl::test
