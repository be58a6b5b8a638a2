// What the reader makes of well-formed traces, in all the forms that profilers write, at three window sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/kineto_text.hpp"

namespace ccl::test {
namespace {

using testing::ElementsAre;

class KinetoReaderTest : public testing::TestWithParam<std::int64_t> {
 protected:
  ReadResult read(std::string_view text, const Wants& wants = {}) const {
    ReadSettings settings;
    settings.window_bytes = GetParam();
    settings.wants = wants;
    return read_text(text, settings);
  }
};
INSTANTIATE_TEST_SUITE_P(Windows, KinetoReaderTest, testing::Values(largest_window_bytes, 64, 1000));

TEST_P(KinetoReaderTest, KeepsKernelsCopiesAndSets) {
  const ReadResult r = read(trace_text(
      kernel_text("gemm", "10.5", "3.25", 7, 41) + ",\n  " +
      R"j({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 9, "ts": 20, "dur": 1,
          "args": {"device": 0, "context": 1, "stream": 9, "correlation": 42, "bytes": 1024, "memory bandwidth (GB/s)": inf}},
         {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 9, "ts": 30, "dur": 2,
          "args": {"device": 0, "context": 1, "stream": 9, "correlation": 43, "bytes": 8}},
         {"ph": "X", "cat": "gpu_user_annotation", "name": "nccl:all_reduce", "pid": 0, "tid": 9, "ts": 1, "dur": 90, "args": {}},
         {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 90, "args": {}})j"));
  ASSERT_TRUE(r.called);
  EXPECT_EQ(r.trace.format, TraceFormat::kineto);
  EXPECT_THAT(r.names(), ElementsAre("gemm", "Memcpy HtoD (Pinned -> Device)", "Memset (Device)"));
  EXPECT_EQ(r.trace.events.start_ns[0], 10500);
  EXPECT_EQ(r.trace.events.dur_ns[0], 3250);
  EXPECT_EQ(r.trace.events.correlation[0], 41);
  EXPECT_EQ(r.trace.events.kind[0], EventKind::compute);
  EXPECT_EQ(r.trace.events.kind[1], EventKind::memory_copy);
  EXPECT_EQ(r.trace.events.kind[2], EventKind::memory_set);
  EXPECT_THAT(r.trace.lanes, ElementsAre(Lane{0, 7}, Lane{0, 9}));
  ASSERT_EQ(r.trace.memory_operations.size(), 2U);
  EXPECT_EQ(r.trace.memory_operations[0].bytes, 1024);
  EXPECT_EQ(r.trace.events_count, 5);
  EXPECT_EQ(r.problems.count(Severity::data_loss), 0);
}

TEST_P(KinetoReaderTest, BytesThatNoGpuHoldsAreUnknown) {
  const char* const events = R"j({"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 9, "ts": 30, "dur": 2,
          "args": {"device": 0, "context": 1, "stream": 9, "correlation": 43, "bytes": 9000000000000000000}},
         {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 9, "ts": 33, "dur": 2,
          "args": {"device": 0, "context": 1, "stream": 9, "correlation": 44, "bytes": 281474976710656}})j";
  const ReadResult r = read(trace_text(events));
  for (const MemoryOperation& operation : r.trace.memory_operations) EXPECT_NE(operation.bytes, 9000000000000000000);
  ASSERT_FALSE(r.trace.memory_operations.empty());
  EXPECT_EQ(r.trace.memory_operations[r.trace.memory_operations.size() - 1].bytes, 281474976710656);
}

std::string recording_text(const std::string& ts, const std::string& dur) {
  return R"({"ph": "X", "cat": "Trace", "ts": )" + ts + R"(, "dur": )" + dur +
         R"j(, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}})j";
}

std::string marker_text(int number, const std::string& ts, const std::string& dur) {
  return R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#)" + std::to_string(number) +
         R"(", "pid": 1, "tid": 11, "ts": )" + ts + R"(, "dur": )" + dur + R"(, "args": {}})";
}

