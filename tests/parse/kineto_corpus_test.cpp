// Every Kineto set of the corpus against the numbers an independent program computed from the same files.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/collective_math.hpp"
#include "core/intervals.hpp"
#include "support/kineto_text.hpp"
#include "support/real_traces.hpp"

namespace ccl::test {
namespace {

namespace fs = std::filesystem;
namespace dom = simdjson::dom;

/// kernels with a name the expected values count as communication: nccl or rccl, nothing else.
bool is_nccl(std::string name) {
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return name.find("nccl") != std::string::npos || name.find("rccl") != std::string::npos;
}

enum class Part { communication, compute, copies };

Part part_of(const ReadResult& r, std::size_t i) {
  const EventKind kind = r.trace.events.kind[i];
  if (kind == EventKind::memory_copy || kind == EventKind::memory_set) return Part::copies;
  return is_nccl(r.name(i)) ? Part::communication : Part::compute;
}

std::string text(const dom::element& at, const char* key) {
  return std::string(at[key].get_string().value());
}

std::int64_t number(const dom::element& at, const char* key) { return at[key].get_int64().value(); }

void expect_kernels(const ReadResult& r, const dom::element& expected) {
  std::map<Part, std::int64_t> count, sum;
  for (std::size_t i = 0; i < r.trace.events.size(); ++i) {
    ++count[part_of(r, i)];
    sum[part_of(r, i)] += r.trace.events.dur_ns[i];
  }
  const std::pair<Part, const char*> parts[] = {{Part::communication, "comm"}, {Part::compute, "compute"}};
  for (const auto& [part, key] : parts) {
    EXPECT_EQ(count[part], number(expected["kernels"].value(), key)) << key;
    EXPECT_EQ(sum[part], number(expected["sum_ns"].value(), key)) << key;
  }
  EXPECT_EQ(count[Part::copies], number(expected["kernels"].value(), "copies"));
  EXPECT_EQ(sum[Part::copies], number(expected["sum_ns"].value(), "copy"));
}

void expect_window(const ReadResult& r, const dom::element& expected) {
  dom::element window;
  if (expected["gpu_window_ns"].get(window) != simdjson::SUCCESS) return;
  const std::int64_t base = number(expected, "base_time_ns");
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  for (std::size_t i = 0; i < r.trace.events.size(); ++i) {
    first = std::min(first, r.trace.events.start_ns[i]);
    last = std::max(last, r.trace.events.end_ns(i));
  }
  EXPECT_EQ(first - base, number(window, "start"));
  EXPECT_EQ(last - base, number(window, "end"));
}

std::string type_name(CollectiveOp op) {
  return std::string(op == CollectiveOp::all_to_allv ? "all_to_all" : to_text(op));
}

struct TypeSums {
  std::int64_t count = 0, launched = 0, with_args = 0, sum_ns = 0;
};

void expect_types(const ReadResult& r, const dom::element& expected) {
  std::map<std::string, TypeSums> types;
  for (const Collective& c : r.trace.collectives) {
    if (!is_nccl(r.name(c.event))) continue;
    // The expected values name kernels without arguments by their name alone.
    const std::string type = c.has_arguments ? type_name(c.op) : type_name(classifier().kernel(r.name(c.event)).op);
    TypeSums& t = types[type];
    ++t.count;
    t.launched += r.trace.events.launch_ns[c.event] != absent_ns;
    t.with_args += c.has_arguments;
    t.sum_ns += r.trace.events.dur_ns[c.event];
  }
  std::size_t seen = 0;
  for (const auto field : expected["comm_types"].get_object()) {
    ++seen;
    const TypeSums& t = types[std::string(field.key)];
    EXPECT_EQ(t.count, number(field.value, "count")) << field.key;
    EXPECT_EQ(t.launched, number(field.value, "launched")) << field.key;
    EXPECT_EQ(t.with_args, number(field.value, "with_args")) << field.key;
    EXPECT_EQ(t.sum_ns, number(field.value, "sum_ns")) << field.key;
  }
  EXPECT_EQ(types.size(), seen);
}

/// All groups together, by (group name, description, type): count, bytes in, bytes out, payload.
void expect_groups(const ReadResult& r, const dom::element& expected) {
  std::map<std::string, std::array<std::int64_t, 4>> sums, wanted;
  for (const Collective& c : r.trace.collectives) {
    if (!c.has_arguments) continue;
    const ProcessGroup& group = r.trace.groups[c.group];
    auto& s = sums[group.name + "|" + group.description + "|" + type_name(c.op)];
    ++s[0];
    s[1] += std::max<std::int64_t>(c.in_bytes(), 0);
    s[2] += std::max<std::int64_t>(c.out_bytes(), 0);
    const bool by_out = c.op == CollectiveOp::all_gather || c.op == CollectiveOp::recv;
    s[3] += std::max<std::int64_t>(by_out ? c.out_bytes() : c.in_bytes(), 0);
  }
  for (const auto field : expected["groups"].get_object()) {
    const std::string key(field.key);  // name|description|ranks|type|dtype
    const std::size_t description = key.find('|') + 1, ranks = key.find('|', description) + 1;
    const std::size_t type = key.find('|', ranks) + 1;
    auto& s = wanted[key.substr(0, ranks) + key.substr(type, key.find('|', type) - type)];
    s[0] += number(field.value, "count");
    s[1] += number(field.value, "bytes_in");
    s[2] += number(field.value, "bytes_out");
    s[3] += number(field.value, "payload");
  }
  EXPECT_EQ(sums, wanted);
}

void expect_steps(const ReadResult& r, const dom::element& expected) {
  const std::int64_t base = number(expected, "base_time_ns");
  std::vector<std::array<std::int64_t, 3>> steps, wanted;
  for (const Step& s : r.trace.steps)
    if (s.source == StepSource::marker) steps.push_back({s.number, s.start_ns - base, s.end_ns - s.start_ns});
  for (const dom::element step : expected["steps_cpu"].get_array())
    wanted.push_back({number(step, "step"), number(step, "start_ns"), number(step, "dur_ns")});
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(steps, wanted);
}

void expect_rank(const ReadResult& r, const dom::element& expected) {
  ASSERT_TRUE(r.called);
  EXPECT_EQ(r.trace.events_count, number(expected, "x_events"));
  expect_kernels(r, expected);
  expect_window(r, expected);
  expect_types(r, expected);
  expect_groups(r, expected);
  expect_steps(r, expected);
}

class KinetoCorpus : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    folder_ = real_traces();
    if (!fs::exists(folder_ / "given")) GTEST_SKIP() << no_real_traces;
    settings_.window_bytes = GetParam();
  }
  fs::path folder_;
  ReadSettings settings_;
  dom::parser parser_;
};

