// bandwidth: how fast the network really is, without the waiting.
// Definition: busbw = payload · bus factor / transfer time of every matched instance, by operation, dimension and link
// class: median, p5, p95; fit transfer = alpha + bus bytes / beta (Hockney); share of the one-way peak of the link
// (nccl-tests' PERFORMANCE.md). Groups of one rank are excluded; nothing is clipped, NVLS may exceed the link.
// Merge: instances stay on their workers; percentiles (order_search.hpp) and fits (hockney.hpp) are exact over all.
// Headline: median busbw of the large operations by link class.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/collective_math.hpp"
#include "core/speed_text.hpp"
#include "metrics/format.hpp"
#include "metrics/hardware.hpp"
#include "metrics/hockney.hpp"
#include "metrics/metric.hpp"
#include "metrics/moved.hpp"
#include "metrics/order_search.hpp"

namespace ccl {

namespace {

struct Bandwidth {
  static MetricInfo info() {
    return {.name = "bandwidth",
            .unit = "GB/s",
            .question = "How fast is the network really, without the waiting?",
            .definition = "Median over matched collectives of busbw = payload x bus factor / transfer time (nccl-tests; "
                          "transfer = shortest duration over the members; of messages see communication), by operation, "
                          "dimension and link class; fit of transfer = alpha + bus bytes / beta; share of the link's "
                          "one-way peak.",
            .needs = "traces of at least two ranks that share collectives with message sizes",
            .section = PageSection::further,
            .aliases = {"bandwidth_utilization"},
            .wants = {},
            .needs_matching = true};
  }

  /// Not written: one matched size and transfer time. It stays on its worker.
  struct Sample {
    CollectiveOp op = CollectiveOp::unknown;
    Dimension dimension = Dimension::unknown;
    LinkClass link_class = LinkClass::unknown;
    bool incomplete = false;
    std::int32_t group_size = -1, hosts_count = -1;
    std::int64_t bus_bytes = 0, transfer_ns = 0;
    auto key() const { return std::tuple(op, dimension, link_class, group_size, hosts_count, bus_bytes, transfer_ns, incomplete); }
    static TableInfo table() { return {}; }
    static std::vector<ColumnSpec<Sample>> columns(const Resolver&) { return {}; }
    double speed() const { return static_cast<double>(bus_bytes) * 1e9 / static_cast<double>(transfer_ns); }
    HockneyPoint point() const { return {bus_bytes, transfer_ns}; }
  };
  /// An operation of a dimension over a class of links, its samples on all workers. Columns in report().
  struct Class {
    CollectiveOp op = CollectiveOp::unknown;
    Dimension dimension = Dimension::unknown;
    LinkClass link_class = LinkClass::unknown;
    bool links_known = true;
    std::int64_t instances_count = 0, incomplete_count = 0;
    HockneyMeans means;
    double median = 0, p5 = 0, p95 = 0, link_median = 0;  // bytes/s; the last over the GPU's link or NIC
    double size_bytes = 0, transfer_ns = 0;               // medians
    HockneyFit fit;
    auto key() const { return std::tuple(op, dimension, link_class); }
    std::string speeds_text() const {
      const std::string middle = speed_text(median, size_bytes, transfer_ns);
      if (is_latency(size_bytes)) return "transfer median " + middle;
      return "busbw median " + middle + ", p5 " + gigabytes_per_s(p5) + ", p95 " + gigabytes_per_s(p95);
    }
    void add(const Sample& sample) {
      ++instances_count;
      incomplete_count += sample.incomplete ? 1 : 0;
      means.add(sample.point());
    }
    void combine(const Class& other) {
      links_known = links_known && other.links_known;
      instances_count += other.instances_count;
      incomplete_count += other.incomplete_count;
      means.combine(other.means);
    }
    static TableInfo table() { return {}; }
    static std::vector<ColumnSpec<Class>> columns(const Resolver&) { return {}; }
  };
  /// Not written as such: medians of an operation over a class of links, over all dimensions.
  struct Pooled {
    CollectiveOp op = CollectiveOp::unknown;
    LinkClass link_class = LinkClass::unknown;
    double bytes_per_s = 0, size_bytes = 0, transfer_ns = 0;
    auto key() const { return std::tuple(op, link_class); }
    static TableInfo table() { return {}; }
    static std::vector<ColumnSpec<Pooled>> columns(const Resolver&) { return {}; }
  };
  /// Not written: ranks with a matched collective.
  struct Seen {
    RankId rank;
    auto key() const { return std::tuple(rank); }
    void combine(const Seen&) {}
    static TableInfo table() { return {}; }
    static std::vector<ColumnSpec<Seen>> columns(const Resolver&) { return {}; }
  };
  using Tables = RowTables<Sample, Class, Pooled, Seen>;

