#include "discover/find_companions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temp_tree.hpp"

namespace ccl {
namespace {

using test::TempTree;
using testing::HasSubstr;

constexpr const char* card_of_model = "workload: {model: {model_family: ";

std::string card(const std::string& model) { return card_of_model + model + "}}\n"; }

Workload find(const std::string& folder, Problems& problems, const std::string& run = ".",
              const InputConfig& config = {}) {
  return find_workload(walk({folder}, problems), run, config, 4, problems);
}

TEST(FindCompanions, CardNamedAfterItsFolderComesFirst) {
  const TempTree tree;
  tree.add("llama/llama.yaml", card("named"));
  tree.add("llama/workload_card.yaml", card("usual"));
  tree.add("llama/a.yaml", card("other"));
  Problems problems;
  const Workload w = find(tree.path("llama"), problems);
  EXPECT_EQ(w.model.value, "named");
  EXPECT_EQ(w.card_file, "llama.yaml");
}

TEST(FindCompanions, AnyYamlThatReadsLikeACard) {
  const TempTree tree;
  tree.add("conda.yaml", "name: x\n");
  tree.add("odd name.yml", card("found"));
  Problems problems;
  EXPECT_EQ(find(tree.path(), problems).model.value, "found");
  EXPECT_TRUE(problems.rows().empty());
}

TEST(FindCompanions, FoldersAboveGiveExactNamesOnly) {
  const TempTree tree;
  tree.add("job/train_config.toml", "[training]\nseq_len = 512\n");
  tree.add("job/workload_card.yaml", card("above"));
  tree.add("job/zzz.toml", "[training]\nseq_len = 1\n");
  tree.add("job/traces/profile_traces/iteration_1/rank0.json", test::kineto);
  Problems problems;
  const Workload w = find(tree.path("job/traces/profile_traces/iteration_1"), problems);
  EXPECT_EQ(w.model.value, "above");
  EXPECT_EQ(w.card_file, "../../../workload_card.yaml");
  EXPECT_EQ(w.seq_len.value, 512);
  tree.add("deep/1/2/3/4/rank0.json", test::kineto);
  tree.add("deep/workload_card.yaml", card("too far"));
  EXPECT_FALSE(find(tree.path("deep/1/2/3/4"), problems).model);
}

TEST(FindCompanions, LogsOfTheRouterAreSummedOverTheRunAndBadOnesNamed) {
  const TempTree tree;
  tree.add("rank0.json", test::kineto);
  tree.add("gates_logs_0/gate_logs_1.json", R"({"expert_loads": [[1, 2]]})");
  tree.add("gates_logs_1/gate_logs_1.json", R"({"expert_loads": [[10, 20], [0, 5]]})");
  tree.add("moe_assignments_0.json", R"({"token_counts": "none"})");
  Problems problems;
  const ExpertLoads loads = find(tree.path(), problems).expert_loads;
  EXPECT_EQ(loads.loads, (std::vector<double>{11, 27}));
  EXPECT_EQ(loads.file, "gates_logs_0/gate_logs_1.json");
  EXPECT_EQ(loads.files_count, 2);
  EXPECT_EQ(loads.entries_count, 3);
  ASSERT_EQ(problems.rows().size(), 1U);
  EXPECT_EQ(problems.rows()[0].file, "moe_assignments_0.json");
}

TEST(FindCompanions, OwnRunBeforeFoldersAboveAndNeverAnotherRun) {
  const TempTree tree;
  tree.add("a/workload_card.yaml", card("of a"));
  tree.add("b/workload_card.yaml", card("of b"));
  tree.add("workload_card.yaml", card("of all"));
  Problems problems;
  EXPECT_EQ(find(tree.path(), problems, "a").model.value, "of a");
  EXPECT_EQ(find(tree.path(), problems, "b").model.value, "of b");
  EXPECT_EQ(find(tree.path(), problems, "c").model.value, "of all");
}

TEST(FindCompanions, BrokenCardIsNamedAndTheNextOneUsed) {
  const TempTree tree;
  tree.add("workload_card.yaml", "workload: {model: [}\n");
  tree.add("sub/workload_card.yaml", card("good"));
  Problems problems;
  EXPECT_EQ(find(tree.path(), problems).model.value, "good");
  ASSERT_EQ(problems.count(Code::card_invalid), 1);
  EXPECT_EQ(problems.rows()[0].file, "workload_card.yaml");
}

TEST(FindCompanions, BrokenTomlIsNamed) {
  const TempTree tree;
  tree.add("train_config.toml", "[training]\nseq_len = = 1\n");
  Problems problems;
  EXPECT_FALSE(find(tree.path(), problems).seq_len);
  EXPECT_EQ(problems.count(Code::config_file_invalid), 1);
}

TEST(FindCompanions, MegatronGroupFileBesideOrTwoAbove) {
  const TempTree tree;
  tree.add("x/unique_parallel_groups_1.txt", "TP Size: 2\nPP Size: 1\nCP Size: 1\nWorld Size: 4\n");
  tree.add("x/y/z/rank0.json", test::kineto);
  Problems problems;
  const Workload w = find(tree.path("x/y/z"), problems);
  EXPECT_EQ(w.mesh.tp, 2);
  EXPECT_EQ(w.group_file, "../../unique_parallel_groups_1.txt");
}

TEST(FindCompanions, FilesTheUserNames) {
  const TempTree tree;
  tree.add("t/rank0.json", test::kineto);
  tree.add("t/workload_card.yaml", card("found"));
  tree.add("mine", card("by content"));
  tree.add("other", "[training]\nseq_len = 77\n");
  tree.add("run.sh", "--tensor-model-parallel-size 2 --num-layers 8");
  Problems problems;
  InputConfig config;
  config.training_config = tree.path("mine");
  EXPECT_EQ(find(tree.path("t"), problems, ".", config).model.value, "by content");
  EXPECT_EQ(find(tree.path("t"), problems, ".", config).card_file, "../mine");
  config.training_config = tree.path("other");
  config.megatron_args = tree.path("run.sh");
  const Workload w = find(tree.path("t"), problems, ".", config);
  EXPECT_EQ(w.seq_len.value, 77);
  EXPECT_EQ(w.model.value, "found");
  EXPECT_EQ(w.layers.value, 8);
  EXPECT_EQ(w.mesh.dp_replicate, 2);
  config.card = tree.path("gone.yaml");
  EXPECT_THROW(find(tree.path("t"), problems, ".", config), FatalError);
}

}  // namespace
}  // namespace ccl
