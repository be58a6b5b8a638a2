// kernel: which kernels the GPU time goes to.
// Definition: count and Σ duration of every kernel name, communication included, copies and sets not; class by
// configs/kernels.yaml, communication first. Whole file, with --step only these steps; all ranks.
// Merge: sums. Headline: share of the largest kernel.
#include <map>

#include "core/statistics.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"

namespace ccl {
namespace {

double share(std::int64_t part, std::int64_t of) { return ratio(static_cast<double>(part), static_cast<double>(of)); }

struct Kernel {
  static MetricInfo info() {
    return {.name = "kernel",
            .unit = "% of the kernel time",
            .question = "Which kernels does the GPU time go to?",
            .definition = "Sum of the durations of the kernel name with the largest sum / sum over all kernels of all "
                          "ranks, in steps and outside of them (with --step in these); classes by configs/kernels.yaml, "
                          "communication first. Sums are work, not time: kernels of different streams overlap.",
            .needs = "GPU kernels",
            .section = PageSection::further,
            .aliases = {},
            .wants = {}};
  }

  struct Sums {
    std::int64_t kernels_count = 0, sum_ns = 0, longest_ns = 0;
    void combine(const Sums& other) {
      kernels_count += other.kernels_count;
      sum_ns += other.sum_ns;
      longest_ns = std::max(longest_ns, other.longest_ns);
    }
  };

