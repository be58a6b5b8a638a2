#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <deque>
#include <map>
#include <random>

#include "support/kineto_text.hpp"

namespace ccl::test {
namespace {

/// Parts that were read before the first one: their parcels wait.
class Parcels final : public PartExchange {
 public:
  int number = 0;  // of the part that gives
  int given_count = 0;
  void give(Bytes parcel) override { waiting_[number].push_back(std::move(parcel)), ++given_count; }
  Bytes take(int from) override {
    EXPECT_FALSE(waiting_[from].empty());
    Bytes parcel = std::move(waiting_[from].front());
    waiting_[from].pop_front();
    return parcel;
  }
  bool all_taken() const {
    for (const auto& [part, parcels] : waiting_)
      if (!parcels.empty()) return false;
    return true;
  }

 private:
  std::map<int, std::deque<Bytes>> waiting_;
};

Wants all_wants() {
  return {.annotations = true, .cpu_ops = true, .python = true, .runtime_calls = true, .kernel_shapes = true,
          .memory_sizes = true, .counters = true, .memory_usage = true};
}

/// Everything of a trace that a reader fills, as text: equal for equal traces.
std::string shown(const RankTrace& t) {
  std::string out;
  const auto add = [&](const auto&... values) { ((out += std::to_string(values) + ' '), ...), out += '\n'; };
  for (std::size_t i = 0; i < t.events.size(); ++i) {
    add(t.events.start_ns[i], t.events.dur_ns[i], t.events.lane[i], static_cast<int>(t.events.kind[i]),
        t.events.step[i], t.events.correlation[i], t.events.launch_ns[i]);
    if (t.events.launch_ns[i] != absent_ns) out += t.threads[t.events.launch_thread[i]];
    out += t.strings.text(t.events.name[i]);
  }
  for (const Lane& lane : t.lanes) add(lane.device, lane.stream);
  for (const MemoryOperation& m : t.memory_operations) add(m.event, m.bytes);
  for (const KernelShape& k : t.kernel_shapes) add(k.event, k.blocks_per_sm, k.warps_per_sm, k.occupancy_percent);
  for (const MemoryUsage& u : t.memory_usage) add(u.time_ns, u.allocated_bytes, u.reserved_bytes, u.device);
  for (const Collective& c : t.collectives) {
    add(c.event, c.group, static_cast<int>(c.op), static_cast<int>(c.dtype), c.has_arguments, c.coalesced, c.group_size,
        c.peer, c.sequence, c.in_elements, c.out_elements, c.splits_cut);
    for (std::uint32_t s = 0; s < c.splits_count; ++s) add(t.splits[c.first_split + s]);
    for (std::uint32_t s = 0; s < c.out_splits_count; ++s) add(t.splits[c.first_out_split + s]);
  }
  for (const ProcessGroup& g : t.groups) {
    out += g.name + '|' + g.description + '|';
    add(g.size);
    for (const std::int32_t member : g.members) add(member);
  }
  for (const Step& step : t.steps) add(step.number, step.start_ns, step.end_ns);
  for (const CpuSlice& s : t.slices) {
    add(s.start_ns, s.end_ns, static_cast<int>(s.kind), s.numbered ? 1 : 0);
    out += t.threads[s.thread];
    out += t.strings.text(s.name);
  }
  add(t.rank.value, t.world_size, t.gpus_in_node, t.gpu_memory_bytes, t.events_count, t.outside_events_count,
      t.lost_events_count, t.launches_count, static_cast<std::int64_t>(t.fingerprint));
  return out + t.host + t.gpu + t.framework_version;
}

std::string shown(const Problems& problems) {
  std::string out;
  for (const Problem& p : problems.rows())
    out += std::string(info(p.code).name) + ' ' + std::to_string(p.offset) + ' ' + std::to_string(p.count) + ' ' + p.detail + '\n';
  return out;
}

std::string read_whole(const std::string& text) {
  const ReadResult whole = read_text(text, {.window_bytes = 4096, .wants = all_wants()});
  return (whole.called ? shown(whole.trace) : "") + shown(whole.problems);
}

struct InParts {
  std::string trace;
  int parcels_count = 0;
  bool all_taken = false;
};

/// The parts up from first_lent are read by the reader of the first and its threads, one for each part or fewer.
InParts read_in_parts(const std::string& text, int count, std::int64_t range_bytes = KinetoReader::default_range_bytes,
                      int first_lent = INT_MAX, std::size_t most_threads = SIZE_MAX) {
  const ScratchFile scratch(text);
  TraceFile file;
  file.path = scratch.path();
  file.shown = "trace.json";
  file.format = TraceFormat::kineto;
  file.bytes = static_cast<std::int64_t>(text.size());
  Parcels parcels;
  ReadOptions options;
  options.wants = all_wants();
  options.window_bytes = 4096;
  options.classifier = &classifier();
  options.parts = &parcels;
  Progress progress;
  InParts out;
  for (int part = first_lent; part < count; ++part) {
    options.lent.parts.push_back(part);
    if (options.lent.processors.size() < most_threads) options.lent.processors.push_back(own_processors());
  }
  for (int part = std::min(count, first_lent) - 1; part >= 0; --part) {
    Problems problems;
    KinetoReader reader(KinetoReader::default_limit_bytes, InflateBackend::best, best_split_level(), range_bytes);
    options.part = {part, count};
    parcels.number = part;
    reader.read(file, options, problems, progress, [&](const RankTrace& trace) {
      EXPECT_EQ(part, 0);
      out.trace = shown(trace);
    });
    EXPECT_TRUE(part == 0 || problems.rows().empty());
    out.trace += shown(problems);
  }
  out.parcels_count = parcels.given_count;
  out.all_taken = parcels.all_taken();
  return out;
}

std::string event(const std::string& members) { return "{\n    " + members + "\n  }"; }

std::string joined(const std::vector<std::string>& events) {
  std::string out;
  for (const std::string& one : events) out += (out.empty() ? "" : ",\n  ") + one;
  return out;
}

/// Launches far from their kernels, collectives of several groups, steps, operators of autograd nodes, two threads.
std::vector<std::string> some_events(int count) {
  std::vector<std::string> all;
  std::mt19937 random(5);
  for (int i = 0; i < count; ++i) {
    const std::string ts = std::to_string(1000 + 10 * i), id = std::to_string(i + 1);
    const std::string thread = std::to_string(11 + i % 2);
    if (i % 40 == 0)
      all.push_back(event(R"("ph": "X", "cat": "user_annotation", "name": "ProfilerStep#)" + std::to_string(i / 40) +
                          R"(", "pid": 10, "tid": 11,)" "\n    " R"("ts": )" + ts + R"(, "dur": 400)"));
    if (i % 7 == 0)
      all.push_back(event(R"("ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: MulBackward0", "pid": 10, "tid": )" +
                          thread + ",\n    \"ts\": " + ts + R"(, "dur": 60,)" "\n    \"args\": {\n      \"Sequence number\": " + id + "\n    }"));
    all.push_back(event(R"("ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 10, "tid": )" + thread +
                        ",\n    \"ts\": " + ts + R"(, "dur": 5,)" "\n    \"args\": {\n      \"Sequence number\": " + id + "\n    }"));
    all.push_back(launch_text("cudaLaunchKernel", ts, i + 1, thread));
    const int kernel = (i * 17) % count;  // somewhere else in the file
    const std::string at = std::to_string(1005 + 10 * kernel);
    if (kernel % 3 == 0) {
      const std::string group = std::to_string(kernel % 4);
      all.push_back(kernel_text("ncclDevKernel_AllGather", at, "4", 20, kernel + 1,
                                R"(, "Collective name": "_allgather_base", "In msg nelems": )" + id +
                                    R"(, "Out msg nelems": 64, "Group size": 4, "dtype": "Float", "Process Group Name": ")" + group +
                                    R"(", "Process Group Description": "dp)" + group + R"(", "Process Group Ranks": "[0, 1, 2, 3]", "Seq": )" + id));
    } else {
      all.push_back(kernel_text("gemm_" + std::to_string(kernel % 5), at, "3", 7 + kernel % 3, kernel + 1));
    }
    if (i % 11 == 0)
      all.push_back(event(R"("ph": "i", "s": "t", "name": "[memory]", "pid": 10, "tid": 11,)" "\n    \"ts\": " + ts +
                          R"(,)" "\n    \"args\": {\n      \"Device Type\": 1, \"Device Id\": 0, \"Total Allocated\": 5, \"Total Reserved\": 9\n    }"));
  }
  return all;
}

const std::string header = R"("distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 4}, "baseTimeNanoseconds": 7, "deviceProperties": [{"id": 0, "name": "H100", "totalGlobalMem": 80}],)";

