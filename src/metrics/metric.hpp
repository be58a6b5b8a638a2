// The contract of a metric. A metric is one file: a struct with `info`, one or more Row types, any of local, snapshot,
// matched, closing and graph (its five inputs), and report. define_metric<T>() supplies the rest: sorting by key, folding equal keys,
// packing for the merge, tables for the HDF5 file. Start reading at iter_time.cpp. No path, no MPI, no HDF5 in here.
//
//   struct MyMetric {
//     static MetricInfo info();
//     struct Row { StepId step; RankId rank; std::int32_t replica; std::int64_t time_ns;  // key first, then integers
//       static TableInfo table();                                            // name ("rows", "by_op", …), description
//       static std::vector<ColumnSpec<Row>> columns(const Resolver&);
//       auto key() const { return std::tuple(step, rank, replica); }
//       void combine(const Row& other) { time_ns += other.time_ns; }          // associative and commutative
//     };
//     using Tables = RowTables<Row>;                                          // several Row types if it has several
//     static void local(const RankTrace&, const LocalContext&, Tables& out);
//     static void snapshot(const MemorySnapshot&, const LocalContext&, Tables& out);
//     static void matched(const MatchedCollectives&, const ClosingContext&, Tables& out);
//     static void closing(const ClosingRank&, const ClosingContext&, Tables& out);
//       (or, for slices of big matrices: …, std::vector<ResultMatrix>& out)
//       (or, with what all ranks share, found once and not for each rank among all others: using Shared = …;
//       static Shared shared(const ClosingContext&); closing(…, const Shared&, … out))
//     static void graph(const MeasuredGraph&, const ClosingContext&, Tables& out);   // steps this worker owns
//     static void deal(const Comm&, Tables& out);   // collective, before the merge: what only statistics need (spread.hpp)
//     static void report(const Tables&, const ReportContext&, Report& out);   // on one worker, rows sorted and folded
//   };
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "config/config.hpp"
#include "core/device_memory.hpp"
#include "core/intervals.hpp"
#include "core/problems.hpp"
#include "core/processors.hpp"
#include "core/result_table.hpp"
#include "core/tables.hpp"
#include "core/units.hpp"
#include "discover/workload.hpp"
#include "exchange/groups.hpp"
#include "exchange/match.hpp"
#include "exchange/ranks.hpp"
#include "exchange/records.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

/// Where a metric's line stands on the one page.
enum class PageSection : std::uint8_t { answer, step_time, overlap, traffic, clock, further };

/// Runs that a metric's question makes sense for; the phase of the card decides.
enum class Purpose : std::uint8_t { any, training, inference };

struct MetricInfo {
  std::string name;        // file, --metric, HDF5 group, test
  std::string unit;        // of the headline, as text shows it
  std::string question;    // what it answers, one sentence
  std::string definition;  // one or two sentences with the formula and its source
  std::string needs;       // what the traces must hold, in words
  PageSection section = PageSection::further;
  std::vector<std::string> aliases;  // older names that --metric accepts
  Wants wants;                       // slices, shapes, counters that local() reads: what no metric names here is never kept
  bool needs_matching = false;       // the clock is used (set for matched(), graph()); implies records
  bool needs_records = false;        // closing() looks at records
  bool needs_segments = false;       // closing() looks at segments
  Purpose purpose = Purpose::any;    // not_applicable in a run that the card calls by the other name
  bool needs_snapshots = false;      // set for snapshot(); without such a metric they are not read
  bool needs_chains = false;         // set for graph()
  bool graph_of_several = false;     // graph() says nothing of a run with one rank
  bool needs_busy_parts = false;     // local() asks for BusyTrace::parts()
  bool needs_busy_lists = false;     // local() asks for BusyTrace::step()
  bool needs_work_windows = false;   // Step::work_start_ns and what belongs to it
  int report_weight = 1;             // how long report() takes for its rows, told by that of most metrics
};

struct MeasuredGraph;
class TraceViews;

/// local(): one trace, const, while its events are in memory. What the workers agree on later is filled in by settle():
/// leave `rank`, `replica` and `step.iteration` of a row unknown, and `step.step` as the trace numbers it.
struct LocalContext {
  const Config& config;
  const Workload& workload;
  const Classifier& classifier;
  StringTable& strings;  // texts that rows refer to by StringId
  TraceViews* views = nullptr;  // in local(): of this trace, shared by all metrics (metrics/trace_views.hpp)
};

/// Between parse and verdict a worker keeps of each rank only this: merged busy lists per kind, ≤ 16 bytes per event.
struct RankSegments {
  std::int32_t device = 0;
  Intervals communication, compute, memory;  // whole file, trace clock
};

/// closing(): one accepted rank of this worker, after matching. Records and verdicts are parallel arrays.
struct ClosingRank {
  std::int32_t rank_row = -1;
  const RankEntry& entry;
  const std::vector<RankSegments>& segments;  // by device
  std::span<const CollectiveRecord> records;  // settled
  std::span<const RecordVerdict> verdicts;    // empty when nothing was matched
};