  struct Row {
    std::int32_t iteration = -1;
    RankId rank;
    std::int32_t replica = -1;
    StringId name, class_name;
    Sums sums;
    auto key() const { return std::tuple(iteration, rank, replica, name, class_name); }
    void combine(const Row& other) { sums.combine(other.sums); }
    static TableInfo table() { return {"rows", "every kernel of every rank"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver& resolver) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(text_column<Row>("name", "name of the kernel",
                                     [find = resolver.text](const Row& row) { return find(row.name); }));
      all.push_back(text_column<Row>("class", "class of the kernel",
                                     [find = resolver.text](const Row& row) { return find(row.class_name); }));
      all.push_back(integer_column<Row>("count", "", "kernels of this name", {},
                                        [](const Row& row) { return row.sums.kernels_count; }));
      all.push_back(integer_column<Row>("sum_ns", "ns", "sum of their durations", {},
                                        [](const Row& row) { return row.sums.sum_ns; }));
      return all;
    }
  };
  using Tables = RowTables<Row>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    std::vector<Sums> names(2 * trace.strings.size());  // of a name its compute, then its communication
    const EventTable& events = trace.events;
    const bool outside_too = context.config.input.steps.empty();
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events.kind[i] != EventKind::compute && events.kind[i] != EventKind::communication) continue;
      if (events.step[i] < 0 && !outside_too) continue;
      names[events.name[i] * 2 + (events.kind[i] == EventKind::communication ? 1 : 0)].combine(
          {1, events.dur_ns[i], events.dur_ns[i]});
    }
    for (std::uint32_t key = 0; key < names.size(); ++key) {
      const Sums& sums = names[key];
      if (sums.kernels_count == 0) continue;
      const std::string_view name = trace.strings.text(key / 2);
      Row row;
      row.name = context.strings.intern(name);
      // What the reader took for communication by its arguments need not look like it by name.
      const std::size_t class_index = context.classifier.kernel(name).class_index;
      row.class_name = context.strings.intern(key % 2 == 1 ? "communication" : context.classifier.class_names()[class_index]);
      row.sums = sums;
      out.of<Row>().push_back(row);
    }
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const auto& rows = tables.of<Row>();
    if (rows.empty()) return out.absent("no trace has GPU kernels");
    std::vector<Total> names = totals(rows, context.strings, true);
    const std::vector<Total> classes = totals(rows, context.strings, false);
    std::int64_t all_ns = 0, computing_ns = 0, count = 0;
    for (const Total& total : classes) {
      all_ns += total.sums.sum_ns;
      count += total.sums.kernels_count;
      if (total.class_name != "communication") computing_ns += total.sums.sum_ns;
    }
    const auto first_computing = std::find_if(names.begin(), names.end(),
                                              [](const Total& t) { return t.class_name != "communication"; });
    out.value("top_ratio", share(names.front().sums.sum_ns, all_ns), "share of the kernel time of the largest kernel");
    out.note("top_name", names.front().name.substr(0, 200), "the largest kernel");
    if (first_computing != names.end()) {
      out.value("top_compute_ratio", share(first_computing->sums.sum_ns, computing_ns),
                "share of the compute kernels' time of the largest of them");
      out.note("top_compute_name", first_computing->name.substr(0, 200), "the largest compute kernel");
    }
    out.value("kernels_count", static_cast<double>(count), "kernels of all ranks");
    out.value("names_count", static_cast<double>(names.size()), "distinct names");
    std::string line;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      out.value(classes[i].class_name + "_ratio", share(classes[i].sums.sum_ns, all_ns), "share of the kernel time");
      if (i < 4) line += (i == 0 ? "" : ", ") + classes[i].class_name + " " + percent(share(classes[i].sums.sum_ns, all_ns));
    }
    add_line(out.page, "kernels", "of the kernel time " + line + "; largest: " + short_name(names.front().name) + " " +
                                      percent(share(names.front().sums.sum_ns, all_ns)));
    std::vector<std::string> lines;
    for (const Total& total : names)
      lines.push_back("  " + percent(share(total.sums.sum_ns, all_ns)) + "  " +
                      milliseconds(static_cast<double>(total.sums.sum_ns)) + "  " +
                      std::to_string(total.sums.kernels_count) + " x " + total.class_name + "  " + short_name(total.name));
    add_capped(out.details, lines, top_count);
    if (names.size() > top_count) names.resize(top_count);
    out.show(make_table("top", "the kernels with the largest sums over all ranks", columns(all_ns, true), names));
    out.show(make_table("by_class", "kernel classes over all ranks", columns(all_ns, false), classes));
  }

 private:
  static constexpr std::size_t top_count = 50;

  struct Total {
    std::string name, class_name;
    Sums sums;
    std::int64_t ranks_count = 0;
  };

  // Over all ranks, largest sum first.
  static std::vector<Total> totals(const std::vector<Row>& rows, const StringTable& strings, bool by_name) {
    struct OfKey {
      Sums sums;
      std::vector<std::pair<std::int32_t, RankId>> ranks;  // in the order of the rows, which is by iteration first
    };
    std::map<std::pair<StringId, StringId>, OfKey> keys;
    for (const Row& row : rows) {
      auto& [sums, ranks] = keys[{row.class_name, by_name ? row.name : StringId()}];
      sums.combine(row.sums);
      const std::pair rank(row.replica, row.rank);
      if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
    }
    std::vector<Total> out;
    for (auto& [key, found] : keys) {
      std::sort(found.ranks.begin(), found.ranks.end());
      const auto ranks_count = std::unique(found.ranks.begin(), found.ranks.end()) - found.ranks.begin();
      out.push_back({std::string(strings.text(key.second)), std::string(strings.text(key.first)), found.sums, ranks_count});
    }
    std::sort(out.begin(), out.end(), [](const Total& a, const Total& b) {
      return std::tie(b.sums.sum_ns, a.name, a.class_name) < std::tie(a.sums.sum_ns, b.name, b.class_name);
    });
    return out;
  }

  static std::vector<ColumnSpec<Total>> columns(std::int64_t all_ns, bool with_name) {
    std::vector<ColumnSpec<Total>> all;
    if (with_name) all.push_back(column("name", &Total::name, "", "name of the kernel"));
    all.push_back(column("class", &Total::class_name, "", "class of the kernel"));
    all.push_back(integer_column<Total>("count", "", "kernels", {}, [](const Total& t) { return t.sums.kernels_count; }));
    all.push_back(integer_column<Total>("sum_ns", "ns", "sum of their durations", {}, [](const Total& t) { return t.sums.sum_ns; }));
    all.push_back(integer_column<Total>("longest_ns", "ns", "the longest of them", {}, [](const Total& t) { return t.sums.longest_ns; }));
    all.push_back(column("ranks_count", &Total::ranks_count, "", "ranks that run it"));
    all.push_back(derived<Total>("share_ratio", "", "sum_ns / sum of all kernels of all ranks",
                                 [all_ns](const Total& t) { return share(t.sums.sum_ns, all_ns); }));
    return all;
  }
};

}  // namespace

std::unique_ptr<Metric> kernel() { return define_metric<Kernel>(); }

}  // namespace ccl
