#include "comm/one_node.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support/scratch_folder.hpp"

namespace ccl {
namespace {

using Variables = std::map<std::string, std::string>;

/// What is set; "" for nothing. No file of the user's but in HOME, if that is given.
std::string set_with(const Variables& variables) {
  std::string all;
  for (const auto& [name, value] : settings_of_one_node([&](const char* variable) {
         const auto found = variables.find(variable);
         return found == variables.end() ? nullptr : found->second.c_str();
       }))
    all += (all.empty() ? "" : " ") + std::string(name) + "=" + value;
  return all;
}

Variables two_here(const Variables& more = {}) {
  Variables all{{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  all.insert(more.begin(), more.end());
  return all;
}

constexpr const char* no_network = "OMPI_MCA_pml=^cm,ucx OMPI_MCA_btl_tcp_disable_family=6";

TEST(OneNode, NetworkLayersAreLeftOut) { EXPECT_EQ(set_with(two_here()), no_network); }

TEST(OneNode, SeveralNodesKeepTheNetwork) {
  EXPECT_EQ(set_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}), "");
  EXPECT_EQ(set_with({{"OMPI_COMM_WORLD_SIZE", "4"}}), "");
  EXPECT_EQ(set_with({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}}), "");
}

TEST(OneNode, SrunTellsItToo) {
  EXPECT_EQ(set_with({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_TASKS_PER_NODE", "4"}}), no_network);
  // Of two joined steps the number is that of both, the list that of one's own.
  EXPECT_EQ(set_with({{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_STEP_TASKS_PER_NODE", "4"}}), "");
}

TEST(OneNode, MpirunOverSrunIsBelieved) {
  // Its daemons are one task on each of the nodes.
  EXPECT_EQ(set_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                      {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_TASKS_PER_NODE", "1"}}), "");
}

TEST(OneNode, UnknownLaunchersAreLeftAlone) {
  EXPECT_EQ(set_with({}), "");
  EXPECT_EQ(set_with({{"PMIX_RANK", "0"}, {"SLURM_JOB_ID", "7"}}), "");
}

TEST(OneNode, ChoicesOfTheEnvironmentStay) {
  for (const char* name : {"OMPI_MCA_pml", "OMPI_MCA_mtl", "OMPI_MCA_btl", "OMPI_MCA_osc", "OMPI_MCA_mca_base_param_files",
                           "OMPI_MCA_mca_param_files", "OMPI_MCA_mca_base_param_file_prefix",
                           "OMPI_MCA_mca_base_envar_file_prefix"})
    EXPECT_EQ(set_with(two_here({{name, "x"}})), "") << name;
  EXPECT_EQ(set_with(two_here({{"OMPI_MCA_btl_tcp_if_include", "lo"}})), no_network);
}

TEST(OneNode, ChoicesOfTheUsersFileStay) {
  const test::ScratchFolder home;
  const Variables there = two_here({{"HOME", home.path()}});
  EXPECT_EQ(set_with(there), no_network);
  for (const char* line : {"btl = self,sm\n", "# mine\n  mtl=ofi\n", "osc\t= ^rdma", "orte_tag_output = 1\npml = ucx\n",
                           "btl_tcp_disable_family = 4\n"}) {
    home.write(".openmpi/mca-params.conf", line);
    EXPECT_EQ(set_with(there), "") << line;
  }
  home.write(".openmpi/mca-params.conf", "# pml = ucx\n\nbtl_tcp_if_include = eth0\n");
  EXPECT_EQ(set_with(there), no_network);
}

}  // namespace
}  // namespace ccl
