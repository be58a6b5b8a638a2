#include "exchange/graph_path.hpp"

#include <algorithm>

namespace ccl {
namespace {

PathCategory category_of(EventKind kind) {
  switch (kind) {
    case EventKind::compute: return PathCategory::compute;
    case EventKind::communication: return PathCategory::communication;
    default: return PathCategory::memory;
  }
}

std::uint32_t last_member(const StepGraph& graph, std::uint32_t op) {
  if (graph.match[op] < 0) return op;
  std::uint32_t last = op;
  for (const std::uint32_t member : graph.members_of(static_cast<std::size_t>(graph.match[op])))
    if (graph.ops[member].start_ns > graph.ops[last].start_ns) last = member;
  return last;
}

}  // namespace

std::string_view to_text(PathCategory category) {
  switch (category) {
    case PathCategory::compute: return "compute";
    case PathCategory::communication: return "communication";
    case PathCategory::memory: return "memory";
    case PathCategory::launch: return "launch";
    case PathCategory::idle: return "idle";
    case PathCategory::unseparated: return "unseparated";
  }
  return "";
}

std::vector<PathPart> critical_path_of(const MeasuredGraph& graph) {
  std::vector<PathPart> path;
  if (graph.ops.empty()) return path;
  std::uint32_t op = 0;
  for (std::uint32_t i = 1; i < graph.size(); ++i)
    if (graph.ops[i].end_ns > graph.ops[op].end_ns) op = i;
  std::int64_t t_ns = graph.end_ns;
  const auto add = [&](std::int64_t start_ns, std::uint32_t of, PathCategory category) {
    start_ns = std::clamp(start_ns, graph.start_ns, t_ns);
    if (start_ns < t_ns) path.push_back({start_ns, t_ns, of, category});
    t_ns = start_ns;
  };
  // Each turn goes back along the graph; where matches contradict the order on the ranks, t_ns still only falls and the
  // number of turns is bounded by the number of operations.
  for (std::size_t turn = 0; turn < graph.size() && t_ns > graph.start_ns; ++turn) {
    const std::uint32_t last = last_member(graph, op);
    if (const std::int64_t transfer_ns = graph.unseen.of(op); transfer_ns >= 0) {
      if (transfer_ns > 0) add(std::max(graph.ops[last].start_ns, graph.ops[op].end_ns - transfer_ns), op, PathCategory::communication);
      add(graph.ops[last].start_ns, op, PathCategory::unseparated);
    } else {
      add(graph.ops[last].start_ns, op, category_of(graph.ops[op].kind));
    }
    const auto preds = graph.preds_of(last);
    if (preds.empty()) {
      op = last;
      break;
    }
    const std::uint32_t before = *std::max_element(preds.begin(), preds.end(), [&](std::uint32_t a, std::uint32_t b) {
      return graph.ops[a].end_ns < graph.ops[b].end_ns;
    });
    const GraphOp& next = graph.ops[last];
    const bool starved = next.launch_ns != absent_ns && next.launch_ns >= graph.ops[before].end_ns;
    add(graph.ops[before].end_ns, last, starved ? PathCategory::launch : PathCategory::idle);
    op = before;
  }
  const std::int64_t launch_ns = graph.ops[op].launch_ns;
  add(graph.start_ns, op, launch_ns != absent_ns && launch_ns >= graph.start_ns ? PathCategory::launch : PathCategory::idle);
  return path;
}

}  // namespace ccl