TEST_P(KinetoReaderTest, WhatLiesOutsideTheRecordingIsLostWithItsStep) {
  const std::string events = marker_text(4, "0", "100") + "," + marker_text(5, "100", "100") + "," +
                             launch_text("cudaLaunchKernel", "10", 41) + "," +
                             kernel_text("hangs", "20", "900000000", 7, 41) + "," +
                             launch_text("cudaLaunchKernel", "110", 42) + "," +
                             kernel_text("far", "8000000000", "5", 7, 42) + "," +
                             launch_text("cudaLaunchKernel", "120", 43) + "," + kernel_text("gemm", "900000100", "5", 7, 43);
  const ReadResult r = read(trace_text(events + "," + recording_text("-5", "900000500")));
  EXPECT_THAT(r.names(), ElementsAre("hangs", "gemm"));
  EXPECT_EQ(r.count(Code::time_out_of_range), 1);
  EXPECT_EQ(r.first(Code::time_out_of_range).detail, "GPU events outside the time that the profiler recorded");
  ASSERT_EQ(r.trace.steps.size(), 2U);
  EXPECT_FALSE(r.trace.steps[0].lost_events);
  EXPECT_TRUE(r.trace.steps[1].lost_events);
  EXPECT_EQ(read(trace_text(events)).trace.events.size(), 3U) << "nothing tells when it recorded";
  EXPECT_EQ(read(trace_text(events + "," + recording_text("-5", "90000000000000"))).problems.count(Severity::data_loss), 0);
}

TEST_P(KinetoReaderTest, AMarkerThatCannotBeMeantEndsWhereTheNextBegins) {
  const std::string kernels = launch_text("cudaLaunchKernel", "10", 41) + "," + kernel_text("a", "20", "5", 7, 41) + "," +
                              launch_text("cudaLaunchKernel", "110", 42) + "," + kernel_text("b", "120", "5", 7, 42);
  for (const char* dur : {"3600000000", "999000000000", "-7", "0"}) {
    const ReadResult r = read(trace_text(marker_text(4, "0", dur) + "," + marker_text(5, "100", "100") + "," + kernels));
    ASSERT_EQ(r.trace.steps.size(), 2U) << dur;
    EXPECT_EQ(r.trace.steps[0].end_ns, 100000);
    EXPECT_THAT(r.trace.events.step.span(), ElementsAre(0, 1));
    EXPECT_EQ(r.count(Code::time_out_of_range), 1);
  }
}

TEST_P(KinetoReaderTest, LaunchesWithoutTheirKernelsAreALoss) {
  std::string events = marker_text(4, "0", "100") + "," + marker_text(5, "100", "100");
  for (int i = 0; i < 40; ++i) {
    events.append(",").append(launch_text("cudaLaunchKernel", std::to_string(4 * i), 50 + i));
    if (i < 10) events.append(",").append(kernel_text("gemm", std::to_string(4 * i + 2), "1", 7, 50 + i));
  }
  const ReadResult r = read(trace_text(events));
  EXPECT_EQ(r.count(Code::event_damaged), 30);
  EXPECT_EQ(r.first(Code::event_damaged).detail, "40 launches of kernels, but only 10 kernels");
  EXPECT_TRUE(r.trace.steps[0].lost_events && r.trace.steps[1].lost_events);
  EXPECT_EQ(read(trace_text(events + "," + launch_text("cudaGraphLaunch", "190", 99))).count(Code::event_damaged), 0);
}

TEST_P(KinetoReaderTest, AZeroOfTheClockThatIsNoneIsNamed) {
  for (const char* base : {"-5", "\"soon\"", "99999999999999999999"}) {
    const ReadResult r = read(trace_text(kernel_text("gemm", "5", "1"), "\"baseTimeNanoseconds\": " + std::string(base) + ","));
    EXPECT_EQ(r.count(Code::time_out_of_range), 1) << base;
    EXPECT_EQ(r.trace.events.start_ns[0], 5000);
  }
}

TEST_P(KinetoReaderTest, AListOfDevicesThatRunsOnIntoTheEventsTellsNoNumber) {
  const ReadResult r = read(R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85028372480},)" +
                            kernel_text("gemm", "5", "1") + "," + kernel_text("gemm", "7", "1") +
                            R"(], "traceEvents": [)" + kernel_text("gemm", "9", "1") + "]}");
  ASSERT_TRUE(r.called);
  EXPECT_EQ(r.trace.gpus_in_node, 0);
  EXPECT_EQ(r.trace.gpu, "NVIDIA H100");
  EXPECT_EQ(r.problems.count(Code::event_damaged), 2);
  EXPECT_EQ(r.trace.lost_events_count, 2);
  EXPECT_EQ(r.trace.loss, FileLoss::pieces);
}

