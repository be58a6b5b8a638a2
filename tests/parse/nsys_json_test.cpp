// Nsight Systems exports as JSON, in literal lines: both forms, and what the reader makes of ranges, NCCL's calls and
// counters, which is the same for SQLite.
#include <gtest/gtest.h>

#include <functional>

#include "parse/config_files.hpp"
#include "parse/trace_reader.hpp"
#include "support/scratch_folder.hpp"

namespace ccl {
namespace {

// Process 7 on host part 1<<48; threads 7 and 8.
constexpr std::int64_t process = (std::int64_t{1} << 48) | (std::int64_t{7} << 24), main_thread = process | 7,
                       other_thread = process | 8;

struct Export {
  std::string text;
  Problems problems;
  int processes = 1;

  Export& line(const std::string& json) {
    text += json + "\n";
    return *this;
  }
  Export& string(int id, const std::string& value) {
    return line(R"({"id":)" + std::to_string(id) + R"(,"table":"StringIds","value":")" + value + "\"}");
  }
  Export& range(std::int64_t thread, const std::string& name, std::int64_t start, std::int64_t end,
                const std::string& payload = "") {
    const std::string json = payload.empty() ? "" : R"("jsonText":")" + payload + "\",";
    return line(R"({"end":)" + std::to_string(end) + R"(,"eventType":59,"globalTid":)" + std::to_string(thread) + "," +
                json + R"("start":)" + std::to_string(start) + R"(,"table":"NVTX_EVENTS","text":")" + name + "\"}");
  }
  /// A kernel on a stream and the call that launched it.
  Export& kernel(int name, int correlation, std::int64_t launch, std::int64_t start, std::int64_t end, int stream = 7,
                 std::int64_t thread = main_thread, std::int64_t pid = process) {
    const std::string id = std::to_string(correlation);
    line(R"({"correlationId":)" + id + R"(,"deviceId":1,"end":)" + std::to_string(end) + R"(,"globalPid":)" +
         std::to_string(pid) + R"(,"shortName":)" + std::to_string(name) + R"(,"start":)" + std::to_string(start) +
         R"(,"streamId":)" + std::to_string(stream) + R"(,"table":"CUPTI_ACTIVITY_KIND_KERNEL"})");
    return line(R"({"correlationId":)" + id + R"(,"end":)" + std::to_string(launch + 2) +
                R"(,"eventClass":0,"globalTid":)" + std::to_string(thread) + R"(,"start":)" + std::to_string(launch) +
                R"(,"table":"CUPTI_ACTIVITY_KIND_RUNTIME"})");
  }
  void read(const std::function<void(RankTrace&)>& look) {
    const test::ScratchFolder folder;
    TraceFile file;
    file.path = folder.write("trace.jsonl", text);
    file.shown = "trace.jsonl";
    file.format = TraceFormat::nsys_jsonlines;
    const Classifier classifier(embedded_config("kernels"));
    ReadOptions options;
    options.classifier = &classifier;
    options.wants.annotations = options.wants.counters = options.wants.kernel_shapes = true;
    options.wants.memory_usage = options.wants.runtime_calls = true;
    options.window_bytes = 64;  // lines lie across many windows
    Progress progress;
    int seen = 0;
    make_nsys_json_reader()->read(file, options, problems, progress, [&](RankTrace& trace) {
      ++seen;
      look(trace);
    });
    EXPECT_EQ(seen, processes);
  }
};

std::vector<std::string> slices_on(const RankTrace& trace, const std::string& thread) {
  std::vector<std::string> names;
  for (const CpuSlice& slice : trace.slices)
    if (trace.threads[slice.thread] == thread) names.emplace_back(trace.strings.text(slice.name));
  return names;
}

TEST(NsysJson, NamesMayComeAfterTheirUsersAndIdentifiersUseAllBits) {
  Export e;
  e.kernel(5, 41, 100, 150, 250).range(main_thread, "rank=3; pp=0/2 mbs=1", 0, 1000).string(5, "gemm_\\u00e9");
  e.read([](RankTrace& trace) {
    ASSERT_EQ(trace.events.size(), 1U);
    EXPECT_EQ(trace.strings.text(trace.events.name[0]), "gemm_\xC3\xA9");
    EXPECT_EQ(trace.events.launch_ns[0], 100);
    EXPECT_EQ(trace.lanes[0], (Lane{1, 7}));
    EXPECT_EQ(trace.rank, RankId(3));
    EXPECT_EQ(trace.rank_source, RankSource::label);
    EXPECT_EQ(trace.threads[0], "7/7");
  });
}