void expect_same_in_parts(const std::string& text, const std::string& what) {
  const std::string whole = read_whole(text);
  for (const int count : {2, 3, 5, 17})
    for (const std::int64_t range_bytes : {std::int64_t{400}, std::int64_t{1000}, KinetoReader::default_range_bytes}) {
      const InParts parts = read_in_parts(text, count, range_bytes);
      EXPECT_EQ(parts.trace, whole) << what << ", " << count << " readers, ranges of " << range_bytes;
      EXPECT_TRUE(parts.all_taken) << what << ", " << count << " readers, ranges of " << range_bytes;
      if (count > 3 || range_bytes == 400) continue;
      EXPECT_EQ(read_in_parts(text, count, range_bytes, 1).trace, whole) << what << ", threads for all " << count;
      EXPECT_EQ(read_in_parts(text, count, range_bytes, 2).trace, whole) << what << ", threads for some of " << count;
      EXPECT_EQ(read_in_parts(text, count, range_bytes, 1, 1).trace, whole) << what << ", one thread for " << count - 1;
    }
}

TEST(KinetoRanges, PartsMakeTheTraceOfTheWholeFile) {
  const std::string text = trace_text(joined(some_events(200)), header);
  expect_same_in_parts(text, "header before the events");
  EXPECT_GE(read_in_parts(text, 3).parcels_count, 4) << "each later part came with its events";
  EXPECT_GE(read_in_parts(text, 3, 1000).parcels_count, 40) << "readers go round";
}

