// The run: all stages in order. main calls it on every worker with the same config.
//   discover  discover/  find trace files and companions, share the files out
//   analyze   analyze    each worker reads its files: metric rows of one rank, records of its collectives
//   agree     exchange/  ranks, steps and process groups of the run; settle: local rows and records take these numbers
//   match     exchange/  records of one collective meet on one worker: transfer, waits, lag; clocks of the hosts
//   graph     analyze    step by step the dependency graph over all ranks: critical path, what-if
//   close     analyze    back at the ranks' workers: metrics that need verdicts or the corrected clock
//   timeline  store/     --timeline-json, if asked for
//   merge     exchange/  rows of a metric flow to the worker that makes its report;  report: ratios and text;  write: store/
#pragma once
#include <string>

#include "comm/comm.hpp"
#include "config/config.hpp"
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
