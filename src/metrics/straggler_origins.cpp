// Blame moved on to where it comes from. Report stage: a rank that is last in a group because it waited in
// another passes that part of its blame to the last rank there, and so on through nested groups.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
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
  return of <= 0 ? 0 : scaled(whole, part, of);
}

struct NodeKey {
  std::int32_t replica = -1;
  RankId rank;
  GroupId group;
  friend auto operator<=>(const NodeKey&, const NodeKey&) = default;
};

constexpr std::size_t causes_count = 1 + static_cast<std::size_t>(Cause::unexplained);

/// What a node waited for: whom, in which group; without anyone (−1) the transfers there.
struct Spent {
  std::uint32_t node = 0;
  std::int32_t for_rank = -1;
  GroupId group;
  std::int64_t ns = 0;
  auto key() const { return std::tuple(node, for_rank, group); }
  void combine(const Spent& more) { ns += more.ns; }
};

/// The blame of a rank on one group over all steps; the parts add up to the delay.
struct Node {
  NodeKey of;
  std::int64_t delay_ns = 0, communication_ns = 0;
  std::array<std::int64_t, causes_count> own_ns{};  // by cause: those that lie with the rank itself
  std::int64_t waits_ns = 0;
  std::span<const Spent> transfers, waits;  // by group; by whom and group
  const NodeKey& key() const { return of; }
  void combine(const Node& more) {
    delay_ns += more.delay_ns;
    communication_ns += more.communication_ns;
    for (std::size_t cause = 0; cause < causes_count; ++cause) own_ns[cause] += more.own_ns[cause];
  }
};
struct Nodes {
  std::vector<Node> list;    // by key
  std::vector<Spent> spent;  // of all
  /// Its number; nothing if there is none.
  std::optional<std::size_t> find(const NodeKey& key) const {
    const auto at = std::ranges::lower_bound(list, key, {}, &Node::of);
    if (at == list.end() || at->of != key) return {};
    return static_cast<std::size_t>(at - list.begin());
  }
};

Nodes nodes_of(std::span<const CauseSums> causes, std::span<const Elsewhere> elsewhere, const Groups& groups,
               const Stages& stages) {
  Nodes nodes;
  for (const CauseSums& row : settle_causes(causes, groups, stages)) {
    if (row.delay_ns == 0 || row.step.step == outside_step) continue;
    const bool pipeline = stages.alone(group_of(groups, row.group), row.rank);
    Node& node = nodes.list.emplace_back();
    node.of = {row.replica, row.rank, row.group};
    node.delay_ns = row.delay_ns;
    node.communication_ns = row.by_communication_ns;
    const auto own = [&](Cause cause) -> std::int64_t& { return node.own_ns[static_cast<std::size_t>(cause)]; };
    own(Cause::compute) = row.by_compute_ns;
    own(Cause::launch) = row.by_launch_ns;
    own(Cause::stalled) = row.by_stalled_ns;
    own(pipeline ? Cause::pipeline : Cause::unexplained) =
        row.delay_ns - row.by_compute_ns - row.by_communication_ns - row.by_launch_ns - row.by_stalled_ns;
  }
  sort_and_fold(nodes.list);
  NodeKey key;
  std::optional<std::size_t> number;
  for (const Elsewhere& row : elsewhere) {
    if (const NodeKey its{row.replica, row.rank, row.group}; its != key || &row == elsewhere.data())
      key = its, number = nodes.find(key);
    if (number)
      nodes.spent.push_back({static_cast<std::uint32_t>(*number), std::max(row.for_rank, -1), row.other, row.time_ns});
  }
  sort_and_fold(nodes.spent);
  for (std::size_t first = 0; first < nodes.spent.size();) {
    Node& node = nodes.list[nodes.spent[first].node];
    std::size_t wait = first;
    while (wait < nodes.spent.size() && nodes.spent[wait].node == nodes.spent[first].node && nodes.spent[wait].for_rank < 0)
      ++wait;
    std::size_t end = wait;
    for (; end < nodes.spent.size() && nodes.spent[end].node == nodes.spent[first].node; ++end)
      node.waits_ns += nodes.spent[end].ns;
    node.transfers = std::span(nodes.spent).subspan(first, wait - first);
    node.waits = std::span(nodes.spent).subspan(wait, end - wait);
    first = end;
  }
  return nodes;
}

