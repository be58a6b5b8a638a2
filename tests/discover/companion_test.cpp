#include "discover/companion.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

Companion with_mesh(const char* source, std::int32_t dp_shard, std::int32_t tp = 1, std::int32_t pp = 1) {
  Companion c;
  c.workload.mesh.dp_shard = dp_shard;
  c.workload.mesh.tp = tp;
  c.workload.mesh.pp = pp;
  c.workload.mesh.source = source;
  return c;
}

TEST(Resolve, TrainingConfigurationIsBelievedBeforeTheCard) {
  Companions all;
  all.card = with_mesh("card", 8);
  all.card->workload.seq_len = {1024, "card"};
  all.card->workload.model = {"llama-3.1-8b", "card"};
  all.toml = with_mesh("toml", 4, 2);
  all.toml->workload.seq_len = {2048, "toml"};
  all.toml->workload.model = {"llama3 8B", "toml"};
  Problems problems;
  const Workload w = resolve_workload(all, problems);
  EXPECT_EQ(w.mesh.tp, 2);
  EXPECT_EQ(w.mesh.source, "toml");
  EXPECT_EQ(w.seq_len.value, 2048);
  EXPECT_EQ(w.model.value, "llama-3.1-8b");
  ASSERT_EQ(problems.count(Code::card_disagrees), 2);
  EXPECT_EQ(problems.rows()[1].detail, "the card says seq_len 1024, toml 2048 (used)");
}

TEST(Resolve, AMeshOfAsManyRanksAsTheTracesSayIsBelievedFirst) {
  Companions all;
  all.world_size = 8;
  all.card = with_mesh("card", 2, 2, 2);
  all.toml = with_mesh("toml", 2, 4, 2);
  Problems problems;
  EXPECT_EQ(resolve_workload(all, problems).mesh.source, "card");
  ASSERT_EQ(problems.rows().size(), 1U);
  EXPECT_EQ(problems.rows()[0].detail,
            "the card says pp 2, dp 1x2, cp 1, tp 2, ep 1 (used), the toml file pp 2, dp 1x2, cp 1, tp 4, ep 1");
  all.world_size = 24;  // neither: the order decides
  Problems neither;
  EXPECT_EQ(resolve_workload(all, neither).mesh.source, "toml");
  all.world_size = -1;
  EXPECT_EQ(resolve_workload(all, neither).mesh.source, "toml");
}

TEST(Resolve, NumbersOfParametersThatContradictEachOtherAreNamed) {
  const auto said = [](std::optional<double> all, std::optional<double> active, std::optional<double> embedding,
                       std::optional<std::int64_t> experts = {}) {
    Companions companions;
    companions.card.emplace();
    Workload& w = companions.card->workload;
    set_value(w.parameters, all, "card");
    set_value(w.parameters_active, active, "card");
    set_value(w.parameters_embedding, embedding, "card");
    set_value(w.experts, experts, "card");
    Problems problems;
    resolve_workload(companions, problems);
    return problems.rows().empty() ? "" : problems.rows()[0].detail;
  };
  EXPECT_EQ(said(100, 100, 10), "");
  EXPECT_EQ(said(100, 20, 10, 8), "");
  EXPECT_EQ(said(100, {}, 101), "num_params_embedding 101 is more than num_params 100");
  EXPECT_EQ(said(100, 20, 30, 8), "num_params_embedding 30 is more than num_params_active 20");
  EXPECT_EQ(said(100, 101, {}, 8), "num_params_active 101 is more than num_params 100");
  EXPECT_EQ(said(100, 20, {}), "num_params_active 20 is less than num_params 100, and it counts no experts");
}

