#include "exchange/graph_order.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/fetch.hpp"

namespace ccl {
namespace {

constexpr int most_careful_rounds = 32;  // then all matches of a tangle are cut at once

/// Numbers of matches by their id: a list a worker, since its ids of one step lie one behind the other.
class MatchNumbers {
 public:
  explicit MatchNumbers(const StepGraph& graph) {
    std::vector<std::pair<std::size_t, std::size_t>> range;  // by worker: first and last place
    for (const GraphCommunication& of : graph.communications) {
      if (of.instance == 0) continue;
      const std::size_t worker = instance_worker(of.instance), place = instance_place(of.instance);
      if (worker >= range.size()) range.resize(worker + 1, {SIZE_MAX, 0});
      range[worker] = {std::min(range[worker].first, place), std::max(range[worker].second, place)};
    }
    for (const auto& [first, last] : range) {
      first_.push_back(first);
      numbers_.emplace_back(first == SIZE_MAX ? 0 : last - first + 1, -1);
    }
  }
  std::int32_t& of(std::uint64_t instance) {
    const std::size_t worker = instance_worker(instance);
    return numbers_[worker][instance_place(instance) - first_[worker]];
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::vector<std::int32_t>> numbers_;
};

/// Matches are numbered by their first members: ids depend on the number of workers.
void link_matches(StepGraph& graph) {
  MatchNumbers numbers(graph);
  std::vector<std::uint32_t> members_count;
  graph.match.assign(graph.size(), -1);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const std::uint64_t instance = graph.communication_of(i).instance;
    if (instance == 0) continue;
    std::int32_t& number = numbers.of(instance);
    if (number < 0) {
      number = static_cast<std::int32_t>(members_count.size());
      members_count.push_back(0);
    }
    graph.match[i] = number;
    ++members_count[static_cast<std::size_t>(number)];
  }
  std::vector<std::int32_t> kept(members_count.size(), -1);  // whose other members are not of this step waits for nobody
  std::vector<std::uint32_t> at;                             // where the next member of each goes
  graph.first_member = {0};
  for (std::size_t m = 0; m < kept.size(); ++m) {
    if (members_count[m] < 2) continue;
    kept[m] = static_cast<std::int32_t>(at.size());
    at.push_back(graph.first_member.back());
    graph.first_member.push_back(at.back() + members_count[m]);
  }
  graph.members.assign(graph.first_member.back(), 0);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.match[i] < 0) continue;
    graph.match[i] = kept[static_cast<std::size_t>(graph.match[i])];
    if (graph.match[i] >= 0) graph.members[at[static_cast<std::size_t>(graph.match[i])]++] = static_cast<std::uint32_t>(i);
  }
}

/// Whether ops wait only for ops before them, as on one stream after another.
bool waits_for_earlier(const StepGraph& graph) {
  for (std::size_t i = 0; i < graph.size(); ++i)
    for (const std::uint32_t pred : graph.preds_of(i))
      if (pred >= i) return false;
  return true;
}

/// An operation is ready when all it waits for has ended; a matched one ends when its last member is ready.
void put_in_order(StepGraph& graph) {
  const std::size_t n = graph.size();
  graph.order.clear();
  if (graph.members.empty() && waits_for_earlier(graph)) {
    graph.order.resize(n);
    std::iota(graph.order.begin(), graph.order.end(), 0U);
    return;
  }
  // What is asked of an operation when it comes to its turn: together, since the one before is far away.
  struct Turn {
    std::uint32_t first_after = 0;  // of after
    std::uint32_t waits = 0;        // for how many others that have not ended
    std::int32_t match = -1;
  };
  std::vector<Turn> turns(n + 1);
  std::vector<std::uint32_t> after(graph.preds.size());  // who waits for each, those of one behind the other
  for (const std::uint32_t pred : graph.preds) ++turns[pred].first_after;
  for (std::size_t i = 0; i < n; ++i) turns[i + 1].first_after += turns[i].first_after;  // behind its own: they come from the back
  for (std::size_t i = n; i-- > 0;) {
    const auto preds = graph.preds_of(i);
    for (std::size_t p = preds.size(); p-- > 0;) after[--turns[preds[p]].first_after] = static_cast<std::uint32_t>(i);
    turns[i].waits = static_cast<std::uint32_t>(preds.size());
    turns[i].match = graph.match[i];
  }
  std::vector<std::uint32_t> missing;
  for (std::size_t m = 0; m + 1 < graph.first_member.size(); ++m)
    missing.push_back(static_cast<std::uint32_t>(graph.members_of(m).size()));
  // The newest first: a rank goes on until it waits for others, so that what follows in order is near in memory.
  std::vector<std::uint32_t> ready;
  for (std::size_t i = n; i-- > 0;)
    if (turns[i].waits == 0) ready.push_back(static_cast<std::uint32_t>(i));
  const auto end_of = [&](std::uint32_t op) {
    for (std::uint32_t a = turns[op + 1].first_after; a-- > turns[op].first_after;)
      if (--turns[after[a]].waits == 0) ready.push_back(after[a]);
  };
  graph.order.reserve(n);
  while (!ready.empty()) {
    const std::uint32_t op = ready.back();
    ready.pop_back();
    if (!ready.empty()) fetch_of(ready.back(), turns);  // of another rank, mostly: this one goes on first
    graph.order.push_back(op);
    const std::int32_t match = turns[op].match;
    if (match < 0) {
      end_of(op);
    } else if (--missing[static_cast<std::size_t>(match)] == 0) {
      const auto members = graph.members_of(static_cast<std::size_t>(match));
      for (std::size_t m = members.size(); m-- > 0;) {
        if (m >= fetch_ahead) fetch_of(members[m - fetch_ahead], turns);
        if (m >= fetch_ahead / 2) fetch_of(turns[members[m - fetch_ahead / 2]].first_after, after);
        end_of(members[m]);
      }
    }
  }
}

