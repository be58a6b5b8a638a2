// Collectives: arguments on the kernel, from record_param_comms, from annotations; groups from both ends of the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/kineto_text.hpp"

namespace ccl::test {
namespace {

using testing::ElementsAre;

class KinetoCommunicationTest : public testing::TestWithParam<std::int64_t> {
 protected:
  ReadResult read(const std::string& events, std::string_view header = "") const {
    ReadSettings settings;
    settings.window_bytes = GetParam();
    return read_text(trace_text(events, header), settings);
  }
  static std::vector<std::int64_t> splits(const ReadResult& r, std::uint32_t first, std::uint32_t count) {
    return {r.trace.splits.begin() + first, r.trace.splits.begin() + first + count};
  }
};
INSTANTIATE_TEST_SUITE_P(Windows, KinetoCommunicationTest, testing::Values(largest_window_bytes, 64, 1000));

constexpr const char* gather_arguments =
    R"(, "Collective name": "_allgather_base", "In msg nelems": 100, "Out msg nelems": 400, "Group size": 4, "dtype": "BFloat16",
       "In split size": "[]", "Out split size": "[]", "Process Group Name": "3", "Process Group Description": "mesh_fsdp",
       "Process Group Ranks": "[0, 2, 4, 6]", "Seq": 17)";

TEST_P(KinetoCommunicationTest, F29ArgumentsOfTheKernelCountAlsoForAllgatherBase) {
  const ReadResult r = read(kernel_text("ncclDevKernel_AllGather_RING_LL(args)", "1", "5", 7, 1, gather_arguments));
  ASSERT_EQ(r.trace.collectives.size(), 1U);
  const Collective& c = r.trace.collectives[0];
  EXPECT_EQ(r.trace.events.kind[0], EventKind::communication);
  EXPECT_EQ(c.op, CollectiveOp::all_gather);
  EXPECT_EQ(c.dtype, Dtype::bfloat16);
  EXPECT_TRUE(c.has_arguments);
  EXPECT_EQ(c.group_size, 4);
  EXPECT_EQ(c.sequence, 17);
  EXPECT_EQ(c.in_bytes(), 200);
  EXPECT_EQ(c.out_bytes(), 800);
  EXPECT_EQ(r.group(0).name, "3");
  EXPECT_EQ(r.group(0).description, "mesh_fsdp");
  EXPECT_EQ(r.group(0).size, 4);
  EXPECT_THAT(r.group(0).members, ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(c.splits_count, 0U);
}

TEST_P(KinetoCommunicationTest, CollectiveNameMakesAnyKernelCommunication) {
  const ReadResult r = read(kernel_text("my_fancy_kernel", "1", "5", 7, 1,
                                        R"(, "grid": [1, 1, 1], "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 2)"));
  EXPECT_EQ(r.trace.events.kind[0], EventKind::communication);
  EXPECT_EQ(r.trace.collectives[0].op, CollectiveOp::all_reduce);
}

TEST_P(KinetoCommunicationTest, WithoutArgumentsTheNameAndTheGroupAll) {
  const ReadResult r = read(kernel_text("ncclKernel_ReduceScatter_RING_LL_Sum_float", "1", "5"));
  ASSERT_EQ(r.trace.collectives.size(), 1U);
  EXPECT_EQ(r.trace.collectives[0].op, CollectiveOp::reduce_scatter);
  EXPECT_FALSE(r.trace.collectives[0].has_arguments);
  EXPECT_EQ(r.trace.collectives[0].in_bytes(), -1);
  EXPECT_EQ(r.group(0).name, "");
  EXPECT_EQ(r.group(0).size, -1);
  EXPECT_EQ(r.count(Code::bytes_unknown), 1);
}

TEST_P(KinetoCommunicationTest, RecordParamCommsFillsInByExternalId) {
  const std::string record = R"({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 2, "ts": 0, "dur": 1,
      "args": {"External id": 5, "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 10, "Out msg nelems": 10,
               "Group size": 2, "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": [0, 1]}})";
  const std::string kernel = kernel_text("ncclDevKernel_Generic", "1", "5", 7, 1);
  for (const std::string& events : {record + "," + kernel, kernel + "," + record}) {
    const ReadResult r = read(events);
    ASSERT_EQ(r.trace.collectives.size(), 1U);
    EXPECT_TRUE(r.trace.collectives[0].has_arguments);
    EXPECT_EQ(r.trace.collectives[0].op, CollectiveOp::all_reduce);
    EXPECT_EQ(r.trace.collectives[0].in_bytes(), 40);
    EXPECT_THAT(r.group(0).members, ElementsAre(0, 1));
    EXPECT_EQ(r.count(Code::bytes_unknown), 0);
    // The row "all", of the kernel before its record was found, is not left behind.
    EXPECT_EQ(r.trace.groups.size(), 1U);
  }
}

TEST_P(KinetoCommunicationTest, RecordsWithoutAKernelMakeNoGroup) {
  const ReadResult r = read(
      R"({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 2, "ts": 0, "dur": 1,
          "args": {"External id": 5, "Collective name": "wait", "Group size": 1, "Process Group Name": "0",
                   "Process Group Description": "default_pg", "Process Group Ranks": "[]"}},
         {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 2, "ts": 0, "dur": 1,
          "args": {"External id": 6, "Collective name": "allreduce", "Group size": 2, "Process Group Name": "gloo"}},)" +
      kernel_text("ncclDevKernel_AllReduce_Sum(a)", "1", "5", 7, 1));
  ASSERT_EQ(r.trace.collectives.size(), 1U);
  EXPECT_FALSE(r.trace.collectives[0].has_arguments);
  EXPECT_EQ(r.trace.groups.size(), 1U);
}