TEST(NsysJson, AKernelThatNamesNoProcessCostsItselfAlone) {
  const auto nameless = [](const std::string& process_column) {
    return R"({"correlationId":90,"deviceId":1,"end":90,)" + process_column +
           R"("shortName":5,"start":80,"streamId":7,"table":"CUPTI_ACTIVITY_KIND_KERNEL"})";
  };
  const std::string none, zero = R"("globalPid":0,)", minus = R"("globalPid":-1,)";
  for (const std::string& column : {none, zero, minus})
    for (const bool first : {true, false}) {
      Export e;
      if (first) e.line(nameless(column));
      e.string(5, "gemm").kernel(5, 41, 100, 150, 250);
      if (!first) e.line(nameless(column));
      e.kernel(5, 42, 200, 260, 300);
      e.read([](RankTrace& trace) {
        ASSERT_EQ(trace.events.size(), 2U);
        EXPECT_EQ(trace.events.launch_ns[0], 100);
        EXPECT_EQ(trace.events.launch_ns[1], 200);
        EXPECT_EQ(trace.lost_events_count, 1);
      });
      EXPECT_EQ(e.problems.count(Code::event_damaged), 1);
      EXPECT_EQ(e.problems.count(Code::rank_guessed), 0);
    }
}

/// Two processes with a kernel in each of the steps 4 to 6 of 1000 ns; between those of steps 5 and 6 the lost line.
Export with_lost_line(const std::string& line) {
  Export e;
  e.processes = 2;
  e.string(5, "gemm");
  constexpr std::int64_t second = process + (std::int64_t{1} << 24);
  for (const std::int64_t shift : {process, second})
    for (int step = 0; step < 3; ++step)
      e.range(main_thread - process + shift, "step " + std::to_string(step + 4), 1000 * step, 1000 * step + 900);
  for (int step = 0; step < 3; ++step) {
    if (step == 2) e.line(line);
    for (const std::int64_t shift : {process, second})
      e.kernel(5, 41 + step, 1000 * step + 100, 1000 * step + 150, 1000 * step + 250, 7, main_thread - process + shift, shift);
  }
  // The launch of the line, if it tells its correlation.
  return e.line(R"({"correlationId":90,"end":1302,"eventClass":0,"globalTid":)" + std::to_string(main_thread) +
                R"(,"start":1300,"table":"CUPTI_ACTIVITY_KIND_RUNTIME"})");
}

std::vector<std::int64_t> lost_steps(const RankTrace& trace) {
  std::vector<std::int64_t> lost;
  for (const Step& step : trace.steps)
    if (step.lost_events) lost.push_back(step.number);
  return lost;
}

TEST(NsysJson, ARowLeftOutCostsItsProcessTheStepItWasLaunchedIn) {
  using Steps = std::vector<std::int64_t>;
  const auto lost = [](const std::string& columns, const std::string& table = "CUPTI_ACTIVITY_KIND_KERNEL") {
    std::vector<std::pair<std::int64_t, Steps>> found;
    Export e = with_lost_line("{" + columns + R"("deviceId":1,"shortName":5,"streamId":7,"table":")" + table + "\"}");
    e.read([&](const RankTrace& trace) { found.emplace_back(trace.lost_events_count, lost_steps(trace)); });
    EXPECT_EQ(e.problems.count(Code::event_damaged), 1);
    return found;
  };
  using Found = std::vector<std::pair<std::int64_t, Steps>>;
  const std::string late = R"("start":1350,"end":8000000000000001350,)", own = R"("globalPid":)" + std::to_string(process) + ",";
  EXPECT_EQ(lost(late + own + R"("correlationId":90,)"), (Found{{1, {5}}, {0, {}}}));
  EXPECT_EQ(lost(late + own), (Found{{1, {5, 6}}, {0, {}}})) << "somewhere between the launches of its neighbours";
  EXPECT_EQ(lost(late + R"("correlationId":90,)"), (Found{{1, {5, 6}}, {1, {5, 6}}})) << "any of them may have had it";
  EXPECT_EQ(lost(own, "CUDA_GPU_MEMORY_USAGE_EVENTS"), (Found{{1, {}}, {0, {}}})) << "no step is made of it";
}

