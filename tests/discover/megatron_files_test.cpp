#include "discover/megatron_files.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

using Groups = std::vector<std::vector<std::int32_t>>;

Companion arguments(std::string_view text) {
  std::string why;
  const std::optional<Companion> read = read_megatron_arguments(text, why);
  EXPECT_TRUE(read) << why;
  return read.value_or(Companion());
}

TEST(MegatronArguments, RunScriptWithVariables) {
  const Companion c = arguments(R"(#!/bin/bash
export TP_SIZE=${TP_SIZE:-4}
PP=2   # stages
LAYERS=32
ARGS=(
  --tensor-model-parallel-size $TP_SIZE
  --pipeline-model-parallel-size ${PP} \
  --context-parallel-size=1
  # --expert-model-parallel-size 8
  --num-layers $LAYERS --hidden-size 4096 --num-attention-heads 32
  --group-query-attention --num-query-groups 8
  --num-layers-per-virtual-pipeline-stage 4
  --micro-batch-size 1 --global-batch-size 32 --seq-length "1024"
  --sequence-parallel --bf16
)
)");
  const Workload& w = c.workload;
  EXPECT_EQ(w.mesh.tp, 4);
  EXPECT_EQ(w.mesh.pp, 2);
  EXPECT_EQ(w.mesh.ep, 1);
  EXPECT_TRUE(w.mesh.tp_innermost_megatron);
  EXPECT_EQ(c.rest, RestDimension::dp_replicate);
  EXPECT_EQ(w.layers.value, 32);
  EXPECT_EQ(w.kv_heads.value, 8);
  EXPECT_EQ(w.virtual_stages.value, 4);
  EXPECT_EQ(w.microbatch_size.value, 1);
  EXPECT_EQ(w.global_batch.value, 32);
  EXPECT_EQ(w.seq_len.value, 1024);
  EXPECT_EQ(w.precision.value, "bf16");
}

TEST(MegatronArguments, UnresolvedVariableMakesTheMeshUnknown) {
  const Companion c = arguments("--tensor-model-parallel-size $TP --pipeline-model-parallel-size 2 --num-layers $N");
  EXPECT_FALSE(c.workload.mesh.known());
  EXPECT_FALSE(c.workload.layers);
}

TEST(MegatronArguments, CircularVariablesEnd) {
  EXPECT_FALSE(arguments("A=$B\nB=$A\n--tensor-model-parallel-size $A\n").workload.mesh.known());
}

TEST(MegatronArguments, AnyKnownArgumentIsEnough) {
  EXPECT_EQ(arguments("--global-batch-size 64").workload.global_batch.value, 64);
  EXPECT_EQ(arguments("--hidden-size=4096").workload.hidden_size.value, 4096);
}

TEST(MegatronArguments, ValuesThatCannotBeMeantAreNamed) {
  const Companion c = arguments("--num-layers x --seq-length -5 --foo 3 --hidden-size 4096 --num-experts");
  EXPECT_EQ(c.unusable, (std::vector<std::string>{
                            "--num-layers is 'x', not a whole number from 1 to 1e15, and is not used",
                            "--num-experts has no value, and is not used",
                            "--seq-length is '-5', not a whole number from 1 to 1e15, and is not used"}));
  EXPECT_FALSE(c.workload.layers || c.workload.seq_len);
  EXPECT_EQ(c.workload.hidden_size.value, 4096);
  EXPECT_TRUE(arguments("--num-layers $N --seq-length ${S} --num-experts `wc -l`").unusable.empty()) << "a shell knows them";
}

TEST(MegatronArguments, OtherTextIsRefused) {
  std::string why;
  EXPECT_FALSE(read_megatron_arguments("hello --verbose 3", why));
  EXPECT_FALSE(why.empty());
}

TEST(MegatronGroups, FileOfTheTrainingRun) {
  std::string why;
  const auto c = read_megatron_groups(R"(MEGATRON PARALLEL CONFIGURATION
===============
Timestamp: 20250101_101010
TP Size: 2
PP (Pipeline Parallel) Size: 2
CP Size: 1
EP Size: 1
World Size: 8
Global Batch Size: 64

TENSOR PARALLEL (TP) GROUPS
---------------
Group 1: [0, 1]
TP Group 2: [2, 3]
Total groups: 2
Group 9: [7]
UNIQUE PP GROUPS
---------------
PP Group 1: [0, 4]
EXPERT PARALLEL (EP) GROUPS
---------------
No groups found.
FULL MODEL RANK GROUPS (by DP Rank)
---------------
one line of explanation
---------------
Group 0: [0, 1, 4, 5]
Model Group 1: [2, 3, 6, 7]
Total model replicas (DP): 2
)",
                                      why);
  ASSERT_TRUE(c) << why;
  const Workload& w = c->workload;
  EXPECT_EQ(w.mesh.tp, 2);
  EXPECT_EQ(w.mesh.pp, 2);
  EXPECT_EQ(w.mesh.dp_replicate, 2);
  EXPECT_EQ(w.global_batch.value, 64);
  EXPECT_EQ(w.megatron_tp, (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(w.megatron_pp, (Groups{{0, 4}}));
  EXPECT_TRUE(w.megatron_ep.empty());
  EXPECT_EQ(w.megatron_model, (Groups{{0, 1, 4, 5}, {2, 3, 6, 7}}));
}

TEST(MegatronGroups, OtherTextIsRefused) {
  std::string why;
  EXPECT_FALSE(read_megatron_groups("nothing here\n", why));
  EXPECT_FALSE(read_megatron_groups("", why));
}

TEST(MegatronGroups, FileNames) {
  EXPECT_TRUE(is_group_file_name("unique_parallel_groups_20250101_101010.txt"));
  EXPECT_TRUE(is_group_file_name("unique_parallel_groups.txt"));
  EXPECT_FALSE(is_group_file_name("parallel_groups.txt"));
  EXPECT_FALSE(is_group_file_name("unique_parallel_groups.csv"));
}

}  // namespace
}  // namespace ccl
