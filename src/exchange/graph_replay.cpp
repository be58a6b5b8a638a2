#include "exchange/graph_replay.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/collective_math.hpp"

namespace ccl {
namespace {

std::int64_t last_start_of(const StepGraph& graph, std::size_t match) {
  std::int64_t last_ns = INT64_MIN;
  for (const std::uint32_t member : graph.members_of(match)) last_ns = std::max(last_ns, graph.ops[member].start_ns);
  return last_ns;
}

std::int64_t central(std::vector<std::int64_t> values, IdealForm form) {
  const std::size_t n = values.size();
  if (form == IdealForm::mean) {
    std::int64_t sum = 0;
    for (const std::int64_t value : values) sum += value;
    return sum / static_cast<std::int64_t>(n);
  }
  std::sort(values.begin(), values.end());
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// Calls use(ops of one class) for runs of equal keys.
template <class Key, class Use>
void by_class(std::vector<std::pair<Key, std::uint32_t>> keyed, Use use) {
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::uint32_t> ops;
  for (std::size_t i = 0; i < keyed.size(); ++i) {
    ops.push_back(keyed[i].second);
    if (i + 1 < keyed.size() && keyed[i + 1].first == keyed[i].first) continue;
    use(ops);
    ops.clear();
  }
}

using PeerKey = std::tuple<std::int32_t, std::int8_t, StringId, std::int32_t>;  // stage, device, name, number

std::vector<std::pair<PeerKey, std::uint32_t>> peers_of(const StepGraph& graph,
                                                        const std::vector<std::int32_t>& stage_of_row) {
  std::vector<std::pair<std::tuple<std::int32_t, std::int8_t, StringId>, std::uint32_t>> of_rank;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    of_rank.push_back({{op.rank_row, op.device_row, op.name}, static_cast<std::uint32_t>(i)});
  }
  std::vector<std::pair<PeerKey, std::uint32_t>> keyed;
  by_class(std::move(of_rank), [&](const std::vector<std::uint32_t>& ops) {
    std::int32_t number = 0;
    for (const std::uint32_t i : ops) {
      const GraphOp& op = graph.ops[i];
      keyed.push_back({{stage_of_row[static_cast<std::size_t>(op.rank_row)], op.device_row, op.name, number++}, i});
    }
  });
  return keyed;
}

}  // namespace

GraphTimes measured_times(const StepGraph& graph) {
  GraphTimes times;
  times.gap_ns.resize(graph.size());
  times.run_ns.resize(graph.size());
  times.starved.resize(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    std::int64_t ready_ns = graph.preds_of(i).empty() ? graph.start_ns : INT64_MIN;
    for (const std::uint32_t pred : graph.preds_of(i)) ready_ns = std::max(ready_ns, graph.ops[pred].end_ns);
    times.gap_ns[i] = op.start_ns - ready_ns;
    times.starved[i] = op.launch_ns != absent_ns && op.launch_ns >= ready_ns;
    const std::int32_t match = graph.match[i];
    times.run_ns[i] =
        match < 0 ? op.length_ns() : op.end_ns - last_start_of(graph, static_cast<std::size_t>(match));
  }
  return times;
}

GraphTimes ideal_times(const StepGraph& graph, const GraphTimes& measured, const std::vector<std::int32_t>& stage_of_row,
                       IdealForm form) {
  GraphTimes ideal = measured;
  by_class(peers_of(graph, stage_of_row), [&](const std::vector<std::uint32_t>& ops) {
    std::vector<std::int64_t> runs, gaps;
    for (const std::uint32_t i : ops) {
      runs.push_back(measured.run_ns[i]);
      gaps.push_back(measured.starved[i] ? measured.gap_ns[i] : 0);
    }
    const std::int64_t run_ns = central(runs, form), gap_ns = central(gaps, IdealForm::median);
    for (const std::uint32_t i : ops) {
      if (graph.ops[i].kind == EventKind::compute) ideal.run_ns[i] = run_ns;
      if (measured.starved[i]) ideal.gap_ns[i] = std::min(measured.gap_ns[i], gap_ns);
    }
  });
  using Shape = std::tuple<CollectiveOp, Dimension, std::int32_t, std::int64_t>;
  std::vector<std::pair<Shape, std::uint32_t>> shapes;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    if (graph.match[i] < 0) continue;
    const CollectiveOp kind = is_point_to_point(op.op) ? CollectiveOp::send_recv : op.op;
    shapes.push_back({{kind, op.dimension, op.group_size, op.payload_bytes}, static_cast<std::uint32_t>(i)});
  }
  by_class(std::move(shapes), [&](const std::vector<std::uint32_t>& ops) {
    std::vector<std::int64_t> runs;
    for (const std::uint32_t i : ops) runs.push_back(measured.run_ns[i]);
    const std::int64_t run_ns = central(std::move(runs), IdealForm::median);
    for (const std::uint32_t i : ops) ideal.run_ns[i] = run_ns;
  });
  return ideal;
}