/// Everything is looked up once: a node is split again for each node whose blame moves through it.
class Tracing {
 public:
  Tracing(const Nodes& nodes, const std::vector<SlowGroup>& slow) : slow_(slow) {
    std::vector<std::pair<GroupId, std::size_t>> slow_of;  // not of messages: transfers here are those of all pairs
    for (std::size_t i = 0; i < slow.size(); ++i)
      if (slow[i].rank_a < 0) slow_of.emplace_back(slow[i].group, i);
    std::sort(slow_of.begin(), slow_of.end());
    std::vector<std::pair<RankKey, std::size_t>> largest;            // of a rank: the node with most delay
    std::vector<std::pair<GroupKey, std::size_t>> in_group, groups;  // nodes by group; row of each group
    traced_.reserve(nodes.list.size());
    for (std::size_t number = 0; number < nodes.list.size(); ++number) {
      const Node& node = nodes.list[number];
      traced_.push_back({&node, {}, {}, {}, none});
      in_group.push_back({{node.of.replica, node.of.group}, number});
      const RankKey rank{node.of.replica, node.of.rank};
      if (largest.empty() || largest.back().first != rank) largest.emplace_back(rank, number);
      else if (nodes.list[largest.back().second].delay_ns < node.delay_ns) largest.back().second = number;
    }
    std::sort(in_group.begin(), in_group.end());
    for (const auto& [group, number] : in_group) {
      if (groups.empty() || groups.back().first != group) {
        groups.emplace_back(group, in_group_.size());
        in_group_.emplace_back();
      }
      in_group_.back().nodes.push_back(number);
      in_group_.back().delay_ns += nodes.list[number].delay_ns;
    }
    const auto found_in = [](const auto& list, const auto& key) {
      const auto at = std::ranges::lower_bound(list, key, {}, [](const auto& row) { return row.first; });
      return at != list.end() && at->first == key ? at->second : none;
    };
    for (Traced& from : traced_) {
      const NodeKey& of = from.node->of;
      for (const Spent& wait : from.node->waits) {
        const auto direct = nodes.find({of.replica, RankId(wait.for_rank), wait.group});
        // Blame on messages is not kept: the rank behind them is asked where it is late most.
        from.waits.push_back(direct ? *direct : found_in(largest, RankKey{of.replica, RankId(wait.for_rank)}));
      }
      std::int64_t longest_ns = -1;
      for (const Spent& transfer : from.node->transfers) {
        if (transfer.ns > longest_ns) from.longest = transfer.group, longest_ns = transfer.ns;
        for (auto at = std::ranges::lower_bound(slow_of, std::pair(transfer.group, std::size_t{0}));
             at != slow_of.end() && at->first == transfer.group; ++at)
          from.slow.push_back({at->second, transfer.ns});
      }
      std::sort(from.slow.begin(), from.slow.end());
      from.longest_row = found_in(groups, GroupKey{of.replica, from.longest});
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
          add({traced_[at].node->of.rank, traced_[at].node->of.group, Cause::communication}, ns);
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
      const NodeKey& of = start.node->of;
      if (ns > 0) out.push_back({of.replica, of.rank, of.group, rank, group, cause, ns});
    }
  }

