#include "exchange/chain.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/trace_builder.hpp"

namespace ccl {
namespace {

using test::not_launched;
using test::TraceBuilder;

std::vector<ChainOp> step_of(const Chain& chain, std::size_t row) {
  std::vector<ChainOp> ops;
  chain.step(row).for_each([&](const ChainOp& op) { ops.push_back(op); });
  return ops;
}

TEST(Chain, HoldsTheEventsOfEachStepInOrder) {
  const RankTrace trace = TraceBuilder()
                              .step(8, 0, 100).step(9, 100, 200).step(10, 200, 300)
                              .kernel("gemm", 110, 5, 10)  // of step 8, among those of step 9
                              .kernel("gemm", 105, 50, 104)
                              .kernel("relu", 160, 0, 101)
                              .group("dp", "", {0, 1})
                              .stream(20).collective(CollectiveOp::all_reduce, "dp", 64, 120, 70, 103)
                              .kernel("outside", 400, 1, not_launched)
                              .build();
  StringTable strings;
  const Chain chain(trace, strings);
  const std::vector<ChainOp> first = step_of(chain, 0), second = step_of(chain, 1);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].start_ns, 110);
  EXPECT_EQ(first[0].launch_ns, 10);
  ASSERT_EQ(second.size(), 3U);
  EXPECT_EQ(second[0].start_ns, 105);
  EXPECT_EQ(second[0].dur_ns, 50);
  EXPECT_EQ(strings.text(second[0].name), "gemm");
  EXPECT_EQ(second[0].record, -1);
  EXPECT_EQ(second[1].start_ns, 120);
  EXPECT_EQ(second[1].launch_ns, 103);
  EXPECT_EQ(second[1].kind, EventKind::communication);
  EXPECT_EQ(second[1].record, 0);
  EXPECT_NE(second[1].lane, second[0].lane);
  EXPECT_EQ(strings.text(second[2].name), "relu");
  EXPECT_EQ(second[2].dur_ns, 0);
  EXPECT_EQ(second[2].lane, second[0].lane);
  EXPECT_TRUE(step_of(chain, 2).empty());
}

TEST(Chain, TellsWhatTheTraceSays) {
  std::mt19937_64 random(7);
  const auto any_time = [&] { return static_cast<std::int64_t>(random()) / 8; };
  TraceBuilder builder;
  builder.group("dp", "", {0, 1}).group("tp", "", {0, 1});
  for (int i = 0; i < 500; ++i) {
    const std::int64_t start_ns = i % 5 == 0 ? any_time() : 1000 * i, dur_ns = i % 7 == 0 ? std::abs(any_time()) : i;
    const std::int64_t launch_ns = i % 3 == 0 ? not_launched : i % 11 == 0 ? any_time() : start_ns - 50;
    builder.device(i % 3).stream(i * i % 200);
    if (i % 4 == 0) builder.collective(CollectiveOp::all_gather, i % 8 == 0 ? "dp" : "tp", 64, start_ns, dur_ns, launch_ns);
    else if (i % 4 == 1) builder.copy("copy", 5, start_ns, dur_ns, launch_ns);
    else if (i % 4 == 2) builder.set(5, start_ns, dur_ns, launch_ns);
    else builder.kernel("kernel" + std::to_string(i), start_ns, dur_ns, launch_ns);
  }
  RankTrace trace = builder.build();
  trace.steps.resize(4);
  for (std::int32_t& step : trace.events.step) step = static_cast<std::int32_t>(random() % 5) - 1;
  StringTable strings;
  const Chain chain(trace, strings);
  for (std::int32_t s = 0; s < 4; ++s) {
    const std::vector<ChainOp> ops = step_of(chain, static_cast<std::size_t>(s));
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
      if (trace.events.step[i] != s) continue;
      ASSERT_LT(next, ops.size());
      const ChainOp& op = ops[next++];
      EXPECT_EQ(op.start_ns, trace.events.start_ns[i]);
      EXPECT_EQ(op.dur_ns, trace.events.dur_ns[i]);
      EXPECT_EQ(op.launch_ns, trace.events.launch_ns[i]);
      EXPECT_EQ(strings.text(op.name), trace.strings.text(trace.events.name[i]));
      EXPECT_EQ(op.lane, trace.events.lane[i]);
      EXPECT_EQ(op.kind, trace.events.kind[i]);
      EXPECT_EQ(op.device_row, trace.lanes[op.lane].device);
      if (op.record >= 0) {
        EXPECT_EQ(trace.collectives[static_cast<std::size_t>(op.record)].event, i);
      } else {
        EXPECT_NE(op.kind, EventKind::communication);
      }
    }
    EXPECT_EQ(next, ops.size());
    ByteWriter out;
    chain.step(static_cast<std::size_t>(s)).pack(out);
    const Bytes bytes = out.take();
    ByteReader in(bytes);
    const ArrivedStep arrived(in);
    EXPECT_TRUE(in.at_end());
    std::size_t same = 0;
    arrived.step().for_each([&](const ChainOp& op) { same += op == ops.at(same) ? 1 : 0; });
    EXPECT_EQ(same, ops.size());
  }
}

}  // namespace
}  // namespace ccl
