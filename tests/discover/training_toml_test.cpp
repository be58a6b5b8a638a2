#include "discover/training_toml.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

Companion toml(std::string_view text) {
  std::string why;
  const std::optional<Companion> read = read_training_toml(text, why);
  EXPECT_TRUE(read) << why;
  return read.value_or(Companion());
}

TEST(TrainingToml, TorchTitanFile) {
  const Companion c = toml(R"(
[job]
dump_folder = "./outputs"  # where
[model]
name = "llama3"
flavor = "8B"
[optimizer]
lr = 6e-4
[training]
local_batch_size = 4
global_batch_size = -1
seq_len = 8192
mixed_precision_param = "bfloat16"
unknown_key = [1, 2]
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = -1
tensor_parallel_degree = 4
pipeline_parallel_degree = 2
pipeline_parallel_schedule = "Interleaved1F1B"
pipeline_parallel_microbatch_size = 2
[profiling]
save_traces_folder = "profile_trace"
)");
  const Workload& w = c.workload;
  EXPECT_EQ(w.mesh.dp_replicate, 2);
  EXPECT_EQ(w.mesh.tp, 4);
  EXPECT_EQ(w.mesh.pp, 2);
  EXPECT_EQ(w.mesh.cp, 1);
  EXPECT_EQ(w.mesh.source, "toml");
  EXPECT_EQ(c.rest, RestDimension::dp_shard);
  EXPECT_EQ(w.model.value, "llama3 8B");
  EXPECT_EQ(w.local_batch.value, 4);
  EXPECT_FALSE(w.global_batch);
  EXPECT_EQ(w.seq_len.value, 8192);
  EXPECT_EQ(w.precision.value, "bfloat16");
  EXPECT_EQ(w.pipeline_schedule.value, "Interleaved1F1B");
  EXPECT_EQ(w.microbatch_size.value, 2);
}

TEST(TrainingToml, TheTypeOfParametersIsNotThatOfComputing) {
  EXPECT_FALSE(toml("[training]\ndtype = \"float32\"\n").workload.precision);  // mixed precision, bfloat16 by default, is
  EXPECT_EQ(toml("[training]\ndtype = \"float32\"\nmixed_precision_param = \"float32\"\n").workload.precision.value, "float32");
  EXPECT_EQ(toml("[training]\ndtype = \"bfloat16\"\n").workload.precision.value, "bfloat16");
}

TEST(TrainingToml, OldSectionsAndFloat8) {
  const Companion c = toml(
      "[model]\nconverters = [\"float8\"]\n[training]\nbatch_size = 8\ntensor_parallel_degree = 2\n"
      "[experimental]\npipeline_parallel_degree = 4\n");
  EXPECT_EQ(c.workload.precision.value, "fp8");
  EXPECT_EQ(c.workload.local_batch.value, 8);
  EXPECT_EQ(c.workload.mesh.tp, 2);
  EXPECT_EQ(c.workload.mesh.pp, 4);
}

TEST(TrainingToml, WithoutADegreeForShardsTheyAreTheRestAsInTorchTitan) {
  const Companion c = toml("[training]\nlocal_batch_size = 4\n[parallelism]\npipeline_parallel_degree = 2\n");
  EXPECT_EQ(c.workload.mesh.pp, 2);
  EXPECT_EQ(c.rest, RestDimension::dp_shard);
  EXPECT_EQ(toml("[parallelism]\ndata_parallel_shard_degree = 1\ntensor_parallel_degree = 2\n").rest, RestDimension::none);
  EXPECT_EQ(toml("[parallelism]\ndata_parallel_shard_degree = \"x\"\ntensor_parallel_degree = 2\n").rest, RestDimension::none);
}

TEST(TrainingToml, WhatIsNotSaidIsAbsent) {
  const Companion c = toml("[training]\nsteps = 10\n");
  EXPECT_FALSE(c.workload.mesh.known());
  EXPECT_FALSE(c.workload.local_batch);
  EXPECT_FALSE(c.workload.precision);
  EXPECT_FALSE(c.workload.model);
  EXPECT_EQ(c.rest, RestDimension::none);
}

TEST(TrainingToml, WrongTypesAreAbsent) {
  EXPECT_FALSE(toml("[training]\nseq_len = \"long\"\nlocal_batch_size = [1]\n").workload.seq_len);
}

TEST(TrainingToml, NumbersThatAreNotWholeAreAbsent) {
  EXPECT_FALSE(toml("[training]\nseq_len = 8e192\n").workload.seq_len);
  EXPECT_FALSE(toml("[training]\nseq_len = 4.5\n").workload.seq_len);
}

TEST(TrainingToml, SizesThatCannotBeAreNamedAndMakeNoMesh) {
  for (const char* const value : {"-2", "\"two\"", "2.5", "-1", "1000000"}) {
    const Companion c =
        toml("[parallelism]\ndata_parallel_shard_degree = 2\ntensor_parallel_degree = " + std::string(value) + "\n");
    EXPECT_FALSE(c.workload.mesh.known()) << value;
    ASSERT_EQ(c.unusable.size(), 1U) << value;
    EXPECT_TRUE(c.unusable[0].starts_with("line 3: 'parallelism.tensor_parallel_degree' is ")) << c.unusable[0];
  }
  const Companion rest = toml("[parallelism]\ndata_parallel_shard_degree = -1\ntensor_parallel_degree = 0\n");
  EXPECT_TRUE(rest.unusable.empty());
  EXPECT_EQ(rest.rest, RestDimension::dp_shard);
  EXPECT_EQ(rest.workload.mesh.tp, 1);
}

TEST(TrainingToml, NumbersThatCannotBeAreNamed) {
  const Companion c = toml("[training]\nlocal_batch_size = -2\nseq_len = 0\nglobal_batch_size = -1\n");
  EXPECT_FALSE(c.workload.local_batch);
  EXPECT_FALSE(c.workload.seq_len);
  EXPECT_FALSE(c.workload.global_batch) << "-1: worked out by the run";
  EXPECT_EQ(c.unusable, (std::vector<std::string>{
                            "line 2: 'training.local_batch_size' is '-2', not a whole number from 1 to 1e15, and is not used",
                            "line 3: 'training.seq_len' is '0', not a whole number from 1 to 1e15, and is not used"}));
}

TEST(TrainingToml, BrokenFileNamesTheLine) {
  std::string why;
  EXPECT_FALSE(read_training_toml("[training]\nsteps = = 3\n", why));
  EXPECT_NE(why.find("line 2"), std::string::npos) << why;
  EXPECT_FALSE(read_training_toml("[tool.black]\nline = 3\n", why));
  EXPECT_NE(why.find("neither"), std::string::npos);
}

}  // namespace
}  // namespace ccl
