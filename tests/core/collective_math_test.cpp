#include "core/collective_math.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

TEST(CollectiveMath, ElementSizesUseTheNamesOfPyTorch) {
  const std::pair<const char*, std::int64_t> sizes[] = {{"Float", 4},
                                                        {"Double", 8},
                                                        {"Half", 2},
                                                        {"BFloat16", 2},
                                                        {"Byte", 1},
                                                        {"Char", 1},
                                                        {"Bool", 1},
                                                        {"Short", 2},
                                                        {"Int", 4},
                                                        {"Long", 8},
                                                        {"UInt16", 2},
                                                        {"UInt32", 4},
                                                        {"UInt64", 8},
                                                        {"Float8_e4m3fn", 1},
                                                        {"Float8_e5m2", 1},
                                                        {"Float8_e8m0fnu", 1},
                                                        {"Float4_e2m1fn_x2", 1},
                                                        {"ComplexFloat", 8},
                                                        {"ComplexDouble", 16},
                                                        {"ComplexHalf", 4}};
  for (const auto& [name, bytes] : sizes) EXPECT_EQ(element_bytes(dtype_from_text(name)), bytes) << name;
}

TEST(CollectiveMath, UnknownTypeHasNoSizeInsteadOfFourBytes) {
  EXPECT_EQ(dtype_from_text("QInt8"), Dtype::unknown);
  EXPECT_EQ(element_bytes(Dtype::unknown), 0);
}

TEST(CollectiveMath, CollectiveNamesOfRealTracesAreKnown) {
  const std::pair<const char*, CollectiveOp> names[] = {
      {"_allgather_base", CollectiveOp::all_gather},
      {"allgather_into_tensor_coalesced", CollectiveOp::all_gather},
      {"ALLGATHER_coalesced", CollectiveOp::all_gather},
      {"_reduce_scatter_base", CollectiveOp::reduce_scatter},
      {"reduce_scatter_tensor_coalesced", CollectiveOp::reduce_scatter},
      {"allreduce", CollectiveOp::all_reduce},
      {"all_reduce_barrier", CollectiveOp::all_reduce},
      {"all_to_all", CollectiveOp::all_to_all},
      {"all_to_allv", CollectiveOp::all_to_allv},
      {"broadcastoop", CollectiveOp::broadcast},
      {"reduceoop", CollectiveOp::reduce},
      {"send", CollectiveOp::send},
      {"recv", CollectiveOp::recv},
      {"barrier", CollectiveOp::barrier},
      {"wait", CollectiveOp::unknown}};
  for (const auto& [name, op] : names) EXPECT_EQ(op_from_collective_name(name), op) << name;
}

TEST(CollectiveMath, AllGatherCountsItsOutputReduceScatterItsInput) {
  EXPECT_EQ(payload_bytes(CollectiveOp::all_gather, 25136, 201088, 8), 201088);
  EXPECT_EQ(payload_bytes(CollectiveOp::reduce_scatter, 201088, 25136, 8), 201088);
  EXPECT_EQ(payload_bytes(CollectiveOp::all_reduce, 4096, 4096, 8), 4096);
  EXPECT_EQ(payload_bytes(CollectiveOp::gather, 10, 0, 4), 40);
  EXPECT_EQ(payload_bytes(CollectiveOp::scatter, 0, 10, 4), 40);
  EXPECT_EQ(payload_bytes(CollectiveOp::broadcast, 0, 64, 4), 64);
  EXPECT_EQ(payload_bytes(CollectiveOp::recv, 0, 64, 2), 64);
}

TEST(CollectiveMath, UnknownSizesStayUnknown) {
  EXPECT_EQ(payload_bytes(CollectiveOp::all_gather, 100, -1, 8), -1);
  EXPECT_EQ(payload_bytes(CollectiveOp::dispatch, 100, 100, 8), -1);
  EXPECT_EQ(wire_bytes(CollectiveOp::all_gather, -1, 8), -1);
}

TEST(CollectiveMath, WireBytesFollowTheBusFactor) {
  EXPECT_EQ(wire_bytes(CollectiveOp::all_reduce, 800, 4), 1200);
  EXPECT_EQ(wire_bytes(CollectiveOp::all_gather, 800, 4), 600);
  EXPECT_EQ(wire_bytes(CollectiveOp::send, 800, 2), 800);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::broadcast, 4), 1);
}

TEST(CollectiveMath, AGroupOfOneSendsNothing) {
  EXPECT_EQ(wire_bytes(CollectiveOp::all_reduce, 800, 1), 0);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::all_gather, 1), 0);
}

TEST(CollectiveMath, LargePayloadsDoNotOverflow) {
  const std::int64_t payload = std::int64_t{1} << 61;
  EXPECT_EQ(wire_bytes(CollectiveOp::all_gather, payload, 4), payload / 4 * 3);
}

TEST(CollectiveMath, OnlyOperationsWithACommonEndAreSymmetric) {
  EXPECT_TRUE(is_symmetric(CollectiveOp::all_to_allv));
  EXPECT_TRUE(is_symmetric(CollectiveOp::barrier));
  EXPECT_FALSE(is_symmetric(CollectiveOp::broadcast));
  EXPECT_FALSE(is_symmetric(CollectiveOp::send));
  EXPECT_TRUE(is_point_to_point(CollectiveOp::send_recv));
}

}  // namespace
}  // namespace ccl
