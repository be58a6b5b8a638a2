// How this process was started, as the environment tells it: which process may print before MPI is up, and the
// mistake of srun without PMIx, where every task would analyse everything alone.
#pragma once
#include <string>

#include "core/environment.hpp"

namespace ccl {

struct Launch {
  bool by_launcher = false;   // mpirun, srun and the like
  bool first_process = true;  // worker 0, or alone
  int step_tasks = 0;         // SLURM_STEP_NUM_TASKS; 0 = not in a step
  bool mpi_wired = false;     // the launcher tells MPI about the other processes
  bool open_mpi_world = false;
  bool alone = false;         // no launcher of any kind has left a trace: MPI need not be started
};
Launch inspect_launch(const Environment& environment);

/// What to say before MPI starts; empty when all is well.
std::string problem_before_mpi(const Launch& launch);
/// The same with MPI up and this many workers in the communicator.
std::string problem_after_mpi(const Launch& launch, int num_workers);

}  // namespace ccl
