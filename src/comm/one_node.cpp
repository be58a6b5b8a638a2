#include "comm/one_node.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>

namespace ccl {
namespace {

constexpr std::array settings{OpenMpiSetting{"OMPI_MCA_pml", "^cm,ucx"},
                              OpenMpiSetting{"OMPI_MCA_btl_tcp_disable_family", "6"}};
constexpr std::array frameworks{"pml", "mtl", "btl", "osc"};
// Parameter files of the user's own, by option or environment.
constexpr std::array own_files{"mca_base_param_files", "mca_param_files", "mca_base_param_file_prefix",
                               "mca_base_envar_file_prefix"};

/// mpirun tells Open MPI's two numbers; of srun's the list of tasks per node is one number on one node ("4"; "2(x2)").
bool on_one_node(const Environment& environment) {
  const bool by_mpirun = environment("OMPI_COMM_WORLD_SIZE") != nullptr;
  const char* all = environment(by_mpirun ? "OMPI_COMM_WORLD_SIZE" : "SLURM_STEP_NUM_TASKS");
  const char* here = environment(by_mpirun ? "OMPI_COMM_WORLD_LOCAL_SIZE" : "SLURM_STEP_TASKS_PER_NODE");
  return all != nullptr && here != nullptr && std::string_view(all) == here;
}

/// Of lines like "btl = self,sm", the names.
bool file_chooses(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::string name = line.substr(begin, line.find_first_of(" \t=", begin) - begin);
    // What the environment says of the family stays anyhow.
    if (std::find(frameworks.begin(), frameworks.end(), name) != frameworks.end() || name == "btl_tcp_disable_family")
      return true;
  }
  return false;
}

}  // namespace

std::vector<OpenMpiSetting> settings_of_one_node(const Environment& environment) {
  const auto set = [&](const char* name) { return environment(("OMPI_MCA_" + std::string(name)).c_str()) != nullptr; };
  if (!on_one_node(environment) || std::any_of(frameworks.begin(), frameworks.end(), set) ||
      std::any_of(own_files.begin(), own_files.end(), set))
    return {};
  const char* home = environment("HOME");
  if (home != nullptr && file_chooses(std::string(home) + "/.openmpi/mca-params.conf")) return {};
  return {settings.begin(), settings.end()};
}

}  // namespace ccl
