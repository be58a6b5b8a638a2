// timeline: what every GPU does at every time, on one clock.
// Definition: per iteration equal integer-width bins from the first to the last GPU event over all ranks, corrected
// clock; per (rank, device) row and bin compute = len(K ∩ bin), communication = len(C ∩ bin), overlap, memory_only,
// idle. Rows are slices of their worker and do not go through the merge. No headline.
#include <algorithm>
#include <map>

#include "core/wide.hpp"
#include "exchange/clock_error.hpp"
#include "metrics/corrected_list.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"
#include "metrics/timeline_bins.hpp"

namespace ccl {
namespace {

// First start to last end of a rank's GPU events, corrected; empty if it has none.
Interval capture_of(const RankEntry& entry, const ClockModel& clock) {
  if (entry.facts.first_ns == absent_ns || entry.facts.last_ns == absent_ns || entry.host_index < 0) return {};
  return {clock.corrected(entry.host_index, entry.facts.first_ns),
          clock.corrected(entry.host_index, entry.facts.last_ns)};
}

// The rows and bins of one iteration; the same on every worker.
struct Grid {
  TimeBins bins;
  std::vector<std::int64_t> row_rank, row_device, row_replica;
  std::vector<std::int32_t> row_entry;  // row of /ranks, ascending
  std::vector<Interval> captures;
};

// From the first start to the last end of all captures. Where bins would be without number, of those that may be right:
// not longer than a day (a damaged time reaches back to 1970) and not far from the first such (another clock, a file of
// another day). The rest is seen as far as it lies in these bins; empty where no capture may be right.
Interval span_of(const std::vector<Interval>& captures, std::int64_t bins) {
  constexpr std::int64_t hour_ns = 3'600'000'000'000, day_ns = 24 * hour_ns;
  Interval all = captures.front();
  for (const Interval& capture : captures)
    all = {std::min(all.start_ns, capture.start_ns), std::max(all.end_ns, capture.end_ns)};
  const auto length_ns = [](const Interval& span) { return static_cast<Wide>(span.end_ns) - span.start_ns; };
  if (length_ns(all) <= static_cast<Wide>(bins) * INT32_MAX) return all;
  const auto believed = [&](const Interval& capture) { return length_ns(capture) <= day_ns; };
  const auto first = std::find_if(captures.begin(), captures.end(), believed);
  if (first == captures.end()) return {};
  Interval span = *first;
  for (const Interval& capture : captures)
    if (believed(capture) && static_cast<Wide>(capture.start_ns) - first->end_ns <= hour_ns &&
        static_cast<Wide>(first->start_ns) - capture.end_ns <= hour_ns)
      span = {std::min(span.start_ns, capture.start_ns), std::max(span.end_ns, capture.end_ns)};
  return span;
}

/// By iteration; without bins where clocks tell nothing of what runs at one time. One pass: for each rank anew would cost
/// ranks².
using Grids = std::map<std::int32_t, Grid>;

Grids grids_of(const Ranks& ranks, const ClockModel& clock, std::int64_t bins) {
  Grids grids;
  const bool one_clock = clock_error_text(ranks, clock).empty();
  for (std::size_t i = 0; i < ranks.entries.size(); ++i) {
    const RankEntry& entry = ranks.entries[i];
    Grid& grid = grids[entry.iteration];
    for (const std::int32_t device : entry.facts.devices) {
      grid.row_rank.push_back(entry.rank.value);
      grid.row_device.push_back(device);
      grid.row_replica.push_back(entry.replica);
      grid.row_entry.push_back(static_cast<std::int32_t>(i));
    }
    const Interval capture = capture_of(entry, clock);
    if (capture.length_ns() > 0) grid.captures.push_back(capture);
  }
  for (auto& [iteration, grid] : grids) {
    if (grid.captures.empty() || !one_clock) continue;
    const Interval span = span_of(grid.captures, bins);
    if (span.length_ns() > 0) grid.bins = equal_bins(span, bins);
  }
  return grids;
}

std::string folder(std::int32_t iteration) { return "/timeline/iteration_" + std::to_string(iteration) + "/"; }

struct Timeline {
  static MetricInfo info() {
    return {.name = "timeline",
            .unit = "",
            .question = "What does every GPU do at every time, on one clock?",
            .definition =
                "Nanoseconds of compute, communication, their overlap, copies alone and idle per rank, device "
                "and time bin, on the corrected clock; see /timeline.",
            .needs = "GPU events; clocks known to a tenth of a step",
            .section = PageSection::further,
            .aliases = {},
            .wants = {},
            .needs_matching = true,
            .needs_segments = true};
  }
  using Tables = RowTables<>;

  using Shared = Grids;
  static Shared shared(const ClosingContext& context) {
    return grids_of(context.ranks, context.clock, context.config.timeline_bins);
  }