/// Tangles: strongly connected parts among what never became ready, members of a match being one. Each has a match, since what
/// one device runs has no cycle.
class Tangles {
 public:
  explicit Tangles(const StepGraph& graph)
      : graph_(graph), ops_(graph.size()), node_count_(ops_ + graph.first_member.size() - 1) {
    std::vector<bool> reached(ops_, false);
    for (const std::uint32_t op : graph.order) reached[op] = true;
    std::vector<bool> whole(node_count_ - ops_, true);
    for (std::size_t m = 0; m < whole.size(); ++m)
      for (const std::uint32_t op : graph.members_of(m)) whole[m] = whole[m] && reached[op];
    blocked_.assign(node_count_, false);
    for (std::uint32_t op = 0; op < ops_; ++op) {
      const std::uint32_t node = node_of(op);
      blocked_[node] = node < ops_ ? !reached[op] : !whole[node - ops_];
    }
  }

  /// Matches of each tangle. Tarjan's algorithm with a stack of its own: chains are as long as a step.
  std::vector<std::vector<std::uint32_t>> find() {
    index_.assign(node_count_, 0);
    low_.assign(node_count_, 0);
    on_stack_.assign(node_count_, false);
    for (std::uint32_t node = 0; node < node_count_; ++node)
      if (blocked_[node] && index_[node] == 0) visit(node);
    return std::move(tangles_);
  }

 private:
  struct Frame {
    std::uint32_t node;
    std::size_t member, pred;  // where its waits are looked through
  };

  std::uint32_t node_of(std::uint32_t op) const {
    return graph_.match[op] < 0 ? op : static_cast<std::uint32_t>(ops_) + static_cast<std::uint32_t>(graph_.match[op]);
  }
  std::span<const std::uint32_t> ops_of(const std::uint32_t& node) const {
    return node < ops_ ? std::span(&node, 1) : graph_.members_of(node - ops_);
  }

  void open(std::uint32_t node, std::vector<Frame>& frames) {
    index_[node] = low_[node] = ++visited_;
    stack_.push_back(node);
    on_stack_[node] = true;
    frames.push_back({node, 0, 0});
  }

  /// The next node that this one waits for; UINT32_MAX: there is none left.
  std::uint32_t next_wait(Frame& frame) const {
    const auto ops = ops_of(frame.node);
    for (; frame.member < ops.size(); ++frame.member, frame.pred = 0) {
      const auto preds = graph_.preds_of(ops[frame.member]);
      while (frame.pred < preds.size()) {
        const std::uint32_t node = node_of(preds[frame.pred++]);
        if (blocked_[node]) return node;
      }
    }
    return UINT32_MAX;
  }

  void visit(std::uint32_t first) {
    std::vector<Frame> frames;
    open(first, frames);
    while (!frames.empty()) {
      const std::uint32_t node = frames.back().node;
      const std::uint32_t next = next_wait(frames.back());
      if (next != UINT32_MAX) {
        if (index_[next] == 0)
          open(next, frames);
        else if (on_stack_[next])
          low_[node] = std::min(low_[node], index_[next]);
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) low_[frames.back().node] = std::min(low_[frames.back().node], low_[node]);
      if (low_[node] == index_[node]) close(node);
    }
  }