TEST_P(KinetoCorpus, NumbersPerRankAreTheIndependentOnes) {
  std::map<std::string, fs::path> files;
  const std::set<std::string> sets{"torchtitan-fsdp4-prA", "torchtitan-fsdp4-mini", "nanogpt-ddp8-r04",
                                   "nanogpt-h2dprefetch", "hta-trace-filter", "hta-nccl-data", "hta-small"};
  int compared = 0;
  for (const auto& expected_file : fs::directory_iterator(folder_ / "expected")) {
    if (expected_file.path().extension() != ".json" || expected_file.path().filename() == "odd.json") continue;
    const dom::element document = parser_.load(expected_file.path().string());
    dom::array ranks;
    if (document["per_rank"].get(ranks) != simdjson::SUCCESS) continue;
    std::string set = expected_file.path().stem();
    for (const dom::element rank : ranks) {
      const std::string name = text(rank, "file");
      for (const std::string& folder : sets) {
        const fs::path path = folder_ / "given" / folder / name;
        const bool belongs = set == folder || set.starts_with("single-");
        // The corpus holds only a cut copy of the file that single-hta-cpu-only-gloo was computed from.
        if (!belongs || !fs::exists(path) || set == "single-hta-cpu-only-gloo") continue;
        SCOPED_TRACE(path.string());
        const ReadResult r = read_path(path, settings_);
        expect_rank(r, rank);
        if (text(rank, "rank_from") == "distributedInfo") {
          EXPECT_EQ(r.trace.rank.value, number(rank, "rank"));
        }
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 15);
}

TEST_P(KinetoCorpus, NumbersOfThePackedSetAreTheIndependentOnes) {
  const dom::element document = parser_.load((folder_ / "expected/param-dlrm8.json").string());
  int compared = 0;
  for (const auto& [name, content] : unpack_tar_gz(folder_ / "given/param-dlrm8/dlrm_kineto.tar.gz"))
    for (const dom::element rank : document["per_rank"].get_array()) {
      if (text(rank, "file") != name) continue;
      SCOPED_TRACE(name);
      expect_rank(read_text(content, settings_), rank);
      ++compared;
    }
  EXPECT_EQ(compared, 8);
}

TEST_P(KinetoCorpus, OddFilesGiveTheNumbersOfTheGoodOne) {
  const dom::element base_document = parser_.load((folder_ / "expected/torchtitan-fsdp4-mini.json").string());
  dom::parser odd_parser;
  for (const dom::element odd : odd_parser.load((folder_ / "expected/odd.json").string()).get_array()) {
    const std::string name = text(odd, "file"), expect = text(odd, "expect");
    SCOPED_TRACE(name);
    const ReadResult r = read_path(folder_ / "given/odd" / name, settings_);
    if (expect == "error") {
      EXPECT_FALSE(r.called);
      EXPECT_GE(r.count(Code::json_invalid) + r.count(Code::empty_file), 1);
    } else if (expect == "partial") {
      EXPECT_TRUE(r.called);
      EXPECT_GE(r.problems.count(Severity::data_loss) + r.count(Code::no_gpu_events), 1);
    } else if (name == "list_only.json.gz") {
      EXPECT_TRUE(r.called);
      expect_kernels(r, base_document["per_rank"].at(0).value());
    } else {
      expect_rank(r, base_document["per_rank"].at(0).value());
      EXPECT_EQ(r.trace.rank.value, name == "no_distributed_info.json.gz" ? -1 : 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, KinetoCorpus, testing::Values(largest_window_bytes, 100'000, 1000));

}  // namespace
}  // namespace ccl::test