  static void closing(const ClosingRank& rank, const ClosingContext& context, const Shared& grids,
                      std::vector<ResultMatrix>& out) {
    const RankEntry& entry = rank.entry;
    const Grid& grid = grids.at(entry.iteration);
    if (grid.bins.count == 0) return;
    const auto corrected = [&](const Intervals& list) { return CorrectedList(list, entry.host_index, context.clock); };
    for (const RankSegments& segments : rank.segments) {
      const std::int64_t row = row_of(grid, rank.rank_row, segments.device);
      if (row < 0) continue;
      const BinnedBudget binned =
          bin_budget(corrected(segments.communication).list(), corrected(segments.compute).list(),
                     corrected(segments.memory).list(), capture_of(entry, context.clock), grid.bins, context.lent);
      add_row(out, entry.iteration, "compute_ns", "len(K in bin): compute kernels run", grid, row, binned.compute_ns);
      add_row(out, entry.iteration, "communication_ns", "len(C in bin): communication kernels run", grid, row,
              binned.communication_ns);
      add_row(out, entry.iteration, "overlap_ns", "len(C & K in bin): both run", grid, row, binned.overlap_ns);
      add_row(out, entry.iteration, "memory_only_ns", "copies and sets run, no kernel", grid, row,
              binned.memory_only_ns);
      add_row(out, entry.iteration, "idle_ns", "nothing runs, within the rank's capture", grid, row, binned.idle_ns);
    }
  }

  static void report(const Tables&, const ReportContext& context, Report& out) {
    if (const std::string why = clock_error_text(context.ranks, context.clock); !why.empty()) return out.absent(why);
    std::vector<std::int32_t> covered;
    for (const auto& [iteration, grid] : grids_of(context.ranks, context.clock, context.config.timeline_bins)) {
      if (grid.bins.count == 0 || grid.row_rank.empty()) continue;
      const std::string at = folder(iteration);
      out.vectors.push_back({at + "bin_edges_ns", "edges of the time bins, corrected clock", "ns", grid.bins.edges()});
      out.vectors.push_back({at + "row_rank", "rank of each matrix row", "", grid.row_rank});
      out.vectors.push_back({at + "row_device", "GPU ordinal of each matrix row", "", grid.row_device});
      out.vectors.push_back({at + "row_replica", "replica of each matrix row; -1 = none", "", grid.row_replica});
      for (const std::int64_t rank : grid.row_rank) covered.push_back(static_cast<std::int32_t>(rank));
      out.details.push_back("  " + at + ": " + counted(grid.row_rank.size(), "row") + " of " +
                            counted(static_cast<std::size_t>(grid.bins.count), "bin") + ", each " +
                            milliseconds(static_cast<double>(grid.bins.width_ns)));
    }
    if (covered.empty()) return out.absent("no trace has GPU events, or each has them more than a day apart");
    std::sort(covered.begin(), covered.end());
    out.ranks_covered = std::unique(covered.begin(), covered.end()) - covered.begin();
    if (std::ranges::find(context.clock.hosts, false, &HostClock::corrected) != context.clock.hosts.end()) {
      out.status = Status::partial;
      out.reason = "hosts without a common clock: the rows of their ranks are on clocks of their own";
    }
  }

 private:
  static std::int64_t row_of(const Grid& grid, std::int32_t rank_row, std::int32_t device) {
    const auto of_rank = std::lower_bound(grid.row_entry.begin(), grid.row_entry.end(), rank_row) - grid.row_entry.begin();
    for (auto row = static_cast<std::size_t>(of_rank); row < grid.row_entry.size() && grid.row_entry[row] == rank_row; ++row)
      if (grid.row_device[row] == device) return static_cast<std::int64_t>(row);
    return -1;
  }

  static void add_row(std::vector<ResultMatrix>& out, std::int32_t iteration, const std::string& name,
                      const std::string& description, const Grid& grid, std::int64_t row,
                      const std::vector<std::int32_t>& values) {
    const std::string path = folder(iteration) + name;
    auto at = std::find_if(out.begin(), out.end(), [&](const ResultMatrix& matrix) { return matrix.path == path; });
    if (at == out.end()) {
      out.push_back({path,
                     description + "; -1 outside the rank's capture",
                     "ns",
                     grid.bins.count,
                     static_cast<std::int64_t>(grid.row_rank.size()),
                     {},
                     {}});
      at = out.end() - 1;
      // For all rows: what is never filled is never touched, while growing would copy all that is there.
      at->row_numbers.reserve(grid.row_rank.size());
      at->values.reserve(grid.row_rank.size() * static_cast<std::size_t>(grid.bins.count));
    }
    at->row_numbers.push_back(row);
    at->values.insert(at->values.end(), values.begin(), values.end());
  }
};

}  // namespace

std::unique_ptr<Metric> timeline() { return define_metric<Timeline>(); }

}  // namespace ccl
