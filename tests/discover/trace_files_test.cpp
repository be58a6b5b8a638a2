#include "discover/trace_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "discover/nsys_export.hpp"
#include "find_alone.hpp"
#include "temp_tree.hpp"

namespace ccl {
namespace {

using test::find_alone;
using test::kineto;
using test::TempTree;
using testing::ElementsAre;
using testing::HasSubstr;

bool kineto_only(TraceFormat format) { return format == TraceFormat::kineto; }

Config config_for(const TempTree& tree) {
  Config config;
  config.input.folders = {tree.path()};
  return config;
}

std::vector<std::string> shown(const Input& input) {
  std::vector<std::string> names;
  for (const TraceFile& file : input.files) names.push_back(file.shown);
  return names;
}

std::string message_of(const Config& config) {
  Problems problems;
  try {
    find_alone(config, kineto_only, problems);
  } catch (const FatalError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    return error.what();
  }
  return "no error";
}

TEST(TraceFiles, TorchTitanFolder) {
  const TempTree tree;
  tree.add_gzip("profile_traces/iteration_10/rank1_trace.json.gz", kineto);
  tree.add("profile_traces/iteration_2_exit/replica_1/rank0_trace.json", kineto);
  tree.add("workload_card.yaml", "workload: {model: {phase: training}}\n");
  tree.add("paper.pdf", "%PDF");
  Problems problems;
  const Input input = find_alone(config_for(tree), kineto_only, problems);
  EXPECT_THAT(shown(input), ElementsAre("profile_traces/iteration_2_exit/replica_1/rank0_trace.json",
                                        "profile_traces/iteration_10/rank1_trace.json.gz"));
  EXPECT_EQ(input.files[0].iteration, 2);
  EXPECT_EQ(input.files[0].iteration_label, "iteration_2_exit");
  EXPECT_EQ(input.files[0].replica, 1);
  EXPECT_EQ(input.files[1].rank_in_name, 1);
  EXPECT_TRUE(input.files[1].gzip);
  EXPECT_EQ(input.run, ".");
  EXPECT_EQ(input.workload.phase.value, "training");
  EXPECT_TRUE(problems.rows().empty());
}

TEST(TraceFiles, OtherFilesAreNamedOncePerReason) {
  const TempTree tree;
  tree.add("rank0.json", kineto);
  tree.add("et_0.json", R"({"schema": "1", "nodes": []})");
  tree.add("et_1.json", R"({"schema": "1", "nodes": []})");
  tree.add("old_trace.json", R"({"a": 1})");
  tree.add("notes.json", "hello");
  tree.add("zero.json", "");
  tree.add("zero.log", "");
  tree.add("node.nsys-rep", "x");
  tree.add("train.log", "hello");
  Problems problems;
  const Input input = find_alone(config_for(tree), kineto_only, problems);
  EXPECT_THAT(shown(input), ElementsAre("rank0.json"));
  EXPECT_EQ(problems.count(Code::empty_file), 1);
  std::vector<std::string> rows;
  for (const Problem& p : problems.rows())
    if (p.code == Code::unknown_format) rows.push_back(p.file + ": " + p.detail + " #" + std::to_string(p.count));
  EXPECT_THAT(rows,
              ElementsAre("et_0.json: execution trace: not read by this version #2",
                          "node.nsys-rep: Nsight Systems report: " + export_advice("node.nsys-rep") +
                              ", or run with --nsys-export where nsys is installed #1",
                          "notes.json: other file #1", "old_trace.json: other JSON #1"));
}

std::vector<std::string> lost_in(const TempTree& tree) {
  Problems problems;
  find_alone(config_for(tree), kineto_only, problems);
  std::vector<std::string> rows;
  for (const Problem& p : problems.rows())
    if (p.code == Code::json_invalid) rows.push_back(p.file + " (rank " + std::to_string(p.rank) + "): " + p.detail);
  EXPECT_EQ(problems.count(Code::unknown_format), 0);
  return rows;
}

TEST(TraceFiles, AFileNamedLikeATraceThatIsNoneIsALostTrace) {
  const TempTree tree;
  tree.add("iteration_10/rank0_trace.json", kineto);
  tree.add_gzip("iteration_10/rank2_trace.json.gz", kineto);
  tree.add("iteration_10/rank1_trace.json", "hello");
  tree.add("iteration_10/rank3_trace.json.gz", R"({"error": "quota"})");
  tree.add("iteration_10/rank_4.json", "hello");
  tree.add("iteration_10/host_77.1700000000.pt.trace.json", "hello");
  EXPECT_THAT(lost_in(tree),
              ElementsAre("iteration_10/host_77.1700000000.pt.trace.json (rank -1): named like a trace, but its content is of no kind that is known",
                          "iteration_10/rank1_trace.json (rank 1): named like a trace, but its content is of no kind that is known",
                          "iteration_10/rank3_trace.json.gz (rank 3): named like a trace, but it is JSON without events",
                          "iteration_10/rank_4.json (rank 4): named like a trace, but its content is of no kind that is known"));
}

TEST(TraceFiles, AFileOfAnotherKindBesideTheTracesIsNoLoss) {
  const TempTree tree;
  tree.add("rank0_trace.json", kineto);
  for (const char* name : {"truth.json", "config.json", "rank0_metrics.json", "rank1_metrics.json"})
    tree.add(name, R"({"a": 1})");
  tree.add("README", "hello");
  tree.add("README.md", "hello");
  EXPECT_THAT(lost_in(tree), ElementsAre());
}

TEST(TraceFiles, MoreThanOneRunNeedsAChoice) {
  const TempTree tree;
  for (const char* run : {"runs/tp2", "runs/tp4"})
    for (const char* iteration : {"/iteration_10/rank0_trace.json", "/iteration_20/rank0_trace.json"})
      tree.add(std::string(run) + iteration, kineto);
  Config config = config_for(tree);
  EXPECT_THAT(message_of(config),
              AllOf(HasSubstr("runs/tp2, runs/tp4"), HasSubstr("--run NAME"), HasSubstr("--each-run")));
  config.input.run = "runs/tp3";
  EXPECT_THAT(message_of(config), HasSubstr("). Did you mean runs/tp2?"));
  config.input.run = "tp4";
  Problems problems;
  const Input input = find_alone(config, kineto_only, problems);
  EXPECT_EQ(input.run, "runs/tp4");
  EXPECT_THAT(input.runs, ElementsAre("runs/tp2", "runs/tp4"));
  EXPECT_THAT(shown(input),
              ElementsAre("runs/tp4/iteration_10/rank0_trace.json", "runs/tp4/iteration_20/rank0_trace.json"));
  config.input.run.clear();
  config.input.each_run = true;
  EXPECT_EQ(find_alone(config, kineto_only, problems).run, "runs/tp2");
}

TEST(TraceFiles, LooseFilesBelongToTheRunAroundThem) {
  const TempTree tree;
  tree.add("a/iteration_1/rank0.json", kineto);
  tree.add("a/extra/rank1.json", kineto);
  Problems problems;
  EXPECT_THAT(find_alone(config_for(tree), kineto_only, problems).runs, ElementsAre("a"));
  tree.add("rank5.json", kineto);
  EXPECT_THAT(message_of(config_for(tree)), HasSubstr("2 runs (., a)"));
}

TEST(TraceFiles, IterationsAreSelectedByNumber) {
  const TempTree tree;
  for (const char* n : {"2", "10", "30"}) tree.add(std::string("iteration_") + n + "/rank0.json", kineto);
  Config config = config_for(tree);
  config.input.iterations = {30, 2};
  Problems problems;
  EXPECT_THAT(shown(find_alone(config, kineto_only, problems)),
              ElementsAre("iteration_2/rank0.json", "iteration_30/rank0.json"));
  config.input.iterations = {11};
  EXPECT_THAT(message_of(config), HasSubstr("no trace of iteration 11 (there are: 2, 10, 30)"));
}

TEST(TraceFiles, IterationFolderAloneKeepsItsNumber) {
  const TempTree tree;
  tree.add("iteration_7/rank0.json", kineto);
  Config config = config_for(tree);
  config.input.folders = {tree.path("iteration_7")};
  Problems problems;
  const Input input = find_alone(config, kineto_only, problems);
  EXPECT_EQ(input.files[0].iteration, 7);
  EXPECT_EQ(input.run, ".");
}

TEST(TraceFiles, SeveralFoldersWithTheSameRanksAreIterations) {
  const TempTree tree;
  for (const char* name : {"p10/rank0.json", "p10/rank1.json", "p9/rank0.json", "n0/rank4.json", "n1/rank5.json"})
    tree.add(name, kineto);
  Config config = config_for(tree);
  config.input.folders = {tree.path("p10"), tree.path("p9/")};
  Problems problems;
  const Input iterations = find_alone(config, kineto_only, problems);
  EXPECT_THAT(shown(iterations), ElementsAre("p9/rank0.json", "p10/rank0.json", "p10/rank1.json"));
  EXPECT_EQ(iterations.files[0].iteration, 0);
  EXPECT_EQ(iterations.files[2].iteration, 1);
  EXPECT_EQ(iterations.files[2].iteration_label, "p10");
  config.input.folders = {tree.path("n0"), tree.path("n1")};
  EXPECT_EQ(find_alone(config, kineto_only, problems).files[1].iteration, -1);
}

TEST(TraceFiles, FoldersSideBySideWithTheSameRanksAreRuns) {
  const TempTree tree;
  for (const char* name : {"runs/lr1/profile_traces/rank0.json", "runs/lr1/profile_traces/rank1.json", "runs/lr2/rank0.json",
                           "runs/lr2/rank1.json", "runs/lr3/rank7.json"})
    tree.add(name, kineto);
  Config config = config_for(tree);
  EXPECT_THAT(message_of(config), HasSubstr("3 runs (runs/lr1, runs/lr2, runs/lr3)"));
  config.input.run = "lr2";
  Problems problems;
  EXPECT_THAT(shown(find_alone(config, kineto_only, problems)), ElementsAre("runs/lr2/rank0.json", "runs/lr2/rank1.json"));
  config.input.run = "lr1";
  EXPECT_EQ(find_alone(config, kineto_only, problems).files.size(), 2U);
}

TEST(TraceFiles, SweepsInFoldersOfSweepsAreRunsToo) {
  const TempTree tree;
  for (const char* name : {"a/lr1/rank_0/t.json", "a/lr2/rank_0/t.json", "b/lr1/rank_0/t.json", "b/lr1/rank_1/t.json"})
    tree.add(name, kineto);
  EXPECT_THAT(message_of(config_for(tree)), HasSubstr("3 runs (a/lr1, a/lr2, b)"));
}

TEST(TraceFiles, FoldersWithPartsOfOneSetAreOneRun) {
  const auto of_rank = [](int rank) {
    return R"({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": )" + std::to_string(rank) +
           R"(, "world_size": 4}, "traceEvents": []})";
  };
  const TempTree tree;
  tree.add("node0/rank0.json", kineto);
  tree.add("node1/rank1.json", kineto);
  Problems problems;
  EXPECT_EQ(find_alone(config_for(tree), kineto_only, problems).runs.size(), 1U);
  const TempTree local;  // the names carry the number on the node, the content the rank
  for (const int rank : {0, 1, 2, 3})
    local.add("node" + std::to_string(rank / 2) + "/rank" + std::to_string(rank % 2) + ".json", of_rank(rank));
  EXPECT_EQ(find_alone(config_for(local), kineto_only, problems).files.size(), 4U);
  const TempTree copy;  // a copy below the folder is no neighbour
  copy.add("t/rank0.json", kineto);
  copy.add("t/old/rank0.json", kineto);
  EXPECT_EQ(find_alone(config_for(copy), kineto_only, problems).runs.size(), 1U);
  const TempTree same;  // the same ranks inside, names without any
  same.add("x/host_1.2.pt.trace.json", of_rank(3));
  same.add("y/host_3.4.pt.trace.json", of_rank(3));
  EXPECT_THAT(message_of(config_for(same)), HasSubstr("2 runs (x, y)"));
}

TEST(TraceFiles, ArchivesAreToBeUnpacked) {
  const TempTree tree;
  tree.add("traces.zip", "PK\x03\x04");
  EXPECT_THAT(message_of(config_for(tree)), HasSubstr("1 x zip archive). traces.zip: unpack it with unzip."));
}

TEST(TraceFiles, NothingUsableIsOneLine) {
  const TempTree tree;
  EXPECT_THAT(message_of(config_for(tree)), HasSubstr("(there is no file)"));
  tree.add("a.pdf", "%PDF");
  tree.add("b.pdf", "%PDF");
  tree.add("c.json", "{}");
  const std::string message = message_of(config_for(tree));
  EXPECT_THAT(message, HasSubstr("(found 2 x PDF, 1 x other JSON)"));
  EXPECT_EQ(message.find('\n'), std::string::npos);
  tree.add("n0.nsys-rep", "x");
  EXPECT_THAT(message_of(config_for(tree)), HasSubstr("nsys export --type=sqlite"));
}

TEST(TraceFiles, ProfileModeLeavesTheOtherKindOut) {
  const TempTree tree;
  tree.add("rank0.json", kineto);
  tree.add("node0.sqlite", std::string_view("SQLite format 3\0", 16));
  const auto both = [](TraceFormat f) { return f == TraceFormat::kineto || f == TraceFormat::nsys_sqlite; };
  Config config = config_for(tree);
  Problems problems;
  EXPECT_THAT(shown(find_alone(config, both, problems)), ElementsAre("node0.sqlite", "rank0.json"));
  config.input.profile_mode = "torch";
  EXPECT_THAT(shown(find_alone(config, both, problems)), ElementsAre("rank0.json"));
  config.input.profile_mode = "nsys";
  EXPECT_THAT(shown(find_alone(config, both, problems)), ElementsAre("node0.sqlite"));
  EXPECT_THAT(message_of(config), HasSubstr("found 1 x Kineto trace: left out by the profile mode, "));
  EXPECT_THAT(message_of(config), ::testing::EndsWith("). See --profile-mode."));
}

TEST(TraceFiles, HostMapIsReadAndMustExist) {
  const TempTree tree;
  tree.add("rank0.json", kineto);
  tree.add("hosts.txt", "0 node-a\n1,node-b\n");
  Config config = config_for(tree);
  config.input.host_map = tree.path("hosts.txt");
  Problems problems;
  EXPECT_EQ(find_alone(config, kineto_only, problems).host_map.at(1), "node-b");
  config.input.host_map = tree.path("host.txt");
  EXPECT_THAT(message_of(config), HasSubstr("--host-map"));
}

TEST(TraceFiles, ExecutionTracesAloneAreNamedAndSentForTheirTimes) {
  const TempTree tree;
  tree.add("torch_et_0.json", R"({"schema": "1.0.1", "nodes": []})");
  EXPECT_THAT(message_of(config_for(tree)), HasSubstr("found 1 x execution trace"));
  EXPECT_THAT(message_of(config_for(tree)), HasSubstr("(found 1 x execution trace: not read by this version). Execution traces hold no times: give"));
}

}  // namespace
}  // namespace ccl
