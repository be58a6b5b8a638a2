// token_to_expert_assignment: how evenly tokens are spread over the ranks of an expert-parallel group.
// Definition: the In split sizes of all_to_allv are rows, one per token, so split_j = tokens sent to member j. A call
// whose splits are those of an earlier one with In and Out exchanged brings the tokens back and is left out. Load of a
// member = what it gets from all senders of a step. Beside it the loads of single experts where the router logged them
// (gate_logs_*.json, moe_assignments*.json). Merge: equal keys add. Headline: Σ largest load / Σ mean load over groups
// and steps. Lists of all_to_all are sizes in elements, not tokens, and are not used.
#include <cmath>
#include <map>

#include "core/statistics.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"

namespace ccl {
namespace {

struct TokenToExpertAssignment {
  static MetricInfo info() {
    return {.name = "token_to_expert_assignment",
            .unit = "ratio",
            .question = "How evenly are tokens spread over the ranks that hold the experts?",
            .definition =
                "Largest over mean load of the members of an expert-parallel group, pooled over groups and steps; load "
                "= tokens sent to the member, from the In split sizes of all_to_allv (calls that bring tokens back "
                "left out). Beside it the entropy of the load / ln(members). From logs of the router the same of single "
                "experts, over all their steps.",
            .needs = "all_to_allv kernels with split sizes of at most 30 members, or the router's gate_logs_*.json or "
                     "moe_assignments*.json among the traces",
            .section = PageSection::further,
            .aliases = {},
            .wants = {},
            .needs_records = true};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t replica = -1;
    std::int64_t calls_count = 0, returns_count = 0, cut_count = 0, tokens_count = 0;
    auto key() const { return std::tuple(step, rank, replica); }
    void combine(const Row& other) {
      calls_count += other.calls_count;
      returns_count += other.returns_count;
      cut_count += other.cut_count;
      tokens_count += other.tokens_count;
    }
    static TableInfo table() { return {"rows", "tokens that a rank sent to the experts of its groups"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("calls_count", &Row::calls_count, "", "all_to_allv calls that send tokens"));
      all.push_back(column("returns_count", &Row::returns_count, "", "calls that bring them back, left out"));
      all.push_back(column("cut_count", &Row::cut_count, "", "calls whose split list the profiler cut, left out"));
      all.push_back(column("tokens_count", &Row::tokens_count, "", "tokens sent, those to itself included"));
      return all;
    }
  };
  /// Not written: by position in the group, until closing() knows who that is.
  struct Split {
    static constexpr bool until_closing = true;
    StepId step;
    RankId rank;
    std::int32_t replica = -1, position = 0;
    std::uint32_t local_group = 0;
    std::int64_t tokens_count = 0;
    auto key() const { return std::tuple(step, rank, replica, local_group, position); }
    void combine(const Split& other) { tokens_count += other.tokens_count; }
    static TableInfo table() { return {}; }
    static std::vector<ColumnSpec<Split>> columns(const Resolver&) { return {}; }
  };
  struct ByMember {
    StepId step;
    std::int32_t replica = -1;
    GroupId group;
    std::int32_t position = 0;
    RankId member;
    std::int64_t senders_count = 0, tokens_count = 0;
    auto key() const { return std::tuple(step, replica, group, position); }
    void combine(const ByMember& other) { senders_count += other.senders_count, tokens_count += other.tokens_count; }
    static TableInfo table() { return {"by_member", "load of each member of an expert-parallel group in each step"}; }
    static std::vector<ColumnSpec<ByMember>> columns(const Resolver& resolver) {
      std::vector<ColumnSpec<ByMember>> all = key_columns<ByMember>();
      all.push_back(group_column<ByMember>(resolver));
      all.push_back(column("position", &ByMember::position, "", "place in the group"));
      all.push_back(integer_column<ByMember>("member", "", "rank that holds the experts", -1,
                                             [](const ByMember& row) { return std::int64_t{row.member.value}; }));
      all.push_back(column("senders_count", &ByMember::senders_count, "", "ranks seen that sent to the group"));
      all.push_back(column("tokens_count", &ByMember::tokens_count, "", "tokens sent to the member"));
      return all;
    }
  };
  using Tables = RowTables<Row, Split, ByMember>;

  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    std::map<std::uint32_t, std::vector<const Collective*>> open;  // sent and not brought back, by group
    for (const Collective& call : trace.collectives) {
      if (call.op != CollectiveOp::all_to_allv || call.splits_count == 0 || call.dtype == Dtype::untyped) continue;
      const std::int32_t step = trace.events.step[call.event];
      if (step < 0) continue;
      Row row;
      row.step.step = trace.steps[static_cast<std::size_t>(step)].number;
      std::vector<const Collective*>& sent = open[call.group];
      const auto back = std::find_if(sent.begin(), sent.end(), [&](const Collective* one) {
        return trace.events.step[one->event] == step && brings_back(trace, *one, call);
      });
      if (call.splits_cut) {
        row.cut_count = 1;
      } else if (back != sent.end()) {
        row.returns_count = 1;
        sent.erase(back);
      } else {
        sent.push_back(&call);
        row.calls_count = 1;
        for (std::uint32_t j = 0; j < call.splits_count; ++j) {
          const std::int64_t tokens = trace.splits[call.first_split + j];
          row.tokens_count += tokens;
          out.of<Split>().push_back({row.step, {}, -1, static_cast<std::int32_t>(j), call.group, tokens});
        }
      }
      out.of<Row>().push_back(row);
    }
  }