TEST_P(KinetoReaderTest, HeaderTellsWhoTheRankIs) {
  const std::string header =
      R"("schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85028372480},
         {"id": 1, "name": "NVIDIA H100", "totalGlobalMem": 85028372480}],
         "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}, "baseTimeNanoseconds": 1700000000000000000,)";
  const std::string behind = header.substr(0, header.size() - 1);
  const std::string events = kernel_text("gemm", "5", "1");
  for (const std::string& text : {trace_text(events, header), "{\"traceEvents\": [" + events + "],\n" + behind + "}"}) {
    const ReadResult r = read(text);
    ASSERT_TRUE(r.called);
    EXPECT_EQ(r.trace.rank, RankId(3));
    EXPECT_EQ(r.trace.world_size, 8);
    EXPECT_EQ(r.trace.gpu, "NVIDIA H100");
    EXPECT_EQ(r.trace.gpus_in_node, 2);
    EXPECT_EQ(r.trace.gpu_memory_bytes, 85028372480);
    EXPECT_EQ(r.trace.events.start_ns[0], 1700000000000005000);
  }
}

TEST_P(KinetoReaderTest, RankMayBeTextEmptyOrMissing) {
  const std::string events = kernel_text("gemm", "5", "1");
  EXPECT_EQ(read(trace_text(events, R"("distributedInfo": {"rank": "12"},)")).trace.rank, RankId(12));
  EXPECT_EQ(read(trace_text(events, R"("distributedInfo":{"rank":5},)")).trace.rank, RankId(5));
  EXPECT_FALSE(read(trace_text(events, R"("distributedInfo": {"rank": "", "world_size": ""},)")).trace.rank.known());
  EXPECT_FALSE(read(trace_text(events, R"("distributedInfo": {"backend": "nccl"},)")).trace.rank.known());
  EXPECT_FALSE(read(trace_text(events)).trace.rank.known());
}

TEST_P(KinetoReaderTest, BareListIsATrace) {
  const ReadResult r = read("\n[\n" + kernel_text("a", "1", "1") + ",\n" + kernel_text("b", "3", "1") + "\n]\n");
  EXPECT_THAT(r.names(), ElementsAre("a", "b"));
  EXPECT_EQ(r.count(Code::file_cut), 0);
}

TEST_P(KinetoReaderTest, ByteOrderMarkAndTrailingCommaAreTaken) {
  const ReadResult r = read("\xEF\xBB\xBF" + trace_text(kernel_text("a", "1", "1") + ","));
  EXPECT_THAT(r.names(), ElementsAre("a"));
  EXPECT_EQ(r.problems.count(Severity::data_loss), 0);
}

TEST_P(KinetoReaderTest, KeyOrderAndSpacingDoNotMatter) {
  const std::string compact =
      R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1.5,"dur":2,"args":{"device":0,"stream":7,"correlation":9}}]})";
  const std::string reversed =
      R"({"traceEvents": [ { "args" : { "correlation" : 9, "stream" : 7, "device" : 0 } , "dur" : 2.0, "ts" : 1.5e0,
          "tid" : 7, "pid" : 0, "name" : "k", "cat" : "kernel", "ph" : "X" } ] })";
  for (const std::string& text : {compact, reversed}) {
    const ReadResult r = read(text);
    ASSERT_EQ(r.trace.events.size(), 1U);
    EXPECT_EQ(r.trace.events.start_ns[0], 1500);
    EXPECT_EQ(r.trace.events.dur_ns[0], 2000);
    EXPECT_EQ(r.trace.events.correlation[0], 9);
    EXPECT_EQ(r.trace.lanes[0], (Lane{0, 7}));
  }
}