TEST(NsysJson, ALineThatIsNoJsonMayHaveBeenAKernel) {
  std::vector<std::vector<std::int64_t>> lost;
  with_lost_line(R"({"table":"CUPTI_ACTIVITY_KIND_KERNEL","start":1350,"end)").read([&](const RankTrace& trace) {
    lost.push_back(lost_steps(trace));
  });
  EXPECT_EQ(lost, (std::vector<std::vector<std::int64_t>>{{5, 6}, {5, 6}}));
  lost.clear();
  with_lost_line(R"({"table":"StringIds","va)").read([&](const RankTrace& trace) { lost.push_back(lost_steps(trace)); });
  EXPECT_EQ(lost, (std::vector<std::vector<std::int64_t>>{{}, {}}));
}

TEST(NsysJson, ANegativeDurationAndOneOfMoreThanADayAreLost) {
  Export e;
  e.string(5, "gemm").kernel(5, 41, 100, 150, 145).kernel(5, 42, 200, 250, 255).kernel(5, 43, 300, 350, 86'400'000'000'351);
  e.read([](const RankTrace& trace) {
    ASSERT_EQ(trace.events.size(), 1U);
    EXPECT_EQ(trace.events.dur_ns[0], 5);
    EXPECT_EQ(trace.lost_events_count, 2);
    EXPECT_EQ(trace.loss, FileLoss::pieces);
  });
  EXPECT_EQ(e.problems.count(Code::duration_missing), 1);
  EXPECT_EQ(e.problems.count(Code::time_out_of_range), 1);
}

TEST(NsysJson, WhereNoKernelNamesAProcessAllAreOfOne) {
  Export e;
  e.string(5, "gemm");
  for (int i = 0; i < 70; ++i)
    e.line(R"({"correlationId":1,"deviceId":1,"end":)" + std::to_string(10 * i + 5) + R"(,"shortName":5,"start":)" +
           std::to_string(10 * i) + R"(,"streamId":7,"table":"CUPTI_ACTIVITY_KIND_KERNEL"})");
  e.read([](RankTrace& trace) { EXPECT_EQ(trace.events.size(), 70U); });
  EXPECT_EQ(e.problems.count(Code::event_damaged), 0);
}

TEST(NsysJson, DeviceMemoryIsWhatHasBeenTakenSoFar) {
  Export e;
  e.string(5, "gemm").kernel(5, 41, 100, 150, 250);
  // Device memory is kind 2, static 5; kind 1 is pinned memory of the host. Operation 0 takes, 1 gives back.
  std::string owner = std::to_string(process);
  const auto event = [&](std::int64_t start, int device, std::int64_t bytes, int kind, int operation) {
    e.line(R"({"bytes":)" + std::to_string(bytes) + R"(,"deviceId":)" + std::to_string(device) + R"(,"globalPid":)" +
           owner + R"(,"memKind":)" + std::to_string(kind) + R"(,"memoryOperationType":)" +
           std::to_string(operation) + R"(,"start":)" + std::to_string(start) +
           R"(,"table":"CUDA_GPU_MEMORY_USAGE_EVENTS"})");
  };
  event(30, 1, 50, 2, 1), event(10, 1, 100, 2, 0), event(20, 1, 7, 5, 0), event(25, 1, 900, 1, 0);
  event(40, 0, 30, 2, 1), event(50, 1, -4, 2, 0), event(60, 0, 20, 2, 0);
  owner = "-1";
  event(70, 1, 40, 2, 0);
  e.read([](RankTrace& trace) {
    std::vector<std::tuple<std::int64_t, std::int32_t, std::int64_t>> found;
    for (const MemoryUsage& usage : trace.memory_usage) {
      EXPECT_EQ(usage.allocated_bytes, -1) << "what of it is in use is not told";
      found.emplace_back(usage.time_ns, usage.device, usage.reserved_bytes);
    }
    EXPECT_EQ(found, (decltype(found){{10, 1, 100}, {20, 1, 107}, {30, 1, 57}, {40, 0, 0}, {60, 0, 20}}))
        << "in order of time, each device apart; what was taken before the capture can be given back in it";
  });
  EXPECT_EQ(e.problems.count(Code::event_damaged), 2) << "a negative size, and memory of no process";
}

