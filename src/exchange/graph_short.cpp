#include "exchange/graph_short.hpp"

#include <utility>

#include "exchange/graph_transfer.hpp"

namespace ccl {
namespace {

/// By operation: the one it is joined to, or itself.
std::vector<std::uint32_t> heads_of(const StepGraph& graph) {
  std::vector<std::uint32_t> followers(graph.size(), 0), head(graph.size());
  for (const std::uint32_t pred : graph.preds) ++followers[pred];
  for (const std::uint32_t i : graph.order) {
    const auto preds = graph.preds_of(i);
    const bool joined = preds.size() == 1 && followers[preds[0]] == 1 && !is_with_others(graph.ops[i]) &&
                        !is_with_others(graph.ops[preds[0]]);
    head[i] = joined ? head[preds[0]] : i;
  }
  return head;
}

}  // namespace

ShortGraph shorten(const StepGraph& graph, const GraphTimes& measured, const GraphTimes& ideal) {
  const std::vector<std::uint32_t> head = heads_of(graph);
  std::vector<std::uint32_t> place(graph.size(), 0);
  std::vector<GraphOp> ops;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (head[i] != i) continue;
    place[i] = static_cast<std::uint32_t>(ops.size());
    ops.push_back(graph.ops[i]);
  }
  ShortGraph out;
  for (GraphTimes* times : {&out.measured, &out.ideal}) {
    times->gap_ns.assign(ops.size(), 0);
    times->run_ns.assign(ops.size(), 0);
    times->starved.assign(ops.size(), false);
  }
  std::vector<std::uint32_t> first_pred{0}, preds;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const std::uint32_t at = place[head[i]];
    out.measured.gap_ns[at] += measured.gap_ns[i];
    out.measured.run_ns[at] += measured.run_ns[i];
    out.ideal.gap_ns[at] += ideal.gap_ns[i];
    out.ideal.run_ns[at] += ideal.run_ns[i];
    if (head[i] != i) continue;
    for (const std::uint32_t pred : graph.preds_of(i)) preds.push_back(place[head[pred]]);
    first_pred.push_back(static_cast<std::uint32_t>(preds.size()));
  }
  out.graph = graph_of(std::move(ops), std::move(first_pred), std::move(preds), {graph.step, graph.replica});
  return out;
}

}  // namespace ccl
