// What Open MPI need not look for when all workers share one node.
#pragma once
#include <vector>

#include "core/environment.hpp"

namespace ccl {

struct OpenMpiSetting {
  const char* name;  // of the environment variable
  const char* value;
};

/// To be set before MPI_Init where the environment does not have them; empty where nothing is to be set: workers on several
/// nodes, another launcher, or a choice of transports that the environment or the user's parameter file makes (the
/// environment would overrule it).
/// - Two point-to-point layers are left out, those over network libraries: only to load these takes 0.2 s. What remains
///   (ob1) finds shared memory or TCP by itself.
/// - TCP goes without IPv6: where a node has both families Open MPI 5 does not always find itself over TCP, and each
///   worker then says so many times ("Unable to find reachable pairing") though shared memory is used.
std::vector<OpenMpiSetting> settings_of_one_node(const Environment& environment);

}  // namespace ccl
