#include <gtest/gtest.h>

#include "metrics/hardware.hpp"
#include "support/small_run.hpp"

namespace ccl::test {
namespace {

// 1000 tokens in 1 ms on one A100: 1e6 tokens/s. N − N_embedding = 8e6, attention 12 · 2 · 64 · 100 = 153600 per token.
SmallRun one_gpu(const char* gpu = "NVIDIA A100-SXM4-40GB") {
  SmallRun run;
  TraceBuilder builder;
  builder.rank(0).step(1, 0, 1'000'000).kernel("gemm", 10, 50).raw().gpu = gpu;
  run.add(builder.build());
  run.ranks.world_size = 1;
  run.workload.global_batch = {10, "toml"};
  run.workload.seq_len = {100, "toml"};
  run.workload.parameters = {9e6, "card"};
  run.workload.parameters_embedding = {1e6, "card"};
  run.workload.layers = {2, "card"};
  run.workload.heads = {4, "card"};
  run.workload.head_dim = {16, "card"};
  return run;
}

TEST(Mfu, ConventionsDifferByEmbeddingAndAttention) {
  SmallRun run = one_gpu();
  EXPECT_DOUBLE_EQ(headline(run.result("mfu"), "mfu_ratio"), (6 * 8e6 + 153600) * 1e6 / 312e12);
  run.config.mfu_convention = "palm";
  EXPECT_DOUBLE_EQ(headline(run.result("mfu"), "per_token_flops"), 6 * 9e6 + 153600);
  run.config.mfu_convention = "megatron";
  EXPECT_DOUBLE_EQ(headline(run.result("mfu"), "per_token_flops"), 6 * 8e6 + 76800);
}

TEST(Mfu, AttentionLooksBackOverTheSlidingWindowOnly) {
  SmallRun run = one_gpu();
  run.workload.sliding_window = {25, "card"};
  EXPECT_DOUBLE_EQ(headline(run.result("mfu"), "per_token_flops"), 6 * 8e6 + 153600 / 4);
  run.workload.sliding_window = {1000, "card"};
  EXPECT_DOUBLE_EQ(headline(run.result("mfu"), "per_token_flops"), 6 * 8e6 + 153600);
}

TEST(Mfu, ActiveParametersCountForMixturesOfExperts) {
  SmallRun run = one_gpu();
  run.workload.parameters_active = {3e6, "card"};
  EXPECT_DOUBLE_EQ(headline(run.result("mfu"), "per_token_flops"), 6 * 2e6 + 153600);
}

TEST(Mfu, UnknownGpuNeedsAPeakFromTheCommandLine) {
  SmallRun run = one_gpu("Some New GPU");
  EXPECT_EQ(run.result("mfu").report.status, Status::absent);
  run.config.peaks["bf16_flops_per_s"] = 1e14;
  EXPECT_DOUBLE_EQ(headline(run.result("mfu"), "peak_flops_per_s"), 1e14);
}

TEST(Mfu, MissingModelSizeIsNamed) {
  SmallRun run = one_gpu();
  run.workload.layers = {};
  const MetricResult result = run.result("mfu");
  EXPECT_EQ(result.report.status, Status::absent);
  EXPECT_NE(result.report.reason.find("number of layers"), std::string::npos) << result.report.reason;
}

TEST(Mfu, SizesThatContradictEachOtherGiveNoValue) {
  SmallRun run = one_gpu();
  run.workload.parameters_embedding = {10e6, "card"};
  EXPECT_EQ(run.result("mfu").report.reason,
            "the model size contradicts itself: num_params_embedding 10000000 is more than num_params 9000000");
  run.workload.parameters_embedding = {};
  run.workload.vocab_size = {1'000'000, "card"};
  run.workload.hidden_size = {64, "card"};
  EXPECT_EQ(run.result("mfu").report.reason,
            "the model size contradicts itself: vocabulary x hidden size is more than the number of parameters");
  EXPECT_EQ(run.result("mfu").report.status, Status::absent);
}

TEST(Mfu, Fp8RunsAreSaidToBePutAgainstTheBf16Peak) {
  SmallRun run = one_gpu("NVIDIA H100 80GB HBM3");
  run.workload.precision = {"fp8", "card"};
  const MetricResult result = run.result("mfu");
  EXPECT_DOUBLE_EQ(headline(result, "peak_flops_per_s"), 989e12);
  EXPECT_NE(page_of(result).find("FP8"), std::string::npos);
}

TEST(Mfu, AboveAHundredPercentTheValueStays) {
  SmallRun run = one_gpu();
  run.workload.parameters = {9e9, "card"};
  EXPECT_GT(headline(run.result("mfu"), "mfu_ratio"), 100);
}

std::string gpu_called(const std::string& name) {
  return recognise_hardware(merged_settings("hardware", Config()), name, {}, {}, {}).gpu;
}

TEST(Hardware, GpusAreRecognisedBySubstring) {
  EXPECT_EQ(gpu_called("NVIDIA A100-SXM4-80GB"), "A100 SXM 80 GB");
  EXPECT_EQ(gpu_called("NVIDIA A100 80GB PCIe"), "A100 PCIe");
  EXPECT_EQ(gpu_called("nvidia_a100_40gb"), "A100 SXM 40 GB");
  EXPECT_EQ(gpu_called("NVIDIA H100 80GB HBM3"), "H100 SXM");
  EXPECT_EQ(gpu_called("NVIDIA GH200 480GB"), "GH200");
  EXPECT_EQ(gpu_called("NVIDIA H200"), "H200");
  EXPECT_EQ(gpu_called("NVIDIA H20"), "H20");
  EXPECT_EQ(gpu_called("NVIDIA GB200"), "GB200");
  EXPECT_EQ(gpu_called("AMD Instinct MI250X"), "MI250X");
  EXPECT_EQ(gpu_called(""), "");
}

TEST(Hardware, GpusWhoseNamesHoldThatOfAnotherAreNotIt) {
  EXPECT_EQ(gpu_called("NVIDIA RTX A1000"), "");
  EXPECT_EQ(gpu_called("NVIDIA A100-SXM4-40GB MIG 1g.5gb"), "MIG slice");
  EXPECT_EQ(gpu_called("Tesla V100-PCIE-16GB"), "V100 PCIe");
  EXPECT_EQ(gpu_called("Tesla V100-SXM2-16GB"), "V100 SXM");
  EXPECT_EQ(gpu_called("AMD Instinct MI300A"), "MI300A");
  EXPECT_EQ(gpu_called("AMD Instinct MI300X"), "MI300X");
  EXPECT_EQ(gpu_called("NVIDIA H200 NVL"), "H200 NVL");
  EXPECT_EQ(gpu_called("NVIDIA H2000"), "");
}

TEST(Mfu, OfASliceOfAGpuNoPeakIsKnown) {
  SmallRun run = one_gpu("NVIDIA A100-SXM4-40GB MIG 1g.5gb");
  EXPECT_EQ(run.result("mfu").report.status, Status::absent);
}

TEST(Mfu, PrecisionIsReadInUpperAndLowerCase) {
  SmallRun run = one_gpu("NVIDIA A100-SXM4-40GB");
  for (const char* precision : {"fp32", "FP32", "Float32"}) {
    run.workload.precision = {precision, "card"};
    EXPECT_DOUBLE_EQ(headline(run.result("mfu"), "peak_flops_per_s"), 156e12) << precision;
  }
}

// A run without settings files does not look.
TEST(Hardware, TheBuiltInTableIsGoodAndABadOneIsRefused) {
  EXPECT_NO_THROW(check_hardware_settings(merged_settings("hardware", Config())));
  EXPECT_THROW(check_hardware_settings("gpus: {A100: {bf16_flops_per_s: fast}}"), FatalError);
}

TEST(Hardware, TableWinsOverTheCardAndTheCommandLineOverBoth) {
  Workload card;
  card.scale_up_bytes_per_s = {250e9, "card"};
  card.scale_out_bytes_per_s = {25e9, "card"};
  const std::string yaml = merged_settings("hardware", Config());
  const Hardware table = recognise_hardware(yaml, "NVIDIA A100-SXM4-40GB", {"nid001234"}, card, {});
  EXPECT_EQ(table.system, "Perlmutter");
  EXPECT_DOUBLE_EQ(table.link(LinkClass::intra).value, 300e9);
  EXPECT_DOUBLE_EQ(table.link(LinkClass::intra).disagreeing, 250e9);
  EXPECT_DOUBLE_EQ(table.link(LinkClass::inter).disagreeing, 0);
  EXPECT_FALSE(table.link(LinkClass::unknown).known());
  const Hardware other = recognise_hardware(yaml, "", {}, card, {{"link_bytes_per_s", 1e9}});
  EXPECT_EQ(other.link(LinkClass::intra).source, "--peak");
  EXPECT_EQ(other.link(LinkClass::inter).source, "card");
}

}  // namespace
}  // namespace ccl::test