TEST_P(KinetoCommunicationTest, SendRecvTakesItsOperationFromTheInnermostAnnotation) {
  const std::string annotations =
      R"({"ph": "X", "cat": "user_annotation", "name": "nccl:coalesced", "pid": 10, "tid": 11, "ts": 0, "dur": 100},
         {"ph": "X", "cat": "cpu_op", "name": "nccl:all_to_all", "pid": 10, "tid": 11, "ts": 10, "dur": 10},
         {"ph": "X", "cat": "user_annotation", "name": "nccl:send 0->1", "pid": 10, "tid": 11, "ts": 30, "dur": 10},
         {"ph": "X", "cat": "gpu_user_annotation", "name": "nccl:recv", "pid": 10, "tid": 11, "ts": 0, "dur": 100},
         {"ph": "X", "cat": "user_annotation", "name": "nccl:recv 0<-1", "pid": 10, "tid": 99, "ts": 0, "dur": 100},)";
  std::string events = annotations;
  int correlation = 1;
  for (const char* const launch_us : {"15", "35", "50", "150"}) {
    events += launch_text("cudaLaunchKernel", launch_us, correlation) + ",";
    events += kernel_text("ncclDevKernel_SendRecv(args)", std::to_string(200 + 10 * correlation), "5", 7, correlation) + ",";
    ++correlation;
  }
  const ReadResult r = read(events);
  ASSERT_EQ(r.trace.collectives.size(), 4U);
  EXPECT_EQ(r.trace.collectives[0].op, CollectiveOp::all_to_all);
  EXPECT_EQ(r.trace.collectives[1].op, CollectiveOp::send);
  EXPECT_EQ(r.trace.collectives[1].peer, peer_at_place(1));
  EXPECT_EQ(r.trace.collectives[2].op, CollectiveOp::send_recv);
  EXPECT_TRUE(r.trace.collectives[2].coalesced);
  EXPECT_EQ(r.trace.collectives[3].op, CollectiveOp::send_recv);
  EXPECT_FALSE(r.trace.collectives[3].coalesced);
  for (const std::size_t other : {0U, 2U, 3U}) EXPECT_EQ(r.trace.collectives[other].peer, -1);
}

TEST_P(KinetoCommunicationTest, SplitsMayBeTextOrListsOrCut) {
  const ReadResult r = read(
      kernel_text("ncclDevKernel_SendRecv(a)", "1", "5", 7, 1,
                  R"(, "Collective name": "all_to_allv", "dtype": "Half", "In split size": "[3, 0, 5]", "Out split size": [1, 2])") + "," +
      kernel_text("ncclDevKernel_SendRecv(a)", "9", "5", 7, 2,
                  R"(, "Collective name": "all_to_allv", "dtype": "Half", "In split size": "[3, 4, ...]")"));
  const Collective& c = r.trace.collectives[0];
  EXPECT_EQ(c.op, CollectiveOp::all_to_allv);
  EXPECT_THAT(splits(r, c.first_split, c.splits_count), ElementsAre(3, 0, 5));
  EXPECT_THAT(splits(r, c.first_out_split, c.out_splits_count), ElementsAre(1, 2));
  EXPECT_FALSE(c.splits_cut);
  EXPECT_TRUE(r.trace.collectives[1].splits_cut);
}

