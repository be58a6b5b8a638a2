// Real traces: the matches equal those of an independent program (corpus/expected, key cross_rank), which matches by
// group, operation and ordinal over the whole file and names the last member by its start.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdlib>
#include <filesystem>

#include "analyze.hpp"
#include "metrics/all_metrics.hpp"
#include "parse/config_files.hpp"
#include "support/real_traces.hpp"
#include "support/scratch_folder.hpp"

namespace ccl {
namespace {

namespace fs = std::filesystem;

struct RealMatch {
  Problems problems;
  Ranks ranks;
  Groups groups;
  Matched matched;
};

RealMatch match_folder(const fs::path& folder) {
  RealMatch real;
  int argc = 0;
  char** argv = nullptr;
  const Comm comm(argc, argv);
  Config config;
  config.input.folders = {folder.string()};
  const Classifier classifier(embedded_config("kernels"));
  const Input input = discover(config, comm, real.problems);
  Metrics metrics = start_metrics({"straggler_lag"});
  StringTable strings;
  Progress progress;
  Timings timings;
  LocalResults local =
      analyze(input, config, classifier, comm, metrics, strings, real.problems, progress, timings);
  real.ranks = agree_on_ranks(local.facts, input, config, comm, real.problems);
  real.groups = agree_on_groups(local_groups(local, real.ranks, comm), real.ranks, input.workload.mesh, comm, real.problems);
  settle(local, real.ranks, real.groups, comm, metrics);
  real.matched = match(local.records, real.ranks, real.groups, comm, real.problems);
  return real;
}

/// (minimum duration, start spread, end spread on the file clock, durations by rank) of one match.
using Numbers = std::vector<std::int64_t>;

std::vector<Numbers> numbers_of(const MatchedCollectives& matched) {
  std::vector<Numbers> all;
  for (const MatchedInstance& i : matched.instances) {
    std::int64_t first_end = INT64_MAX, last_end = INT64_MIN;
    Numbers numbers{i.transfer_ns, i.start_spread_file_ns, 0};
    for (std::int32_t m = 0; m < i.members_seen; ++m) {
      const MatchedMember& member = matched.members[i.first_member + static_cast<std::uint32_t>(m)];
      first_end = std::min(first_end, member.start_ns + member.dur_ns);
      last_end = std::max(last_end, member.start_ns + member.dur_ns);
      numbers.push_back(member.dur_ns);
    }
    numbers[2] = last_end - first_end;
    all.push_back(numbers);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<Numbers> expected_numbers(const std::string& name) {
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.load((test::real_traces() / "expected" / (name + ".json")).string());
  std::vector<Numbers> all;
  for (const simdjson::dom::element match : root["cross_rank"]["matches"].get_array()) {
    Numbers numbers{std::int64_t(match["min_dur"]), std::int64_t(match["start_spread"]), std::int64_t(match["end_spread"])};
    std::vector<std::pair<int, std::int64_t>> durations;
    for (const auto field : match["dur"].get_object())
      durations.emplace_back(std::stoi(std::string(field.key)), std::int64_t(field.value));
    std::sort(durations.begin(), durations.end());
    for (const auto& [rank, dur_ns] : durations) numbers.push_back(dur_ns);
    all.push_back(numbers);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::int64_t times_last(const MatchedCollectives& matched, std::int32_t rank) {
  return std::count_if(matched.instances.begin(), matched.instances.end(),
                       [&](const MatchedInstance& i) { return i.last_rank == rank; });
}

struct MatchCorpus : ::testing::Test {
  void SetUp() override {
    if (!fs::exists(test::real_traces() / "given")) GTEST_SKIP() << test::no_real_traces;
  }
};

TEST_F(MatchCorpus, TorchTitanOnFourRanks) {
  for (const char* name : {"torchtitan-fsdp4-prA", "torchtitan-fsdp4-mini"}) {
    const RealMatch real = match_folder(test::real_traces() / "given" / name);
    EXPECT_EQ(real.matched.mine.instances.size(), 28U);
    EXPECT_EQ(numbers_of(real.matched.mine), expected_numbers(name));
    EXPECT_EQ(times_last(real.matched.mine, 2), 27);
    for (const MatchedInstance& i : real.matched.mine.instances) {
      EXPECT_EQ(i.members_seen, 4);
      EXPECT_FALSE(i.suspect);
      EXPECT_EQ(i.rule, MatchRule::ordinal);
    }
    EXPECT_EQ(real.problems.count(Code::collective_unmatched), 0);
    EXPECT_EQ(real.problems.count(Code::clock_and_duration_disagree), 0);
  }
}

TEST_F(MatchCorpus, NanoGptWithKernelsFromBeforeTheWindow) {
  const RealMatch real = match_folder(test::real_traces() / "given" / "nanogpt-ddp8-r04");
  EXPECT_EQ(numbers_of(real.matched.mine), expected_numbers("nanogpt-ddp8-r04"));
  for (const MatchedInstance& i : real.matched.mine.instances) {
    EXPECT_TRUE(i.incomplete);  // two of eight ranks
    EXPECT_EQ(i.group_size, 8);
    EXPECT_FALSE(i.suspect);
  }
}

TEST_F(MatchCorpus, DlrmWithoutCommunicationArguments) {
  const test::ScratchFolder scratch;
  const fs::path archive = test::real_traces() / "given" / "param-dlrm8" / "dlrm_kineto.tar.gz";
  const std::string unpack = "tar xzf '" + archive.string() + "' -C '" + scratch.path() + "'";
  ASSERT_EQ(std::system(unpack.c_str()), 0);
  const RealMatch real = match_folder(fs::path(scratch.path()));
  EXPECT_EQ(numbers_of(real.matched.mine), expected_numbers("param-dlrm8"));
}

TEST_F(MatchCorpus, SampledEventsMustNotLookMeaningful) {
  const RealMatch real = match_folder(test::real_traces() / "given" / "hta-trace-filter");
  EXPECT_GE(real.problems.count(Code::matching_not_credible), 1);
  for (const MatchedInstance& i : real.matched.mine.instances) {
    EXPECT_FALSE(i.credible);
    EXPECT_EQ(i.last_rank, -1);
  }
}

}  // namespace
}  // namespace ccl
