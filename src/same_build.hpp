// Workers of one run must be one program: what goes between them has no version of its own. Comes first after MPI is
// up: each worker's build in, a refusal on every worker out if they differ.
#pragma once
#include <string>

#include "comm/comm.hpp"

namespace ccl {

/// "0.1.0 (build 1f0c22d4…)": the version, and what the linker calls this very executable (the GNU build id).
/// Without one: the version alone.
std::string this_build();

/// Collective. Throws the same FatalError (bad request) on every worker unless all bring the same text.
void refuse_mixed_builds(const std::string& mine, const Comm& comm);

}  // namespace ccl