TEST(NsysJson, NodesOfEmitNvtxHaveTheNamesOfPyTorchsProfiler) {
  Export e;
  e.string(5, "gemm").kernel(5, 41, 100, 150, 250);
  e.range(main_thread, "aten::mm, seq = 7, op_id = 3", 90, 120).range(main_thread, "MmBackward0, seq = 7, op_id = 9", 200, 300);
  e.range(main_thread, "FlashAttnFuncBackward, seq = 8", 310, 320).range(main_thread, "a Backward step", 330, 340);
  e.read([](RankTrace& trace) {
    EXPECT_EQ(slices_on(trace, "7/7"),
              (std::vector<std::string>{"aten::mm", "autograd::engine::evaluate_function: MmBackward0",
                                        "autograd::engine::evaluate_function: FlashAttnFuncBackward", "a Backward step"}));
    EXPECT_TRUE(trace.slices[1].numbered);
  });
}

TEST(NsysJson, EqualOperationsShareANameAndStayNumbered) {
  Export e;
  e.string(5, "gemm").kernel(5, 41, 100, 150, 250);
  e.range(main_thread, "aten::mm, seq = 7, op_id = 3", 90, 120).range(main_thread, "aten::mm, seq = 9, op_id = 4", 130, 140);
  e.range(main_thread, "aten::mm, op_id = 5", 150, 160).range(main_thread, "step 3, op_id = 6", 170, 180);
  e.range(main_thread, "step 4", 190, 200);
  e.read([](RankTrace& trace) {
    EXPECT_EQ(slices_on(trace, "7/7"), (std::vector<std::string>{"aten::mm", "aten::mm", "aten::mm", "step 3", "step 4"}));
    std::vector<bool> numbered;
    for (const CpuSlice& slice : trace.slices) numbered.push_back(slice.numbered);
    EXPECT_EQ(numbered, (std::vector<bool>{true, true, false, false, false}));
    ASSERT_EQ(trace.steps.size(), 1) << "an operation is no step, whatever its name";
    EXPECT_EQ(trace.steps[0].number, 4);
  });
}

TEST(NsysJson, CallsThatWaitForTheGpuAreKept) {
  Export e;
  e.kernel(5, 41, 100, 150, 250);
  for (const auto& [name, start, end] : {std::tuple(6, 300, 350), std::tuple(7, 360, 370), std::tuple(6, 390, 380)})
    e.line(R"({"correlationId":)" + std::to_string(start) + R"(,"end":)" + std::to_string(end) +
           R"(,"eventClass":0,"globalTid":)" + std::to_string(main_thread) + R"(,"nameId":)" + std::to_string(name) +
           R"(,"start":)" + std::to_string(start) + R"(,"table":"CUPTI_ACTIVITY_KIND_RUNTIME"})");
  e.string(5, "gemm").string(6, "cudaStreamSynchronize_v3020").string(7, "cudaMalloc_v3020");
  e.read([](RankTrace& trace) {
    ASSERT_EQ(slices_on(trace, "7/7"), std::vector<std::string>{"cudaStreamSynchronize"});
    EXPECT_EQ(trace.slices[0].kind, SliceKind::runtime);
    EXPECT_EQ(trace.slices[0].end_ns - trace.slices[0].start_ns, 50);
  });
}

TEST(NsysJson, TheRankOfAnMpiProcessIsTold) {
  Export by_table;
  by_table.string(5, "gemm").kernel(5, 41, 100, 150, 250);
  by_table.line(R"({"globalTid":)" + std::to_string(main_thread) + R"(,"rank":6,"table":"MPI_RANKS"})");
  by_table.read([](RankTrace& trace) {
    EXPECT_EQ(trace.rank, RankId(6));
    EXPECT_EQ(trace.rank_source, RankSource::thread_name);
  });
  Export by_range;  // NVTX event 39 names a thread
  by_range.string(5, "gemm").kernel(5, 41, 100, 150, 250);
  by_range.line(R"({"eventType":39,"globalTid":)" + std::to_string(main_thread) +
                R"(,"start":1,"table":"NVTX_EVENTS","text":"MPI Rank 4"})");
  by_range.read([](RankTrace& trace) { EXPECT_EQ(trace.rank, RankId(4)); });
}

