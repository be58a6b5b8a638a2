// Blame moved on to where it comes from. Report stage, on worker 0: a rank that is last in a group because it waited in
// another passes that part of its blame to the last rank there, and so on through nested groups.
#include <algorithm>
#include <map>

#include "core/statistics.hpp"
#include "core/wide.hpp"
#include "metrics/format.hpp"
#include "metrics/straggler_causes.hpp"

namespace ccl::straggler {
namespace {

constexpr int most_hops = 8;

std::int64_t part_of(std::int64_t whole, std::int64_t part, std::int64_t of) {
  return of <= 0 ? 0 : static_cast<std::int64_t>(static_cast<Wide>(whole) * part / of);
}

struct NodeKey {
  std::int32_t replica = -1;
  RankId rank;
  GroupId group;
  friend auto operator<=>(const NodeKey&, const NodeKey&) = default;
};

/// The blame of a rank on one group over all steps; the parts add up to the delay.
struct Node {
  std::int64_t delay_ns = 0, communication_ns = 0;
  std::map<Cause, std::int64_t> own;                                       // causes that lie with the rank itself
  std::map<std::pair<std::int32_t, GroupId>, std::int64_t> waits;          // whom it waited for, in which group
  std::map<GroupId, std::int64_t> transfers;
  std::int64_t waits_ns = 0;
};
using Nodes = std::map<NodeKey, Node>;

Nodes nodes_of(std::span<const CauseSums> causes, std::span<const Elsewhere> elsewhere, const Groups& groups,
               const Stages& stages) {
  Nodes nodes;
  for (const CauseSums& row : settle_causes(causes, groups, stages)) {
    if (row.delay_ns == 0 || row.step.step == outside_step) continue;
    const bool pipeline = stages.alone(group_of(groups, row.group), row.rank);
    Node& node = nodes[{row.replica, row.rank, row.group}];
    node.delay_ns += row.delay_ns;
    node.communication_ns += row.by_communication_ns;
    node.own[Cause::compute] += row.by_compute_ns;
    node.own[Cause::launch] += row.by_launch_ns;
    node.own[Cause::stalled] += row.by_stalled_ns;
    node.own[pipeline ? Cause::pipeline : Cause::unexplained] +=
        row.delay_ns - row.by_compute_ns - row.by_communication_ns - row.by_launch_ns - row.by_stalled_ns;
  }
  for (const Elsewhere& row : elsewhere) {
    const auto at = nodes.find({row.replica, row.rank, row.group});
    if (at == nodes.end()) continue;
    if (row.for_rank < 0) {
      at->second.transfers[row.other] += row.time_ns;
    } else {
      at->second.waits[{row.for_rank, row.other}] += row.time_ns;
      at->second.waits_ns += row.time_ns;
    }
  }
  return nodes;
}

class Tracing {
 public:
  Tracing(const Nodes& nodes, const std::vector<SlowGroup>& slow) : nodes_(nodes), slow_(slow) {
    for (std::size_t i = 0; i < slow.size(); ++i)
      if (slow[i].rank_a < 0) slow_of_[slow[i].group].push_back(i);
    for (const auto& [key, node] : nodes) {
      InGroup& members = in_group_[{key.replica, key.group}];
      members.nodes.push_back(key);
      members.delay_ns += node.delay_ns;
      const auto [at, added] = largest_.try_emplace({key.replica, key.rank}, key.group);
      if (!added && nodes.at({key.replica, key.rank, at->second}).delay_ns < node.delay_ns) at->second = key.group;
    }
  }
  /// Adds the origins of one node's whole delay; they add up to it exactly.
  void trace(const NodeKey& start, std::vector<Origin>& out) const {
    std::map<std::tuple<RankId, GroupId, Cause>, std::int64_t> found;
    std::map<NodeKey, std::int64_t> now{{start, nodes_.at(start).delay_ns}};
    const std::int64_t least_ns = nodes_.at(start).delay_ns / 1000;
    for (int hop = 0; !now.empty(); ++hop) {
      std::map<NodeKey, std::int64_t> next;
      for (const auto& [key, ns] : now) {
        if (hop == most_hops || (hop > 0 && ns <= least_ns))
          found[{key.rank, key.group, Cause::communication}] += ns;
        else
          split(key, ns, found, next);
      }
      now = std::move(next);
    }
    for (const auto& [origin, ns] : found)
      if (ns > 0)
        out.push_back({start.replica, start.rank, start.group, std::get<0>(origin), std::get<1>(origin),
                       std::get<2>(origin), ns});
  }

