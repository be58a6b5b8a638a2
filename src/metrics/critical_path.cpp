// critical_path: which operations of which rank decide how long a step takes.
// Definition: from the last end of the step back to its begin: an operation, then
// what it waited for last on its device; from a matched collective to the member that started last. The parts add up to
// the run's step window R(N) exactly. Launch and idle times are categories of their own. Merge: keys are disjoint, a
// step has one owner. Headline: communication on the path / path.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "core/statistics.hpp"
#include "exchange/graph_path.hpp"
#include "metrics/clock_unknown.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"
#include "metrics/whole_steps.hpp"

namespace ccl {
namespace {

constexpr std::size_t top_count = 20;

struct CriticalPath {
  static MetricInfo info() {
    return {.name = "critical_path",
            .unit = "ratio",
            .question = "Which operations of which ranks decide how long a step takes?",
            .definition =
                "From the last end of a step over all ranks back to its begin: an operation, what it waited for last on "
                "its device, and from a matched collective the member that started last. Adds up to the run's step window "
                "exactly. launch: until the path's next operation is launched; idle: from its launch to its start; meanwhile "
                "other streams may run. Of communication not matched with all its ranks only the median "
                "transfer of complete ones of its kind counts as communication, the rest as unseparated. Headline: "
                "communication / path.",
            .needs = "GPU events with steps; collectives matched across ranks; clocks known to a tenth of a step",
            .section = PageSection::answer,
            .aliases = {},
            .wants = {},
            .needs_matching = true,
            .needs_chains = true};
  }

  struct Times {
    std::int64_t ns[path_category_count] = {};
    void add(const PathPart& part) { ns[static_cast<std::size_t>(part.category)] += part.length_ns(); }
    std::int64_t sum() const { return std::accumulate(std::begin(ns), std::end(ns), std::int64_t{0}); }
  };
  template <class Row>
  static void add_times(std::vector<ColumnSpec<Row>>& all) {
    const char* const what[] = {"compute kernels", "communication kernels, from the last member's start", "copies and sets",
                                "until the path's next operation is launched; other streams may run meanwhile",
                                "the path's next operation is launched but does not start; other streams may run meanwhile",
                                "communication not matched with all its ranks: waiting and transfer are not told apart"};
    for (std::size_t c = 0; c < path_category_count; ++c)
      all.push_back(integer_column<Row>(std::string(to_text(static_cast<PathCategory>(c))) + "_ns", "ns", what[c], {},
                                        [c](const Row& row) { return row.times.ns[c]; }));
  }