TEST(Resolve, ABatchThatIsNoWholeNumberOfMicroBatchesIsNamed) {
  const auto said = [](std::int64_t batch, std::int64_t size, std::int32_t dp) {
    Companions all;
    if (dp > 0) all.toml = with_mesh("toml", dp);
    all.card.emplace();
    all.card->batch = batch, all.card->batch_scope = "global";
    all.card->workload.microbatch_size = {size, "card"};
    Problems problems;
    resolve_workload(all, problems);
    return problems.rows().empty() ? "" : problems.rows()[0].detail;
  };
  EXPECT_EQ(said(8, 2, 4), "");
  EXPECT_EQ(said(8, 2, 0), "");
  EXPECT_EQ(said(7, 2, 0), "a global batch of 7 (card) is not divisible by a micro-batch size of 2 (card)");
  EXPECT_EQ(said(8, 2, 8),
            "a global batch of 8 (card) is not divisible by a micro-batch size of 2 (card) x 8 data-parallel ranks");
}

TEST(Resolve, ABatchThatCardAndTomlTellDifferentlyIsNamedWithBoth) {
  const auto said = [](const std::string& scope, std::int64_t batch, const char* source = "toml") {
    Companions all;
    all.card = with_mesh("card", 2);
    all.card->batch = batch;
    all.card->batch_scope = scope;
    all.toml = with_mesh("toml", 2);
    if (source == std::string("toml")) all.toml->workload.local_batch = {2, "toml"};
    if (source == std::string("megatron")) all.megatron_arguments.emplace().workload.global_batch = {32, "megatron"};
    Problems problems;
    resolve_workload(all, problems);
    return problems.rows().empty() ? "" : problems.rows()[0].detail;
  };
  EXPECT_EQ(said("global", 8), "the card says a global batch of 8 (used), toml local_batch_size x 2 data-parallel ranks is 4");
  EXPECT_EQ(said("", 8), "the card says batch_size 8, toml local_batch_size x 2 data-parallel ranks is 4 (used)");
  EXPECT_EQ(said("local", 8), "the card says a local batch of 8, toml 2");
  EXPECT_EQ(said("global", 4), "");
  EXPECT_EQ(said("", 4), "");
  EXPECT_EQ(said("local", 2), "");
  EXPECT_EQ(said("local", 8, "megatron"),
            "the card says a global batch of 16, 8 x 2 data-parallel ranks (used), megatron 32");
}

TEST(Resolve, ArgumentsThatTheTomlContradictsAreNamed) {
  Companions all;
  all.world_size = 8;
  all.toml = with_mesh("toml", 2, 2, 2);
  all.toml->workload.global_batch = {16, "toml"};
  all.toml->workload.seq_len = {2048, "toml"};
  all.megatron_arguments = with_mesh("megatron", 1, 4, 2);
  all.megatron_arguments->rest = RestDimension::dp_replicate;
  all.megatron_arguments->shown = "--megatron-args";
  all.megatron_arguments->workload.global_batch = {64, "megatron"};
  all.megatron_arguments->workload.seq_len = {1024, "megatron"};
  Problems problems;
  EXPECT_EQ(resolve_workload(all, problems).mesh.tp, 2);
  ASSERT_EQ(problems.count(Code::config_file_invalid), 3);
  EXPECT_EQ(problems.rows()[0].file, "--megatron-args");
  EXPECT_EQ(problems.rows()[1].detail,
            "the arguments say pp 2, cp 1, tp 4, ep 1, the toml file pp 2, dp 1x2, cp 1, tp 2, ep 1 (used)");
  EXPECT_EQ(problems.rows()[0].detail, "the arguments say a global batch of 64, toml 16 (used)");
  EXPECT_EQ(problems.rows()[2].detail, "the arguments say seq_len 1024, toml 2048 (used)");
  all.toml.reset();
  Problems alone;
  all.megatron_arguments->workload.mesh.tp = 16;
  EXPECT_FALSE(resolve_workload(all, alone).mesh.known());
  ASSERT_EQ(alone.rows().size(), 1U);
  EXPECT_EQ(alone.rows()[0].detail, "the arguments say pp 2, cp 1, tp 16, ep 1, which does not divide 8 ranks, and is not used");
}

