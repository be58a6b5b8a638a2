// From the text of a trace to the CPU slices around a launch and the phase of a kernel.
#include <gtest/gtest.h>

#include "core/launch_context.hpp"
#include "metrics/phases.hpp"
#include "parse/kineto_arguments.hpp"
#include "support/kineto_text.hpp"

namespace ccl::test {
namespace {

constexpr std::string_view events = R"(
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":10,"tid":11,"ts":0.0,"dur":900.0,"args":{"External id":1}},
{"ph":"X","cat":"user_annotation","name":"Optimizer.step#AdamW.step","pid":10,"tid":11,"ts":600,"dur":100,"args":{}},
{"ph":"X","cat":"cpu_op","name":"autograd::engine::evaluate_function: MmBackward0","pid":10,"tid":12,"ts":200.5,"dur":99.5,
 "args":{"External id":7,"Sequence number":41,"Fwd thread id":1}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":10,"tid":12,"ts":210,"dur":50,"args":{"External id":8}},
{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":10,"tid":11,"ts":800,"dur":50,"args":{"correlation":9}},
{"ph":"X","cat":"gpu_user_annotation","name":"Optimizer.step#AdamW.step","pid":0,"tid":7,"ts":0,"dur":900,"args":{}},
)";

ReadResult read() {
  const auto launch = [](std::string_view ts, int correlation, std::string_view thread) {
    return launch_text("cudaLaunchKernel", ts, correlation, thread) + ",";
  };
  const std::string text = std::string(events) + launch("100", 1, "11") + launch("220", 2, "12") +
                           launch("610", 3, "11") + kernel_text("fwd", "300", "10", 7, 1) + "," +
                           kernel_text("bwd", "400", "10", 7, 2) + "," + kernel_text("adam", "700", "10", 7, 3);
  ReadSettings settings;
  settings.wants = {.annotations = true, .cpu_ops = true, .runtime_calls = true};
  return read_text(trace_text(text), settings);
}

TEST(LaunchContextOfKineto, SlicesKeepThreadSequenceAndKind) {
  const ReadResult r = read();
  ASSERT_EQ(r.trace.slices.size(), 4U) << "no operator without a rule, no GPU copy of an annotation";
  int operators = 0;
  for (const CpuSlice& slice : r.trace.slices) {
    EXPECT_EQ(slice.numbered, slice.kind == SliceKind::cpu_op);
    operators += slice.kind == SliceKind::cpu_op ? 1 : 0;
  }
  EXPECT_EQ(operators, 1);
  EXPECT_EQ(read_sequence_number(R"({"External id":7,"Sequence number":41,"Fwd thread id":1})"), 41);
  const LaunchContext context = launch_context(r.trace);
  ASSERT_GE(context.innermost[1], 0);
  const CpuSlice& around = r.trace.slices[static_cast<std::size_t>(context.innermost[1])];
  EXPECT_EQ(r.trace.strings.text(around.name), "autograd::engine::evaluate_function: MmBackward0");
  EXPECT_EQ(around.start_ns, 200500);
  EXPECT_EQ(r.trace.threads[around.thread], r.launch_thread(1));
}

TEST(LaunchContextOfKineto, OperatorsThatCountGradientsInsideABackwardAreKept) {
  const auto operation = [](std::string_view name, std::string_view thread, int start, int length, std::string_view more) {
    return "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" + std::string(name) + "\",\"pid\":10,\"tid\":" +
           std::string(thread) + ",\"ts\":" + std::to_string(start) + ",\"dur\":" + std::to_string(length) +
           ",\"args\":{\"External id\":1" + std::string(more) + "}},\n";
  };
  const std::string node = "autograd::engine::evaluate_function: CheckpointFunctionBackward";
  const std::string text = operation("aten::linear", "11", 100, 50, ",\"Sequence number\":7") +
                           operation(node, "12", 200, 300, ",\"Sequence number\":8") +
                           operation("CheckpointFunctionBackward", "12", 201, 298, ",\"Sequence number\":8") +
                           operation("aten::linear", "12", 210, 50, ",\"Sequence number\":3") +
                           operation("aten::mm", "12", 220, 20, ",\"Sequence number\":3") +
                           operation("aten::mm", "12", 300, 20, "") +
                           operation("aten::mul", "12", 600, 20, ",\"Sequence number\":4") +
                           kernel_text("k", "700", "10", 7, 1);
  ReadSettings settings;
  settings.wants = {.cpu_ops = true};
  const ReadResult r = read_text(trace_text(text), settings);
  std::vector<std::string> kept;
  for (const CpuSlice& slice : r.trace.slices) kept.emplace_back(r.trace.strings.text(slice.name));
  EXPECT_EQ(kept, (std::vector<std::string>{node, "aten::linear"})) << "the outermost of each, and no node itself";
}

TEST(LaunchContextOfKineto, PhasesFollow) {
  const ReadResult r = read();
  const SliceRules rules(r.trace, classifier());
  const TracePhases phases = trace_phases(r.trace, launch_context(r.trace), rules);
  ASSERT_TRUE(phases.known);
  EXPECT_EQ(phases.by_event, (std::vector<Phase>{Phase::forward, Phase::backward, Phase::optimizer}));
}

}  // namespace
}  // namespace ccl::test
