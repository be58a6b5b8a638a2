// The run: all stages in order. main calls it on every worker with the same config.
#pragma once
#include <string>

#include "comm/comm.hpp"
#include "config.hpp"
#include "core/problems.hpp"
#include "core/progress.hpp"

namespace ccl {

struct Outcome {
  ExitCode exit_code = ExitCode::done;
  std::string text;   // worker 0: for stdout
  std::string notes;  // worker 0: for stderr (warnings, path of the output)
};

/// Collective. Throws FatalError on bad requests and runtime failures, the same on all workers.
Outcome run(const Config& config, const Comm& comm, Progress& progress);

}  // namespace ccl