Replay replay(const StepGraph& graph, const GraphTimes& times) {
  Replay out;
  out.start_ns.assign(graph.size(), 0);
  out.end_ns.assign(graph.size(), 0);
  const std::size_t matches = graph.first_member.size() - 1;
  std::vector<std::uint32_t> started(matches, 0);
  std::vector<std::int64_t> last_ns(matches, INT64_MIN);
  for (const std::uint32_t i : graph.order) {
    std::int64_t ready_ns = graph.preds_of(i).empty() ? 0 : INT64_MIN;
    for (const std::uint32_t pred : graph.preds_of(i)) ready_ns = std::max(ready_ns, out.end_ns[pred]);
    out.start_ns[i] = ready_ns + times.gap_ns[i];
    if (graph.match[i] < 0) {
      out.end_ns[i] = out.start_ns[i] + times.run_ns[i];
      out.length_ns = std::max(out.length_ns, out.end_ns[i]);
      continue;
    }
    const auto m = static_cast<std::size_t>(graph.match[i]);
    last_ns[m] = std::max(last_ns[m], out.start_ns[i]);
    if (++started[m] < graph.members_of(m).size()) continue;
    for (const std::uint32_t member : graph.members_of(m)) {
      out.end_ns[member] = std::max(out.start_ns[member], last_ns[m] + times.run_ns[member]);
      out.length_ns = std::max(out.length_ns, out.end_ns[member]);
    }
  }
  return out;
}

bool replays(const StepGraph& graph, const GraphTimes& measured) {
  if (!graph.acyclic || graph.length_ns() <= 0) return false;
  const std::int64_t off_ns = replay(graph, measured).length_ns - graph.length_ns();
  return 100 * (off_ns < 0 ? -off_ns : off_ns) <= graph.length_ns();
}

std::vector<std::int64_t> slack_ns(const StepGraph& graph, const GraphTimes& measured) {
  std::vector<std::int64_t> latest_end_ns(graph.size(), graph.end_ns), slack(graph.size(), 0);
  const std::size_t matches = graph.first_member.size() - 1;
  std::vector<std::int64_t> latest_start_ns(matches, INT64_MAX);
  std::vector<std::uint32_t> seen(matches, 0);
  const auto start_at = [&](std::uint32_t i, std::int64_t latest_ns) {
    slack[i] = std::max<std::int64_t>(0, latest_ns - graph.ops[i].start_ns);
    for (const std::uint32_t pred : graph.preds_of(i))
      latest_end_ns[pred] = std::min(latest_end_ns[pred], latest_ns - measured.gap_ns[i]);
  };
  // Backwards a match is known when all its members' ends are; the last of them in order comes first here, and what waits
  // for a member comes after all members in order.
  for (auto at = graph.order.rbegin(); at != graph.order.rend(); ++at) {
    const std::uint32_t i = *at;
    if (graph.match[i] < 0) {
      start_at(i, latest_end_ns[i] - measured.run_ns[i]);
      continue;
    }
    const auto m = static_cast<std::size_t>(graph.match[i]);
    if (seen[m]++ == 0)
      for (const std::uint32_t member : graph.members_of(m))
        latest_start_ns[m] = std::min(latest_start_ns[m], latest_end_ns[member] - measured.run_ns[member]);
    start_at(i, latest_start_ns[m]);
  }
  return slack;
}

}  // namespace ccl