TEST(KinetoRanges, AHeaderMayStandBehindTheEvents) {
  std::string text = trace_text(joined(some_events(100)));
  text.replace(text.rfind('}'), 1, ",\n  " + header.substr(0, header.size() - 1) + "}");
  expect_same_in_parts(text, "header behind");
  text = "{" + header + "\"other\": [" + std::string(3000, ' ') + "{\"ph\": \"X\"}, " + std::string(30000, ' ') + "{\"ph\": \"X\", \"name\": 5}]," +
         trace_text(joined(some_events(60))).substr(1);
  expect_same_in_parts(text, "a border before the list");
}

TEST(KinetoRanges, WhatCannotBeRightIsFoundInPartsToo) {
  const auto text_with = [](const std::string& recording, const std::string& far) {
    std::vector<std::string> events = some_events(100);
    events.insert(events.begin() + 9, kernel_text("far", far, "3", 7, 8));
    events.insert(events.begin() + 40, event(R"("ph": "X", "cat": "Trace", "ts": 900, "dur": )" + recording +
                                             R"j(, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)")j"));
    return trace_text(joined(events), header);
  };
  expect_same_in_parts(text_with("5000", "90000000"), "outside the recording");
  EXPECT_NE(read_whole(text_with("5000", "90000000")), read_whole(text_with("99000000", "90000000")));
  std::vector<std::string> launches = some_events(100);
  std::erase_if(launches, [](const std::string& text) { return text.find("\"gemm_") != std::string::npos; });
  expect_same_in_parts(trace_text(joined(launches), header), "launches without kernels");
}

TEST(KinetoRanges, OtherLayoutsAndBareLists) {
  std::string text = trace_text(joined(some_events(80)), header);
  std::string dense;
  for (const char c : text)
    if (c != '\n') dense += c;
  expect_same_in_parts(dense, "one line");
  expect_same_in_parts("[" + joined(some_events(80)) + "]", "bare list");
  expect_same_in_parts(text + text, "two documents");
  expect_same_in_parts(text.substr(0, text.size() / 5 * 4), "cut");
  expect_same_in_parts("{\"traceEvents\": []}", "no events");
  expect_same_in_parts("", "empty");
}

TEST(KinetoRanges, TextThatLooksLikeABorderIsNone) {
  // Names and lists full of what looks like the start of an event; escaped, or in arguments, or with its quotes broken.
  std::vector<std::string> events = some_events(60);
  const std::string decoy = R"(\"},\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"no\", \"ts\": 1, \"dur\": 5},)";
  const std::string nested = R"([{"x": 1}, {"ph": "X", "cat": "kernel", "name": "nested", "ts": 1, "dur": 1}, {"ph": "X", "ts": 2}])";
  std::string unescaped = decoy;
  std::erase(unescaped, '\\');
  for (int i = 0; i < 40; ++i) {
    const std::string ts = std::to_string(1000 + 10 * i);
    events.insert(events.begin() + 2 * i, kernel_text(decoy + decoy, ts, "1"));
    events.insert(events.begin() + 3 * i, kernel_text("list", ts, "1", 7, 900 + i, ", \"list\": " + nested));
  }
  expect_same_in_parts(trace_text(joined(events), header), "decoys");
  for (int i = 0; i < 20; ++i) events.insert(events.begin() + 4 * i, kernel_text(unescaped, "1500", "1"));
  expect_same_in_parts(trace_text(joined(events), header), "decoys that break out of their strings");
}

TEST(KinetoRanges, DamageAtAndAroundBorders) {
  std::mt19937 random(9);
  const std::string good = trace_text(joined(some_events(60)), header);
  for (int trial = 0; trial < 80; ++trial) {
    std::string text = good;
    for (int wound = 0; wound <= trial % 4; ++wound) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text.erase(at, 1 + random() % 200); break;
        case 1: text.insert(at, 1, "\"{}[],:\\"[random() % 8]); break;
        case 2: text[at] = static_cast<char>(random() % 256); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 300)); break;
      }
    }
    expect_same_in_parts(text, "trial " + std::to_string(trial));
  }
}

TEST(KinetoRanges, BeginAndEndEventsAreReadByOne) {
  std::vector<std::string> events = some_events(40);
  events.insert(events.begin() + 3, event(R"("ph": "B", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 10, "tid": 11, "ts": 1000)"));
  events.push_back(event(R"("ph": "E", "pid": 10, "tid": 11, "ts": 1900)"));
  expect_same_in_parts(trace_text(joined(events), header), "begin and end");
}

}  // namespace
}  // namespace ccl::test
