#include "parse/execution_trace.hpp"

#include <gtest/gtest.h>

#include "support/trace_builder.hpp"

namespace ccl::test {
namespace {

// The older schema: inputs with their types beside them.
constexpr const char* older = R"et({"schema": "1.0.1", "nodes": [
  {"name": "record_param_comms", "id": 9, "inputs": [[[1664, 6, 0, 112, 4, "cuda:0"]], 153, 945, 0, "allreduce", [], []],
   "input_types": ["GenericList[Tensor(float)]", "Int", "Int", "Int", "String", "GenericList[]", "GenericList[]"],
   "outputs": [[[1664, 6, 0, 112, 4, "cuda:0"]]], "output_types": ["GenericList[Tensor(float)]"]},
  {"name": "record_param_comms", "id": 5, "inputs": [141, 0, 0, "wait", [], []],
   "input_types": ["Int", "Int", "Int", "String", "GenericList[]", "GenericList[]"], "outputs": []},
  {"name": "aten::add", "id": 6, "inputs": [1], "input_types": ["Int"]},
  {"name": "record_param_comms", "id": 7,
   "inputs": [[1002, 658, 0, 30, 4, "cuda:0"], 150, 945, 0, "all_to_allv", [10, 20], [12, 12]],
   "input_types": ["Tensor(int)", "Int", "Int", "Int", "String", "GenericList[Int,Int]", "GenericList[Int,Int]"],
   "outputs": [[1064, 615, 0, 24, 4, "cuda:0"]], "output_types": ["Tensor(int)"]}]})et";

// Chakra's schema: everything by name.
constexpr const char* newer = R"et({"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 3, "name": "record_param_comms",
  "inputs": {"values": [[[4, 5, 0, 64, 2, "cuda:1"]], 33, ["7", "mesh_tp"], 0, "allgather", [], []],
             "shapes": [], "types": ["GenericList[Tensor(c10::BFloat16)]", "Int", "Tuple[String,String]", "Int", "String",
                                     "GenericList[]", "GenericList[]"]},
  "outputs": {"values": [], "types": []},
  "attrs": [{"name": "collective_name", "type": "string", "value": "allgather"},
            {"name": "dtype", "type": "string", "value": "BFloat16"},
            {"name": "in_msg_nelems", "type": "uint64", "value": 64},
            {"name": "out_msg_nelems", "type": "uint64", "value": 128},
            {"name": "in_split_size", "type": "string", "value": "[]"},
            {"name": "global_rank_start", "type": "uint64", "value": 1},
            {"name": "global_rank_stride", "type": "uint64", "value": 4},
            {"name": "pg_name", "type": "string", "value": "7"},
            {"name": "pg_desc", "type": "string", "value": "mesh_tp"},
            {"name": "pg_size", "type": "uint64", "value": 2}]}]})et";

TEST(ExecutionTrace, CallsComeInTheOrderOfTheirNodesWithoutWaits) {
  const auto calls = read_execution_trace(older);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].op, CollectiveOp::all_to_allv);
  EXPECT_EQ(calls[0].dtype, Dtype::int32);
  EXPECT_EQ(calls[0].in_elements, 30);
  EXPECT_EQ(calls[0].out_elements, 24);
  EXPECT_EQ(calls[0].in_splits, (std::vector<std::int64_t>{10, 20}));
  EXPECT_EQ(calls[0].out_splits, (std::vector<std::int64_t>{12, 12}));
  EXPECT_EQ(calls[1].op, CollectiveOp::all_reduce);
  EXPECT_EQ(calls[1].in_elements, 112);
}

TEST(ExecutionTrace, ChakraNamesTheGroupAndItsMembers) {
  const auto calls = read_execution_trace(newer);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].op, CollectiveOp::all_gather);
  EXPECT_EQ(calls[0].dtype, Dtype::bfloat16);
  EXPECT_EQ(calls[0].out_elements, 128);
  EXPECT_EQ(calls[0].group_name, "7");
  EXPECT_EQ(calls[0].group_size, 2);
  EXPECT_EQ(calls[0].rank_stride, 4);
}

RankTrace bare_trace(CollectiveOp first, CollectiveOp second) {
  TraceBuilder builder;
  builder.rank(0).step(0, 0, 1000);
  // Launched in the other order than they run.
  builder.stream(8).collective(second, "", -1, 300, 10, 200).without_arguments();
  builder.stream(9).collective(first, "", -1, 400, 10, 100).without_arguments();
  return builder.build();
}

TEST(ExecutionTrace, ArgumentsGoToKernelsInTheOrderOfTheirLaunches) {
  RankTrace trace = bare_trace(CollectiveOp::send_recv, CollectiveOp::all_reduce);
  ASSERT_TRUE(supply_communication(read_execution_trace(older), trace));
  const Collective& reduce = trace.collectives[0];
  const Collective& exchange = trace.collectives[1];
  EXPECT_EQ(reduce.op, CollectiveOp::all_reduce);
  EXPECT_EQ(reduce.in_bytes(), 448);
  EXPECT_EQ(exchange.op, CollectiveOp::all_to_allv) << "an exchange runs as sends and receives";
  EXPECT_EQ(exchange.in_bytes(), 120);
  EXPECT_EQ(exchange.group_size, 2);
  EXPECT_EQ(reduce.group_size, 2) << "the same group as that of the exchange";
  ASSERT_EQ(exchange.splits_count, 2U);
  EXPECT_EQ(trace.splits[exchange.first_split + 1], 20);
}

TEST(ExecutionTrace, GroupsOfTheCallsBecomeThoseOfTheTrace) {
  TraceBuilder builder;
  builder.rank(0).step(0, 0, 1000).collective(CollectiveOp::all_gather, "", -1, 300, 10, 200).without_arguments();
  RankTrace trace = builder.build();
  ASSERT_TRUE(supply_communication(read_execution_trace(newer), trace));
  const ProcessGroup& group = trace.groups[trace.collectives[0].group];
  EXPECT_EQ(group.description, "mesh_tp");
  EXPECT_EQ(group.members, (std::vector<std::int32_t>{1, 5}));
}

TEST(ExecutionTrace, ListsThatDisagreeChangeNothing) {
  RankTrace other_order = bare_trace(CollectiveOp::all_reduce, CollectiveOp::send_recv);
  EXPECT_FALSE(supply_communication(read_execution_trace(older), other_order));
  EXPECT_EQ(other_order.collectives[0].in_elements, -1);
  RankTrace too_many = bare_trace(CollectiveOp::send_recv, CollectiveOp::all_reduce);
  EXPECT_FALSE(supply_communication(read_execution_trace(newer), too_many));
  TraceBuilder builder;
  builder.rank(0).step(0, 0, 1000).collective(CollectiveOp::all_gather, "", 64, 300, 10, 200);
  RankTrace with_arguments = builder.build();
  EXPECT_FALSE(supply_communication(read_execution_trace(newer), with_arguments));
}

TEST(ExecutionTrace, DamageEndsWell) {
  const std::string whole = newer;
  for (std::size_t size = 0; size < whole.size(); size += 3)
    EXPECT_LE(read_execution_trace(whole.substr(0, size)).size(), 1U);
}

}  // namespace
}  // namespace ccl::test
