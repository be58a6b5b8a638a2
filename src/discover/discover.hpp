// First stage. Trace folders in; out: the same list of trace files on every worker, shared out by size, and the
// workload the companion files describe. Worker 0 walks the folders and broadcasts.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "config/config.hpp"
#include "core/kinds.hpp"
#include "core/problems.hpp"
#include "discover/workload.hpp"

namespace ccl {

struct TraceFile {
  std::string path;   // as opened
  std::string shown;  // relative to the trace folder, '/' separated: what the output names
  TraceFormat format = TraceFormat::unknown;
  bool gzip = false;
  std::int64_t bytes = 0;
  std::int32_t iteration = -1;     // from the nearest iteration_<n> folder, else the file name
  std::string iteration_label;     // "iteration_10_exit"
  std::int32_t replica = -1;       // TorchTitan replica_<id>
  std::int32_t rank_in_name = -1;  // by --rank-regex, else the built-in patterns
  bool rank_by_option = false;     // rank_in_name comes from --rank-regex
  std::string host_in_name;        // <host>_<pid>.<time>.pt.trace.json
  std::int32_t owner = 0;          // worker that reads it
  std::vector<std::int32_t> readers;  // if several workers read it, each its part: owner first
};

/// files are in natural path order (iteration_2 before iteration_10); their index is a file's number everywhere.
struct Input {
  std::string root;              // common folder the shown paths are relative to
  std::string run;               // name of the run analysed
  std::vector<TraceFile> files;  // only files of a readable trace format
  Workload workload;
  std::vector<std::string> runs;                 // all runs found (for --each-run); "." = the trace folder itself
  std::map<std::int32_t, std::string> host_map;  // rank -> host, from --host-map
};

/// Throws FatalError(bad_request), the same on every worker, when there is no usable file, or more than one run and
/// none was picked (with each_run the first is taken). Warnings are added on worker 0 only.
Input discover(const Config& config, const Comm& comm, Problems& problems);

/// A plain Kineto trace below this is read by one worker, whoever idles.
inline constexpr std::int64_t smallest_split_bytes = std::int64_t{256} << 20;

/// Longest file first onto the least loaded worker; ties by index. Same answer for the same sizes everywhere. An
/// SQLite export of a node or a large plain Kineto trace that is more than a worker's fair share of the bytes is read by
/// several, part by part.
void share_out(std::vector<TraceFile>& files, int num_workers);

}  // namespace ccl
