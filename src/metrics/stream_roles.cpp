// stream_roles: what each stream of a GPU is for. Definition: in the window of the rank, a stream with a compute kernel
// is "compute"; else every communication kernel takes the stage of the innermost range around its launch, the stage its
// role (configs/kernels.yaml: stages, stream_roles), and all must agree: else "mixed"; no stage or no role: "unknown"
// (PithTrain's classify_streams). Counts, durations and averages decide nothing. Merge: keys are disjoint.
// Headline: number of mixed streams.
#include <map>
#include <set>

#include "metrics/format.hpp"
#include "metrics/metric.hpp"
#include "metrics/stages.hpp"

namespace ccl {
namespace {

struct StreamRoles {
  static MetricInfo info() {
    return {.name = "stream_roles",
            .unit = "mixed streams",
            .question = "What is each GPU stream for: compute, expert all-to-all, context ring, pipeline?",
            .definition =
                "Streams of the window whose communication kernels were launched in stages of different roles. A stream "
                "with a compute kernel is compute; otherwise all its kernels must have one role, from the innermost "
                "range (NVTX, annotation) around the launch.",
            .needs = "ranges named by `stages` of configs/kernels.yaml; launches",
            .section = PageSection::further,
            .aliases = {},
            .wants = {.annotations = true}};
  }

  struct Row {
    std::int32_t iteration = -1;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t stream = 0, pid = -1;
    StringId role;
    std::int64_t communication_count = 0, compute_count = 0, communication_ns = 0, compute_ns = 0;
    std::int64_t window_start_ns = absent_ns, window_end_ns = absent_ns;
    auto key() const { return std::tuple(iteration, rank, device, replica, stream); }
    static TableInfo table() { return {"by_stream", "every stream with kernels in the window of its rank"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver& resolver) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("stream", &Row::stream, "", "stream"));
      all.push_back(column("pid", &Row::pid, "", "process that launches", -1));
      all.push_back(text_column<Row>("role", "compute, a role of configs/kernels.yaml, mixed or unknown",
                                     [find = resolver.text](const Row& row) { return find(row.role); }));
      all.push_back(column("communication_count", &Row::communication_count, "", "communication kernels"));
      all.push_back(column("compute_count", &Row::compute_count, "", "compute kernels"));
      all.push_back(column("communication_ns", &Row::communication_ns, "ns", "sum of the communication kernels"));
      all.push_back(column("compute_ns", &Row::compute_ns, "ns", "sum of the compute kernels"));
      all.push_back(column("window_start_ns", &Row::window_start_ns, "ns", "window, trace clock"));
      all.push_back(column("window_end_ns", &Row::window_end_ns, "ns", "end of the window, trace clock"));
      return all;
    }
  };
  using Tables = RowTables<Row>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    const StageOfEvent stages(trace, context.classifier);
    if (!stages.any()) return;
    const StageWindow window = stage_window(trace, context.config, context.classifier);
    if (window.time.start_ns == absent_ns) return;
    const std::int64_t pid = process_of(trace);
    for (const std::int32_t device : trace.devices) {
      const WindowKernels kernels = window_kernels(trace, device, window.time);
      std::map<std::uint16_t, Row> rows;
      std::map<std::uint16_t, std::set<std::string_view>> roles;
      for (const std::size_t i : kernels.communication) {
        const std::uint16_t lane = trace.events.lane[i];
        ++rows[lane].communication_count;
        rows[lane].communication_ns += trace.events.dur_ns[i];
        roles[lane].insert(context.classifier.stream_role(stages[i]));
      }
      for (const std::size_t i : kernels.compute) {
        ++rows[trace.events.lane[i]].compute_count;
        rows[trace.events.lane[i]].compute_ns += trace.events.dur_ns[i];
      }
      for (auto& [lane, row] : rows) {
        row.device = device;
        row.stream = trace.lanes[lane].stream;
        row.pid = pid;
        row.window_start_ns = window.time.start_ns;
        row.window_end_ns = window.time.end_ns;
        const std::set<std::string_view>& found = roles[lane];
        const std::string_view role = row.compute_count > 0     ? "compute"
                                      : found.size() > 1        ? "mixed"
                                      : found.begin()->empty() ? "unknown"
                                                                : *found.begin();
        row.role = context.strings.intern(role);
        out.of<Row>().push_back(row);
      }
    }
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const auto& rows = tables.of<Row>();
    if (rows.empty())
      return out.not_applicable("no range in the traces is named by `stages` of configs/kernels.yaml, or the window is "
                                "empty");
    std::map<std::string, std::int64_t> counts;
    for (const Row& row : rows) ++counts[std::string(context.strings.text(row.role))];
    out.value("mixed_count", static_cast<double>(counts["mixed"]), "streams whose kernels have different roles");
    std::string line;
    for (const auto& [role, count] : counts) {
      out.value(role + "_streams_count", static_cast<double>(count), "streams of this role over all ranks");
      if (count > 0) line += (line.empty() ? "" : ", ") + std::to_string(count) + " " + role;
    }
    add_line(out.page, "streams", line + " (all ranks, in the window of each; --metric stream_roles)");
    std::vector<std::string> lines{"     pid  rank  stream  n_comm  n_comp       comm_ns       comp_ns  purpose"};
    for (const Row& row : rows) {
      char text[160];
      std::snprintf(text, sizeof text, "%8lld  %4d  %6lld  %6lld  %6lld  %12lld  %12lld  %.40s", as_printed(row.pid),
                    row.rank.value, as_printed(row.stream), as_printed(row.communication_count),
                    as_printed(row.compute_count), as_printed(row.communication_ns), as_printed(row.compute_ns),
                    std::string(context.strings.text(row.role)).c_str());
      lines.emplace_back(text);
    }
    add_capped(out.details, lines, 200);
  }

 private:
  static long long as_printed(std::int64_t value) { return value; }
};

}  // namespace

std::unique_ptr<Metric> stream_roles() { return define_metric<StreamRoles>(); }

}  // namespace ccl