  struct Row {
    StepId step;
    std::int32_t replica = -1;
    std::int64_t length_ns = 0, hops_count = 0, communication_count = 0, unmatched_count = 0;
    std::int64_t matches_count = 0, close_count = 0;  // on the path
    Times times;
    auto key() const { return std::tuple(step, replica); }
    static TableInfo table() { return {"rows", "critical path of each step by category"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("length_ns", &Row::length_ns, "ns", "the run's step window = sum of the categories"));
      add_times(all);
      all.push_back(column("hops_count", &Row::hops_count, "", "how often the path changes the rank"));
      all.push_back(column("communication_count", &Row::communication_count, "", "communication kernels of the step"));
      all.push_back(column("unmatched_count", &Row::unmatched_count, "",
                           "of them without a partner on another rank: there the path can not change the rank"));
      all.push_back(column("matches_count", &Row::matches_count, "", "matched collectives on the path"));
      all.push_back(column("close_count", &Row::close_count, "",
                           "of them with the two last members within twice the clock residual: which is last is <= error"));
      return all;
    }
  };
  struct ByRank {
    StepId step;
    RankId rank;
    std::int32_t replica = -1;
    Times times;
    std::int64_t slack_min_ns = -1, slack_mean_ns = -1;
    auto key() const { return std::tuple(step, rank, replica); }
    static TableInfo table() { return {"by_rank", "time of each rank on the path, and its slack"}; }
    static std::vector<ColumnSpec<ByRank>> columns(const Resolver&) {
      std::vector<ColumnSpec<ByRank>> all = key_columns<ByRank>();
      add_times(all);
      all.push_back(integer_column<ByRank>("path_ns", "ns", "on the path", {},
                                           [](const ByRank& row) { return row.times.sum(); }));
      all.push_back(column("slack_min_ns", &ByRank::slack_min_ns, "ns",
                           "smallest delay of a compute kernel that makes the step longer", -1));
      all.push_back(column("slack_mean_ns", &ByRank::slack_mean_ns, "ns", "the same, mean weighted with durations", -1));
      return all;
    }
  };
  struct ByDimension {
    StepId step;
    std::int32_t replica = -1;
    Dimension dimension = Dimension::unknown;
    CollectiveOp op = CollectiveOp::unknown;
    std::int64_t time_ns = 0, unseparated_ns = 0, count = 0;
    auto key() const { return std::tuple(step, replica, dimension, op); }
    void combine(const ByDimension& other) {
      time_ns += other.time_ns, unseparated_ns += other.unseparated_ns, count += other.count;
    }
    static TableInfo table() { return {"by_dimension", "communication on the path by dimension and operation"}; }
    static std::vector<ColumnSpec<ByDimension>> columns(const Resolver&) {
      std::vector<ColumnSpec<ByDimension>> all = key_columns<ByDimension>();
      all.push_back(column("dimension", &ByDimension::dimension, "", "of the process group"));
      all.push_back(column("op", &ByDimension::op, "", "operation"));
      all.push_back(column("time_ns", &ByDimension::time_ns, "ns", "on the path"));
      all.push_back(column("unseparated_ns", &ByDimension::unseparated_ns, "ns",
                           "on the path besides, not matched with all its ranks"));
      all.push_back(column("count", &ByDimension::count, "", "parts of the path"));
      return all;
    }
  };
  struct Top {
    StepId step;
    std::int32_t replica = -1, place = 0;
    RankId rank;
    std::int64_t start_ns = 0, length_ns = 0;
    PathCategory category = PathCategory::compute;
    StringId name;
    auto key() const { return std::tuple(step, replica, place); }
    static TableInfo table() { return {"top", "the 20 longest parts of each step's path"}; }
    static std::vector<ColumnSpec<Top>> columns(const Resolver& resolver) {
      std::vector<ColumnSpec<Top>> all = key_columns<Top>();
      all.push_back(column("place", &Top::place, "", "0 = longest"));
      all.push_back(column("start_ns", &Top::start_ns, "ns", "corrected clock"));
      all.push_back(column("length_ns", &Top::length_ns, "ns", "of this part"));
      all.push_back(column("category", &Top::category, "", "compute, communication, memory, launch, idle or unseparated"));
      all.push_back(text_column<Top>("name", "kernel; of launch and idle: the one that follows",
                                     [text = resolver.text](const Top& row) { return text(row.name); }));
      return all;
    }
  };
  /// A stretch of the path for figures.
  struct Segment {
    StepId step;
    std::int32_t replica = -1, place = 0;
    RankId rank;
    std::int64_t start_ns = 0, end_ns = 0;
    PathCategory category = PathCategory::compute;
    Dimension dimension = Dimension::unknown;
    auto key() const { return std::tuple(step, replica, place); }
    auto label() const { return std::tuple(rank, category, dimension); }
    static TableInfo table() {
      return {"segments", "the path in order of time, at most 1001 parts per step: a part shorter than a thousandth of the "
                          "step is joined with its neighbours and takes rank and category of the longest"};
    }
    static std::vector<ColumnSpec<Segment>> columns(const Resolver&) {
      std::vector<ColumnSpec<Segment>> all = key_columns<Segment>();
      all.push_back(column("place", &Segment::place, "", "in time"));
      all.push_back(column("start_ns", &Segment::start_ns, "ns", "corrected clock"));
      all.push_back(column("end_ns", &Segment::end_ns, "ns", "begin of the next segment; the last: end of the step"));
      all.push_back(column("category", &Segment::category, "", "compute, communication, memory, launch, idle or unseparated"));
      all.push_back(column("dimension", &Segment::dimension, "", "of communication"));
      return all;
    }
  };
  using Tables = RowTables<Row, ByRank, ByDimension, Top, Segment>;

