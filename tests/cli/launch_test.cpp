#include "launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace ccl {
namespace {

Launch launch_with(const std::map<std::string, std::string>& variables) {
  return inspect_launch([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

constexpr const char* advice = "srun started 4 tasks without PMIx (each would be alone). Add --mpi=pmix.";

TEST(Launch, AloneIsFirstAndNobodyLaunchedIt) {
  const Launch launch = launch_with({});
  EXPECT_TRUE(launch.first_process);
  EXPECT_FALSE(launch.by_launcher);
  EXPECT_TRUE(launch.alone);
  EXPECT_EQ(problem_before_mpi(launch), "");
  EXPECT_EQ(problem_after_mpi(launch, 1), "");
}

TEST(Launch, AnySignOfALauncherOrAJobStartsMpi) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD", "MPI_LOCALRANKID", "PALS_RANKID",
                           "SLURM_JOB_ID", "SLURM_PROCID", "FLUX_TASK_RANK", "PBS_JOBID"})
    EXPECT_FALSE(launch_with({{name, "0"}}).alone) << name;
  EXPECT_TRUE(launch_with({{"OMPI_MCA_btl_tcp_if_include", "lo"}, {"SLURM_CONF", "/etc/slurm.conf"}}).alone);
}

TEST(Launch, SrunWithoutPmixIsRefusedByTaskZero) {
  const Launch zero = launch_with({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}});
  EXPECT_EQ(problem_before_mpi(zero), advice);
  EXPECT_TRUE(zero.first_process);
  const Launch two = launch_with({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}});
  EXPECT_EQ(problem_before_mpi(two), advice);
  EXPECT_FALSE(two.first_process);
}

TEST(Launch, AnyWiringIsEnoughToStart) {
  for (const char* name : {"PMIX_RANK", "PMI_RANK", "PMI_CONTROL_PORT", "OMPI_COMM_WORLD_SIZE"})
    EXPECT_EQ(problem_before_mpi(launch_with({{"SLURM_STEP_NUM_TASKS", "4"}, {name, "1"}})), "") << name;
}

TEST(Launch, SingletonInAStepOfSeveralIsRefusedAfterMpiStarted) {
  const Launch pmi = launch_with({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMI_RANK", "0"}});
  EXPECT_EQ(problem_after_mpi(pmi, 1), advice);
  EXPECT_EQ(problem_after_mpi(pmi, 4), "");
  EXPECT_EQ(problem_after_mpi(launch_with({{"SLURM_STEP_NUM_TASKS", "4"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), 1), "");
}

TEST(Launch, TheJobsTaskCountIsNotTheSteps) {
  EXPECT_EQ(problem_before_mpi(launch_with({{"SLURM_NTASKS", "64"}, {"SLURM_STEP_NUM_TASKS", "1"}})), "");
}

TEST(Launch, TheLaunchersRankDecidesWhoSpeaks) {
  EXPECT_FALSE(launch_with({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}).first_process);
  EXPECT_TRUE(launch_with({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}).by_launcher);
  EXPECT_FALSE(launch_with({{"PMIX_RANK", "3"}}).first_process);
}

}  // namespace
}  // namespace ccl
