#include "metrics/counters.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "core/statistics.hpp"
#include "metrics/busy.hpp"
#include "metrics/format.hpp"

namespace ccl {
namespace {

double share(std::int64_t percent_sum, std::int64_t count) {
  return ratio(static_cast<double>(percent_sum), 100 * static_cast<double>(count));
}

/// Whether a time lies in a merged list. Times must not decrease from call to call.
class Inside {
 public:
  explicit Inside(const Intervals& merged) : at_(merged.begin()), end_(merged.end()) {}
  bool operator()(std::int64_t time_ns) {
    while (at_ != end_ && at_->end_ns <= time_ns) ++at_;
    return at_ != end_ && at_->start_ns <= time_ns;
  }

 private:
  Intervals::const_iterator at_, end_;
};

std::string key_of(std::string_view name) {
  std::string key;
  for (const char c : name) {
    const bool word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    key += word ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '_';
  }
  return key;
}

}  // namespace

void CounterRow::combine(const CounterRow& other) {
  samples_count += other.samples_count;
  percent_sum += other.percent_sum;
  highest_percent = std::max(highest_percent, other.highest_percent);
  communication_count += other.communication_count;
  communication_sum += other.communication_sum;
  compute_count += other.compute_count;
  compute_sum += other.compute_sum;
}

std::vector<ColumnSpec<CounterRow>> CounterRow::columns(const Resolver& resolver) {
  using Row = CounterRow;
  std::vector<ColumnSpec<Row>> all = key_columns<Row>();
  all.push_back(text_column<Row>("counter", "name of the counter, without its unit",
                                 [find = resolver.text](const Row& row) { return find(row.counter); }));
  all.push_back(column("samples_count", &Row::samples_count, "", "samples in the step's GPU window"));
  all.push_back(derived<Row>("mean_ratio", "", "mean of the samples, of the peak",
                             [](const Row& row) { return share(row.percent_sum, row.samples_count); }));
  all.push_back(derived<Row>("highest_ratio", "", "largest sample, of the peak",
                             [](const Row& row) { return static_cast<double>(row.highest_percent) / 100; }));
  all.push_back(column("communication_samples_count", &Row::communication_count, "", "samples while communication ran"));
  all.push_back(derived<Row>("communication_mean_ratio", "", "mean of those",
                             [](const Row& row) { return share(row.communication_sum, row.communication_count); }));
  all.push_back(column("compute_samples_count", &Row::compute_count, "", "samples while compute ran"));
  all.push_back(derived<Row>("compute_mean_ratio", "", "mean of those",
                             [](const Row& row) { return share(row.compute_sum, row.compute_count); }));
  return all;
}

void add_counters(const RankTrace& trace, StringTable& strings, std::vector<CounterRow>& out) {
  if (trace.counters.empty()) return;
  const BusyTrace busy(trace);
  for (std::size_t s = 0; s < trace.steps.size(); ++s)
    for (std::size_t d = 0; d < trace.devices.size(); ++d) {
      const DeviceWindow& window = trace.steps[s].devices[d];
      if (window.gpu_start_ns == absent_ns) continue;
      Inside communication(busy.step(s, d).communication), compute(busy.step(s, d).compute);
      std::map<std::uint32_t, CounterRow> rows;
      const auto* sample = std::lower_bound(trace.counters.begin(), trace.counters.end(), window.gpu_start_ns,
                                            [](const CounterSample& c, std::int64_t t) { return c.time_ns < t; });
      for (; sample != trace.counters.end() && sample->time_ns < window.gpu_end_ns; ++sample) {
        const bool communicates = communication(sample->time_ns), computes = compute(sample->time_ns);
        if (sample->device != window.device) continue;
        CounterRow& row = rows[sample->name];
        ++row.samples_count;
        row.percent_sum += sample->percent;
        row.highest_percent = std::max<std::int64_t>(row.highest_percent, sample->percent);
        if (communicates) ++row.communication_count, row.communication_sum += sample->percent;
        if (computes) ++row.compute_count, row.compute_sum += sample->percent;
      }
      for (auto& [name, row] : rows) {
        row.step.step = trace.steps[s].number;
        row.device = window.device;
        row.counter = strings.intern(trace.strings.text(name));
        out.push_back(row);
      }
    }
}

std::string report_counters(const std::vector<CounterRow>& rows, const StringTable& strings, Report& out) {
  std::map<std::string, CounterRow> sums;
  for (const CounterRow& row : rows) sums[std::string(strings.text(row.counter))].combine(row);
  std::string page;
  for (const auto& [name, sum] : sums) {
    const double mean = share(sum.percent_sum, sum.samples_count);
    out.value(key_of(name) + "_ratio", mean, "mean over all ranks and steps, of the peak");
    out.details.push_back("  " + name + ": " + percent(mean) + " of its peak, " +
                          percent(share(sum.communication_sum, sum.communication_count)) +
                          " while communication runs, " + percent(share(sum.compute_sum, sum.compute_count)) +
                          " while compute runs; " + std::to_string(sum.samples_count) + " samples");
    page += (page.empty() ? "" : ", ") + name + " " + percent(mean);
  }
  return page;
}

}  // namespace ccl