  static void graph(const MeasuredGraph& step, const ClosingContext& context, Tables& out) {
    const std::vector<PathPart> path = critical_path_of(step);
    const auto rank_of = [&](const GraphOp& op) { return context.ranks.entries[static_cast<std::size_t>(op.rank_row)].rank; };
    Row row{step.step, step.replica, step.length_ns(), 0, 0, 0, 0, 0, {}};
    std::vector<ByRank> ranks;  // ops are by rank row
    std::vector<std::uint32_t> rank_at(step.size());
    const std::vector<std::int64_t> slack = slack_ns(step, step.measured);
    std::vector<double> weight, weighted;
    for (std::size_t i = 0; i < step.size(); ++i) {
      const GraphOp& op = step.ops[i];
      if (i == 0 || step.ops[i - 1].rank_row != op.rank_row) {
        ranks.push_back({step.step, rank_of(op), step.replica, {}, -1, -1});
        weight.push_back(0);
        weighted.push_back(0);
      }
      rank_at[i] = static_cast<std::uint32_t>(ranks.size() - 1);
      if (is_with_others(step, i)) {
        ++row.communication_count;
        row.unmatched_count += step.match[i] < 0 ? 1 : 0;
      }
      if (op.kind != EventKind::compute) continue;
      ByRank& rank = ranks.back();
      rank.slack_min_ns = rank.slack_min_ns < 0 ? slack[i] : std::min(rank.slack_min_ns, slack[i]);
      weight.back() += static_cast<double>(op.length_ns());
      weighted.back() += static_cast<double>(op.length_ns()) * static_cast<double>(slack[i]);
    }
    for (std::size_t r = 0; r < ranks.size(); ++r)
      if (weight[r] > 0) ranks[r].slack_mean_ns = static_cast<std::int64_t>(weighted[r] / weight[r]);
    for (std::size_t p = 0; p < path.size(); ++p) {
      const PathPart& part = path[p];
      row.times.add(part);
      ranks[rank_at[part.op]].times.add(part);
      if (p > 0 && rank_at[path[p - 1].op] != rank_at[part.op]) ++row.hops_count;
      const GraphCommunication& of = step.communication_of(part.op);
      if (step.match[part.op] >= 0 && (p == 0 || path[p - 1].op != part.op)) {
        ++row.matches_count;
        row.close_count += last_by_ns(step, part.op) < 2 * context.clock.residual_ns ? 1 : 0;
      }
      const bool seen = part.category == PathCategory::communication;
      if (seen || part.category == PathCategory::unseparated)
        out.of<ByDimension>().push_back({step.step, step.replica, of.dimension, of.op, seen ? part.length_ns() : 0,
                                         seen ? 0 : part.length_ns(), 1});
    }
    out.of<Row>().push_back(row);
    out.of<ByRank>().insert(out.of<ByRank>().end(), ranks.begin(), ranks.end());
    add_segments(step, path, context.ranks, out.of<Segment>());
    std::vector<std::uint32_t> longest(path.size());
    std::iota(longest.begin(), longest.end(), 0U);
    std::partial_sort(longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(std::min(top_count, path.size())),
                      longest.end(), [&](std::uint32_t a, std::uint32_t b) {
                        return std::tuple(-path[a].length_ns(), a) < std::tuple(-path[b].length_ns(), b);
                      });
    for (std::size_t p = 0; p < path.size() && p < top_count; ++p) {
      const PathPart& part = path[longest[p]];
      const GraphOp& op = step.ops[part.op];
      out.of<Top>().push_back({step.step, step.replica, static_cast<std::int32_t>(p), rank_of(op), part.start_ns,
                               part.length_ns(), part.category, op.name});
    }
    sort_and_fold(out.of<ByDimension>());
  }

