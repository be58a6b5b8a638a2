#include <gtest/gtest.h>

#include "discover/pack_input.hpp"
#include "discover/sniff_together.hpp"
#include "discover/trace_files.hpp"
#include "support/mpi_world.hpp"
#include "temp_tree.hpp"

namespace ccl {
namespace {

bool kineto_only(TraceFormat format) { return format == TraceFormat::kineto; }

TEST(DiscoverOverWorkers, EveryWorkerGetsTheSameInputAndOneWarns) {
  const Comm& comm = test::world();
  const test::TempTree tree;  // only worker 0's is looked at
  for (int rank = 0; rank < 9; ++rank)
    tree.add("iteration_1/rank" + std::to_string(rank) + ".json",
             std::string(test::kineto) + std::string(static_cast<std::size_t>(100 * rank), ' '));
  tree.add("workload_card.yaml",
           "workload: {data: {seq_len: 4096}}\nModel-executor: {model_plan_parallelization: {tp: 9}}\n");
  tree.add("other.json", "hello");
  tree.add("hosts", "0 a\n1 b\n");
  Config config;
  config.input.folders = {tree.path()};
  config.input.host_map = tree.path("hosts");
  Problems problems;
  const Input input = find_input_together(config, kineto_only, comm, problems);
  ASSERT_EQ(input.files.size(), 9u);
  EXPECT_EQ(input.files[8].rank_in_name, 8);
  EXPECT_EQ(input.workload.seq_len.value, 4096);
  EXPECT_EQ(input.workload.mesh.tp, 9);
  EXPECT_EQ(input.host_map.at(1), "b");
  EXPECT_EQ(comm.sum(problems.count(Code::unknown_format)), 1);
  const std::vector<Bytes> all = comm.gather_all(pack(input));
  for (const Bytes& other : all) EXPECT_EQ(other, all.front());
}

TEST(DiscoverOverWorkers, EachFileIsLookedIntoOnceAndToldInOrder) {
  const Comm& comm = test::world();
  const test::TempTree tree;  // only worker 0's is looked at
  std::vector<std::string> paths;
  for (int i = 0; i < 7; ++i) {
    tree.add_gzip("rank" + std::to_string(i) + ".json.gz",
                  "{\"distributedInfo\":{\"rank\":" + std::to_string(i) + ",\"world_size\":7},\"traceEvents\":[");
    paths.push_back(tree.path("rank" + std::to_string(i) + ".json.gz"));
  }
  tree.add("paper.pdf", "%PDF");
  paths.insert(paths.begin() + 3, tree.path("paper.pdf"));
  paths.insert(paths.begin() + 5, tree.path("gone.json"));
  const std::vector<Sniffed> found = sniff_together(comm, paths);
  EXPECT_EQ(sniff_together(comm, {}).size(), 0u);
  if (!comm.is_first()) {
    EXPECT_TRUE(found.empty());
    return;
  }
  ASSERT_EQ(found.size(), 9u);
  EXPECT_EQ(found[3].what, "PDF");
  EXPECT_FALSE(found[5].readable);
  std::vector<std::int64_t> ranks;
  for (const Sniffed& one : found)
    if (one.format == TraceFormat::kineto) ranks.push_back(one.rank);
  EXPECT_EQ(ranks, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(found[8].world_size, 7);
  EXPECT_TRUE(found[8].gzip);
}

TEST(DiscoverOverWorkers, BadRequestIsTheSameEverywhere) {
  const Comm& comm = test::world();
  Config config;
  config.input.folders = {"/nonexistent-trace-folder"};
  Problems problems;
  std::string message;
  try {
    find_input_together(config, kineto_only, comm, problems);
  } catch (const FatalError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    message = error.what();
  }
  EXPECT_NE(message.find("/nonexistent-trace-folder"), std::string::npos);
}

}  // namespace
}  // namespace ccl