 private:
  using Found = std::map<std::tuple<RankId, GroupId, Cause>, std::int64_t>;
  void split(const NodeKey& key, std::int64_t ns, Found& found, std::map<NodeKey, std::int64_t>& next) const {
    const Node& node = nodes_.at(key);
    std::int64_t left_ns = ns;
    for (const auto& [cause, own_ns] : node.own) {
      const std::int64_t part_ns = part_of(ns, own_ns, node.delay_ns);
      found[{key.rank, key.group, cause}] += part_ns;
      left_ns -= part_ns;
    }
    // What slow links cost it comes first, since its peers may have waited as long as it did; then only what it waited
    // can be somebody else's fault.
    const std::int64_t here_ns = left_ns;
    std::int64_t unspent_ns = node.communication_ns;
    for (const std::size_t row : slow_among(node)) {
      const SlowGroup& slow = slow_[row];
      const auto transfer_ns = static_cast<double>(node.transfers.at(slow.group));
      const auto more_ns = static_cast<std::int64_t>(transfer_ns * (1 - 1 / slow.times));
      const std::int64_t part_ns = part_of(here_ns, std::min(more_ns, unspent_ns), node.communication_ns);
      found[{key.rank, slow.group, Cause::link}] += part_ns;
      left_ns -= part_ns;
      unspent_ns -= std::min(more_ns, unspent_ns);
    }
    const std::int64_t moved_ns = part_of(here_ns, std::min(unspent_ns, node.waits_ns), node.communication_ns);
    for (const auto& [whom, wait_ns] : node.waits) {
      const std::int64_t part_ns = part_of(moved_ns, wait_ns, node.waits_ns);
      const NodeKey target = node_of(key.replica, RankId(whom.first), whom.second);
      if (nodes_.count(target) > 0)
        next[target] += part_ns;
      else
        found[{RankId(whom.first), whom.second, Cause::unexplained}] += part_ns;
      left_ns -= part_ns;
    }
    if (left_ns <= 0) return;
    GroupId longest;
    std::int64_t longest_ns = -1;
    for (const auto& [group, transfer_ns] : node.transfers)
      if (transfer_ns > longest_ns) longest = group, longest_ns = transfer_ns;
    if (node.communication_ns == 0 || longest_ns < 0)
      found[{key.rank, key.group, Cause::unexplained}] += left_ns;
    else
      pass_on({key.replica, key.rank, longest}, left_ns, found, next);
  }
  // A group whose transfers are as long as usual but end later has run later: because of those who were last in it.
  void pass_on(const NodeKey& key, std::int64_t ns, Found& found, std::map<NodeKey, std::int64_t>& next) const {
    const auto of_group = in_group_.find({key.replica, key.group});
    std::int64_t left_ns = ns;
    if (of_group != in_group_.end() && of_group->second.delay_ns > 0)
      for (const NodeKey& target : of_group->second.nodes) {
        const std::int64_t part_ns = part_of(ns, nodes_.at(target).delay_ns, of_group->second.delay_ns);
        next[target] += part_ns;
        left_ns -= part_ns;
      }
    if (left_ns > 0) found[{key.rank, key.group, Cause::communication}] += left_ns;
  }
  /// Rows of the slow groups that a node transferred in.
  std::vector<std::size_t> slow_among(const Node& node) const {
    std::vector<std::size_t> rows;
    for (const auto& [group, ns] : node.transfers)
      if (const auto at = slow_of_.find(group); at != slow_of_.end())
        rows.insert(rows.end(), at->second.begin(), at->second.end());
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  // Blame on messages is not kept: the rank behind them is asked where it is late most.
  NodeKey node_of(std::int32_t replica, RankId rank, GroupId group) const {
    const NodeKey direct{replica, rank, group};
    if (nodes_.count(direct) > 0) return direct;
    const auto at = largest_.find({replica, rank});
    return at == largest_.end() ? direct : NodeKey{replica, rank, at->second};
  }

  const Nodes& nodes_;
  const std::vector<SlowGroup>& slow_;
  std::map<std::pair<std::int32_t, RankId>, GroupId> largest_;
  struct InGroup {
    std::vector<NodeKey> nodes;
    std::int64_t delay_ns = 0;
  };
  std::map<std::pair<std::int32_t, GroupId>, InGroup> in_group_;
  std::map<GroupId, std::vector<std::size_t>> slow_of_;  // not of messages: transfers here are those of all pairs
};

}  // namespace

Explanation explain(std::span<const CauseSums> causes, std::span<const Elsewhere> elsewhere,
                    std::span<const Transfer> transfers, const Groups& groups, const Stages& stages,
                    std::int64_t residual_ns) {
  Explanation out;
  out.slow_groups = find_slow_groups(transfers, residual_ns);
  const Nodes nodes = nodes_of(causes, elsewhere, groups, stages);
  const Tracing tracing(nodes, out.slow_groups);
  for (const auto& [key, node] : nodes) tracing.trace(key, out.origins);
  return out;
}

std::string hundredths(double value) {
  const auto rounded = static_cast<std::int64_t>(100.0 * value + 0.5);
  return std::to_string(rounded / 100) + "." + std::to_string(rounded / 10 % 10) + std::to_string(rounded % 10);
}

std::optional<MainOrigin> main_origin(const Explanation& explanation, std::int32_t replica, RankId rank) {
  std::map<std::pair<RankId, Cause>, std::pair<std::int64_t, std::map<GroupId, std::int64_t>>> sums;
  std::int64_t total_ns = 0;
  for (const Origin& origin : explanation.origins) {
    if (origin.rank != rank || origin.replica != replica) continue;
    auto& [ns, by_group] = sums[{origin.origin_rank, origin.cause}];
    ns += origin.blame_ns;
    by_group[origin.origin_group] += origin.blame_ns;
    total_ns += origin.blame_ns;
  }
  if (total_ns == 0) return {};
  const auto& [key, most] = *std::max_element(
      sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  const GroupId group = std::max_element(most.second.begin(), most.second.end(), [](const auto& a, const auto& b) {
                          return a.second < b.second;
                        })->first;
  return MainOrigin{key.first, key.second, group, ratio(static_cast<double>(most.first), static_cast<double>(total_ns))};
}

std::string cause_sentence(const Explanation& explanation, std::span<const CauseSums> causes, std::int32_t replica,
                           RankId rank, const Groups& groups) {
  const std::optional<MainOrigin> origin = main_origin(explanation, replica, rank);
  if (!origin) return "";
  const auto& [by_rank, cause, group, share] = *origin;
  std::int64_t incomplete_count = 0;
  std::map<RankId, std::int64_t> compute_ns;  // by member of the group: the same kernels on each
  for (const CauseSums& row : causes) {
    if (row.replica != replica) continue;
    if (row.rank == by_rank) incomplete_count += row.incomplete_count;
    if (row.group == group) compute_ns[row.rank] += row.compute_ns;
  }
  std::vector<double> others_ns;
  for (const auto& [member, ns] : compute_ns)
    if (member != by_rank) others_ns.push_back(static_cast<double>(ns));
  const double times = ratio(static_cast<double>(compute_ns[by_rank]), others_ns.empty() ? 0 : median(others_ns));
  std::string text = cause == Cause::unexplained ? "not explained by what the traces show" : describe(cause);
  const bool alike = group_of(groups, group).dimension != Dimension::pp && groups.row_of(group) >= 0;
  if (cause == Cause::compute && alike && times > 1)
    text += " (its kernels take " + hundredths(times) + " x as long as its peers')";
  if (by_rank != rank) text = "it waits for " + rank_name(replica, by_rank) + ", which is late by " + text;
  const bool sure = share >= 0.8 && incomplete_count == 0 && cause != Cause::unexplained;
  return text + ", on " + group_name(groups, group) + "; confidence " +
         (sure ? "high" : share >= 0.5 && cause != Cause::unexplained ? "medium" : "low") + " (" + percent(share) +
         " of its blame)";
}

ResultTable causes_table(const Explanation& explanation, const Groups& groups) {
  std::vector<ColumnSpec<Origin>> all;
  all.push_back(column("rank", &Origin::rank, "", "rank with the blame"));
  all.push_back(column("replica", &Origin::replica, "", "replica folder the rank belongs to; -1 = none", -1));
  const auto row_of = [&groups](GroupId id) { return std::int64_t{groups.row_of(id)}; };
  all.push_back(integer_column<Origin>("group", "", "row of /process_groups where it is last", -1,
                                       [row_of](const Origin& row) { return row_of(row.group); }));
  all.push_back(column("origin_rank", &Origin::origin_rank, "", "rank the blame moves on to; itself if it is its own"));
  all.push_back(integer_column<Origin>("origin_group", "", "row of /process_groups the blame moves on to", -1,
                                       [row_of](const Origin& row) { return row_of(row.origin_group); }));
  all.push_back(text_column<Origin>("cause",
                                    "slow_compute, late_launch, stalled, slow_link, communication, pipeline_order or "
                                    "unexplained",
                                    [](const Origin& row) { return std::string(to_text(row.cause)); }));
  all.push_back(column("blame_ns", &Origin::blame_ns, "ns", "part of the rank's blame on the group, in-step only"));
  return make_table("causes", "blame of each rank on each group by where it comes from", all, explanation.origins);
}

}  // namespace ccl::straggler