  void close(std::uint32_t node) {
    std::vector<std::uint32_t> matches;
    std::size_t size = 0;
    for (std::uint32_t last = UINT32_MAX; last != node; ++size) {
      last = stack_.back();
      stack_.pop_back();
      on_stack_[last] = false;
      if (last >= ops_) matches.push_back(last - static_cast<std::uint32_t>(ops_));
    }
    if (size > 1 || (!matches.empty() && waits_for_itself(node))) tangles_.push_back(std::move(matches));
  }

  bool waits_for_itself(std::uint32_t node) const {
    for (const std::uint32_t op : ops_of(node))
      for (const std::uint32_t pred : graph_.preds_of(op))
        if (node_of(pred) == node) return true;
    return false;
  }

  const StepGraph& graph_;
  std::size_t ops_, node_count_;
  std::vector<bool> blocked_, on_stack_;
  std::vector<std::uint32_t> index_, low_, stack_;
  std::uint32_t visited_ = 0;
  std::vector<std::vector<std::uint32_t>> tangles_;
};

/// The members of a match that fit least: the one that starts last and the one that ends first.
std::pair<std::uint32_t, std::uint32_t> extremes_of(const StepGraph& graph, std::uint32_t match) {
  const auto members = graph.members_of(match);
  std::uint32_t last = members[0];
  for (const std::uint32_t op : members)
    if (graph.ops[op].start_ns > graph.ops[last].start_ns) last = op;
  std::uint32_t first = last == members[0] ? members[1] : members[0];
  for (const std::uint32_t op : members)
    if (op != last && graph.ops[op].end_ns < graph.ops[first].end_ns) first = op;
  return {last, first};
}

void cut(StepGraph& graph, std::uint32_t match) {
  graph.cut.push_back(extremes_of(graph, match));
  for (const std::uint32_t op : graph.members_of(match)) graph.communications[static_cast<std::size_t>(graph.ops[op].communication)].instance = 0;
}

/// By how much one member had ended before another started; negative where all ran at one time.
std::int64_t misfit_ns(const StepGraph& graph, std::uint32_t match) {
  const auto [last, first] = extremes_of(graph, match);
  return graph.ops[last].start_ns - graph.ops[first].end_ns;
}

}  // namespace

void order_graph(StepGraph& graph) {
  for (int round = 0;; ++round) {
    link_matches(graph);
    put_in_order(graph);
    if (graph.order.size() == graph.size()) return;
    for (std::vector<std::uint32_t>& matches : Tangles(graph).find()) {
      if (matches.empty()) throw std::logic_error("operations of one device wait for each other");
      std::sort(matches.begin(), matches.end());
      const auto worst = std::max_element(matches.begin(), matches.end(), [&](std::uint32_t a, std::uint32_t b) {
        return misfit_ns(graph, a) < misfit_ns(graph, b);
      });
      if (round < most_careful_rounds)
        cut(graph, *worst);
      else
        for (const std::uint32_t match : matches) cut(graph, match);
    }
  }
}

void report_cuts(const StepGraph& graph, const Ranks& ranks, Problems& problems) {
  if (graph.cut.empty()) return;
  const auto misfit = [&](const auto& pair) { return graph.ops[pair.first].start_ns - graph.ops[pair.second].end_ns; };
  const auto& worst = *std::max_element(graph.cut.begin(), graph.cut.end(), [&](const auto& a, const auto& b) {
    return misfit(a) < misfit(b);
  });
  const GraphCommunication& late = graph.communication_of(worst.first);
  const auto rank_of = [&](std::uint32_t op) { return ranks.entries[static_cast<std::size_t>(graph.ops[op].rank_row)].rank.value; };
  Problem problem;
  problem.code = Code::collective_suspect;
  problem.iteration = graph.step.iteration;
  problem.rank = rank_of(worst.first);
  problem.count = static_cast<std::int64_t>(graph.cut.size());
  problem.detail = (graph.step.step == outside_step ? "outside steps" : "step " + std::to_string(graph.step.step)) +
                   (graph.replica >= 0 ? ", replica " + std::to_string(graph.replica) : "") +
                   ": matched in an order that the ranks contradict; left out of critical path and replay; worst: " +
                   std::string(to_text(late.op)) + " (" + std::string(to_text(late.dimension)) + ") of rank " +
                   std::to_string(problem.rank) + " with rank " + std::to_string(rank_of(worst.second));
  if (misfit(worst) > 0) problem.detail += ", which had ended it " + std::to_string(misfit(worst)) + " ns before";
  problems.add(problem);
}

}  // namespace ccl