  static void closing(const ClosingRank& rank, const ClosingContext& context, Tables& out) {
    for (const Split& split : rows_of(out.of<Split>(), rank.entry)) {
      ByMember row{
          split.step, split.replica,     context.groups.id_of(rank.rank_row, split.local_group), split.position, {},
          1,          split.tokens_count};
      const Group* const group = context.groups.find(row.group);
      if (group != nullptr && group->members_complete && static_cast<std::size_t>(split.position) < group->members.size())
        row.member = RankId(group->members[static_cast<std::size_t>(split.position)]);
      out.of<ByMember>().push_back(row);
    }
    out.fold_when_doubled<ByMember>();
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const auto& rows = tables.of<ByMember>();
    std::int64_t cut = 0, returns = 0;
    for (const Row& row : tables.of<Row>()) cut += row.cut_count, returns += row.returns_count;
    double largest = 0, average = 0, entropy = 0, weight = 0;
    std::vector<std::string> lines;
    for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
      std::vector<double> loads;
      for (; last < rows.size() && same_group(rows[first], rows[last]); ++last)
        loads.push_back(static_cast<double>(rows[last].tokens_count));
      const double sum = mean(loads) * static_cast<double>(loads.size());
      if (loads.size() < 2 || sum <= 0) continue;
      const double most = *std::max_element(loads.begin(), loads.end());
      largest += most;
      average += mean(loads);
      entropy += sum * normalised_entropy(loads, sum);
      weight += sum;
      lines.push_back("  " + step_name(rows[first].step) + ", group " + group_name(context.groups, rows[first].group) +
                      ": largest/mean " + decimals(most / mean(loads)) + ", entropy " +
                      decimals(normalised_entropy(loads, sum)) + " of 1, " + std::to_string(rows[first].senders_count) +
                      " senders seen");
    }
    const bool logged = report_experts(context.workload.expert_loads, out);
    if (weight <= 0) {
      if (logged) return;
      if (cut > 0) return out.absent("the profiler cut every split list of all_to_allv at 30 members");
      return out.not_applicable("no all_to_allv with split sizes in a step: no tokens go to experts");
    }
    out.value("load_max_over_mean_ratio", largest / average, "largest load / mean load, over groups and steps");
    out.value("load_entropy_ratio", entropy / weight, "entropy of the load / ln(members), weighted by tokens");
    out.value("returns_count", static_cast<double>(returns), "all_to_allv calls that brought tokens back, left out");
    out.value("cut_count", static_cast<double>(cut), "calls left out because their split list was cut");
    add_line(out.page, "experts",
             "most loaded rank gets " + decimals(largest / average) + " times the mean of its group; entropy " +
                 decimals(entropy / weight) + " of 1");
    add_capped(out.details, lines);
  }

