// bandwidth: how fast the network really is, without the waiting.
// Definition: busbw = payload · bus factor / transfer time of every matched instance, by operation, dimension and link
// class: median, p5, p95; fit transfer = alpha + bus bytes / beta (Hockney); share of the one-way peak of the link
// (nccl-tests' PERFORMANCE.md). Groups of one rank are excluded; nothing is clipped, NVLS may exceed the link.
// Merge: equal instances fold into counts. Headline: median busbw of the large operations by link class.
#include "metrics/bandwidth.hpp"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/collective_math.hpp"
#include "core/statistics.hpp"
#include "metrics/format.hpp"
#include "metrics/hardware.hpp"
#include "metrics/metric.hpp"
#include "metrics/moved.hpp"

namespace ccl {

HockneyFit fit_hockney(const std::vector<std::pair<double, double>>& points) {
  HockneyFit out{std::nan(""), std::nan(""), std::nan(""), points.size()};
  if (points.size() < 5) return out;
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
  for (const auto& [x, y] : points) mean_x += x, mean_y += y;
  mean_x /= static_cast<double>(points.size());
  mean_y /= static_cast<double>(points.size());
  for (const auto& [x, y] : points) {
    xx += (x - mean_x) * (x - mean_x);
    xy += (x - mean_x) * (y - mean_y);
    yy += (y - mean_y) * (y - mean_y);
  }
  if (xx <= 0) return out;
  const double slope = xy / xx;
  out.alpha_ns = mean_y - slope * mean_x;
  if (slope > 0) out.beta_bytes_per_s = 1e9 / slope;
  if (yy > 0) out.r_squared = xy * xy / (xx * yy);
  return out;
}

namespace {

/// Median bus bytes below which the page tells a time instead of a rate.
constexpr double latency_bound_bytes = 64 * 1024;

struct Bandwidth {
  static MetricInfo info() {
    return {.name = "bandwidth",
            .unit = "GB/s",
            .question = "How fast is the network really, without the waiting?",
            .definition = "Median over matched collectives of busbw = payload x bus factor / transfer time (nccl-tests; "
                          "transfer = shortest duration over the members), by operation, dimension and link class; fit "
                          "of transfer = alpha + bus bytes / beta; share of the link's one-way peak.",
            .needs = "traces of at least two ranks that share collectives with message sizes",
            .section = PageSection::further,
            .aliases = {"bandwidth_utilization"},
            .wants = {},
            .needs_matching = true};
  }

  /// Not written: one matched size and transfer time, and how often it occurs.
  struct Sample {
    CollectiveOp op = CollectiveOp::unknown;
    Dimension dimension = Dimension::unknown;
    LinkClass link_class = LinkClass::unknown;
    std::int32_t group_size = -1, hosts_count = -1;
    std::int64_t bus_bytes = 0, transfer_ns = 0;
    bool incomplete = false;
    std::int64_t instances_count = 0;
    auto key() const { return std::tuple(op, dimension, link_class, group_size, hosts_count, bus_bytes, transfer_ns, incomplete); }
    void combine(const Sample& other) { instances_count += other.instances_count; }
    static TableInfo table() { return {}; }
    static std::vector<ColumnSpec<Sample>> columns(const Resolver&) { return {}; }
  };
  /// Not written: ranks with a matched collective.
  struct Seen {
    RankId rank;
    auto key() const { return std::tuple(rank); }
    void combine(const Seen&) {}
    static TableInfo table() { return {}; }
    static std::vector<ColumnSpec<Seen>> columns(const Resolver&) { return {}; }
  };
  using Tables = RowTables<Sample, Seen>;

  static void matched(const MatchedCollectives& collectives, const ClosingContext& context, Tables& out) {
    Links links(context.ranks, context.groups);
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
      sample.instances_count = 1;
      out.of<Sample>().push_back(sample);
      for (auto member = first; member != first + c.members_seen; ++member) out.of<Seen>().push_back({member->rank});
    }
    out.for_each([](auto& rows) { sort_and_fold(rows); });
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const Hardware hardware = find_hardware(context);
    std::vector<Class> classes;
    for (const Sample& s : tables.of<Sample>()) {
      if (classes.empty() || !classes.back().same(s)) classes.push_back({s.op, s.dimension, s.link_class, {}, {}, {}, 0, {}});
      classes.back().add(s);
    }
    for (Class& c : classes) c.fit = fit_hockney(c.points);
    out.extra_tables.push_back(make_table("rows", "bandwidth by transfer time of each operation, dimension and link class",
                                          columns(hardware), classes));
    if (classes.empty()) return out.absent("no matched collective with a known size");
    std::string line;
    std::map<std::pair<CollectiveOp, LinkClass>, Pooled> headlines;
    for (const Class& c : classes) headlines[{c.op, c.link_class}].add(c);
    for (const auto& [key, pooled] : headlines) {
      const auto [op, link_class] = key;
      if (op != CollectiveOp::all_reduce && op != CollectiveOp::all_gather && op != CollectiveOp::reduce_scatter && headlines.size() > 3) continue;
      const double middle = median(pooled.speeds);
      out.value(std::string(to_text(op)) + "_" + std::string(to_text(link_class)) + "_median_busbw_bytes_per_s", middle,
                "median over matched instances, by transfer time");
      line += (line.empty() ? "" : ", ") + std::string(to_text(op)) + " " + std::string(to_text(link_class)) + " " + pooled.text();
    }
    for (const LinkClass link_class : {LinkClass::intra, LinkClass::inter}) {
      const Peak peak = hardware.link(link_class);
      if (!peak.known() || std::none_of(classes.begin(), classes.end(), [&](const Class& c) { return c.link_class == link_class; })) continue;
      const std::string name(to_text(link_class));
      out.value(name + "_peak_bytes_per_s", peak.value, "one-way peak of the link");
      out.note(name + "_peak_source", peak.source, "where the peak comes from");
      line += "; " + name + " peak " + gigabytes_per_s(peak.value) + " one way (" + peak.source + ")";
      if (peak.disagreeing > 0) line += ", the card says " + gigabytes_per_s(peak.disagreeing);
    }
    std::int64_t incomplete = 0;
    for (const Class& c : classes) incomplete += c.incomplete_count;
    if (incomplete > 0) line += "; " + std::to_string(incomplete) + " with unseen members: lower bounds";
    add_line(out.page, "bandwidth", "median busbw by transfer time: " + line);
    std::vector<std::string> lines;
    for (const Class& c : classes)
      lines.push_back(fmt::format("  {} {} {}: {} matched, busbw median {}, p5 {}, p95 {}; {}",
                                  to_text(c.op), to_text(c.dimension), to_text(c.link_class), c.speeds.size(),
                                  gigabytes_per_s(median(c.speeds)), gigabytes_per_s(percentile(c.speeds, 5)),
                                  gigabytes_per_s(percentile(c.speeds, 95)), fit_text(c.fit)));
    add_capped(out.details, lines);
    out.ranks_covered = static_cast<std::int64_t>(tables.of<Seen>().size());
  }

