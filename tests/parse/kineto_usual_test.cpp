// Events in Kineto's layout are read by comparing what repeats; one space less, and the general reader has them. Both
// must make the same of every event.
#include "parse/kineto_usual.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "parse/decimal.hpp"
#include "support/kineto_text.hpp"

namespace ccl::test {
namespace {

using Random = std::mt19937_64;

std::string pick(Random& random, const std::vector<std::string>& from) { return from[random() % from.size()]; }

std::string event(const std::string& category, const std::string& name, const std::string& thread, const std::string& ts,
                  const std::string& dur, const std::string& arguments) {
  return "{\n    \"ph\": \"X\", \"cat\": \"" + category + "\", \"name\": \"" + name + "\", \"pid\": " + thread +
         ",\n    \"ts\": " + ts + ", \"dur\": " + dur + ",\n    \"args\": {\n      " + arguments + "\n    }\n  }";
}

std::string time_of(Random& random) {
  if (random() % 12 == 0)
    return pick(random, {"1e3", "1700000000000000.5", "5.1234", "-3.5", "12", "\"17.5\"", "null", "0.5", "7.25"});
  return std::to_string(random() % 10'000'000'000'000) + "." + std::to_string(random() % 1000);
}

std::string gpu_event(Random& random, int correlation) {
  const std::string category = pick(random, {"kernel", "kernel", "kernel", "gpu_memcpy", "gpu_memset"});
  const std::string name = pick(random, {"gemm", "void at::native::add<float>(int)", "ncclDevKernel_AllGather(a)",
                                         "a \\\"quoted\\\" name", "Memset (Device)"});
  const std::string stream = pick(random, {"7", "20", "24"});
  std::string ids = random() % 2 == 0 ? "\"External id\": " + std::to_string(random() % 1000) + ",      " : "      ";
  if (category == "kernel") ids += "\"queued\": 0, ";
  ids += "\"device\": " + pick(random, {"0", "0", "1"}) + ", \"context\": 1,      \"stream\": " + stream +
         ", \"correlation\": " + pick(random, {std::to_string(correlation), std::to_string(correlation), "0", "1.5"});
  const std::string more = pick(
      random, {"", ",      \"bytes\": 64", ",      \"registers per thread\": 32, \"blocks per SM\": 0.5, \"warps per SM\": 2.25",
               ", \"grid\": [1, 2, 3], \"Config\": 1", ", \"stream\": 3", ", \"Collective name\": null",
               R"(, "Collective name": "_allgather_base", "In msg nelems": 8, "Out msg nelems": 16, "Group size": 2, )"
               R"("dtype": "Float", "Process Group Name": "1", "Process Group Description": "tp", "Process Group Ranks": "[0, 1]")",
               R"(, "Collective name": "all_to_allv", "In msg nelems": 8, "dtype": "Int", "In split size": "[3, 5]", "Seq": 4)"});
  return event(category, name, "0, \"tid\": " + stream, time_of(random), time_of(random), ids + more);
}

std::string call(Random& random, int correlation) {
  const std::string name = pick(random, {"cudaLaunchKernel", "cudaMemcpyAsync", "cudaEventRecord", "cudaGraphLaunch"});
  std::string arguments = random() % 2 == 0 ? "\"External id\": 5,      " : "      ";
  arguments += pick(random, {"\"cbid\": 211, ", "\"cbid\": 41, ", ""}) + "\"correlation\": " + std::to_string(correlation);
  return event(pick(random, {"cuda_runtime", "cuda_driver"}), name, pick(random, {"75, \"tid\": 75", "2219289, \"tid\": 1421862464"}),
               time_of(random), time_of(random), arguments);
}

std::string record(Random& random) {
  return event("cpu_op", "record_param_comms", "75, \"tid\": 75", time_of(random), "3.5",
               "\"External id\": " + std::to_string(random() % 1000) + R"(, "Collective name": ")" +
                   pick(random, {"allreduce", "wait", "broadcast"}) + R"(", "In msg nelems": 4, "dtype": "BFloat16", )" +
                   pick(random, {"\"Group size\": 2", "\"Group size\": 2, \"Seq\": " + std::to_string(random() % 100)}));
}

std::string trace(Random& random) {
  std::string events;
  for (int i = 0; i < 300; ++i) {
    const int correlation = 1 + static_cast<int>(random() % 400);
    const auto kind = random() % 5;
    events += (i == 0 ? "" : ",\n  ") + (kind < 3 ? gpu_event(random, correlation) : kind == 3 ? call(random, correlation) : record(random));
  }
  return "{\"distributedInfo\": {\"rank\": 0},\n  \"traceEvents\": [\n  " + events + "\n  ]\n}";
}

