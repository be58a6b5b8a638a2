// One step's operations linked: what each waits for on its own device, and with whom it leaves a collective.
#include <algorithm>
#include <map>
#include <tuple>

#include "exchange/graph.hpp"

namespace ccl {
namespace {

/// The operations seen so far on one stream, with the largest end up to each.
struct Stream {
  std::vector<std::uint32_t> ops;
  std::size_t ended = 0;  // how many had ended at the start last asked about
};

void link_device(const std::vector<GraphOp>& ops, std::size_t first, std::size_t last,
                 std::vector<std::uint32_t>& first_pred, std::vector<std::uint32_t>& preds) {
  std::map<std::uint16_t, Stream> streams;
  for (std::size_t i = first; i < last; ++i) {
    const GraphOp& op = ops[i];
    for (auto& [lane, stream] : streams) {
      while (stream.ended < stream.ops.size() && ops[stream.ops[stream.ended]].end_ns <= op.start_ns) ++stream.ended;
      if (lane == op.lane)
        preds.push_back(stream.ops.back());
      else if (stream.ended > 0)
        preds.push_back(stream.ops[stream.ended - 1]);
    }
    first_pred.push_back(static_cast<std::uint32_t>(preds.size()));
    streams[op.lane].ops.push_back(static_cast<std::uint32_t>(i));
  }
}

void link_matches(StepGraph& graph) {
  std::map<std::uint64_t, std::vector<std::uint32_t>> seen;
  for (std::size_t i = 0; i < graph.size(); ++i)
    if (graph.ops[i].instance != 0) seen[graph.ops[i].instance].push_back(static_cast<std::uint32_t>(i));
  std::vector<std::vector<std::uint32_t>> matches;
  for (auto& [id, ops] : seen)
    if (ops.size() > 1) matches.push_back(std::move(ops));
  std::sort(matches.begin(), matches.end());  // ids depend on the number of workers
  graph.match.assign(graph.size(), -1);
  graph.first_member = {0};
  for (std::size_t m = 0; m < matches.size(); ++m) {
    for (const std::uint32_t op : matches[m]) graph.match[op] = static_cast<std::int32_t>(m);
    graph.members.insert(graph.members.end(), matches[m].begin(), matches[m].end());
    graph.first_member.push_back(static_cast<std::uint32_t>(graph.members.size()));
  }
}

/// An operation is ready when all it waits for has ended; a matched one ends when its last member is ready.
void put_in_order(StepGraph& graph) {
  const std::size_t n = graph.size();
  std::vector<std::uint32_t> waits(n), first(n + 1, 0), after(graph.preds.size());
  for (const std::uint32_t pred : graph.preds) ++first[pred + 1];
  for (std::size_t i = 0; i < n; ++i) first[i + 1] += first[i];
  std::vector<std::uint32_t> at(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    waits[i] = static_cast<std::uint32_t>(graph.preds_of(i).size());
    for (const std::uint32_t pred : graph.preds_of(i)) after[at[pred]++] = static_cast<std::uint32_t>(i);
  }
  std::vector<std::uint32_t> missing;
  for (std::size_t m = 0; m + 1 < graph.first_member.size(); ++m)
    missing.push_back(static_cast<std::uint32_t>(graph.members_of(m).size()));
  std::vector<std::uint32_t>& order = graph.order;
  for (std::size_t i = 0; i < n; ++i)
    if (waits[i] == 0) order.push_back(static_cast<std::uint32_t>(i));
  const auto end_of = [&](std::uint32_t op) {
    for (std::uint32_t a = first[op]; a < first[op + 1]; ++a)
      if (--waits[after[a]] == 0) order.push_back(after[a]);
  };
  for (std::size_t next = 0; next < order.size(); ++next) {
    const std::uint32_t op = order[next];
    const std::int32_t match = graph.match[op];
    if (match < 0) {
      end_of(op);
    } else if (--missing[static_cast<std::size_t>(match)] == 0) {
      for (const std::uint32_t member : graph.members_of(static_cast<std::size_t>(match))) end_of(member);
    }
  }
  graph.acyclic = order.size() == n;
}

}  // namespace

StepGraph graph_of(std::vector<GraphOp> ops, std::vector<std::uint32_t> first_pred, std::vector<std::uint32_t> preds) {
  StepGraph graph;
  graph.ops = std::move(ops);
  graph.first_pred = std::move(first_pred);
  graph.preds = std::move(preds);
  if (graph.ops.empty()) return graph;
  graph.step = {graph.ops.front().iteration, graph.ops.front().step};
  graph.replica = graph.ops.front().replica;
  graph.start_ns = graph.ops.front().start_ns;
  graph.end_ns = graph.ops.front().end_ns;
  for (const GraphOp& op : graph.ops) {
    graph.start_ns = std::min(graph.start_ns, op.start_ns);
    graph.end_ns = std::max(graph.end_ns, op.end_ns);
  }
  link_matches(graph);
  put_in_order(graph);
  return graph;
}

StepGraph link_graph(std::vector<GraphOp> ops) {
  const auto key = [](const GraphOp& op) {
    return std::tuple(op.rank_row, op.device_row, op.start_ns, op.order);
  };
  std::sort(ops.begin(), ops.end(), [&](const GraphOp& a, const GraphOp& b) { return key(a) < key(b); });
  std::vector<std::uint32_t> first_pred{0}, preds;
  std::size_t first = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const bool last = i + 1 == ops.size() || ops[i + 1].rank_row != ops[i].rank_row ||
                      ops[i + 1].device_row != ops[i].device_row;
    if (!last) continue;
    link_device(ops, first, i + 1, first_pred, preds);
    first = i + 1;
  }
  return graph_of(std::move(ops), std::move(first_pred), std::move(preds));
}

}  // namespace ccl
