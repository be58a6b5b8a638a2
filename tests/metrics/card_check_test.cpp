#include "metrics/card_check.hpp"

#include <gtest/gtest.h>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// Two ranks on A100s of a node with four, in a world of 8.
SmallRun run_of(const Workload& workload) {
  SmallRun run;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    TraceBuilder builder;
    builder.rank(rank).step(0, 0, 10).kernel("gemm", 0, 5);
    builder.raw().gpu = "NVIDIA A100-SXM4-40GB";
    run.add(builder.build());
    run.ranks.entries.back().facts.gpus_in_node = 4;
  }
  run.ranks.world_size = 8;
  run.workload = workload;
  run.workload.card_file = "run.yaml";
  return run;
}

std::vector<std::string> said(const SmallRun& run) {
  StringTable strings;
  Problems problems;
  const ReportContext context{run.config, run.workload, run.ranks, run.groups, run.clock, strings, problems};
  compare_card(context, problems);
  std::vector<std::string> details;
  for (const Problem& row : problems.rows()) {
    EXPECT_EQ(row.code, Code::card_disagrees);
    EXPECT_EQ(row.file, "run.yaml");
    details.push_back(row.detail);
  }
  return details;
}

TEST(CardCheck, ACardThatFitsIsSilent) {
  Workload w;
  w.gpus_total = {8, "card"};
  w.gpus_per_node = {4, "card"};
  w.gpu_model = {"nvidia_a100_40gb", "card"};
  w.scale_up_bytes_per_s = {300e9, "card"};
  EXPECT_EQ(said(run_of(w)), std::vector<std::string>{});
  EXPECT_EQ(said(run_of({})), std::vector<std::string>{}) << "what it does not say can not disagree";
}

TEST(CardCheck, ThatOnlyDamagedFilesDisagreeIsSaid) {
  Workload w;
  w.gpus_per_node = {4, "card"};
  SmallRun run = run_of(w);
  for (RankEntry& entry : run.ranks.entries) entry.facts.loss = FileLoss::pieces, entry.facts.gpus_in_node = 3;
  EXPECT_EQ(said(run), std::vector<std::string>{"it counts 4 GPUs in a node, the traces list 3 (all of them are damaged)"});
  run.ranks.entries[0].facts.loss = FileLoss::nothing;
  run.ranks.entries[0].facts.gpus_in_node = 4;
  EXPECT_EQ(said(run), std::vector<std::string>{});
}

TEST(CardCheck, EachDisagreementIsSaid) {
  Workload w;
  w.gpus_total = {2, "card"};
  w.gpus_per_node = {8, "card"};
  w.gpu_model = {"nvidia_h100", "card"};
  w.scale_up_bytes_per_s = {75e9, "card"};
  const std::vector<std::string> details = said(run_of(w));
  EXPECT_EQ(details, (std::vector<std::string>{
                         "it counts 2 GPUs, the traces are of 8 ranks",
                         "it counts 8 GPUs in a node, the traces list 4",
                         "its GPU is \"nvidia_h100\", that of the traces \"NVIDIA A100-SXM4-40GB\"",
                         "its scale-up bandwidth is 75.0 GB/s one way, A100 SXM 40 GB says 300 GB/s, which is used"}));
}

TEST(CardCheck, RanksOfAHostAgainstGpusOfANode) {
  Workload w;
  w.gpus_per_node = {4, "card"};
  SmallRun run = run_of(w);
  for (std::int32_t rank = 0; rank < 8; ++rank) run.ranks.host_map[rank] = "n" + std::to_string(rank / 4);
  EXPECT_EQ(said(run), std::vector<std::string>{});
  for (std::int32_t rank = 0; rank < 8; ++rank) run.ranks.host_map[rank] = "n" + std::to_string(rank);
  EXPECT_EQ(said(run), std::vector<std::string>{"it counts 4 GPUs in a node, --host-map has at most 1 rank on a host"});
  for (std::int32_t rank = 0; rank < 8; ++rank) run.ranks.host_map[rank] = "n";
  EXPECT_EQ(said(run), std::vector<std::string>{"it counts 4 GPUs in a node, --host-map has 8 ranks on a host"});
  run.ranks.host_map = {{0, "n"}, {1, "n"}};
  EXPECT_EQ(said(run), std::vector<std::string>{}) << "a part of one node";
}

TEST(CardCheck, SizesOfTheMeshAgainstGroupsThatSayWhatTheyAre) {
  Workload workload;
  workload.mesh.tp = 4, workload.mesh.pp = 2;
  workload.mesh.source = "card";
  SmallRun run = run_of(workload);
  const auto add = [&](Dimension dimension, const char* description, std::int32_t size, const char* source = "description") {
    Group group;
    group.dimension = dimension;
    group.description = description;
    group.dimension_source = source;
    group.size = size;
    run.groups.groups.push_back(group);
  };
  add(Dimension::pp, "mesh_pp", 2);
  add(Dimension::tp, "mesh_tp", 4);
  add(Dimension::tp, "EXPERT_TENSOR_PARALLEL_GROUP", 2);
  add(Dimension::tp, "", 2, "mesh");
  add(Dimension::dp, "mesh_dp", 3);
  EXPECT_TRUE(said(run).empty());
  add(Dimension::tp, "mesh_tp", 2);
  EXPECT_EQ(said(run), (std::vector<std::string>{"tp is 4, the traces have 'mesh_tp' of 2 ranks"}));
}

TEST(CardCheck, WithoutACardThereIsNothingToCompare) {
  Workload w;
  w.gpus_total = {2, "toml"};
  SmallRun run = run_of(w);
  run.workload.card_file.clear();
  EXPECT_EQ(said(run), std::vector<std::string>{});
}

TEST(CardCheck, AProcessThatSeesOneGpuTellsNothingOfItsNode) {
  Workload w;
  w.gpus_per_node = {4, "card"};
  SmallRun run = run_of(w);
  for (RankEntry& entry : run.ranks.entries) entry.facts.gpus_in_node = 1;
  EXPECT_EQ(said(run), std::vector<std::string>{});
}

}  // namespace
}  // namespace ccl::test