/// The same for eyes that do not look for this very layout.
std::string unusual(std::string text) {
  constexpr std::string_view usual = "\"ph\": \"X\"";
  for (std::size_t at = text.find(usual); at != std::string::npos; at = text.find(usual, at)) text.replace(at, usual.size(), "\"ph\":\"X\"");
  return text;
}

std::string listed(const ReadResult& r) {
  std::string out = std::to_string(r.trace.events_count) + " events, " + std::to_string(r.trace.launches_count) + " launches\n";
  const EventTable& events = r.trace.events;
  const auto add = [&](auto... numbers) { ((out += std::to_string(numbers) + " "), ...); };
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Lane lane = r.trace.lanes[events.lane[i]];
    add(events.start_ns[i], events.dur_ns[i], lane.device, lane.stream, static_cast<int>(events.kind[i]), events.correlation[i], events.launch_ns[i]);
    out += r.name(i);
    out += events.launch_ns[i] == absent_ns ? "\n" : " " + r.trace.threads[events.launch_thread[i]] + "\n";
  }
  for (const Collective& c : r.trace.collectives) {
    add(c.event, static_cast<int>(c.op), static_cast<int>(c.dtype), c.group_size, c.sequence, c.in_elements, c.out_elements,
        c.first_split, c.splits_count, c.has_arguments ? 1 : 0);
    out += r.trace.groups[c.group].name + " " + r.trace.groups[c.group].description + "\n";
  }
  for (const MemoryOperation& m : r.trace.memory_operations) add(m.event, m.bytes);
  for (const KernelShape& shape : r.trace.kernel_shapes) add(shape.event, shape.blocks_per_sm, shape.warps_per_sm);
  for (const Problem& problem : r.problems.rows()) out += std::string(info(problem.code).name) + " " + std::to_string(problem.count) + "\n";
  return out;
}

TEST(KinetoUsual, TheGeneralReaderMakesTheSameOfEveryEvent) {
  Random random(11);
  for (int round = 0; round < 25; ++round) {
    const std::string text = trace(random);
    for (const bool more : {false, true}) {
      ReadSettings settings;
      settings.wants.kernel_shapes = settings.wants.memory_sizes = more;
      settings.wants.runtime_calls = more;
      ASSERT_EQ(listed(read_text(text, settings)), listed(read_text(unusual(text), settings))) << text;
    }
  }
}

TEST(KinetoUsual, ARepeatIsReadOnceItWasLearnt) {
  const auto text = [](const std::string& ts, const std::string& correlation) {
    return "\", \"pid\": 0, \"tid\": 7,\n    \"ts\": " + ts + ", \"dur\": 2.5,\n    \"args\": {\n      \"External id\": 9,      "
           "\"device\": 0, \"stream\": 7, \"correlation\": " + correlation + ", \"registers per thread\": 32\n    }\n  }";
  };
  const std::string first = text("10.125", "41"), second = text("1700000000000", "123456789012");
  UsualEvents usual(UsualKind::gpu_event);
  UsualEvent event;
  EXPECT_FALSE(usual.read(first.data(), first.data() + first.size(), 1, event));
  usual.learn(first.data() + first.find("{"), 5);
  ASSERT_TRUE(usual.read(second.data(), second.data() + second.size(), 1, event));
  EXPECT_EQ(event.start_ns, 1'700'000'000'000'000);
  EXPECT_EQ(event.dur_ns, 2500);
  EXPECT_EQ(event.external_id, 9);
  EXPECT_EQ(event.correlation, 123'456'789'012);
  EXPECT_EQ(event.number, 5U);
  EXPECT_EQ(event.arguments, second.substr(second.find('{'), second.size() - 4 - second.find('{')));
  EXPECT_FALSE(usual.read(second.data(), second.data() + second.size(), 2, event)) << "another owner";
}

TEST(KinetoUsual, NumbersAreTakenAsTheGeneralParserReadsThem) {
  Random random(5);
  for (int round = 0; round < 20000; ++round) {
    std::string number = std::to_string(random() % (std::uint64_t{1} << (1 + random() % 60)));
    if (random() % 2 == 0) number.append(".").append(std::to_string(random() % (1U << (1 + random() % 14))));
    const std::string text = number + ", \"dur\": 5.5, and more of it";
    const char* at = text.data();
    std::int64_t ns = 0;
    const bool taken = take_us_as_ns(at, text.data() + text.size(), ns);
    const std::size_t point = std::min(number.find('.'), number.size());
    EXPECT_EQ(taken, point <= 15 && number.size() <= point + 4) << number;
    if (!taken) continue;
    EXPECT_EQ(ns, parse_us_as_ns(number).value) << number;
    EXPECT_EQ(at, text.data() + number.size());
  }
}

}  // namespace
}  // namespace ccl::test
