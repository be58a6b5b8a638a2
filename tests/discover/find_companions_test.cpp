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
}

TEST(FindCompanions, WhatTheUserNamesMustBeUsable) {
  const TempTree tree;
  tree.add("t/rank0.json", test::kineto);
  tree.add("empty.yaml", "");
  tree.add("cut.yaml", "workload: {model: [}\n");
  tree.add("conda.yaml", "name: x\n");
  tree.add("cut.toml", "[training]\nseq_len = = 1\n");
  tree.add("passwd", "root:x:0:0:root:/root:/bin/bash\n");
  tree.add("good.yaml", card("good"));
  const auto refusal = [&](const std::string& card, const std::string& training_config,
                           const std::string& megatron_args) -> std::string {
    const auto full = [&](const std::string& name) { return name.empty() ? "" : tree.path(name); };
    InputConfig config;
    config.card = full(card);
    config.training_config = full(training_config);
    config.megatron_args = megatron_args.starts_with("--") ? megatron_args : full(megatron_args);
    Problems problems;
    try {
      find(tree.path("t"), problems, ".", config);
    } catch (const FatalError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
      EXPECT_EQ(std::string(error.what()).find("../"), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("empty.yaml", "", ""), "--card " + tree.path("empty.yaml") + " cannot be used (it holds no keys)");
  EXPECT_THAT(refusal("cut.yaml", "", ""), HasSubstr("line 1"));
  EXPECT_THAT(refusal("conda.yaml", "", ""), HasSubstr("none of the sections"));
  EXPECT_THAT(refusal("passwd", "", ""), HasSubstr("--card " + tree.path("passwd")));
  EXPECT_THAT(refusal("gone.yaml", "", ""), HasSubstr("no such file"));
  EXPECT_THAT(refusal("t", "", ""), HasSubstr("a folder"));
  EXPECT_THAT(refusal("", "conda.yaml", ""), HasSubstr("--config " + tree.path("conda.yaml")));
  EXPECT_THAT(refusal("", "cut.toml", ""), HasSubstr("line 2"));
  EXPECT_THAT(refusal("", "passwd", ""), HasSubstr("--config"));
  EXPECT_THAT(refusal("good.yaml", "passwd", ""), HasSubstr("--config"));
  EXPECT_EQ(refusal("good.yaml", "good.yaml", ""), "accepted");
  tree.add("other.yaml", card("other"));
  EXPECT_THAT(refusal("good.yaml", "other.yaml", ""), HasSubstr("--card names another"));
  tree.add("typo.yaml", "workload:\n  data: {seq_lenn: 128}\n");
  EXPECT_EQ(refusal("typo.yaml", "", ""), "--card " + tree.path("typo.yaml") +
            " cannot be used (line 2: 'workload.data.seq_lenn' is not read, did you mean 'seq_len'?)");
  tree.add("t/workload_card.yaml", "workload:\n  data: {seq_lenn: 128}\n");
  EXPECT_EQ(refusal("", "", ""), "accepted") << "nobody named it";
  Problems problems;
  find(tree.path("t"), problems);
  ASSERT_EQ(problems.count(Code::card_disagrees), 1) << "but it is said";
  EXPECT_EQ(problems.rows()[0].file, "workload_card.yaml");
  EXPECT_THAT(problems.rows()[0].detail, HasSubstr("did you mean 'seq_len'?"));
  EXPECT_THAT(refusal("", "", "passwd"), HasSubstr("--megatron-args " + tree.path("passwd")));
  EXPECT_EQ(refusal("", "", "--tensor-paralel 2"),
            "--megatron-args --tensor-paralel 2 cannot be used (it holds no Megatron arguments)");
}

}  // namespace
}  // namespace ccl
