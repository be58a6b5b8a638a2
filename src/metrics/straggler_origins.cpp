// Blame moved on to where it comes from. Report stage, on worker 0: a rank that is last in a group because it waited in
// another passes that part of its blame to the last rank there, and so on through nested groups.
#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

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

/// Everything is looked up once: a node is split again for each node whose blame moves through it.
class Tracing {
 public:
  Tracing(const Nodes& nodes, const std::vector<SlowGroup>& slow) : slow_(slow) {
    std::map<GroupId, std::vector<std::size_t>> slow_of;  // not of messages: transfers here are those of all pairs
    for (std::size_t i = 0; i < slow.size(); ++i)
      if (slow[i].rank_a < 0) slow_of[slow[i].group].push_back(i);
    std::map<std::pair<std::int32_t, RankId>, std::size_t> largest;
    std::map<std::pair<std::int32_t, GroupId>, std::size_t> groups;
    for (const auto& [key, node] : nodes) {
      const std::size_t number = traced_.size();
      traced_.push_back({key, &node, {}, {}, {}, none});
      const auto [group, new_group] = groups.try_emplace({key.replica, key.group}, in_group_.size());
      if (new_group) in_group_.emplace_back();
      in_group_[group->second].nodes.push_back(number);
      in_group_[group->second].delay_ns += node.delay_ns;
      const auto [at, added] = largest.try_emplace({key.replica, key.rank}, number);
      if (!added && traced_[at->second].node->delay_ns < node.delay_ns) at->second = number;
    }
    for (Traced& from : traced_) {
      for (const auto& [whom, wait_ns] : from.node->waits) {
        const NodeKey key{from.key.replica, RankId(whom.first), whom.second};
        const auto direct = std::lower_bound(traced_.begin(), traced_.end(), key,
                                             [](const Traced& traced, const NodeKey& k) { return traced.key < k; });
        // Blame on messages is not kept: the rank behind them is asked where it is late most.
        const auto at = largest.find({key.replica, key.rank});
        from.waits.push_back(direct != traced_.end() && direct->key == key ? static_cast<std::size_t>(direct - traced_.begin())
                             : at != largest.end()                         ? at->second
                                                                           : none);
      }
      std::int64_t longest_ns = -1;
      for (const auto& [group, transfer_ns] : from.node->transfers) {
        if (transfer_ns > longest_ns) from.longest = group, longest_ns = transfer_ns;
        if (const auto at = slow_of.find(group); at != slow_of.end())
          from.slow.insert(from.slow.end(), at->second.begin(), at->second.end());
      }
      std::sort(from.slow.begin(), from.slow.end());
      if (const auto at = groups.find({from.key.replica, from.longest}); at != groups.end()) from.longest_row = at->second;
    }
    next_ns_.assign(traced_.size(), 0);
  }
  std::size_t size() const { return traced_.size(); }
  /// Adds the origins of one node's whole delay; they add up to it exactly.
  void trace(std::size_t number, std::vector<Origin>& out) {
    const Traced& start = traced_[number];
    found_.clear();
    std::vector<std::pair<std::size_t, std::int64_t>> now{{number, start.node->delay_ns}};
    const std::int64_t least_ns = start.node->delay_ns / 1000;
    for (int hop = 0; !now.empty(); ++hop) {
      for (const auto& [at, ns] : now) {
        if (hop == most_hops || (hop > 0 && ns <= least_ns))
          found_.push_back({{traced_[at].key.rank, traced_[at].key.group, Cause::communication}, ns});
        else
          split(traced_[at], ns);
      }
      now.clear();
      for (const std::size_t at : next_) now.emplace_back(at, std::exchange(next_ns_[at], 0));
      next_.clear();
    }
    std::sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < found_.size();) {
      const auto& [rank, group, cause] = found_[i].first;
      std::int64_t ns = 0;
      for (const auto origin = found_[i].first; i < found_.size() && found_[i].first == origin; ++i) ns += found_[i].second;
      if (ns > 0) out.push_back({start.key.replica, start.key.rank, start.key.group, rank, group, cause, ns});
    }
  }

 private:
  static constexpr std::size_t none = SIZE_MAX;
  struct Traced {
    NodeKey key;
    const Node* node = nullptr;
    std::vector<std::size_t> waits;  // beside node->waits: the node behind each
    std::vector<std::size_t> slow;   // rows of the slow groups that it transferred in
    GroupId longest;                 // of its transfers
    std::size_t longest_row = none;  // among the groups with blame
  };
  void pass(std::size_t to, std::int64_t ns) {
    if (next_ns_[to] == 0 && ns != 0) next_.push_back(to);
    next_ns_[to] += ns;
  }
  void split(const Traced& from, std::int64_t ns) {
    const auto& [key, at_node, waits, slow_rows, longest, longest_row] = from;
    const Node& node = *at_node;
    std::int64_t left_ns = ns;
    for (const auto& [cause, own_ns] : node.own) {
      const std::int64_t part_ns = part_of(ns, own_ns, node.delay_ns);
      found_.push_back({{key.rank, key.group, cause}, part_ns});
      left_ns -= part_ns;
    }
    // What slow links cost it comes first, since its peers may have waited as long as it did; then only what it waited
    // can be somebody else's fault.
    const std::int64_t here_ns = left_ns;
    std::int64_t unspent_ns = node.communication_ns;
    for (const std::size_t row : slow_rows) {
      const SlowGroup& slow = slow_[row];
      const auto transfer_ns = static_cast<double>(node.transfers.at(slow.group));
      const auto more_ns = static_cast<std::int64_t>(transfer_ns * (1 - 1 / slow.times));
      const std::int64_t part_ns = part_of(here_ns, std::min(more_ns, unspent_ns), node.communication_ns);
      found_.push_back({{key.rank, slow.group, Cause::link}, part_ns});
      left_ns -= part_ns;
      unspent_ns -= std::min(more_ns, unspent_ns);
    }
    const std::int64_t moved_ns = part_of(here_ns, std::min(unspent_ns, node.waits_ns), node.communication_ns);
    std::size_t wait = 0;
    for (const auto& [whom, wait_ns] : node.waits) {
      const std::int64_t part_ns = part_of(moved_ns, wait_ns, node.waits_ns);
      if (waits[wait] != none)
        pass(waits[wait], part_ns);
      else
        found_.push_back({{RankId(whom.first), whom.second, Cause::unexplained}, part_ns});
      left_ns -= part_ns;
      ++wait;
    }
    if (left_ns <= 0) return;
    if (node.communication_ns == 0 || node.transfers.empty())
      found_.push_back({{key.rank, key.group, Cause::unexplained}, left_ns});
    else
      pass_on(from, left_ns);
  }
  // A group whose transfers are as long as usual but end later has run later: because of those who were last in it.
  void pass_on(const Traced& from, std::int64_t ns) {
    std::int64_t left_ns = ns;
    if (from.longest_row != none && in_group_[from.longest_row].delay_ns > 0)
      for (const std::size_t to : in_group_[from.longest_row].nodes) {
        const std::int64_t part_ns = part_of(ns, traced_[to].node->delay_ns, in_group_[from.longest_row].delay_ns);
        pass(to, part_ns);
        left_ns -= part_ns;
      }
    if (left_ns > 0) found_.push_back({{from.key.rank, from.longest, Cause::communication}, left_ns});
  }

  struct InGroup {
    std::vector<std::size_t> nodes;
    std::int64_t delay_ns = 0;
  };
  const std::vector<SlowGroup>& slow_;
  std::vector<Traced> traced_;  // by key
  std::vector<InGroup> in_group_;
  // Of the node that is traced: what was found, and what is passed on to which nodes.
  std::vector<std::pair<std::tuple<RankId, GroupId, Cause>, std::int64_t>> found_;
  std::vector<std::int64_t> next_ns_;
  std::vector<std::size_t> next_;
};

}  // namespace

Explanation explain(std::span<const CauseSums> causes, std::span<const Elsewhere> elsewhere,
                    std::span<const Transfer> transfers, const Groups& groups, const Stages& stages,
                    std::int64_t residual_ns) {
  Explanation out;
  out.slow_groups = find_slow_groups(transfers, residual_ns);
  const Nodes nodes = nodes_of(causes, elsewhere, groups, stages);
  Tracing tracing(nodes, out.slow_groups);
  for (std::size_t number = 0; number < tracing.size(); ++number) tracing.trace(number, out.origins);
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