  static void matched(const MatchedCollectives& collectives, const ClosingContext& context, Tables& out) {
    Links links(context.ranks, context.groups);
    std::vector<bool> seen(context.ranks.entries.size());
    for (const MatchedInstance& c : collectives.instances) {
      const std::int64_t n = is_point_to_point(c.op) ? 2 : c.group_size;
      if (!c.credible || c.transfer_ns <= 0 || c.payload_bytes <= 0 || n < 2 || c.members_seen < 2) continue;
      Sample sample{.op = c.op, .dimension = dimension_of(context.groups, c.group, c.op), .link_class = c.link_class};
      const auto first = collectives.members.begin() + c.first_member;
      const RankEntry& entry = context.ranks.entries[static_cast<std::size_t>(first->rank_row)];
      sample.group_size = static_cast<std::int32_t>(n);
      if (c.link_class == LinkClass::inter)
        sample.hosts_count = is_point_to_point(c.op) ? 2 : links.of_group(c.group, entry).hosts_count;
      sample.bus_bytes = wire_bytes(c.op, c.payload_bytes, n);
      if (sample.bus_bytes <= 0) continue;
      sample.transfer_ns = c.transfer_ns;
      sample.incomplete = c.incomplete;
      out.of<Sample>().push_back(sample);
      for (auto member = first; member != first + c.members_seen; ++member) seen[static_cast<std::size_t>(member->rank_row)] = true;
    }
    for (std::size_t row = 0; row < seen.size(); ++row)
      if (seen[row]) out.of<Seen>().push_back({context.ranks.entries[row].rank});
    sort_and_fold(out.of<Seen>());
  }

