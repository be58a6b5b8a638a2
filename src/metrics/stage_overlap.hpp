// Rows of stage_overlap, and what its report makes of them (stage_overlap_report.cpp).
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/format.hpp"
#include "metrics/metric.hpp"
#include "metrics/stages.hpp"

namespace ccl {

/// Communication of one stage on one device of one rank, in the rank's window.
struct StageRow {
  std::int32_t iteration = -1;
  RankId rank;
  std::int32_t device = 0, replica = -1;
  StringId stage;
  std::int64_t pid = -1;
  std::int64_t communication_count = 0, communication_ns = 0, exposed_ns = 0;
  double hidden_min_ratio = std::numeric_limits<double>::quiet_NaN(), hidden_max_ratio = hidden_min_ratio;
  std::int64_t union_communication_ns = 0, union_exposed_ns = 0;
  std::int64_t barriers_count = 0, barrier_ns = 0;

  void add(std::int64_t dur_ns, std::int64_t hidden_ns) {
    ++communication_count;
    communication_ns += dur_ns;
    exposed_ns += dur_ns - hidden_ns;
    if (dur_ns <= 0) return;
    const double hidden = static_cast<double>(hidden_ns) / static_cast<double>(dur_ns);
    hidden_min_ratio = communication_count == 1 ? hidden : std::fmin(hidden_min_ratio, hidden);
    hidden_max_ratio = communication_count == 1 ? hidden : std::fmax(hidden_max_ratio, hidden);
  }
  double hidden_ratio() const {
    return communication_ns > 0 ? 1 - static_cast<double>(exposed_ns) / static_cast<double>(communication_ns)
                                : std::numeric_limits<double>::quiet_NaN();
  }
  auto key() const { return std::tuple(iteration, rank, device, replica, stage); }
  static TableInfo table();
  static std::vector<ColumnSpec<StageRow>> columns(const Resolver& resolver);
};

/// One device of one rank: its place in the mesh, its window, and its compute time there.
struct StageRankRow {
  std::int32_t iteration = -1;
  RankId rank;
  std::int32_t device = 0, replica = -1;
  std::int64_t pid = -1;
  SetupLabel label;
  Interval window{absent_ns, absent_ns};
  StringId window_source, window_name;
  std::int64_t candidates_count = 1, compute_ns = 0, compute_union_ns = 0, barrier_ns = 0;
  auto key() const { return std::tuple(iteration, rank, device, replica); }
  static TableInfo table();
  static std::vector<ColumnSpec<StageRankRow>> columns(const Resolver& resolver);
};

/// The four questions of PithTrain's analysis: hidden share of each stage and outliers, the worst stage, balance of the
/// pipeline's stages, the (rank, stage) with most exposed time; every one with the windows.
void report_stages(const std::vector<StageRow>& rows, const std::vector<StageRankRow>& ranks,
                   const ReportContext& context, Report& out);

}  // namespace ccl
