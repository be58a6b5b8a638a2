#include "launch.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace ccl {
namespace {

std::string alone(int tasks) {
  return "srun started " + std::to_string(tasks) + " tasks without PMIx (each would be alone). Add --mpi=pmix.";
}

}  // namespace

Launch inspect_launch(const Environment& environment) {
  const auto set = [&](const char* name) { return environment(name) != nullptr; };
  const auto number = [&](const char* name) { return set(name) ? std::atoi(environment(name)) : 0; };
  constexpr std::array wiring{"PMIX_RANK", "PMI_RANK", "PMI_CONTROL_PORT", "OMPI_COMM_WORLD_SIZE"};
  // Of every launcher that is known, and of any SLURM job: a wrong "alone" would make each process do all the work.
  constexpr std::array launchers{"PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK", "PMI_ID", "PMI_SIZE", "PMI_FD", "PMI_PORT",
                                 "PMI_CONTROL_PORT", "HYDI_CONTROL_FD", "OMPI_COMM_WORLD_SIZE", "PRTE_MCA_ess_base_vpid",
                                 "MPI_LOCALNRANKS", "MPI_LOCALRANKID", "MV2_COMM_WORLD_SIZE", "MPIRUN_RANK",
                                 "SLURM_JOB_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "ALPS_APP_PE", "PALS_RANKID",
                                 "PALS_APID", "FLUX_TASK_RANK", "JSM_NAMESPACE_RANK", "LSB_JOBID", "PBS_JOBID"};

  Launch launch;
  launch.alone = std::none_of(launchers.begin(), launchers.end(), set);
  launch.step_tasks = number("SLURM_STEP_NUM_TASKS");
  launch.mpi_wired = std::any_of(wiring.begin(), wiring.end(), set);
  launch.open_mpi_world = set("OMPI_COMM_WORLD_SIZE");
  launch.by_launcher = launch.mpi_wired || launch.step_tasks > 1;
  for (const char* rank : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (set(rank)) {
      launch.first_process = number(rank) == 0;
      return launch;
    }
  if (launch.step_tasks > 1) launch.first_process = number("SLURM_PROCID") == 0;
  return launch;
}

std::string problem_before_mpi(const Launch& launch) {
  return launch.step_tasks > 1 && !launch.mpi_wired ? alone(launch.step_tasks) : "";
}

std::string problem_after_mpi(const Launch& launch, int num_workers) {
  return num_workers == 1 && launch.step_tasks > 1 && !launch.open_mpi_world ? alone(launch.step_tasks) : "";
}

}  // namespace ccl