TEST_P(KinetoCommunicationTest, PeersOfSendAndRecv) {
  const ReadResult r = read(kernel_text("ncclDevKernel_SendRecv(a)", "1", "5", 7, 1,
                                        R"(, "Collective name": "send", "Src Rank": 2, "Dst Rank": 3)") + "," +
                            kernel_text("ncclDevKernel_SendRecv(a)", "9", "5", 7, 2,
                                        R"(, "Collective name": "recv", "Src Rank": 4, "Dst Rank": 2)"));
  EXPECT_EQ(r.trace.collectives[0].peer, 3);
  EXPECT_EQ(r.trace.collectives[1].peer, 4);
}

TEST_P(KinetoCommunicationTest, UnknownTypesAreReportedOnceWithTheirNumber) {
  const std::string more = R"(, "Collective name": "allreduce", "dtype": "Quint17", "In msg nelems": 4, "Out msg nelems": 4)";
  const ReadResult r = read(kernel_text("ncclDevKernel_AllReduce", "1", "5", 7, 1, more) + "," +
                            kernel_text("ncclDevKernel_AllReduce", "9", "5", 7, 2, more));
  EXPECT_EQ(r.count(Code::unknown_dtype), 2);
  EXPECT_EQ(r.first(Code::unknown_dtype).count, 2);
  EXPECT_EQ(r.trace.collectives[0].in_bytes(), -1);
}

TEST_P(KinetoCommunicationTest, CutMemberListsAreCompletedFromPgConfig) {
  const std::string group =
      R"(, "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1, "Group size": 5, "Process Group Name": "7",
         "Process Group Description": "undefined", "Process Group Ranks": )";
  const std::string header =
      R"("distributedInfo": {"rank": 0, "world_size": 5, "pg_config": [
           {"pg_name": "7", "pg_desc": "undefined", "backend_config": "cuda:nccl", "pg_size": 5, "ranks": [0, 1, 2, 3, 4]},
           {"pg_name": "9", "pg_desc": "mesh_tp", "pg_size": 2, "ranks": [0, 1]}]},)";
  const ReadResult r = read(kernel_text("ncclDevKernel_AllReduce", "1", "5", 7, 1, group + R"("[0, 1, ...]")") + "," +
                                kernel_text("ncclDevKernel_AllReduce", "9", "5", 7, 2, group + R"([0, 1, 2, 3, 4])"),
                            header);
  EXPECT_EQ(r.trace.collectives[0].group, r.trace.collectives[1].group);
  EXPECT_TRUE(r.group(0).members_complete());
  ASSERT_EQ(r.trace.groups.size(), 2U);
  EXPECT_EQ(r.trace.groups[1].description, "mesh_tp");
}

TEST_P(KinetoCommunicationTest, WithoutPgConfigACutListStaysIncomplete) {
  const ReadResult r = read(kernel_text("ncclDevKernel_AllReduce", "1", "5", 7, 1,
      R"(, "Collective name": "allreduce", "Group size": 64, "Process Group Name": "7", "Process Group Ranks": "[0, 1, ...]")"));
  EXPECT_FALSE(r.group(0).members_complete());
  EXPECT_EQ(r.group(0).size, 64);
}

TEST_P(KinetoCommunicationTest, CoalescedIsTakenFromTheCollectiveName) {
  const ReadResult r = read(kernel_text("ncclDevKernel_AllGather", "1", "5", 7, 1,
                                        R"(, "Collective name": "allgather_into_tensor_coalesced", "dtype": "Float")"));
  EXPECT_TRUE(r.trace.collectives[0].coalesced);
  EXPECT_EQ(r.trace.collectives[0].op, CollectiveOp::all_gather);
}

TEST_P(KinetoCommunicationTest, ComputeKernelsThatSoundLikeCollectivesAreNone) {
  const ReadResult r = read(kernel_text("at::native::reduce_kernel", "1", "5") + "," + kernel_text("vectorized_gather_kernel", "9", "1"));
  EXPECT_TRUE(r.trace.collectives.empty());
}

}  // namespace
}  // namespace ccl::test
