// A result file of ccl-analyze as comparing needs it: what run it was, and its tables by column. First stage of
// ccl-compare. In: the path of an HDF5 file; out: values in memory, a table at a time.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/result_table.hpp"
#include "store/hdf5_file.hpp"

namespace ccl {

using StepKey = std::pair<double, double>;  // iteration, step as the run numbers it; -1: unknown
using RankKey = std::pair<double, double>;  // replica, rank
using RanksByStep = std::map<StepKey, std::set<RankKey>>;

/// One table of a result file. Cost: its packed rows, and one vector per column asked for.
class StoredTable {
 public:
  StoredTable(const InputFile& file, const std::string& path);
  StoredTable(ResultTable rows, std::map<std::string, std::int64_t> absent_values);

  std::int64_t rows_count() const { return table_.rows_count; }
  bool has(const std::string& column) const;
  bool is_number(const std::string& column) const;
  /// Without those that say whose row it is (iteration, step, rank, device, replica, stage, pipeline).
  std::vector<std::string> number_columns() const;
  /// One value per row; NaN where the file marks the value as absent. Text columns are all NaN.
  std::vector<double> numbers(const std::string& column) const;
  /// One text per row, whatever the column's type.
  std::vector<std::string> texts(const std::string& column) const;

 private:
  ResultTable table_;
  std::map<std::string, std::int64_t> absent_;
};

/// ok, partial, absent, not_applicable; "missing" if the file lacks the metric. reason: why it is not ok.
struct MetricStatus {
  std::string status = "missing", reason;
  bool has_values() const { return status == "ok" || status == "partial"; }
};

/// Root facts of one file. Throws FatalError(bad_request) if the file is not a whole result file of ours.
class StoredRun {
 public:
  explicit StoredRun(const std::string& path);

  const std::string& path() const { return path_; }
  /// Empty or −1 if the root lacks the attribute.
  std::string root_text(const std::string& name) const;
  std::int64_t root_integer(const std::string& name) const;
  /// Of /workload, "" if unknown there.
  std::string workload(const std::string& name) const;
  /// A key of the request that made the file (root attribute config, JSON), as text; "" if it is not there.
  std::string request(const std::string& key) const;
  std::int64_t steps_count() const { return steps_count_; }
  /// Those with GPU numbers of the step.
  const RanksByStep& ranks_by_step() const { return ranks_by_step_; }
  /// Steps are markers of the profiler, not the span of the whole trace.
  bool has_markers() const { return has_markers_; }
  std::string gpu() const { return gpu_; }
  /// By the worst status over iterations: ok, not_in_iteration (one lacks it), partial (something was lost), no_gpu_events;
  /// and missing.
  const std::map<std::string, std::vector<std::int32_t>>& ranks_by_status() const { return ranks_by_status_; }

  std::vector<std::string> metrics() const;
  MetricStatus status(const std::string& metric) const;
  /// What is said of a metric without the values that are asked for: "absent, no snapshot in run.h5".
  std::string why_untold(const std::string& metric) const;
  /// NaN if the metric has no such numeric attribute.
  double headline(const std::string& metric, const std::string& name) const;
  /// A headline that is text; "" if there is none.
  std::string headline_text(const std::string& metric, const std::string& name) const;
  bool has_table(const std::string& path) const;
  StoredTable table(const std::string& path) const { return StoredTable(file_, path); }
  /// Text of each row of /process_groups that names a group alike in any run: "mesh_tp tp of 2: 0 1".
  std::vector<std::string> group_names() const;

 private:
  std::string path_;
  InputFile file_;
  std::map<std::string, AttributeValue> root_;
  std::map<std::string, std::string> workload_, request_;
  std::int64_t steps_count_ = 0;
  RanksByStep ranks_by_step_;
  bool has_markers_ = false;
  std::string gpu_;
  std::map<std::string, std::vector<std::int32_t>> ranks_by_status_;
};

}  // namespace ccl
