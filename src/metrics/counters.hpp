// Hardware counters of a trace (nsys GPU metrics) -> their means in each step, in all and while communication or compute
// runs. Local stage and report; part of hardware_saturation.
#pragma once
#include <string>
#include <vector>

#include "core/result_table.hpp"
#include "metrics/metric.hpp"

namespace ccl {

/// Samples of one counter of one device in one step. percent_sum / samples_count / 100 = mean share of the peak.
struct CounterRow {
  StepId step;
  RankId rank;
  std::int32_t device = 0, replica = -1;
  StringId counter;
  std::int64_t samples_count = 0, percent_sum = 0, highest_percent = 0;
  std::int64_t communication_count = 0, communication_sum = 0;  // samples taken while communication ran
  std::int64_t compute_count = 0, compute_sum = 0;              // while compute ran
  void combine(const CounterRow& other);
  auto key() const { return std::tuple(step, rank, device, replica, counter); }
  static TableInfo table() { return {"counters", "hardware counters of each step, as shares of their peaks"}; }
  static std::vector<ColumnSpec<CounterRow>> columns(const Resolver& resolver);
};

/// A sample belongs to the step in whose GPU window it was taken.
void add_counters(const RankTrace& trace, StringTable& strings, std::vector<CounterRow>& out);

/// Headlines <counter>_ratio and lines for each; "SMs Active 61.2 %, …" for the page, empty without counters.
std::string report_counters(const std::vector<CounterRow>& rows, const StringTable& strings, Report& out);

}  // namespace ccl