  static void deal(const Comm& comm, Tables& out) {
    const std::vector<Sample> samples = std::exchange(out.of<Sample>(), {});
    std::vector<Class> classes = classes_of(samples, comm);
    std::vector<std::vector<double>> lists(classes.size() * lists_count);
    std::vector<HockneySums> sums;
    for (const Class& c : classes) sums.emplace_back(c.means);
    for (const Sample& s : samples) {
      const auto at = std::lower_bound(classes.begin(), classes.end(), s, [](const Class& a, const Sample& b) {
        return a.key() < std::tuple(b.op, b.dimension, b.link_class);
      });
      const auto c = static_cast<std::size_t>(at - classes.begin());
      sums[c].add(s.point());
      lists[list_of(c, List::speed)].push_back(s.speed());
      if (at->links_known) lists[list_of(c, List::link_speed)].push_back(s.speed() * share_of(s));
      lists[list_of(c, List::size)].push_back(static_cast<double>(s.bus_bytes));
      lists[list_of(c, List::transfer)].push_back(static_cast<double>(s.transfer_ns));
    }
    for (std::vector<double>& list : lists) std::sort(list.begin(), list.end());
    const std::vector<HockneySums> parts = gather_all_rows(comm, std::exchange(sums, {}));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i < classes.size()) sums.push_back(parts[i]);
      else sums[i % classes.size()].combine(parts[i]);
    }
    std::vector<Asked> asked;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      for (const double percent : {50, 5, 95}) asked.push_back({{list_of(c, List::speed)}, percent});
      for (const List list : {List::link_speed, List::size, List::transfer}) asked.push_back({{list_of(c, list)}, 50});
    }
    std::map<std::tuple<CollectiveOp, LinkClass>, std::vector<std::size_t>> pools;
    for (std::size_t c = 0; c < classes.size(); ++c) pools[{classes[c].op, classes[c].link_class}].push_back(c);
    for (const auto& [key, members] : pools)
      for (const List list : {List::speed, List::size, List::transfer}) {
        asked.push_back({{}, 50});
        for (const std::size_t c : members) asked.back().lists.push_back(list_of(c, list));
      }
    const std::vector<double> answers = percentiles(lists, asked, comm);
    if (!comm.is_first()) return;  // all know it, one says it
    auto answer = answers.begin();
    for (std::size_t c = 0; c < classes.size(); ++c) {
      for (double Class::*value : {&Class::median, &Class::p5, &Class::p95, &Class::link_median, &Class::size_bytes, &Class::transfer_ns})
        classes[c].*value = *answer++;
      classes[c].fit = sums[c].fit();
    }
    for (const auto& [key, members] : pools) {
      Pooled& pooled = out.of<Pooled>().emplace_back(Pooled{std::get<0>(key), std::get<1>(key)});
      for (double Pooled::*value : {&Pooled::bytes_per_s, &Pooled::size_bytes, &Pooled::transfer_ns}) pooled.*value = *answer++;
    }
    out.of<Class>() = std::move(classes);
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const Hardware hardware = find_hardware(context);
    const std::vector<Class>& classes = tables.of<Class>();
    out.show(make_table("rows", "bandwidth by transfer time of each operation, dimension and link class",
                        columns(hardware), classes));
    if (classes.empty()) return out.absent("no matched collective with a known size");
    std::string line;
    const std::vector<Pooled>& headlines = tables.of<Pooled>();
    for (const Pooled& pooled : headlines) {
      const auto [op, link_class] = pooled.key();
      if (op != CollectiveOp::all_reduce && op != CollectiveOp::all_gather && op != CollectiveOp::reduce_scatter && headlines.size() > 3) continue;
      out.value(std::string(to_text(op)) + "_" + std::string(to_text(link_class)) + "_median_busbw_bytes_per_s", pooled.bytes_per_s,
                "median over matched instances, by transfer time");
      line += (line.empty() ? "" : ", ") + std::string(to_text(op)) + " " + std::string(to_text(link_class)) + " " +
              speed_text(pooled.bytes_per_s, pooled.size_bytes, pooled.transfer_ns);
    }
    for (const LinkClass link_class : {LinkClass::intra, LinkClass::inter}) {
      const Peak peak = hardware.link(link_class);
      if (!peak.known() || std::none_of(classes.begin(), classes.end(), [&](const Class& c) { return c.link_class == link_class; })) continue;
      const std::string name(to_text(link_class));
      out.value(name + "_peak_bytes_per_s", peak.value, "one-way peak of the link");
      out.note(name + "_peak_source", peak.source, "where the peak comes from");
      line += "; " + name + " peak " + gigabytes_per_s(peak.value) + " one way (" + peak.source + ")";
      if (peak.disagreeing > 0) line += ", the card says " + gigabytes_per_s(peak.disagreeing);
      if (const Class* fastest = above(classes, link_class, peak.value); fastest != nullptr) {
        const std::string much = fmt::format("{} {} is {:.3g} x that", to_text(fastest->op), to_text(fastest->dimension),
                                             fastest->link_median / peak.value);
        line += ", " + much + ": hosts or peak are wrong";
        context.problems.add({.code = Code::busbw_above_peak,
                              .detail = name + " peak " + gigabytes_per_s(peak.value) + " (" + peak.source + "), " + much});
      }
    }
    std::int64_t incomplete = 0;
    for (const Class& c : classes) incomplete += c.incomplete_count;
    if (incomplete > 0) line += "; " + std::to_string(incomplete) + " with unseen members: lower bounds";
    add_line(out.page, "bandwidth", "median busbw by transfer time: " + line);
    std::vector<std::string> lines;
    for (const Class& c : classes)
      lines.push_back(fmt::format("  {} {} {}: {} matched, {}; {}", to_text(c.op), to_text(c.dimension), to_text(c.link_class),
                                  c.instances_count, c.speeds_text(), fit_text(c.fit)));
    add_capped(out.details, lines);
    out.ranks_covered = static_cast<std::int64_t>(tables.of<Seen>().size());
  }

 private:
  /// The fastest of a class of links, if it is faster than in-network reduction or a second link explains.
  static const Class* above(const std::vector<Class>& classes, LinkClass link_class, double peak) {
    constexpr double far = 2;
    const Class* fastest = nullptr;
    for (const Class& c : classes)
      if (c.link_class == link_class && c.links_known && c.link_median > far * peak &&
          (fastest == nullptr || c.link_median > fastest->link_median))
        fastest = &c;
    return fastest;
  }

  /// What percentiles are asked of.
  enum class List : std::uint8_t { speed, link_speed, size, transfer };
  static constexpr std::size_t lists_count = 4;
  static std::size_t list_of(std::size_t class_row, List list) { return class_row * lists_count + static_cast<std::size_t>(list); }

  static double share_of(const Sample& s) { return link_share(s.op, s.link_class, s.group_size, s.hosts_count); }

  /// Collective: of all workers, by key.
  static std::vector<Class> classes_of(const std::vector<Sample>& samples, const Comm& comm) {
    std::map<std::tuple<CollectiveOp, Dimension, LinkClass>, Class> mine;
    for (const Sample& s : samples) {
      const auto [at, is_new] = mine.try_emplace({s.op, s.dimension, s.link_class});
      Class& c = at->second;
      if (is_new) std::tie(c.op, c.dimension, c.link_class) = at->first;
      c.add(s);
      c.links_known = c.links_known && !std::isnan(share_of(s));
    }
    std::vector<Class> rows;
    for (const auto& [key, c] : mine) rows.push_back(c);
    rows = gather_all_rows(comm, rows);
    sort_and_fold(rows);
    return rows;
  }

  static std::string fit_text(const HockneyFit& fit) {
    if (std::isnan(fit.alpha_ns)) return "no fit (fewer than five, or of one size)";
    return fmt::format("alpha {:.1f} us, beta {}, R2 {:.3f}", fit.alpha_ns / 1e3,
                       std::isnan(fit.beta_bytes_per_s) ? "unknown" : gigabytes_per_s(fit.beta_bytes_per_s), fit.r_squared);
  }

  static std::vector<ColumnSpec<Class>> columns(const Hardware& hardware) {
    std::vector<ColumnSpec<Class>> all{column("op", &Class::op, "", "operation"),
                                       column("dimension", &Class::dimension, "", "parallelism of the groups"),
                                       column("link_class", &Class::link_class, "", "intra or inter host")};
    all.push_back(column("instances_count", &Class::instances_count, "", "matched instances of known size"));
    all.push_back(column("incomplete_count", &Class::incomplete_count, "", "of them with unseen members: busbw is a lower bound"));
    const auto percentile = [&](const char* name, int percent, double Class::*value) {
      all.push_back(derived<Class>(name, "bytes_per_s", std::to_string(percent) + "th percentile of busbw by transfer time",
                                   [value](const Class& c) { return c.*value; }));
    };
    percentile("median_busbw_bytes_per_s", 50, &Class::median);
    percentile("p5_busbw_bytes_per_s", 5, &Class::p5);
    percentile("p95_busbw_bytes_per_s", 95, &Class::p95);
    all.push_back(derived<Class>("median_bus_bytes", "bytes", "median of the bus bytes of an instance; below 64 KiB its transfer is latency",
                                 [](const Class& c) { return c.size_bytes; }));
    all.push_back(derived<Class>("median_transfer_ns", "ns", "median of the transfer times", [](const Class& c) { return c.transfer_ns; }));
    all.push_back(derived<Class>("median_share_of_peak_ratio", "", "median rate on the GPU's link or NIC / its one-way peak",
                                 [&hardware](const Class& c) {
                                   const Peak peak = hardware.link(c.link_class);
                                   return peak.known() && c.links_known ? c.link_median / peak.value : std::nan("");
                                 }));
    all.push_back(derived<Class>("alpha_ns", "ns", "fit: transfer time of an empty message", [](const Class& c) { return c.fit.alpha_ns; }));
    all.push_back(derived<Class>("beta_bytes_per_s", "bytes_per_s", "fit: busbw of an endless message", [](const Class& c) { return c.fit.beta_bytes_per_s; }));
    all.push_back(derived<Class>("r_squared", "", "fit: coefficient of determination", [](const Class& c) { return c.fit.r_squared; }));
    return all;
  }
};

}  // namespace

std::unique_ptr<Metric> bandwidth() { return define_metric<Bandwidth>(); }

}  // namespace ccl