struct ClosingContext {
  const Config& config;
  const Workload& workload;
  const Ranks& ranks;
  const Groups& groups;
  const ClockModel& clock;
  const StringTable& strings;  // closing() runs beside that of other metrics: it adds none
  std::span<const Processors> lent = {};  // free ones: closing() may share its work with them
};

struct ReportContext {
  const Config& config;
  const Workload& workload;
  const Ranks& ranks;
  const Groups& groups;
  const ClockModel& clock;
  const StringTable& strings;  // of all workers
  Problems& problems;
};

/// One headline value; becomes an attribute <name> of /metrics/<metric> and a JSON key.
struct Headline {
  std::string name;
  double value = 0;  // NaN = absent
  std::string text;  // instead of a number, when not empty
  std::string description;
  std::string_view unit() const { return text.empty() ? unit_of(name) : ""; }
};

/// A matrix [row, column] of int32 (timeline). rows are this worker's; row numbers say where they belong.
struct ResultMatrix {
  std::string path;  // absolute, e.g. /timeline/iteration_10/compute_ns
  std::string description, unit;
  std::int64_t columns_count = 0, rows_total = 0;
  std::vector<std::int64_t> row_numbers;
  std::vector<std::int32_t> values;  // row-major
};

/// A plain vector of int64 at a path of its own (bin edges).
struct ResultVector {
  std::string path, description, unit;
  std::vector<std::int64_t> values;
};

/// The first rows of a table that is shown (ResultTable::shown), on worker 0 too.
struct ShownTable {
  ResultTable first_rows;
  std::int64_t rows_count = 0;  // of the whole table
};

/// What report() says about a metric.
struct Report {
  Status status = Status::ok;
  std::string reason;              // of partial, absent and not_applicable
  std::int64_t ranks_covered = 0;  // distinct ranks with a value
  std::vector<Headline> headlines;
  std::vector<std::string> page;          // lines for the one page, in its section; ≤ 100 columns each
  std::vector<std::string> details;       // the long form, for --metric
  std::vector<ResultTable> extra_tables;  // under /metrics/<name>/
  std::vector<ResultVector> vectors;      // anywhere in the file
  std::vector<ShownTable> shown;          // of all tables of the metric; set behind report()

  void value(std::string name, double value, std::string description = "") {
    headlines.push_back({std::move(name), value, "", std::move(description)});
  }
  void note(std::string name, std::string text, std::string description = "") {
    headlines.push_back({std::move(name), 0, std::move(text), std::move(description)});
  }
  void show(ResultTable table) {
    table.shown = true;
    extra_tables.push_back(std::move(table));
  }
  void absent(std::string why) {
    status = Status::absent;
    reason = std::move(why);
  }
  void not_applicable(std::string why) {
    status = Status::not_applicable;
    reason = std::move(why);
  }
};

struct MetricResult {
  MetricInfo info;
  Report report;
  std::vector<ResultTable> tables;  // under /metrics/<name>/
};

/// A running metric on one worker, its row types erased. Made by define_metric.
class Metric {
 public:
  virtual ~Metric() = default;
  virtual const MetricInfo& info() const = 0;
  virtual void local(const RankTrace& trace, const LocalContext& context) = 0;  // one batch of rows per call
  /// Batch i of local() becomes rank keys[i]; batches of traces that were left out are dropped.
  struct BatchKey {
    std::int32_t iteration = -1;
    RankId rank;
    bool keep = true;
    std::int32_t replica = -1;
    std::int64_t step_shift = 0;  // added to the step numbers, so that all tables number steps alike
    bool keep_steps = true;       // false: what is told of a step is dropped, too
  };
  /// One memory snapshot. Its rows carry their final keys at once: settle() does not touch them.
  virtual void snapshot(const MemorySnapshot& snapshot, const LocalContext& context) = 0;
  virtual void settle(std::span<const BatchKey> keys) = 0;
  virtual void matched(const MatchedCollectives& collectives, const ClosingContext& context) = 0;
  virtual void closing(const ClosingRank& rank, const ClosingContext& context) = 0;
  virtual void graph(const MeasuredGraph& graph, const ClosingContext& context) = 0;
  /// Collective, before the merge: rows that only statistics need become sums, on no worker all of them.
  virtual void deal(const Comm&) {}
  virtual std::int64_t rows_bytes() const { return 0; }  // about what pack() takes
  virtual void pack(ByteWriter&) = 0;    // rows of this worker, for the merge tree; they are gone then
  virtual void absorb(ByteReader&) = 0;  // another worker's pack()
  virtual MetricResult result(const ReportContext& context, const Resolver& resolver) = 0;
  /// Matrix slices of this worker, made by closing(); they do not go through the merge.
  virtual std::vector<ResultMatrix> take_matrices() = 0;
};

/// name = last part of the HDF5 path, or a whole path ("/traffic/matrix"). A table whose name is empty is not written
/// (it only feeds report()).
struct TableInfo {
  std::string name, description;
  bool shown = false;  // ResultTable::shown
};

}  // namespace ccl

#include "metrics/define_metric.hpp"
