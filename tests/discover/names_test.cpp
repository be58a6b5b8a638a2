#include "discover/names.hpp"

#include <gtest/gtest.h>

#include "core/problems.hpp"

namespace ccl {
namespace {

NameFacts read(std::string_view shown, const std::string& regex = "", std::string_view lead = "") {
  return read_name(lead, shown, compile_rank_regex(regex));
}

TEST(Names, RankOfEveryKnownLayout) {
  const std::pair<const char*, int> names[] = {
      {"iteration_10/rank3_trace.json", 3},
      {"iteration_10/rank12_trace.json.gz", 12},
      {"kineto_trace_5.json", 5},
      {"torch_et_2.json", 2},
      {"kineto_rank0.json", 0},
      {"kineto_trace_nccl_rank4.json", 4},
      {"rank_0003_iter_5.pt.trace.json", 3},
      {"Baseline - 12-11 - fd335-rank4-chrome-trace.json.gz", 4},
      {"profile-rank0-trace.json.gz", 0},
      {"rank-70.Mar_25_20_48_12.2861.pt.trace.json.gz", 70},
      {"dp0_pp0_tp0_dcp0_ep0_rank7.1762.pt.trace.json.gz", 7},
      {"1738-TP-3.trace.json.gz", 3},
      {"rank_7/trace.json", 7},
      {"worker3_step_12.1694128201557.pt.trace.json", 3},
      {"worker0.1694.pt.trace.json.gz", 0},
      {"Rank000002_trace.json", 2},
      // and where there is none
      {"1738-TP-3-DP-1-PP-0.trace.json.gz", -1},
      {"node01_4711.1762345.pt.trace.json", -1},
      {"worker3_4711.1762345.pt.trace.json", -1},
      {"frank3.json", -1},
      {"step_based_trace_2543932.json.gz", -1},
      {"gaunernst_bert-small-uncased__1016001.json.gz", -1},
      {"rank99999999999.json", -1},
      {"kineto_trace_20240512.json", -1},    // a date
      {"kineto_trace_1715596800.json", -1},  // a Unix time
      {"rank_20240512/trace.json", -1},
  };
  for (const auto& [name, rank] : names) EXPECT_EQ(read(name).rank, rank) << name;
}

TEST(Names, OptionComesBeforeThePatterns) {
  const NameFacts host = read("container-node02_r40.json", "_r(\\d+)");
  EXPECT_EQ(host.rank, 40);
  EXPECT_TRUE(host.rank_by_option);
  const NameFacts folder = read("worker5/rank0.json", "worker(\\d+)");
  EXPECT_EQ(folder.rank, 5);
  const NameFacts other = read("rank3.json", "node(\\d+)");
  EXPECT_EQ(other.rank, 3);
  EXPECT_FALSE(other.rank_by_option);
}

TEST(Names, BadRegexIsABadRequest) {
  for (const char* regex : {"rank(", "rank\\d+"}) {
    try {
      compile_rank_regex(regex);
      FAIL() << regex;
    } catch (const FatalError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
      EXPECT_NE(std::string(error.what()).find(regex), std::string::npos);
    }
  }
}

TEST(Names, IterationFromNearestFolderElseFromName) {
  EXPECT_EQ(read("profile_traces/iteration_20/rank0_trace.json").iteration, 20);
  const NameFacts oom = read("iteration_0_exit/rank0_memory_snapshot.pickle");
  EXPECT_EQ(oom.iteration, 0);
  EXPECT_EQ(oom.iteration_label, "iteration_0_exit");
  EXPECT_EQ(read("iteration_1/iteration_7/rank0.json").iteration, 7);
  EXPECT_EQ(read("iteration_2/rank_0_iter_5.json").iteration, 2);
  const NameFacts megatron = read("rank_0003_iter_5.pt.trace.json");
  EXPECT_EQ(megatron.iteration, 5);
  EXPECT_EQ(megatron.iteration_label, "iter_5");
  EXPECT_EQ(read("rank0.json").iteration, -1);
  EXPECT_EQ(read("my_iteration_10/rank0.json").iteration, -1);
}

TEST(Names, ReplicaBelowTheIteration) {
  const NameFacts facts = read("run/iteration_10/replica_3/rank1_trace.json");
  EXPECT_EQ(facts.replica, 3);
  EXPECT_EQ(facts.iteration, 10);
  EXPECT_EQ(facts.rank, 1);
  EXPECT_EQ(facts.run, "run");
}

TEST(Names, FolderGivenItselfTellsIterationAndReplica) {
  EXPECT_EQ(lead_of("/data/run/iteration_10"), "iteration_10/");
  EXPECT_EQ(lead_of("/data/run/iteration_10/replica_1"), "iteration_10/replica_1/");
  EXPECT_EQ(lead_of("/data/iteration_10/run"), "");
  const NameFacts facts = read("rank0_trace.json", "", "iteration_10/replica_1/");
  EXPECT_EQ(facts.iteration, 10);
  EXPECT_EQ(facts.replica, 1);
  EXPECT_EQ(facts.run, ".");
}

TEST(Names, RunIsAboveIterationAndKindFolders) {
  EXPECT_EQ(read("iteration_1/rank0.json").run, ".");
  EXPECT_EQ(read("a/iteration_1/rank0.json").run, "a");
  EXPECT_EQ(read("a/traces/profile_traces/iteration_1/rank0.json").run, "a");
  EXPECT_EQ(read("a/traces/memory_snapshot/iteration_1/rank0.pickle").run, "a");
  EXPECT_EQ(read("profile_trace/b/iteration_1/rank0.json").run, "profile_trace/b");
  EXPECT_EQ(read("a/rank0.json").run, "");
}

TEST(Names, HostOfTensorBoardNames) {
  EXPECT_EQ(read("gpu-node07.cluster_4711.1762345678.pt.trace.json.gz").host, "gpu-node07.cluster");
  EXPECT_EQ(read("node_a_12.99.pt.trace.json").host, "node_a");
  EXPECT_EQ(read("rank0_12.99.pt.trace.json").host, "");
  EXPECT_EQ(read("worker3_4711.99.pt.trace.json").host, "worker3");
  EXPECT_EQ(read("worker3_step_12.99.pt.trace.json").host, "");
  EXPECT_EQ(read("rank_0003_iter_5.pt.trace.json").host, "");
}

}  // namespace
}  // namespace ccl
