// From a file tree to the trace files this build can read.
#pragma once
#include <functional>

#include "comm/comm.hpp"
#include "config/config.hpp"
#include "core/problems.hpp"
#include "discover/discover.hpp"
#include "discover/sniff.hpp"
#include "discover/walk.hpp"

namespace ccl {

/// Whether this build has a reader for a format.
using CanRead = std::function<bool(TraceFormat)>;

/// All files in the folders; with input.nsys_export also the exports that are made of reports.
FileTree find_files(const Config& config, Problems& problems);

/// What worker 0 finds among them: files of the picked run and iterations in natural order, runs,
/// workload, host map. sniffed: what each file is. Throws FatalError(bad_request) as discover() does.
Input find_input(const Config& config, const CanRead& can_read, const FileTree& tree, const std::vector<Sniffed>& sniffed,
                 Problems& problems);

/// The same on every worker: all look into files, worker 0 finds, shares out and broadcasts. Collective.
Input find_input_together(const Config& config, const CanRead& can_read, const Comm& comm, Problems& problems);

}  // namespace ccl
