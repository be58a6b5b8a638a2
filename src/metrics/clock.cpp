// clock: how far the clocks of the hosts are apart, and how well that is known.
// Definition: offset and drift per host against the host of the lowest rank, from the common ends of symmetric
// collectives; residual = 95th percentile of what remains.
// No rows travel: the clock model is the same on every worker. Headline: largest offset, largest correction and residual.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "exchange/clock_one_host.hpp"
#include "exchange/coverage.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"

namespace ccl {
namespace {

struct Clock {
  static MetricInfo info() {
    return {.name = "clock",
            .unit = "us",
            .question = "How far are the clocks of the hosts apart, and how well are times across hosts known?",
            .definition =
                "Largest correction of a time against the host of the lowest rank: offset + drift x (t - clock_t_ref_ns) / 1e9 "
                "at the first and last GPU event of each rank; residual = 95th percentile of how far common "
                "ends disagree after correction, on one host against the median of each pair of ranks in the same group "
                "and step; at least what two ranks of one host are usually apart where that shows several clocks.",
            .needs = "traces of at least two ranks that share symmetric collectives",
            .section = PageSection::clock,
            .aliases = {},
            .wants = {},
            .needs_matching = true};
  }
  using Tables = RowTables<>;

  struct Host {
    std::string host, ranks;
    std::int64_t ranks_count = 0;
    HostClock clock;
  };

  static void report(const Tables&, const ReportContext& context, Report& out) {
    const std::vector<Host> hosts = list_hosts(context);
    out.ranks_covered = analysed_ranks_count(context.ranks);
    if (hosts.empty()) return out.absent("no trace with a rank");
    out.show(make_table("rows", "clock of each host against the reference host", columns(), hosts));
    std::int64_t largest_ns = 0, uncorrected = 0;
    for (const Host& host : hosts) {
      uncorrected += host.clock.corrected ? 0 : 1;
      if (host.clock.corrected) largest_ns = std::max(largest_ns, std::abs(host.clock.offset_ns));
    }
    const std::int64_t applied_ns = largest_correction_ns(context);
    const std::int64_t residual_ns = context.clock.residual_ns;
    out.value("largest_offset_ns", static_cast<double>(largest_ns), "largest |offset| of a corrected host");
    out.value("largest_correction_ns", static_cast<double>(applied_ns),
              "largest |offset + drift x (t - clock_t_ref_ns) / 1e9| over first and last GPU events");
    out.value("residual_ns", residual_ns < 0 ? std::nan("") : static_cast<double>(residual_ns),
              "95th percentile of the disagreement of common ends");
    out.value("hosts_count", static_cast<double>(hosts.size()), "clock domains");
    const std::vector<ClocksApart>& apart = context.clock.apart;
    std::string known = residual_ns < 0 ? "no common ends to check it with"
                                        : "common ends agree within " + microseconds(static_cast<double>(residual_ns)) + " (p95)";
    if (!apart.empty()) {
      const auto widest = std::ranges::max_element(apart, {}, &ClocksApart::apart_ns);
      known = clocks_apart_text(*widest, context.ranks);
      out.status = Status::partial;
      out.reason = known;
      if (apart.size() > 1) known += ", and so of " + counted(apart.size() - 1, "more host");
    }
    if (hosts.size() == 1)
      add_line(out.page, "clock", (apart.empty() ? "one host, nothing to correct; " : "one host, nothing corrected; ") + known);
    else
      add_line(out.page, "clock",
               std::to_string(hosts.size()) + " hosts, corrected by up to " +
                   microseconds(static_cast<double>(applied_ns)) + "; " + known);
    if (uncorrected > 0) {
      const std::string lacking =
          counted(static_cast<std::size_t>(uncorrected), "host") + " without a path to the reference host";
      out.status = Status::partial;
      out.reason += (out.reason.empty() ? "" : "; ") + lacking;
      add_line(out.page, "", lacking + " (times there are on their own clock)");
    }
    std::vector<std::string> lines;
    for (const Host& host : hosts)
      lines.push_back("  " + host.host + ": offset " + microseconds(static_cast<double>(host.clock.offset_ns)) +
                      ", drift " + std::to_string(host.clock.drift_ppb) + " ppb, ranks " + host.ranks);
    add_capped(out.details, lines);
  }

 private:
  /// What is added to times, or taken off them: it is largest at an end of what a rank has.
  static std::int64_t largest_correction_ns(const ReportContext& context) {
    std::int64_t largest_ns = 0;
    for (const RankEntry& entry : context.ranks.entries) {
      const auto host = static_cast<std::size_t>(entry.host_index);
      if (entry.host_index < 0 || host >= context.clock.hosts.size() || !context.clock.hosts[host].corrected) continue;
      for (const std::int64_t t_ns : {entry.facts.first_ns, entry.facts.last_ns})
        if (t_ns != absent_ns)
          largest_ns = std::max(largest_ns, std::abs(context.clock.corrected(entry.host_index, t_ns) - t_ns));
    }
    return largest_ns;
  }

  static std::vector<Host> list_hosts(const ReportContext& context) {
    std::vector<std::vector<std::int32_t>> ranks(context.ranks.hosts.size());
    for (const RankEntry& entry : context.ranks.entries)
      if (entry.host_index >= 0) ranks[static_cast<std::size_t>(entry.host_index)].push_back(entry.rank.value);
    std::vector<Host> out;
    for (std::size_t h = 0; h < context.ranks.hosts.size(); ++h) {
      std::sort(ranks[h].begin(), ranks[h].end());
      ranks[h].erase(std::unique(ranks[h].begin(), ranks[h].end()), ranks[h].end());
      out.push_back({context.ranks.hosts[h], rank_list(ranks[h]), static_cast<std::int64_t>(ranks[h].size()),
                     h < context.clock.hosts.size() ? context.clock.hosts[h] : HostClock{}});
    }
    return out;
  }

  static std::vector<ColumnSpec<Host>> columns() {
    const auto of_clock = [](const char* name, const char* unit, const char* description, auto member,
                             std::optional<std::int64_t> absent = {}) {
      return integer_column<Host>(name, unit, description, absent,
                                  [member](const Host& row) { return static_cast<std::int64_t>(row.clock.*member); });
    };
    return {column("host", &Host::host, "", "host; ?<rank> when unknown"),
            column("ranks_count", &Host::ranks_count, "", "ranks on it"),
            column("ranks", &Host::ranks, "", "its first ranks"),
            of_clock("offset_ns", "ns", "added to its times at clock_t_ref_ns, in its first iteration", &HostClock::offset_ns),
            of_clock("drift_ppb", "ppb",
                     "what its clock loses against the reference host's: added from clock_t_ref_ns on", &HostClock::drift_ppb),
            of_clock("residual_ns", "ns", "95th percentile of what remains", &HostClock::residual_ns, -1),
            of_clock("instances_count", "", "collectives used", &HostClock::instances_count),
            of_clock("corrected", "", "1 = there is a path to the reference host", &HostClock::corrected)};
  }
};

}  // namespace

std::unique_ptr<Metric> clock() { return define_metric<Clock>(); }

}  // namespace ccl