TEST(NsysJson, TheEnvironmentOfTheCommandTellsARankWhereNothingElseDoes) {
  Export e;
  e.string(5, "gemm").kernel(5, 41, 100, 150, 250);
  e.line(R"({"name":"DeviceEnvironment","table":"TARGET_INFO_SYSTEM_ENV","value":"HOME=/root;SLURM_PROCID=5;X=RANK=2"})");
  e.read([](RankTrace& trace) {
    EXPECT_EQ(trace.rank, RankId(5));
    EXPECT_EQ(trace.rank_source, RankSource::environment);
  });
}

TEST(NsysJson, TheOldFormHasNumbersAsTextAndOneListOfStrings) {
  Export e;
  const std::string id = std::to_string(process), thread = std::to_string(main_thread);
  e.line(R"({"Type":79,"CudaEvent":{"startNs":"150","endNs":"250","correlationId":41,"deviceId":1,"streamId":"7",)"
         R"("eventClass":3,"globalPid":")" + id + R"(","kernel":{"shortName":"2","gridX":4}}})");
  e.line(R"({"Type":80,"CudaEvent":{"startNs":"300","endNs":"310","correlationId":42,"deviceId":1,"streamId":"7",)"
         R"("eventClass":1,"globalPid":")" + id + R"(","memcpy":{"sizebytes":"64","copyKind":1}}})");
  e.line(R"({"Type":80,"CudaEvent":{"startNs":"320","endNs":"330","correlationId":43,"deviceId":1,"streamId":"7",)"
         R"("eventClass":1,"globalPid":")" + id + R"(","memcpy":{"sizebytes":"9000000000000000000","copyKind":1}}})");
  e.line(R"({"Type":48,"TraceProcessEvent":{"startNs":"100","endNs":"102","correlationId":41,"eventClass":0,)"
         R"("name":"1","globalTid":")" + thread + R"("}})");
  e.line(R"({"Type":59,"NvtxEvent":{"Type":59,"Timestamp":"90","Text":"forward","GlobalTid":")" + thread +
         R"(","EndTimestamp":"200"}})");
  e.line(R"({"data":["","cudaLaunchKernel_v7000","gemm"]})");
  e.read([](RankTrace& trace) {
    ASSERT_EQ(trace.events.size(), 3U);
    EXPECT_EQ(trace.strings.text(trace.events.name[0]), "gemm");
    EXPECT_EQ(trace.events.launch_ns[0], 100);
    EXPECT_EQ(trace.strings.text(trace.events.name[1]), "Memcpy HtoD");
    ASSERT_EQ(trace.memory_operations.size(), 1U) << "more bytes than any GPU has are unknown";
    EXPECT_EQ(trace.memory_operations[0].bytes, 64);
    EXPECT_EQ(slices_on(trace, "7/7"), std::vector<std::string>{"forward"});
  });
}

TEST(NsysJson, ABackwardRangeStandsOnTheThreadThatLaunchesMeanwhile) {
  Export e;
  e.string(1, "gemm").range(main_thread, "backward_step", 100, 300).kernel(1, 1, 200, 210, 220, 7, other_thread);
  e.kernel(1, 2, 400, 410, 420, 7, other_thread);
  e.read([](RankTrace& trace) {
    EXPECT_EQ(slices_on(trace, "7/8"), std::vector<std::string>{"backward_step"});
    EXPECT_EQ(slices_on(trace, "7/7"), std::vector<std::string>{"backward_step"});
  });
}

TEST(NsysJson, GroupsOfSendsAndReceivesAreAllToAllsIfOneGoesToItself) {
  const auto call = [](int peer, int bytes) {
    return R"({\"NCCL communicator ID\": 18319673707052330093, \"Message size [bytes]\": )" + std::to_string(bytes) +
           R"(, \"Peer rank\": )" + std::to_string(peer) + "}";
  };
  Export e;
  e.string(1, "ncclDevKernel_SendRecv");
  e.range(main_thread, "ncclCommInitRank", 0, 5,
          R"({\"NCCL communicator ID\": 18319673707052330093, \"No. of ranks\": 2, \"Rank\": 1})");
  const auto group = [&](std::int64_t t, bool to_itself) {
    e.range(main_thread, "ncclGroupStart", t, t + 1);
    for (int peer = to_itself ? 0 : 1; peer < 2; ++peer) {
      const int to = to_itself ? peer : 0;
      e.range(main_thread, "ncclSend", t + 2, t + 3, call(to, 10 + peer));
      e.range(main_thread, "ncclRecv", t + 4, t + 5, call(to, 20 + peer));
    }
    e.range(main_thread, "ncclGroupEnd", t + 10, t + 20);
  };
  group(100, true);
  group(200, false);
  e.kernel(1, 1, 112, 150, 160).kernel(1, 2, 212, 250, 260);
  e.read([](RankTrace& trace) {
    ASSERT_EQ(trace.collectives.size(), 2U);
    const Collective &all = trace.collectives[0], &pair = trace.collectives[1];
    EXPECT_EQ(all.op, CollectiveOp::all_to_allv);
    EXPECT_EQ(all.in_bytes(), 10 + 11);
    EXPECT_EQ(all.splits_count, 2U);
    EXPECT_EQ(trace.splits[all.first_out_split + 1], 21);
    EXPECT_EQ(pair.op, CollectiveOp::send_recv);
    EXPECT_EQ(pair.in_bytes(), 11);
    EXPECT_EQ(trace.groups[all.group].name, "comm 0xfe3c8e2cbdeaec6d");
    EXPECT_EQ(trace.groups[all.group].size, 2);
    EXPECT_EQ(trace.groups[all.group].place, 1);
    EXPECT_EQ(trace.rank_source, RankSource::communicator);
  });
}

