// traffic_window: how much time lies between the communication of one parallelism and that of the next.
// Definition: communication kernels of a device and step by start; consecutive ones of one dimension are one phase,
// whose end is its latest end; window of an ordered pair = start of the next phase − end of this one, negative = they
// overlap. Beside it the gaps between kernels of one process group. Merge: equal values fold into counts, so statistics
// are exact. Headline: mean positive window.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/statistics.hpp"
#include "metrics/busy.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"

namespace ccl {
namespace {

struct TrafficWindow {
  static MetricInfo info() {
    return {.name = "traffic_window",
            .unit = "us",
            .question = "How much time lies between the communication of one parallelism and that of the next?",
            .definition = "Mean of the positive windows; window = start of a communication phase - end of the phase of "
                          "another dimension before it, on one device in one step (negative: they overlap).",
            .needs = "communication of at least two dimensions (process groups) inside a step",
            .section = PageSection::further,
            .aliases = {},
            .wants = {},
            .needs_records = true};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t phases_count = 0, positive_count = 0, negative_count = 0, positive_ns = 0, negative_ns = 0;
    auto key() const { return std::tuple(step, rank, device, replica); }
    static TableInfo table() { return {"rows", "windows of each step on each rank and device"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("phases_count", &Row::phases_count, "", "stretches of communication of one dimension"));
      all.push_back(column("positive_count", &Row::positive_count, "", "windows of 0 ns and more"));
      all.push_back(column("negative_count", &Row::negative_count, "", "phases that begin before the last one ends"));
      all.push_back(column("positive_ns", &Row::positive_ns, "ns", "sum of the positive windows"));
      all.push_back(column("negative_ns", &Row::negative_ns, "ns", "sum of the negative windows"));
      return all;
    }
  };

  /// Not written: how often a window occurs; of all ranks and steps.
  struct Window {
    Dimension from = Dimension::unknown, to = Dimension::unknown;
    std::int64_t window_ns = 0, windows_count = 0;
    auto key() const { return std::tuple(from, to, window_ns); }
    void combine(const Window& other) { windows_count += other.windows_count; }
    static TableInfo table() { return {}; }
    static std::vector<ColumnSpec<Window>> columns(const Resolver&) { return {}; }
  };
  /// Not written: gaps between consecutive kernels of one group on one rank in one step.
  struct Gap {
    GroupId group;
    std::int64_t window_ns = 0, windows_count = 0;
    auto key() const { return std::tuple(group, window_ns); }
    void combine(const Gap& other) { windows_count += other.windows_count; }
    static TableInfo table() { return {}; }
    static std::vector<ColumnSpec<Gap>> columns(const Resolver&) { return {}; }
  };
  using Tables = RowTables<Row, Window, Gap>;

  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    struct Phase {
      Dimension dimension;
      std::int64_t end_ns;
      Row row;
    };
    std::map<std::pair<std::int32_t, std::size_t>, Phase> open;
    const std::vector<std::size_t> device_of_lane = device_rows(trace);
    for_each_communication(trace, [&](std::size_t event, const Collective* collective) {
      const std::int32_t step = trace.events.step[event];
      if (step < 0) return;
      const Dimension dimension = dimension_of(trace, collective);
      const std::int64_t start_ns = trace.events.start_ns[event], end_ns = trace.events.end_ns(event);
      const auto [at, first] = open.try_emplace({step, device_of_lane[trace.events.lane[event]]},
                                                Phase{dimension, end_ns, {}});
      Phase& phase = at->second;
      if (first) phase.row.phases_count = 1;
      if (first || phase.dimension == dimension) {
        phase.end_ns = std::max(phase.end_ns, end_ns);
        return;
      }
      const std::int64_t window_ns = start_ns - phase.end_ns;
      out.of<Window>().push_back({phase.dimension, dimension, window_ns, 1});
      ++phase.row.phases_count;
      (window_ns < 0 ? phase.row.negative_count : phase.row.positive_count) += 1;
      (window_ns < 0 ? phase.row.negative_ns : phase.row.positive_ns) += window_ns;
      phase.dimension = dimension;
      phase.end_ns = end_ns;
    });
    for (auto& [key, phase] : open) {
      phase.row.step.step = trace.steps[static_cast<std::size_t>(key.first)].number;
      phase.row.device = trace.devices[key.second];
      out.of<Row>().push_back(phase.row);
    }
  }

