// What Open MPI need not look for when all workers share one node.
#pragma once
#include "core/environment.hpp"

namespace ccl {

/// For OMPI_MCA_pml, to be set before MPI_Init; null where nothing is to be set: workers on several nodes, another
/// launcher, or a choice that the environment or the user's parameter file makes (the environment would overrule it).
/// Two point-to-point layers are left out, those over network libraries: only to load these takes 0.2 s. What remains
/// (ob1) finds shared memory or TCP by itself.
const char* transports_of_one_node(const Environment& environment);

}  // namespace ccl