TEST(NsysJson, CountersGoToTheProcessThatHasTheirGpu) {
  Export e;
  e.string(1, "gemm").kernel(1, 1, 10, 20, 30);
  e.line(R"({"metricId":4,"table":"GPU_METRICS","timestamp":25,"typeId":4311744515,"value":61})");
  e.line(R"({"metricId":4,"table":"GPU_METRICS","timestamp":25,"typeId":4311744512,"value":99})");
  e.line(R"({"metricId":9,"table":"GPU_METRICS","timestamp":25,"typeId":4311744515,"value":1410})");
  for (const char* type : {"4311744515", "4311744512"})
    e.line(std::string(R"({"metricId":4,"metricName":"DRAM Read Bandwidth [Throughput %]","table":)") +
           R"("TARGET_INFO_GPU_METRICS","typeId":)" + type + "}");
  e.line(R"({"metricId":12,"table":"GPU_METRICS","timestamp":35,"typeId":4311744515,"value":44})");
  e.line(R"({"metricId":13,"table":"GPU_METRICS","timestamp":35,"typeId":4311744515,"value":7})");
  e.line(R"({"metricId":12,"metricName":"NVLink RX Responses User Data [Throughput %]","table":"TARGET_INFO_GPU_METRICS","typeId":4311744515})");
  e.line(R"({"metricId":13,"metricName":"PCIe TX Throughput [Throughput %]","table":"TARGET_INFO_GPU_METRICS","typeId":4311744515})");
  e.line(R"({"metricId":9,"metricName":"SYS Clock Frequency [MHz]","table":"TARGET_INFO_GPU_METRICS","typeId":4311744515})");
  // GPU 3 of the machine is device 1 of the process.
  e.line(R"({"cudaId":1,"gpuId":3,"pid":7,"table":"TARGET_INFO_CUDA_DEVICE"})");
  e.read([](RankTrace& trace) {
    ASSERT_EQ(trace.counters.size(), 3U);
    EXPECT_EQ(trace.strings.text(trace.counters[1].name), "NVLink RX Responses User Data");
    EXPECT_EQ(trace.counters[1].percent, 44);
    EXPECT_EQ(trace.strings.text(trace.counters[2].name), "PCIe TX Throughput");
    EXPECT_EQ(trace.counters[0].time_ns, 25);
    EXPECT_EQ(trace.counters[0].device, 1);
    EXPECT_EQ(trace.counters[0].percent, 61);
    EXPECT_EQ(trace.strings.text(trace.counters[0].name), "DRAM Read Bandwidth");
  });
}

TEST(NsysJson, DamagedLinesAreCountedAndTheRestIsUsed) {
  Export e;
  e.string(1, "gemm").line("no json").line(R"({"table":"NVTX_EVENTS","start":)").line("").kernel(1, 1, 10, 20, 30);
  e.text += R"({"table":"CUPTI_ACTIVITY_KIND_KERNEL","start":1)";
  e.read([](RankTrace& trace) { EXPECT_EQ(trace.events.size(), 1U); });
  EXPECT_EQ(e.problems.count(Code::event_damaged), 2);
  EXPECT_EQ(e.problems.count(Code::file_cut), 1);
}

}  // namespace
}  // namespace ccl
