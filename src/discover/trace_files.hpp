// From a file tree to the trace files this build can read. Runs on worker 0 only.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "config.hpp"
#include "core/problems.hpp"
#include "discover/discover.hpp"
#include "discover/walk.hpp"

namespace ccl {

/// Whether this build has a reader for a format.
using CanRead = std::function<bool(TraceFormat)>;

/// Everything discover() finds before it is broadcast: files of the picked run and iterations in natural order, runs,
/// workload, host map. Throws FatalError(bad_request) as discover() does.
Input find_input(const Config& config, const CanRead& can_read, Problems& problems);

}  // namespace ccl
