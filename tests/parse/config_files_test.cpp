#include "parse/config_files.hpp"

#include <gtest/gtest.h>

#include "core/problems.hpp"
#include "parse/classify.hpp"
#include "support/scratch_folder.hpp"

namespace ccl {
namespace {

/// A settings file for the length of a test.
class SettingsFile {
 public:
  explicit SettingsFile(const std::string& text) : path_(folder_.write("settings.yaml", text)) {}
  const std::string& path() const { return path_; }

 private:
  test::ScratchFolder folder_;  // tests run side by side
  std::string path_;
};

std::string refusal(const std::string& text, const std::string& name = "kernels") {
  const SettingsFile file(text);
  Config config;
  config.settings_files = {file.path()};
  try {
    merged_settings(name, config);
  } catch (const FatalError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    return error.what();
  }
  return "no error";
}

TEST(ConfigFiles, WithoutSettingsTheEmbeddedTextIsUsed) {
  EXPECT_EQ(merged_settings("kernels", Config()), embedded_config("kernels"));
  EXPECT_THROW(embedded_config("nothing"), std::logic_error);
}

TEST(ConfigFiles, EveryEmbeddedFileHasANameAndText) {
  EXPECT_FALSE(embedded_configs().empty());
  for (const EmbeddedConfig& config : embedded_configs()) EXPECT_FALSE(config.text.empty()) << config.name;
}

TEST(ConfigFiles, SettingsAreLaidOverKeyByKeyAndAddedRulesComeFirst) {
  const SettingsFile first(
      "kernels:\n  communication:\n    mine: {match: [ncclDevKernel_AllReduce], operation: barrier}\n"
      "  compute_classes:\n    gemm: [only_this]\n");
  const SettingsFile second("kernels: {compute_classes: {gemm: [only_that]}}\n");
  Config config;
  config.settings_files = {first.path(), second.path()};
  const Classifier classifier(merged_settings("kernels", config));
  EXPECT_EQ(classifier.kernel("ncclDevKernel_AllReduce_x").op, CollectiveOp::barrier);
  EXPECT_EQ(classifier.kernel("ncclDevKernel_AllGather_x").op, CollectiveOp::all_gather);
  EXPECT_EQ(classifier.class_names().at(classifier.kernel("only_that").class_index), "gemm");
  EXPECT_EQ(classifier.class_names().at(classifier.kernel("only_this").class_index), "other");
  EXPECT_EQ(classifier.slice_rule("Optimizer.step#SGD.step"), "optimizer");
}

TEST(ConfigFiles, UnknownKeysAreRefusedWithASuggestion) {
  EXPECT_NE(refusal("kernel: {}\n").find("). Did you mean 'kernels'?"), std::string::npos);
  EXPECT_NE(refusal("kernels: {comunication: {}}\n").find("Did you mean 'communication'?"), std::string::npos);
  EXPECT_NE(refusal("kernels: 3\n").find("no map"), std::string::npos);
  EXPECT_NE(refusal("? [a]\n: b\n").find("no plain word"), std::string::npos);
  EXPECT_NE(refusal("kernels: {? [a] : b}\n").find("no plain word"), std::string::npos);
  EXPECT_NE(refusal("kernels: {\n").find("Check its YAML"), std::string::npos);
}

TEST(ConfigFiles, UnknownKeysOfHardwareEntriesAreRefused) {
  const std::string typo = refusal("hardware:\n  gpus:\n    A100 SXM 40 GB: {bf16_flop_per_s: 1e15}\n", "hardware");
  EXPECT_NE(typo.find("line 3: unknown key 'bf16_flop_per_s' in 'A100 SXM 40 GB'"), std::string::npos) << typo;
  EXPECT_NE(typo.find("Did you mean 'bf16_flops_per_s'?"), std::string::npos) << typo;
  EXPECT_NE(refusal("hardware: {systems: {Mine: {host: n}}}", "hardware").find("Did you mean 'hosts'?"), std::string::npos);
  EXPECT_EQ(refusal("hardware: {systems: {Mine: {gpu: A100, hosts: n, nic_bytes_per_s: 1e9, link_bytes_per_s: 1e9}}, gpus: "
                    "{X: {match: [x], bf16_flops_per_s: 1, fp8_flops_per_s: 1, tf32_flops_per_s: 1, memory_bytes_per_s: 1, "
                    "nic_bytes_per_s: 1}}}", "hardware"),
            "no error");
}

// Found by fuzzing: YAML takes nothing, maps and lists as keys and values too.
TEST(ConfigFiles, KeysAndWordsThatAreNoTextAreRefused) {
  EXPECT_NE(refusal("kernels:\n  communication: {&mine: {match: [x]}}\n").find("no plain word"), std::string::npos);
  EXPECT_NE(refusal("kernels:\n  compute_classes: {&gemm: [x]}\n").find("no plain word"), std::string::npos);
  EXPECT_NE(refusal("kernels:\n  slices: [{? {a: b} : c}]\n").find("no plain word"), std::string::npos);
  EXPECT_NE(refusal("kernels: " + std::string(40, '[') + std::string(40, ']') + "\n").find("nested too deep"), std::string::npos);
  for (const char* const value : {"operation: [a]", "dimension: {a: b}", "operation:"}) {
    const SettingsFile file("kernels: {communication: {mine: {match: [x], " + std::string(value) + "}}}\n");
    Config config;
    config.settings_files = {file.path()};
    EXPECT_THROW(Classifier(merged_settings("kernels", config)), FatalError) << value;
  }
}

TEST(ConfigFiles, AMissingFileIsABadRequest) {
  Config config;
  config.settings_files = {"/nowhere/settings.yaml"};
  EXPECT_THROW(merged_settings("kernels", config), FatalError);
}

TEST(ConfigFiles, AnEmptySettingsFileChangesNothing) { EXPECT_EQ(refusal("# only a comment\n"), "no error"); }

}  // namespace
}  // namespace ccl