TEST(Resolve, ABatchOfTheArgumentsIsComparedWithTheCardBesideTheToml) {
  Companions all;
  all.card = with_mesh("card", 2);
  all.card->batch = 4;
  all.card->batch_scope = "global";
  all.toml = with_mesh("toml", 2);
  all.toml->workload.local_batch = {2, "toml"};
  all.megatron_arguments.emplace().workload.global_batch = {64, "megatron"};
  Problems problems;
  EXPECT_EQ(resolve_workload(all, problems).global_batch.value, 4);
  ASSERT_EQ(problems.rows().size(), 1U);
  EXPECT_EQ(problems.rows()[0].detail, "the card says a global batch of 4 (used), megatron 64");
}

TEST(Resolve, AModelThatCardAndMegatronTellDifferentlyIsNamed) {
  Companions all;
  all.card.emplace().workload.layers = {32, "card"};
  all.megatron_arguments.emplace().workload.layers = {24, "megatron"};
  Problems problems;
  EXPECT_EQ(resolve_workload(all, problems).layers.value, 32);
  ASSERT_EQ(problems.count(Code::card_disagrees), 1);
  EXPECT_EQ(problems.rows()[0].detail, "the card says num_layers 32 (used), megatron 24");
}

TEST(Resolve, F33OpenDimensionIsFilledFromTheWorldSize) {
  Companions all;
  all.toml = with_mesh("toml", 1, 4, 2);
  all.toml->rest = RestDimension::dp_shard;
  Problems problems;
  EXPECT_FALSE(resolve_workload(all, problems).mesh.known());
  all.world_size = 64;
  EXPECT_EQ(resolve_workload(all, problems).mesh.dp_shard, 8);
  all.world_size = 63;
  EXPECT_FALSE(resolve_workload(all, problems).mesh.known());
}

TEST(Resolve, BatchScopeInItsOrder) {
  Problems problems;
  Companions all;
  all.card = with_mesh("card", 4);
  all.card->batch = 64;
  Workload w = resolve_workload(all, problems);
  EXPECT_EQ(w.global_batch.value, 64);
  EXPECT_EQ(w.local_batch.value, 16);
  EXPECT_EQ(problems.count(Code::card_disagrees), 1);

  all.megatron_arguments.emplace().workload.global_batch = {32, "megatron"};
  EXPECT_EQ(resolve_workload(all, problems).global_batch.value, 32);
  EXPECT_EQ(problems.count(Code::card_disagrees), 2) << "64 of the card";

  all.toml.emplace().workload.local_batch = {2, "toml"};
  w = resolve_workload(all, problems);
  EXPECT_EQ(w.global_batch.value, 8);
  EXPECT_EQ(w.global_batch.source, "derived: toml local_batch_size x 4 data-parallel ranks");
  EXPECT_EQ(w.local_batch.value, 2);

  all.toml->workload.global_batch = {128, "toml"};
  EXPECT_EQ(resolve_workload(all, problems).global_batch.value, 128);

  all.card->batch_scope = "global";
  EXPECT_EQ(resolve_workload(all, problems).global_batch.value, 64);
  EXPECT_EQ(problems.count(Code::card_disagrees), 5);
}

TEST(Resolve, BatchScopeThatIsNotKnownIsSaidAndCountsAsAbsent) {
  Problems problems;
  Companions all;
  all.card = with_mesh("card", 4);
  all.card->batch = 64;
  all.card->batch_scope = "per_rank";
  EXPECT_EQ(resolve_workload(all, problems).global_batch.value, 64);
  ASSERT_EQ(problems.count(Code::card_disagrees), 2);
  ASSERT_EQ(problems.rows().size(), 2u);
  EXPECT_NE(problems.rows()[1].detail.find("'per_rank'"), std::string::npos);

  all.toml.emplace().workload.global_batch = {128, "toml"};
  Problems others;
  EXPECT_EQ(resolve_workload(all, others).global_batch.value, 128);
  EXPECT_EQ(others.count(Code::card_disagrees), 2) << "and 64 is not 128";
}