 private:
  static constexpr std::size_t none = SIZE_MAX;
  using RankKey = std::pair<std::int32_t, RankId>;
  using GroupKey = std::pair<std::int32_t, GroupId>;
  using Where = std::tuple<RankId, GroupId, Cause>;
  struct Traced {
    const Node* node = nullptr;
    std::vector<std::size_t> waits;  // beside node->waits: the node behind each
    std::vector<std::pair<std::size_t, std::int64_t>> slow;  // rows of the slow groups it transferred in, and how long
    GroupId longest;                 // of its transfers
    std::size_t longest_row = none;  // among the groups with blame
  };
  void add(const Where& where, std::int64_t ns) {
    if (ns != 0) found_.push_back({where, ns});
  }
  void pass(std::size_t to, std::int64_t ns) {
    if (next_ns_[to] == 0 && ns != 0) next_.push_back(to);
    next_ns_[to] += ns;
  }
  void split(const Traced& from, std::int64_t ns) {
    const Node& node = *from.node;
    const NodeKey& of = node.of;
    std::int64_t left_ns = ns;
    for (std::size_t cause = 0; cause < causes_count; ++cause) {
      if (node.own_ns[cause] == 0) continue;
      const std::int64_t part_ns = part_of(ns, node.own_ns[cause], node.delay_ns);
      add({of.rank, of.group, static_cast<Cause>(cause)}, part_ns);
      left_ns -= part_ns;
    }
    // What slow links cost it comes first, since its peers may have waited as long as it did; then only what it waited
    // can be somebody else's fault.
    const std::int64_t here_ns = left_ns;
    std::int64_t unspent_ns = node.communication_ns;
    for (const auto& [row, transfer_ns] : from.slow) {
      const SlowGroup& slow = slow_[row];
      const auto more_ns = static_cast<std::int64_t>(static_cast<double>(transfer_ns) * (1 - 1 / slow.times));
      const std::int64_t part_ns = part_of(here_ns, std::min(more_ns, unspent_ns), node.communication_ns);
      add({of.rank, slow.group, Cause::link}, part_ns);
      left_ns -= part_ns;
      unspent_ns -= std::min(more_ns, unspent_ns);
    }
    const std::int64_t moved_ns = part_of(here_ns, std::min(unspent_ns, node.waits_ns), node.communication_ns);
    for (std::size_t wait = 0; wait < node.waits.size(); ++wait) {
      const Spent& whom = node.waits[wait];
      const std::int64_t part_ns = part_of(moved_ns, whom.ns, node.waits_ns);
      if (from.waits[wait] != none) pass(from.waits[wait], part_ns);
      else add({RankId(whom.for_rank), whom.group, Cause::unexplained}, part_ns);
      left_ns -= part_ns;
    }
    if (left_ns <= 0) return;
    if (node.communication_ns == 0 || node.transfers.empty())
      add({of.rank, of.group, Cause::unexplained}, left_ns);
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
    if (left_ns > 0) add({from.node->of.rank, from.longest, Cause::communication}, left_ns);
  }

  struct InGroup {
    std::vector<std::size_t> nodes;
    std::int64_t delay_ns = 0;
  };
  const std::vector<SlowGroup>& slow_;
  std::vector<Traced> traced_;  // by key
  std::vector<InGroup> in_group_;
  // Of the node that is traced: what was found, and what is passed on to which nodes.
  std::vector<std::pair<Where, std::int64_t>> found_;
  std::vector<std::int64_t> next_ns_;
  std::vector<std::size_t> next_;
};

}  // namespace

Explanation explain(std::span<const CauseSums> causes, std::span<const Elsewhere> elsewhere,
                    std::span<const Transfer> transfers, const Groups& groups, const Stages& stages,
                    std::int64_t message_error_ns) {
  Explanation out;
  out.slow_groups = find_slow_groups(transfers, message_error_ns);
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
  const auto by_rank = [](const Origin& origin) { return std::pair(origin.replica, origin.rank); };
  for (const Origin& origin : std::ranges::equal_range(explanation.origins, std::pair(replica, rank), {}, by_rank)) {
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