 private:
  struct Expert {
    std::int32_t expert = 0;
    double tokens_count = 0, share = 0;
  };
  /// False where nothing was logged.
  static bool report_experts(const ExpertLoads& logged, Report& out) {
    const double sum = mean(logged.loads) * static_cast<double>(logged.loads.size());
    if (logged.loads.size() < 2 || !(sum > 0)) return false;
    const auto [least, most] = std::minmax_element(logged.loads.begin(), logged.loads.end());
    const double average = mean(logged.loads), entropy = normalised_entropy(logged.loads, sum);
    double squares = 0;
    for (const double load : logged.loads) squares += (load - average) * (load - average);
    const double deviation = std::sqrt(squares / static_cast<double>(logged.loads.size()));
    out.value("expert_load_max_over_mean_ratio", *most / average, "largest / mean load of an expert, as logged");
    out.value("expert_load_max_over_min_ratio", *least > 0 ? *most / *least : std::nan(""), "largest / smallest");
    out.value("expert_load_entropy_ratio", entropy, "entropy of the experts' loads / ln(experts)");
    out.value("expert_load_cv_ratio", deviation / average, "standard deviation / mean, over all experts");
    std::vector<Expert> rows;
    for (std::size_t i = 0; i < logged.loads.size(); ++i)
      rows.push_back({static_cast<std::int32_t>(i), logged.loads[i], logged.loads[i] / sum});
    std::vector<ColumnSpec<Expert>> columns;
    columns.push_back(column("expert", &Expert::expert, "", "number of the expert"));
    columns.push_back(column("tokens_count", &Expert::tokens_count, "", "tokens that the router gave it, as logged"));
    columns.push_back(column("share_ratio", &Expert::share, "", "of all"));
    out.extra_tables.push_back(make_table("by_expert", "load of each expert in the router's logs", columns, rows));
    add_line(out.page, "experts",
             "expert " + std::to_string(most - logged.loads.begin()) + " of " + std::to_string(rows.size()) + " gets " +
                 decimals(*most / average) + " times the mean; entropy " + decimals(entropy) + " of 1 (" +
                 counted(static_cast<std::size_t>(logged.files_count), "gate log") + ", from " +
                 logged.file + ")");
    return true;
  }
  static bool brings_back(const RankTrace& trace, const Collective& sent, const Collective& back) {
    if (sent.splits_count != back.out_splits_count || sent.out_splits_count != back.splits_count) return false;
    const auto at = [&](std::uint32_t row) { return trace.splits.begin() + row; };
    return std::equal(at(sent.first_split), at(sent.first_split) + sent.splits_count, at(back.first_out_split)) &&
           std::equal(at(back.first_split), at(back.first_split) + back.splits_count, at(sent.first_out_split));
  }
  static bool same_group(const ByMember& a, const ByMember& b) {
    return a.step == b.step && a.replica == b.replica && a.group == b.group;
  }
  static double normalised_entropy(const std::vector<double>& loads, double sum) {
    double entropy = 0;
    for (const double load : loads)
      if (load > 0) entropy -= load / sum * std::log(load / sum);
    return entropy / std::log(static_cast<double>(loads.size()));
  }
  static std::string decimals(double value) {
    const auto hundredths = static_cast<std::int64_t>(std::llround(value * 100));
    const std::string rest = std::to_string(hundredths % 100);
    return std::to_string(hundredths / 100) + "." + (rest.size() < 2 ? "0" : "") + rest;
  }
};

}  // namespace

std::unique_ptr<Metric> token_to_expert_assignment() { return define_metric<TokenToExpertAssignment>(); }

}  // namespace ccl
