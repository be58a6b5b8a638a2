// Last stages: the metrics' results (report), and what main prints and returns (outcome).
#pragma once
#include "analyze.hpp"
#include "run.hpp"
#include "store/results.hpp"

namespace ccl {

/// Fills results.metrics (worker 0: of all; others: those that they own, in place), results.finished and results.exit_code. After merge(), with its owners. The metrics are given up. Collective.
void report(Metrics& metrics, const std::vector<int>& owners, const ClosingContext& closing, Problems& problems,
            const Comm& comm, Results& results);

/// stdout: the one page, JSON, or the long form of the asked metrics; stderr: warnings in one line, timings if asked
/// for, paths of the HDF5 and of the text report, which it writes (--report-dir). Texts on worker 0 only. Collective.
Outcome outcome(const Results& results, const Comm& comm);

}  // namespace ccl