TEST_P(KinetoReaderTest, TimesMayBeTextAndDurationsMissing) {
  const ReadResult r = read(trace_text(
      R"({"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": "1715596800123456.789", "dur": "0.850"},
         {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 1715596800123460},
         {"ph": "X", "cat": "kernel", "name": "c", "pid": 0, "tid": 7, "ts": 1715596800123461, "dur": -2})"));
  ASSERT_THAT(r.names(), ElementsAre("a"));
  EXPECT_EQ(r.trace.events.start_ns[0], 1715596800123456789);
  EXPECT_EQ(r.trace.events.dur_ns[0], 850);
  EXPECT_EQ(r.count(Code::negative_duration), 0);
  EXPECT_EQ(r.count(Code::duration_missing), 2);
  EXPECT_EQ(r.trace.lost_events_count, 2);
}

TEST_P(KinetoReaderTest, ALoneMarkerOfNegativeDurationMarksNoStep) {
  const ReadResult r = read(trace_text(
      kernel_text("k", "11", "1") +
      R"(, {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 10, "dur": -4})"));
  ASSERT_EQ(r.trace.steps.size(), 1U);
  EXPECT_EQ(r.trace.steps[0].source, StepSource::span);
  EXPECT_EQ(r.count(Code::negative_duration), 1);
  EXPECT_EQ(r.count(Code::time_out_of_range), 1);
  EXPECT_EQ(r.trace.lost_events_count, 1);
}

// One that lasts for years would be all of a step, of a rank and of the page.
TEST_P(KinetoReaderTest, WhatLastsLongerThanADayIsLeftOut) {
  const ReadResult r = read(trace_text(
      kernel_text("day", "1", "86400000000") + "," + kernel_text("more", "2", "86400000000.001") + "," +
      kernel_text("years", "3", "1000000000000000") +
      R"(, {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 1, "dur": 10000000000000})"));
  EXPECT_THAT(r.names(), ElementsAre("day"));
  for (const Step& step : r.trace.steps) EXPECT_NE(step.source, StepSource::marker);
  EXPECT_EQ(r.count(Code::time_out_of_range), 3);
  EXPECT_EQ(r.trace.lost_events_count, 3);
}

TEST_P(KinetoReaderTest, TimesBeyond64BitsAreLeftOut) {
  const ReadResult r = read(trace_text(kernel_text("a", "1", "1") + "," + kernel_text("b", "1e300", "1") + "," +
                                       kernel_text("c", "5", "99999999999999999999")));
  EXPECT_THAT(r.names(), ElementsAre("a"));
  EXPECT_EQ(r.count(Code::time_out_of_range), 2);
  EXPECT_EQ(r.trace.lost_events_count, 2);
}

TEST_P(KinetoReaderTest, OldCapitalisedCategoriesAndTextLanesAreTaken) {
  const ReadResult r = read(trace_text(
      R"({"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 10, "dur": 1, "args": {"correlation": 3}},
         {"ph": "X", "cat": "Memcpy", "name": "m", "pid": 0, "tid": "stream 7", "ts": 20, "dur": 1, "args": {"correlation": 4}},
         {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": "9", "tid": "main", "ts": 5, "dur": 1, "args": {"correlation": 3}},
         {"ph": "X", "cat": "Operator", "name": "ProfilerStep#2", "pid": "9", "tid": "main", "ts": 4, "dur": 3})"));
  EXPECT_THAT(r.names(), ElementsAre("k", "m"));
  EXPECT_THAT(r.trace.lanes, ElementsAre(Lane{0, 7}));
  EXPECT_EQ(r.trace.events.launch_ns[0], 5000);
  EXPECT_EQ(r.launch_thread(0), "9/main");
  EXPECT_EQ(r.trace.events.launch_ns[1], absent_ns);
  ASSERT_EQ(r.trace.steps.size(), 1U);
  EXPECT_EQ(r.trace.steps[0].number, 2);
}

TEST_P(KinetoReaderTest, BeginAndEndMakeOneEvent) {
  const ReadResult r = read(trace_text(
      R"({"ph": "B", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 1, "tid": 2, "ts": 1},
         {"ph": "B", "cat": "kernel", "name": "outer", "pid": 0, "tid": 7, "ts": 10, "args": {"device": 0, "stream": 7, "correlation": 1}},
         {"ph": "B", "cat": "kernel", "name": "inner", "pid": 0, "tid": 7, "ts": 12},
         {"ph": "E", "pid": 0, "tid": 7, "ts": 13, "args": {"device": 1, "stream": 8}},
         {"ph": "E", "pid": 0, "tid": 7, "ts": 20.5},
         {"ph": "E", "pid": 0, "tid": 7, "ts": 21},
         {"ph": "E", "pid": 1, "tid": 2, "ts": 30},
         {"ph": "B", "cat": "kernel", "name": "open", "pid": 0, "tid": 7, "ts": 40})"));
  ASSERT_THAT(r.names(), ElementsAre("outer", "inner"));
  EXPECT_EQ(r.trace.events.dur_ns[0], 10500);
  EXPECT_EQ(r.trace.events.dur_ns[1], 1000);
  EXPECT_EQ(r.trace.lanes[r.trace.events.lane[1]], (Lane{1, 8}));
  ASSERT_EQ(r.trace.steps.size(), 1U);
  EXPECT_EQ(r.trace.steps[0].end_ns, 30000);
  EXPECT_EQ(r.trace.events_count, 3);
}

TEST_P(KinetoReaderTest, NullsAndEventsWithoutTimeAreIgnored) {
  const ReadResult r = read(trace_text("null, {}, " + kernel_text("k", "1", "1") +
                                       R"(, null,
      {"ph": "X"}, {"ph": "X", "name": null, "ts": null, "args": null}, {"ph": "X", "name": "nccl:x", "cat": "cpu_op", "pid": 0, "tid": 7},
      {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}}, {"ph": "s", "id": 1, "ts": 4, "cat": "ac2g"})"));
  EXPECT_THAT(r.names(), ElementsAre("k"));
  EXPECT_EQ(r.trace.events_count, 1);
  EXPECT_EQ(r.problems.count(Severity::data_loss), 0);
}

TEST_P(KinetoReaderTest, EventsOfTheGpuWithoutTimeOrDurationAreNamed) {
  std::string events = kernel_text("k", "1", "1");
  for (const char* const time : {"null", "nan", "[1]", "true"}) events += ",\n  " + kernel_text("lost", time, "1");
  events += R"(, {"ph": "X", "name": "n", "cat": "kernel", "pid": 0, "tid": 7, "dur": 3})";
  for (const char* const duration : {"inf", "NaN", "null", "\"long\"", "[1]", "true"})
    events += ",\n  " + kernel_text("point", "9", duration);
  events += R"(, {"ph": "X", "name": "point", "cat": "gpu_memcpy", "pid": 0, "tid": 7, "ts": 9})";
  events += R"(, {"ph": "B", "name": "lost", "cat": "kernel", "pid": 0, "tid": 7, "ts": 9},
               {"ph": "E", "pid": 0, "tid": 7, "ts": null})";
  // What runs on the CPU may be an instant.
  events += R"(, {"ph": "X", "name": "nccl:x", "cat": "user_annotation", "pid": 1, "tid": 7, "ts": 9})";
  const ReadResult r = read(trace_text(events));
  EXPECT_EQ(r.names(), (std::vector<std::string>{"k"}));
  EXPECT_EQ(r.count(Code::time_out_of_range), 6);
  EXPECT_EQ(r.count(Code::duration_missing), 7);
  EXPECT_EQ(r.count(Code::negative_duration), 0);
  EXPECT_EQ(r.trace.lost_events_count, 13);
}

TEST_P(KinetoReaderTest, HugeIntegersAreNoObstacle) {
  const ReadResult r = read(trace_text(kernel_text("k", "1", "1", 7, 6,
      R"(, "Comms Id": 18446744073709551615, "addr": 340282366920938463463374607431768211455, "neg": -9223372036854775809)")));
  EXPECT_EQ(r.trace.events.correlation[0], 6);
}

TEST_P(KinetoReaderTest, StepsComeFromTheCpuMarkerOnly) {
  const ReadResult r = read(trace_text(
      R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#9", "pid": 1, "tid": 2, "ts": 100, "dur": 50},
         {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#9", "pid": 0, "tid": 7, "ts": 110, "dur": 60},
         {"ph": "X", "cat": "cpu_op", "name": "ProfilerStep#10", "pid": 1, "tid": 2, "ts": 150, "dur": 50},)" +
      launch_text("cudaLaunchKernel", "160", 5) + "," + kernel_text("k", "170", "1", 7, 5)));
  ASSERT_EQ(r.trace.steps.size(), 2U);
  EXPECT_EQ(r.trace.steps[0].start_ns, 100000);
  EXPECT_EQ(r.trace.steps[0].end_ns, 150000);
  EXPECT_EQ(r.trace.events.step[0], 1);
}

TEST_P(KinetoReaderTest, LaunchesAreJoinedBeforeAndBehindTheirKernel) {
  const ReadResult r = read(trace_text(launch_text("cudaLaunchKernel", "1", 5, "21") + "," + kernel_text("a", "10", "1", 7, 5) +
                                       "," + kernel_text("b", "20", "1", 7, 6) + "," + launch_text("cuLaunchKernelEx", "2", 6, "22") +
                                       "," + kernel_text("c", "30", "1", 7, 0) + "," + launch_text("cudaEventQuery", "3", 7)));
  EXPECT_EQ(r.trace.events.launch_ns[0], 1000);
  EXPECT_EQ(r.launch_thread(0), "10/21");
  EXPECT_EQ(r.trace.events.launch_ns[1], 2000);
  EXPECT_EQ(r.launch_thread(1), "10/22");
  EXPECT_EQ(r.trace.events.launch_ns[2], absent_ns);
  EXPECT_EQ(r.trace.launches_count, 2);
}

TEST_P(KinetoReaderTest, OneGraphLaunchServesManyKernels) {
  const ReadResult r = read(trace_text(launch_text("cudaGraphLaunch", "1", 5) + "," + kernel_text("a", "10", "1", 7, 5) + "," +
                                       kernel_text("b", "20", "1", 7, 5)));
  EXPECT_EQ(r.trace.events.launch_ns[0], 1000);
  EXPECT_EQ(r.trace.events.launch_ns[1], 1000);
}

TEST_P(KinetoReaderTest, WithoutCorrelationExternalIdsJoin) {
  const ReadResult r = read(trace_text(
      R"({"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 2, "ts": 3, "dur": 1, "args": {"External id": 77}},
         {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 9, "dur": 1, "args": {"External id": 77, "device": 0, "stream": 7}})"));
  EXPECT_EQ(r.trace.events.launch_ns[0], 3000);
}

TEST_P(KinetoReaderTest, SlicesAndShapesOnlyWhenWanted) {
  const std::string text = trace_text(
      R"({"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#AdamW.step", "pid": 1, "tid": 2, "ts": 1, "dur": 9, "args": {}},
         {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 2, "ts": 3, "dur": 1, "args": {"correlation": 8}},)" +
      kernel_text("k", "5", "1", 7, 1, R"(, "blocks per SM": 1.5, "warps per SM": 12, "est. achieved occupancy %": 24)"));
  EXPECT_EQ(read(text).trace.slices.size(), 0U);
  EXPECT_EQ(read(text).trace.kernel_shapes.size(), 0U);
  Wants wants;
  wants.annotations = wants.runtime_calls = wants.kernel_shapes = true;
  const ReadResult r = read(text, wants);
  ASSERT_EQ(r.trace.slices.size(), 2U);
  EXPECT_EQ(r.trace.strings.text(r.trace.slices[0].name), "Optimizer.step#AdamW.step");
  EXPECT_EQ(r.trace.slices[0].end_ns, 10000);
  EXPECT_EQ(r.trace.slices[1].kind, SliceKind::runtime);
  ASSERT_EQ(r.trace.kernel_shapes.size(), 1U);
  EXPECT_FLOAT_EQ(r.trace.kernel_shapes[0].blocks_per_sm, 1.5F);
  EXPECT_FLOAT_EQ(r.trace.kernel_shapes[0].occupancy_percent, 24);
}

TEST_P(KinetoReaderTest, WithoutGpuEventsTheRankIsStillHandedOn) {
  for (const char* const events : {"", R"({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}})"}) {
    const ReadResult r = read(trace_text(events, R"("distributedInfo": {"rank": 0},)"));
    EXPECT_TRUE(r.called);
    EXPECT_EQ(r.trace.rank, RankId(0));
    EXPECT_EQ(r.count(Code::no_gpu_events), 1);
  }
}

TEST_P(KinetoReaderTest, WhatIsNoTraceIsNamed) {
  for (const char* const text : {R"({"hello": 1})", R"({"schema": "1.0", "nodes": [{"id": 1, "name": "x"}]})", "[1, 2]", "[]", "hello", "  \n"}) {
    const ReadResult r = read(text);
    EXPECT_FALSE(r.called) << text;
    EXPECT_EQ(r.count(Code::json_invalid), 1) << text;
  }
  const ReadResult empty = read("");
  EXPECT_FALSE(empty.called);
  EXPECT_EQ(empty.count(Code::empty_file), 1);
  EXPECT_EQ(read_path("/nonexistent/trace.json").count(Code::unreadable_file), 1);
}

TEST_P(KinetoReaderTest, SeveralDocumentsAreOneTrace) {
  const ReadResult r = read(trace_text(kernel_text("a", "1", "1"), R"("distributedInfo": {"rank": 2},)") +
                            trace_text(kernel_text("b", "3", "1")));
  EXPECT_THAT(r.names(), ElementsAre("a", "b"));
  EXPECT_EQ(r.trace.rank, RankId(2));
}

}  // namespace
}  // namespace ccl::test