  static void closing(const ClosingRank& rank, const ClosingContext&, Tables& out) {
    std::map<std::pair<std::int64_t, GroupId>, std::int64_t> last_end;
    for (const CollectiveRecord& record : rank.records) {  // by start
      if (record.step == outside_step) continue;
      const auto [at, first] = last_end.try_emplace({record.step, record.group}, record.end_ns());
      if (!first) out.of<Gap>().push_back({record.group, record.start_ns - at->second, 1});
      at->second = std::max(at->second, record.end_ns());
    }
    out.fold_when_doubled<Gap>();
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    if (tables.of<Row>().empty()) return out.absent("no communication kernels inside steps");
    const auto& windows = tables.of<Window>();
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < windows.size();) {
      Pair pair{windows[i].from, windows[i].to, {}};
      for (; i < windows.size() && windows[i].from == pair.from && windows[i].to == pair.to; ++i)
        pair.spread.add(windows[i].window_ns, windows[i].windows_count);
      pairs.push_back(std::move(pair));
    }
    std::vector<OfGroup> groups;
    const auto& gaps = tables.of<Gap>();
    for (std::size_t i = 0; i < gaps.size();) {
      OfGroup group{gaps[i].group, context.groups.row_of(gaps[i].group), {}};
      for (; i < gaps.size() && gaps[i].group == group.group; ++i) group.spread.add(gaps[i].window_ns, gaps[i].windows_count);
      groups.push_back(std::move(group));
    }
    std::sort(groups.begin(), groups.end(), [](const OfGroup& a, const OfGroup& b) { return a.row < b.row; });
    out.extra_tables.push_back(make_table("by_pair", "windows between phases, over all ranks and steps", columns(pair_keys()), pairs));
    out.extra_tables.push_back(make_table("by_group", "gaps between consecutive kernels of one group, over all ranks and steps", columns(group_keys()), groups));
    if (pairs.empty()) return out.not_applicable("communication of one dimension only");
    std::int64_t all_count = 0, all_positive_count = 0, all_positive_ns = 0;
    std::string line;
    std::vector<std::string> lines;
    for (const Pair& pair : pairs) {
      all_count += pair.spread.count();
      all_positive_count += pair.spread.positive_count;
      all_positive_ns += pair.spread.positive_ns;
      const std::string name = std::string(to_text(pair.from)) + "_to_" + std::string(to_text(pair.to));
      out.value(name + "_positive_mean_ns", pair.spread.positive_mean(), "mean of the positive windows");
      const std::string text = std::string(to_text(pair.from)) + " to " + std::string(to_text(pair.to)) + " " +
                               shown(pair.spread.positive_mean()) + " (" + std::to_string(pair.spread.positive_count) +
                               " of " + std::to_string(pair.spread.count()) + ")";
      lines.push_back("  " + text + ", p50 " + microseconds(pair.spread.at_percent(50)) + ", p95 " +
                      microseconds(pair.spread.at_percent(95)));
      if (lines.size() <= 4) line += (line.empty() ? "" : ", ") + text;
    }
    out.headlines.insert(out.headlines.begin(),
                         {{"positive_mean_ns", ratio(static_cast<double>(all_positive_ns), static_cast<double>(all_positive_count)), "",
                           "mean of the positive windows of all pairs"},
                          {"positive_count", static_cast<double>(all_positive_count), "", "windows of 0 ns and more"},
                          {"windows_count", static_cast<double>(all_count), "", "windows of all pairs"}});
    add_line(out.page, "windows", "mean positive window between phases: " + line);
    add_capped(out.details, lines);
  }

 private:
  /// Values with their counts, exact. They are added in ascending order.
  struct Spread {
    struct UpTo {
      std::int64_t value = 0, count = 0;  // count: of this value and all below
    };
    std::vector<UpTo> values;
    std::int64_t sum_ns = 0, positive_count = 0, positive_ns = 0;
    void add(std::int64_t value, std::int64_t times) {
      values.push_back({value, count() + times});
      sum_ns += value * times;
      if (value < 0) return;
      positive_count += times;
      positive_ns += value * times;
    }
    std::int64_t count() const { return values.empty() ? 0 : values.back().count; }
    double mean() const { return ratio(static_cast<double>(sum_ns), static_cast<double>(count())); }
    double positive_mean() const { return ratio(static_cast<double>(positive_ns), static_cast<double>(positive_count)); }
    double at_percent(double percent) const {
      const std::int64_t total = count();
      if (total == 0) return std::nan("");
      const double at = percent / 100 * static_cast<double>(total - 1);
      const auto below = static_cast<std::int64_t>(at);
      const double low = order(below), high = order(std::min(below + 1, total - 1));
      return low + (high - low) * (at - static_cast<double>(below));
    }

   private:
    double order(std::int64_t number) const {
      const auto at = std::upper_bound(values.begin(), values.end(), number,
                                       [](std::int64_t n, const UpTo& up_to) { return n < up_to.count; });
      return static_cast<double>(at->value);
    }
  };
  struct Pair {
    Dimension from, to;
    Spread spread;
  };
  struct OfGroup {
    GroupId group;
    std::int32_t row;
    Spread spread;
  };

  static std::string shown(double ns) { return std::isnan(ns) ? "none" : microseconds(ns); }

  static std::vector<ColumnSpec<Pair>> pair_keys() {
    return {column("from", &Pair::from, "", "dimension of the earlier phase"),
            column("to", &Pair::to, "", "dimension of the later phase")};
  }
  static std::vector<ColumnSpec<OfGroup>> group_keys() {
    return {column("group", &OfGroup::row, "", "row of /process_groups", -1)};
  }
  template <class Of>
  static std::vector<ColumnSpec<Of>> columns(std::vector<ColumnSpec<Of>> all) {
    all.push_back(integer_column<Of>("windows_count", "", "windows", {}, [](const Of& row) { return row.spread.count(); }));
    all.push_back(integer_column<Of>("positive_count", "", "of 0 ns and more", {}, [](const Of& row) { return row.spread.positive_count; }));
    all.push_back(integer_column<Of>("negative_count", "", "below 0 ns: overlapping", {}, [](const Of& row) {
      return row.spread.count() - row.spread.positive_count;
    }));
    all.push_back(derived<Of>("positive_mean_ns", "ns", "mean of those of 0 ns and more", [](const Of& row) { return row.spread.positive_mean(); }));
    all.push_back(derived<Of>("mean_ns", "ns", "mean of all", [](const Of& row) { return row.spread.mean(); }));
    for (const int percent : {0, 50, 95, 100})
      all.push_back(derived<Of>(percent == 0 ? "min_ns" : percent == 100 ? "max_ns" : std::string("p").append(std::to_string(percent)) + "_ns", "ns",
                                std::to_string(percent) + "th percentile of all",
                                [percent](const Of& row) { return row.spread.at_percent(percent); }));
    return all;
  }
};

}  // namespace

std::unique_ptr<Metric> traffic_window() { return define_metric<TrafficWindow>(); }

}  // namespace ccl