 private:
  struct Class {
    CollectiveOp op;
    Dimension dimension;
    LinkClass link_class;
    std::vector<double> speeds, link_speeds;             // bytes/s; the latter over the GPU's link or NIC
    std::vector<std::pair<double, double>> points;       // (bus bytes, transfer ns)
    std::int64_t incomplete_count;
    HockneyFit fit;
    bool same(const Sample& s) const { return std::tuple(op, dimension, link_class) == std::tuple(s.op, s.dimension, s.link_class); }
    void add(const Sample& s) {
      const double bytes = static_cast<double>(s.bus_bytes), ns = static_cast<double>(s.transfer_ns);
      const auto count = static_cast<std::size_t>(s.instances_count);
      speeds.insert(speeds.end(), count, bytes * 1e9 / ns);
      link_speeds.insert(link_speeds.end(), count, bytes * 1e9 / ns * link_share(s.op, s.link_class, s.group_size, s.hosts_count));
      points.insert(points.end(), count, {bytes, ns});
      if (s.incomplete) incomplete_count += s.instances_count;
    }
  };

  /// An operation between the same kind of hosts, over all dimensions.
  struct Pooled {
    std::vector<double> speeds, sizes_bytes, transfers_ns;
    void add(const Class& c) {
      speeds.insert(speeds.end(), c.speeds.begin(), c.speeds.end());
      for (const auto& [bytes, ns] : c.points) {
        sizes_bytes.push_back(bytes);
        transfers_ns.push_back(ns);
      }
    }
    /// The rate of a message that small says how long a hop takes, not what the link carries: the time is told instead.
    std::string text() const {
      const double size_bytes = median(sizes_bytes);
      if (size_bytes >= latency_bound_bytes) return gigabytes_per_s(median(speeds));
      return microseconds(median(transfers_ns)) + " (latency of " + gigabytes(size_bytes) + ")";
    }
  };

  static std::string fit_text(const HockneyFit& fit) {
    if (std::isnan(fit.alpha_ns)) return "no fit (fewer than five, or of one size)";
    return fmt::format("alpha {:.1f} us, beta {}, R2 {:.3f}", fit.alpha_ns / 1e3,
                       std::isnan(fit.beta_bytes_per_s) ? "unknown" : gigabytes_per_s(fit.beta_bytes_per_s), fit.r_squared);
  }

  static std::vector<ColumnSpec<Class>> columns(const Hardware& hardware) {
    std::vector<ColumnSpec<Class>> all{column("op", &Class::op, "", "operation"),
                                       column("dimension", &Class::dimension, "", "parallelism of the groups"),
                                       column("link_class", &Class::link_class, "", "intra or inter host")};
    all.push_back(integer_column<Class>("instances_count", "", "matched instances of known size", {}, [](const Class& c) {
      return static_cast<std::int64_t>(c.speeds.size());
    }));
    all.push_back(column("incomplete_count", &Class::incomplete_count, "", "of them with unseen members: busbw is a lower bound"));
    for (const int percent : {50, 5, 95})
      all.push_back(derived<Class>((percent == 50 ? "median" : std::string("p").append(std::to_string(percent))) + "_busbw_bytes_per_s", "bytes/s",
                                   std::to_string(percent) + "th percentile of busbw by transfer time",
                                   [percent](const Class& c) { return percentile(c.speeds, percent); }));
    all.push_back(derived<Class>("median_share_of_peak_ratio", "", "median rate on the GPU's link or NIC / its one-way peak",
                                 [&hardware](const Class& c) {
                                   const Peak peak = hardware.link(c.link_class);
                                   const bool known = peak.known() && !std::isnan(c.link_speeds.front());
                                   return known ? median(c.link_speeds) / peak.value : std::nan("");
                                 }));
    all.push_back(derived<Class>("alpha_ns", "ns", "fit: transfer time of an empty message", [](const Class& c) { return c.fit.alpha_ns; }));
    all.push_back(derived<Class>("beta_bytes_per_s", "bytes/s", "fit: busbw of an endless message", [](const Class& c) { return c.fit.beta_bytes_per_s; }));
    all.push_back(derived<Class>("r_squared", "", "fit: coefficient of determination", [](const Class& c) { return c.fit.r_squared; }));
    return all;
  }
};

}  // namespace

std::unique_ptr<Metric> bandwidth() { return define_metric<Bandwidth>(); }

}  // namespace ccl