TEST(Resolve, F30LocalBatchMistakenForGlobalIsSaid) {
  Companions all;
  all.card = with_mesh("card", 4);
  all.card->batch = 2;
  all.toml = with_mesh("toml", 4);
  all.toml->workload.local_batch = {2, "toml"};
  Problems problems;
  EXPECT_EQ(resolve_workload(all, problems).global_batch.value, 8);
  ASSERT_EQ(problems.count(Code::card_disagrees), 1);
  EXPECT_NE(problems.rows()[0].detail.find("local batch of the TOML"), std::string::npos);
}

TEST(Resolve, MicroBatches) {
  Problems problems;
  Companions all;
  all.toml = with_mesh("toml", 2, 1, 4);
  all.toml->workload.local_batch = {8, "toml"};
  Workload w = resolve_workload(all, problems);
  EXPECT_EQ(w.microbatches.value, 8);
  EXPECT_NE(w.microbatches.source.find("toml default"), std::string::npos);
  all.toml->workload.microbatch_size = {2, "toml"};
  EXPECT_EQ(resolve_workload(all, problems).microbatches.value, 4);
  all.toml->workload.mesh.pp = 1;
  EXPECT_FALSE(resolve_workload(all, problems).microbatches);

  Companions megatron;
  megatron.megatron_arguments = with_mesh("megatron", 1, 4);
  megatron.megatron_arguments->workload.mesh.tp_innermost_megatron = true;
  megatron.megatron_arguments->rest = RestDimension::dp_replicate;
  megatron.megatron_arguments->workload.global_batch = {32, "megatron"};
  megatron.megatron_arguments->workload.microbatch_size = {1, "megatron"};
  megatron.world_size = 8;
  w = resolve_workload(megatron, problems);
  EXPECT_EQ(w.mesh.dp_replicate, 2);
  EXPECT_EQ(w.microbatches.value, 16);
}

TEST(Resolve, MicroBatchesAreOfTheBatchThatIsUsed) {
  Problems problems;
  Companions all;
  all.card = with_mesh("card", 2, 1, 4);
  all.card->batch = 64;
  all.card->batch_scope = "global";
  all.toml = with_mesh("toml", 2, 1, 4);
  all.toml->workload.local_batch = {8, "toml"};
  Workload w = resolve_workload(all, problems);
  EXPECT_EQ(w.global_batch.value, 64);
  EXPECT_EQ(w.local_batch.value, 32) << "the TOML's 8 are of a global batch of 16";
  EXPECT_EQ(w.microbatches.value, 32);
  EXPECT_EQ(problems.count(Code::card_disagrees), 1);
  all.toml->workload.global_batch = {64, "toml"};  // accumulates gradients of four local batches
  w = resolve_workload(all, problems);
  EXPECT_EQ(w.local_batch.value, 8);
  EXPECT_EQ(w.microbatches.value, 8);
  all.toml->workload.global_batch = {};
  all.card->batch = 63;
  EXPECT_FALSE(resolve_workload(all, problems).microbatches) << "no whole number for each of 2 ranks";
}

TEST(Resolve, VirtualStagesFollowFromTheLayersOfOne) {
  const auto stages = [](std::int64_t layers, std::int64_t of_stage) {
    Companions all;
    all.toml = with_mesh("toml", 1, 1, 2);
    all.toml->layers_per_stage = of_stage;
    all.card = Companion();
    all.card->workload.layers = {layers, "card"};
    Problems problems;
    return resolve_workload(all, problems).virtual_stages.value;
  };
  EXPECT_EQ(stages(14, 4), 2) << "16 with the embedding and the head, and 14 make 4 stages";
  EXPECT_EQ(stages(16, 4), 2) << "5 stages are none of two ranks each";
  EXPECT_FALSE(stages(6, 1)) << "4 with the embedding and the head, 3 without";
  EXPECT_FALSE(stages(16, 100));
}

TEST(Resolve, NothingGivenNothingKnown) {
  Problems problems;
  const Workload w = resolve_workload(Companions(), problems);
  EXPECT_FALSE(w.mesh.known());
  EXPECT_FALSE(w.global_batch);
  EXPECT_FALSE(w.microbatches);
  EXPECT_TRUE(problems.rows().empty());
}

}  // namespace
}  // namespace ccl
