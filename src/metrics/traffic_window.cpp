// traffic_window: how much time lies between the communication of one parallelism and that of the next.
// Definition: communication kernels of a device and step by start, then stream; consecutive ones of one dimension are one phase,
// whose end is its latest end; window of an ordered pair = start of the next phase − end of this one, negative = they
// overlap. Beside it the gaps between kernels of one process group. Merge: values are dealt over the workers, statistics are
// exact (spread.hpp). Headline: mean positive window.
#include <algorithm>
#include <cmath>
#include <map>

#include "metrics/busy.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"
#include "metrics/spread.hpp"

namespace ccl {
namespace {

struct TrafficWindow {
  static MetricInfo info() {
    return {.name = "traffic_window",
            .unit = "us",
            .question = "How much time lies between the communication of one parallelism and that of the next?",
            .definition = "Mean of the positive windows; window = start of a communication phase - end of the phase of "
                          "another dimension before it, on one device in one step (negative: they overlap); kernels in the order of "
                          "their starts, those of one start by stream number.",
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

  /// Of all ranks and steps.
  struct Change {
    Dimension from = Dimension::unknown, to = Dimension::unknown;
    friend auto operator<=>(const Change&, const Change&) = default;
  };
  using Window = Valued<Change>;
  using Gap = Valued<GroupId>;  // between consecutive kernels of one group on one rank in one step
  using Pair = SpreadOf<Change>;
  using Tables = RowTables<Row, Window, Gap, Pair, SpreadOf<GroupId>>;

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
      out.of<Window>().push_back({{phase.dimension, dimension}, window_ns, 1});
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
    std::vector<Gap> of_rank;
    for (const CollectiveRecord& record : rank.records) {  // by start
      if (record.step == outside_step) continue;
      const auto [at, first] = last_end.try_emplace({record.step, record.group}, record.end_ns());
      if (!first) of_rank.push_back({record.group, record.start_ns - at->second, 1});
      at->second = std::max(at->second, record.end_ns());
    }
    sort_and_fold(of_rank);
    out.of<Gap>().insert(out.of<Gap>().end(), of_rank.begin(), of_rank.end());
  }

  static void deal(const Comm& comm, Tables& out) {
    out.of<Pair>() = spreads(out.of<Window>(), comm);
    out.of<SpreadOf<GroupId>>() = spreads(out.of<Gap>(), comm);
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    if (tables.of<Row>().empty()) return out.absent("no communication kernels inside steps");
    const auto& pairs = tables.of<Pair>();
    std::vector<OfGroup> groups;
    for (const auto& [id, spread] : tables.of<SpreadOf<GroupId>>()) groups.push_back({context.groups.row_of(id), spread});
    std::sort(groups.begin(), groups.end(), [](const OfGroup& a, const OfGroup& b) { return a.row < b.row; });
    out.show(make_table("by_pair", "windows between phases, over all ranks and steps", columns(pair_keys()), pairs));
    out.extra_tables.push_back(make_table("by_group", "gaps between consecutive kernels of one group, over all ranks and steps", columns(group_keys()), groups));
    if (pairs.empty()) return out.not_applicable("communication of one dimension only");
    std::int64_t all_count = 0, all_positive_count = 0, all_positive_ns = 0;
    std::vector<const Pair*> longest;  // first
    std::vector<std::string> lines;
    for (const Pair& pair : pairs) {
      all_count += pair.spread.count;
      all_positive_count += pair.spread.positive_count;
      all_positive_ns += pair.spread.positive_ns;
      const std::string name = std::string(to_text(pair.of.from)) + "_to_" + std::string(to_text(pair.of.to));
      out.value(name + "_positive_mean_ns", pair.spread.positive_mean(), "mean of the positive windows");
      lines.push_back("  " + shown(pair) + ", p50 " + microseconds(pair.spread.p50()) + ", p95 " +
                      microseconds(pair.spread.p95()));
      longest.push_back(&pair);
    }
    const auto length = [](const Pair* pair) { return pair->spread.positive_count > 0 ? pair->spread.positive_mean() : -1; };
    std::stable_sort(longest.begin(), longest.end(), [&](const Pair* a, const Pair* b) { return length(a) > length(b); });
    std::string line;
    for (std::size_t i = 0; i < std::min(most_told, longest.size()); ++i) line += (i == 0 ? "" : ", ") + shown(*longest[i]);
    if (longest.size() > most_told) line += "; " + std::to_string(longest.size() - most_told) + " more are shorter";
    out.headlines.insert(out.headlines.begin(),
                         {{"positive_mean_ns", ratio(static_cast<double>(all_positive_ns), static_cast<double>(all_positive_count)), "",
                           "mean of the positive windows of all pairs"},
                          {"positive_count", static_cast<double>(all_positive_count), "", "windows of 0 ns and more"},
                          {"windows_count", static_cast<double>(all_count), "", "windows of all pairs"}});
    add_line(out.page, "windows", "mean positive window between phases: " + line);
    add_capped(out.details, lines);
  }

 private:
  struct OfGroup {
    std::int32_t row = -1;
    Spread spread;
  };

  static constexpr std::size_t most_told = 4;

  static std::string shown(const Pair& pair) {
    const double mean_ns = pair.spread.positive_mean();
    return std::string(to_text(pair.of.from)) + " to " + std::string(to_text(pair.of.to)) + " " +
           (std::isnan(mean_ns) ? "none" : microseconds(mean_ns)) + " (" + std::to_string(pair.spread.positive_count) + " of " +
           std::to_string(pair.spread.count) + ")";
  }

  static std::vector<ColumnSpec<Pair>> pair_keys() {
    return {text_column<Pair>("from", "dimension of the earlier phase", [](const Pair& pair) { return std::string(to_text(pair.of.from)); }),
            text_column<Pair>("to", "dimension of the later phase", [](const Pair& pair) { return std::string(to_text(pair.of.to)); })};
  }
  static std::vector<ColumnSpec<OfGroup>> group_keys() {
    return {column("group", &OfGroup::row, "", "row of /process_groups", -1)};
  }
  template <class Of>
  static std::vector<ColumnSpec<Of>> columns(std::vector<ColumnSpec<Of>> all) {
    all.push_back(integer_column<Of>("windows_count", "", "windows", {}, [](const Of& row) { return row.spread.count; }));
    all.push_back(integer_column<Of>("positive_count", "", "of 0 ns and more", {}, [](const Of& row) { return row.spread.positive_count; }));
    all.push_back(integer_column<Of>("negative_count", "", "below 0 ns: overlapping", {}, [](const Of& row) {
      return row.spread.count - row.spread.positive_count;
    }));
    all.push_back(derived<Of>("positive_mean_ns", "ns", "mean of those of 0 ns and more", [](const Of& row) { return row.spread.positive_mean(); }));
    all.push_back(derived<Of>("mean_ns", "ns", "mean of all", [](const Of& row) { return row.spread.mean(); }));
    const auto percentile = [&](const char* name, int percent, double (Spread::*value)() const) {
      all.push_back(derived<Of>(name, "ns", std::to_string(percent) + "th percentile of all",
                                [value](const Of& row) { return (row.spread.*value)(); }));
    };
    percentile("min_ns", 0, &Spread::least);
    percentile("p50_ns", 50, &Spread::p50);
    percentile("p95_ns", 95, &Spread::p95);
    percentile("max_ns", 100, &Spread::most);
    return all;
  }
};

}  // namespace

std::unique_ptr<Metric> traffic_window() { return define_metric<TrafficWindow>(); }

}  // namespace ccl
