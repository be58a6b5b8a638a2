#include "parse/message_sizes.hpp"

#include <gtest/gtest.h>

namespace ccl::test {
namespace {

constexpr std::int64_t absurd = 1'000'000'000'000'000;

Collective message(CollectiveOp op, std::int64_t in, std::int64_t out) {
  Collective row;
  row.op = op;
  row.dtype = Dtype::bfloat16;
  row.group_size = 4;
  row.in_elements = in;
  row.out_elements = out;
  return row;
}

struct Sizes {
  std::int64_t in, out;
  bool operator==(const Sizes&) const = default;
};

/// Element counts of one message after the check, of a GPU of 40 GB or of unknown memory.
Sizes checked(const Collective& row, std::int64_t told_count = 1, std::int64_t memory_bytes = 40'000'000'000) {
  RankTrace trace;
  trace.collectives.push_back(row);
  trace.gpu_memory_bytes = memory_bytes;
  Problems problems;
  forget_impossible_sizes(trace, {.file = "f"}, problems);
  EXPECT_EQ(problems.count(Code::inout_disagree), told_count);
  return {trace.collectives[0].in_elements, trace.collectives[0].out_elements};
}

TEST(MessageSizes, WhatAGpuHoldsStays) {
  const std::int64_t whole = 20'000'000'000;
  EXPECT_EQ(checked(message(CollectiveOp::all_reduce, whole, whole), 0), (Sizes{whole, whole}));
  EXPECT_EQ(checked(message(CollectiveOp::all_reduce, 7, -1), 0), (Sizes{7, -1}));
  EXPECT_EQ(checked(message(CollectiveOp::all_reduce, std::int64_t{1} << 42, 7), 0, -1), (Sizes{std::int64_t{1} << 42, 7}));
}

TEST(MessageSizes, MoreIsUnknownOrWhatTheOtherSideSays) {
  EXPECT_EQ(checked(message(CollectiveOp::all_reduce, absurd, absurd)), (Sizes{-1, -1}));
  EXPECT_EQ(checked(message(CollectiveOp::all_reduce, absurd, 100)), (Sizes{100, 100}));
  EXPECT_EQ(checked(message(CollectiveOp::all_reduce, absurd, 100), 1, -1), (Sizes{100, 100}));
  EXPECT_EQ(checked(message(CollectiveOp::all_gather, 100, absurd)), (Sizes{100, 400}));
  EXPECT_EQ(checked(message(CollectiveOp::all_gather, absurd, 400)), (Sizes{100, 400}));
  EXPECT_EQ(checked(message(CollectiveOp::reduce_scatter, absurd, 100)), (Sizes{400, 100}));
  EXPECT_EQ(checked(message(CollectiveOp::reduce_scatter, 400, absurd)), (Sizes{400, 100}));
  EXPECT_EQ(checked(message(CollectiveOp::send, absurd, absurd)), (Sizes{-1, -1}));
  EXPECT_EQ(checked(message(CollectiveOp::all_to_allv, 100, absurd)), (Sizes{100, -1}));
  EXPECT_EQ(checked(message(CollectiveOp::all_gather, 19'000'000'000, absurd)), (Sizes{19'000'000'000, -1})) << "4 x is too much";
}

TEST(MessageSizes, AGroupWhoseMembersAreListedIsNoLargerThanTheRun) {
  RankTrace trace;
  trace.world_size = 2;  // of one replica group
  trace.groups.emplace_back().size = 4;
  trace.groups[0].members = {0, 1, 2, 3};
  Collective row = message(CollectiveOp::all_gather, 100, 400);
  row.group_size = 4;
  trace.collectives.push_back(row);
  Problems problems;
  forget_impossible_sizes(trace, {.file = "f"}, problems);
  EXPECT_EQ(trace.groups[0].size, 4);
  EXPECT_EQ(trace.collectives[0].group_size, 4);
  EXPECT_EQ(problems.count(Code::inout_disagree), 0);
}

TEST(MessageSizes, AGroupLargerThanTheRunIsNotBelieved) {
  for (const std::int64_t world : {std::int64_t{8}, std::int64_t{-1}}) {
    RankTrace trace;
    trace.world_size = world;
    for (const std::uint32_t g : {0U, 1U}) {
      trace.groups.emplace_back().size = 1'000'000'000;
      Collective row = message(CollectiveOp::all_gather, 100, 400);
      row.group = g;
      row.group_size = 1'000'000'000;
      trace.collectives.push_back(row);
    }
    trace.groups[0].members = {0, 1, 2, 3};
    Problems problems;
    forget_impossible_sizes(trace, {.file = "f"}, problems);
    EXPECT_EQ(trace.groups[0].size, 4) << "its members are listed";
    EXPECT_EQ(trace.groups[1].size, -1);
    EXPECT_EQ(trace.collectives[0].group_size, 4);
    EXPECT_EQ(trace.collectives[1].group_size, -1);
    ASSERT_EQ(problems.count(Code::inout_disagree), 2);
    EXPECT_EQ(problems.rows().at(0).detail, world > 0 ? "a group of 1000000000 ranks, more than the 8 of the run"
                                                      : "a group of 1000000000 ranks, more than any run has");
  }
}

TEST(MessageSizes, OfAGroupThatCannotBeNothingIsSaid) {
  Collective row = message(CollectiveOp::all_gather, std::int64_t{1} << 41, absurd);
  row.group_size = INT32_MAX;
  EXPECT_EQ(checked(row, 2, -1), (Sizes{std::int64_t{1} << 41, -1})) << "2^72 would not fit 64 bits";
}

TEST(MessageSizes, TheWarningTellsTheMemory) {
  for (const std::int64_t memory : {40'000'000'000LL, -1LL}) {
    RankTrace trace;
    for (const std::int64_t size : {absurd, std::int64_t{1}})
      trace.collectives.push_back(message(CollectiveOp::all_reduce, size, size));
    trace.gpu_memory_bytes = memory;
    Problems problems;
    forget_impossible_sizes(trace, {.file = "f"}, problems);
    ASSERT_EQ(problems.rows().size(), 1U);
    EXPECT_EQ(problems.rows()[0].detail,
              memory > 0 ? "all_reduce of more than the 40.0 GB of its GPU" : "all_reduce of more than any GPU holds");
  }
}

}  // namespace
}  // namespace ccl::test
