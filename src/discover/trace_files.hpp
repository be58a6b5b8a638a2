// From a file tree to the trace files this build can read.
#pragma once
#include <functional>

#include "comm/comm.hpp"
#include "config.hpp"
#include "core/problems.hpp"
#include "discover/discover.hpp"

namespace ccl {

/// Whether this build has a reader for a format.
using CanRead = std::function<bool(TraceFormat)>;

/// What worker 0 finds: files of the picked run and iterations in natural order, runs,
/// workload, host map. Throws FatalError(bad_request) as discover() does.
Input find_input(const Config& config, const CanRead& can_read, Problems& problems);

/// The same on every worker: worker 0 finds, shares out and broadcasts. Collective.
Input find_input_together(const Config& config, const CanRead& can_read, const Comm& comm, Problems& problems);

}  // namespace ccl
