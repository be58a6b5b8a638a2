// The companion files of a run: which lie beside the traces, which the user named; read, and resolved into a Workload.
// Runs on worker 0 only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "core/problems.hpp"
#include "discover/walk.hpp"
#include "discover/workload.hpp"

namespace ccl {

/// Looked at, nearest first: the run's folder, its sub-folders in natural order, the folders above it up to three
/// above the trace folder. Names in order: <folder>/<folder>.yaml, workload_card*.yaml, trace_meta.yaml, any YAML or
/// TOML whose content says so; above the trace folder only the exact names. Router logs: all of the run. Files that cannot be used are
/// Code::card_invalid or config_file_invalid; where the user named them, FatalError(bad_request) with the reason.
Workload find_workload(const FileTree& tree, const std::string& run, const InputConfig& config, std::int64_t world_size,
                       Problems& problems);

/// A text file that the user named by an option; throws FatalError(bad_request) with the reason if it cannot be read.
std::string read_named_file(const std::string& option, const std::string& path);

/// The beginning of a text file; nothing if it cannot be read.
std::optional<std::string> read_small_file(const std::string& path, std::int64_t longest_bytes = 4 << 20);

}  // namespace ccl
