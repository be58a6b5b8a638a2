// What goes where in the output file, and the same results as JSON. HDF5 itself: hdf5_file.hpp.
#pragma once
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "config/config.hpp"
#include "core/problems.hpp"
#include "discover/discover.hpp"
#include "exchange/event_rows.hpp"
#include "exchange/groups.hpp"
#include "exchange/match.hpp"
#include "exchange/ranks.hpp"
#include "metrics/metric.hpp"
#include "store/write_table.hpp"

namespace ccl {

/// What one stage took on this worker; /timings and --timings.
struct StageTime {
  std::string stage;
  double wall_s = 0, cpu_s = 0;
  std::int64_t read_bytes = 0;         // of trace files
  std::int64_t items_count = 0;        // analyze: events in the files; match: collective records
  std::int64_t sent_bytes = 0;         // to other workers
  std::int64_t peak_memory_bytes = 0;  // of the process, up to the end of the stage
};
struct FileTime {
  std::int32_t file = -1;
  double seconds = 0;
};
struct Timings {
  std::vector<StageTime> stages;
  std::vector<FileTime> files;
  std::int64_t events_count = 0, peak_memory_bytes = 0;
};

/// Everything the output is made of. metrics: all on worker 0, but tables only of those whose report was made there;
/// elsewhere only those that were made there are filled. Instances and matrices are slices.
struct Results {
  const Config& config;
  const Input& input;
  const Ranks& ranks;
  const Groups& groups;
  const ClockModel& clock;
  const MatchedCollectives& collectives;  // this worker's, before the global sort
  std::vector<MetricResult> metrics;
  std::vector<FinishedMatrix> matrices;  // timeline
  const Problems& problems;            // of all workers, on worker 0
  const Timings& timings;
  const std::vector<std::vector<EventRow>>* events = nullptr;  // of this worker, by trace; null without --events
  const StringTable* event_names = nullptr;
  bool partial = false;  // ended early
  ExitCode exit_code = ExitCode::done;
  Bytes finished = {};  // by finish_tables(), on this worker
};

/// Tables of a metric as the file will have them, compressed while they are in the cache; they are gone from the metric then,
/// since those of all metrics are large. What is not finished by then, write_results() finishes.
void finish_tables(MetricResult& metric, ByteWriter& finished);

/// Finds out before the work starts whether the output can be written. Collective. Throws FatalError(bad_request).
void check_output(const Config& config, const Comm& comm);

/// Writes the HDF5 file under a temporary name in the target folder, then renames it. Collective. Throws FatalError
/// (bad_request) when the place cannot be written, (runtime_failure) when writing fails; then no file is left.
void write_results(const Results& results, const Comm& comm);

/// --output-json: one object per metric (headline values with units, status, the tables that are shown), coverage,
/// warnings. Worker 0.
std::string results_json(const Results& results);

/// The one page of text: ≤ 60 lines of ≤ 100 columns. Worker 0.
std::string summary_page(const Results& results);
/// The same without a limit of lines.
std::string whole_page(const Results& results);
/// The long form of the selected metrics (--metric).
std::string metric_details(const Results& results);

/// SHA-256 of an output's content (all but times, paths and the command line), as lower-case hex.
std::string content_hash(const std::string& hdf5_path);

}  // namespace ccl