  /// By how much the last member of an operation's match starts after the one before.
  static std::int64_t last_by_ns(const StepGraph& step, std::uint32_t op) {
    std::int64_t last_ns = INT64_MIN, before_ns = INT64_MIN;
    for (const std::uint32_t member : step.members_of(static_cast<std::size_t>(step.match[op]))) {
      before_ns = std::max(before_ns, std::min(last_ns, step.ops[member].start_ns));
      last_ns = std::max(last_ns, step.ops[member].start_ns);
    }
    return last_ns - before_ns;
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const WholeSteps whole(tables, context.ranks);
    report_steps(whole.tables(), context, out);
    whole.tell_left_out(out);
  }

 private:
  static void report_steps(const Tables& tables, const ReportContext& context, Report& out) {
    const auto& rows = tables.of<Row>();
    if (rows.empty()) return out.absent("no step has GPU events");
    if (tells_clock_error(context, "critical path", out)) return;
    Times all;
    std::int64_t communication_count = 0, unmatched_count = 0, matches_count = 0, close_count = 0;
    for (const Row& row : rows) {
      for (std::size_t c = 0; c < path_category_count; ++c) all.ns[c] += row.times.ns[c];
      communication_count += row.communication_count;
      unmatched_count += row.unmatched_count;
      matches_count += row.matches_count;
      close_count += row.close_count;
    }
    if (all.ns[static_cast<std::size_t>(PathCategory::unseparated)] > 0) {
      out.status = Status::partial;
      out.reason = "communication not matched with all its ranks: waiting and transfer are not told apart";
    }
    if (unmatched_count > 0) {
      out.status = Status::partial;
      out.reason = std::to_string(unmatched_count) + " of " +
                   counted(static_cast<std::size_t>(communication_count), "communication kernel") +
                   " not matched: the path does not change the rank there";
    }
    const auto share = [&](PathCategory c) {
      return ratio(static_cast<double>(all.ns[static_cast<std::size_t>(c)]), static_cast<double>(all.sum()));
    };
    const auto tell = [&](PathCategory c) {
      out.value(std::string(to_text(c)) + "_ratio", share(c), "share of the path, all steps");
    };
    tell(PathCategory::communication);  // the headline: its unit is the metric's
    for (std::size_t c = 0; c < path_category_count; ++c)
      if (const auto category = static_cast<PathCategory>(c); category != PathCategory::communication) tell(category);
    out.value("unmatched_count", static_cast<double>(unmatched_count), "communication kernels without a partner");
    std::map<std::pair<std::int32_t, RankId>, std::int64_t> ranks;
    for (const ByRank& row : tables.of<ByRank>()) ranks[{row.replica, row.rank}] += row.times.sum();
    out.ranks_covered = static_cast<std::int64_t>(ranks.size());
    const auto most = std::max_element(ranks.begin(), ranks.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const double most_share = ratio(static_cast<double>(most->second), static_cast<double>(all.sum()));
    out.value("most_rank", most->first.second.value, "rank with the largest part of the path");
    out.value("most_rank_ratio", most_share, "its part");
    std::map<Dimension, std::int64_t> dimensions;
    for (const ByDimension& row : tables.of<ByDimension>()) dimensions[row.dimension] += row.time_ns;
    std::string by_dimension;
    std::erase_if(dimensions, [](const auto& entry) { return entry.second == 0; });
    for (const auto& [dimension, ns] : dimensions)
      by_dimension += (by_dimension.empty() ? "" : ", ") + dimension_name(dimension) + " " +
                      percent(ratio(static_cast<double>(ns), static_cast<double>(all.sum())));
    const bool whole = all.ns[static_cast<std::size_t>(PathCategory::unseparated)] == 0;
    const std::string unseparated =
        whole ? ""
              : ", " + percent(share(PathCategory::unseparated)) +
                    " communication not matched with all its ranks (waiting or transfer)";
    std::string line = "compute " + percent(share(PathCategory::compute)) + ", communication " +
                       percent(share(PathCategory::communication)) +
                       (by_dimension.empty() ? "" : " (" + by_dimension + ")") + unseparated + ", launch " +
                       percent(share(PathCategory::launch)) + ", idle " + percent(share(PathCategory::idle)) +
                       " of the path";
    if (ranks.size() > 1)
      line += "; most of it on " + rank_name(most->first.first, most->first.second) +
              (context.ranks.missing.empty() ? "" : " of the " + counted(ranks.size(), "rank") + " seen") + " (" +
              percent(most_share) + ")";
    out.value("close_ratio", ratio(static_cast<double>(close_count), static_cast<double>(matches_count)),
              "matched collectives on the path whose two last members start within twice the clock residual");
    if (close_count * 10 > matches_count)
      line += "; by which rank it goes is <= error (" + microseconds(2.0 * static_cast<double>(context.clock.residual_ns)) +
              ") at " + std::to_string(close_count) + " of its " +
              counted(static_cast<std::size_t>(matches_count), "collective");
    add_line(out.page, "critical path", line);
    add_details(tables, context, out);
  }

  static std::string dimension_name(Dimension dimension) {
    return dimension == Dimension::unknown ? "of no known dimension" : std::string(to_text(dimension));
  }

  static void add_segments(const StepGraph& step, const std::vector<PathPart>& path, const Ranks& ranks,
                           std::vector<Segment>& out) {
    const std::size_t first = out.size();
    const std::int64_t least_ns = (step.length_ns() + 999) / 1000;
    std::int64_t longest_ns = 0;  // of the parts that are in the last segment
    for (auto part = path.rbegin(); part != path.rend(); ++part) {
      const RankEntry& rank = ranks.entries[static_cast<std::size_t>(step.ops[part->op].rank_row)];
      const bool moves =
          part->category == PathCategory::communication || part->category == PathCategory::unseparated;
      Segment segment{step.step, step.replica, static_cast<std::int32_t>(out.size() - first), rank.rank, part->start_ns,
                      part->end_ns, part->category, moves ? step.communication_of(part->op).dimension : Dimension::unknown};
      const bool same = out.size() > first && out.back().label() == segment.label();
      if (out.size() == first || (!same && out.back().end_ns - out.back().start_ns >= least_ns)) {
        out.push_back(segment);
        longest_ns = part->length_ns();
        continue;
      }
      Segment& last = out.back();
      last.end_ns = segment.end_ns;
      if (same) {
        longest_ns += part->length_ns();
      } else if (part->length_ns() > longest_ns) {
        std::tie(last.rank, last.category, last.dimension) = segment.label();
        longest_ns = part->length_ns();
      }
    }
  }
  static void add_details(const Tables& tables, const ReportContext& context, Report& out) {
    std::vector<std::string> lines;
    for (const Row& row : tables.of<Row>()) {
      std::string line = "  " + step_name(row.step) + ": " + milliseconds(static_cast<double>(row.length_ns)) + " =";
      for (std::size_t c = 0; c < path_category_count; ++c)
        line += (c == 0 ? " " : " + ") + std::string(to_text(static_cast<PathCategory>(c))) + " " +
                milliseconds(static_cast<double>(row.times.ns[c]));
      lines.push_back(line + ", " + counted(static_cast<std::size_t>(row.hops_count), "change") + " of rank");
    }
    for (const Top& row : tables.of<Top>())
      if (row.place < 3)
        lines.push_back("  " + step_name(row.step) + ", " + std::to_string(row.place + 1) + ": " +
                        milliseconds(static_cast<double>(row.length_ns)) + " " + std::string(to_text(row.category)) +
                        " on " + rank_name(row.replica, row.rank) + ", " + std::string(context.strings.text(row.name)));
    add_capped(out.details, lines);
  }
};

}  // namespace

std::unique_ptr<Metric> critical_path() { return define_metric<CriticalPath>(); }

}  // namespace ccl
