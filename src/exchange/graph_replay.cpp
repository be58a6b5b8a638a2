#include "exchange/graph_replay.hpp"

#include <algorithm>

#include "core/fetch.hpp"

namespace ccl {
namespace {

/// By match: the start of its last member.
std::vector<std::int64_t> last_starts_ns(const StepGraph& graph) {
  std::vector<std::int64_t> last_ns(graph.first_member.size() - 1, INT64_MIN);
  for (std::size_t i = 0; i < graph.size(); ++i) {  // as they lie; by match each member would be far from the one before
    if (graph.match[i] < 0) continue;
    std::int64_t& last = last_ns[static_cast<std::size_t>(graph.match[i])];
    last = std::max(last, graph.ops[i].start_ns);
  }
  return last_ns;
}

}  // namespace

GraphTimes measured_times(const StepGraph& graph) {
  GraphTimes times;
  times.gap_ns.resize(graph.size());
  times.run_ns.resize(graph.size());
  times.starved.resize(graph.size());
  const std::vector<std::int64_t> last_ns = last_starts_ns(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    std::int64_t ready_ns = graph.preds_of(i).empty() ? graph.start_ns : INT64_MIN;
    for (const std::uint32_t pred : graph.preds_of(i)) ready_ns = std::max(ready_ns, graph.ops[pred].end_ns);
    times.gap_ns[i] = op.start_ns - ready_ns;
    // What a device does first waits for its step before, which is not in the graph: no more than on its peers.
    times.starved[i] = graph.preds_of(i).empty() || (op.launch_ns != absent_ns && op.launch_ns >= ready_ns);
    const std::int32_t match = graph.match[i];
    times.run_ns[i] =
        match < 0 ? op.length_ns() : op.end_ns - last_ns[static_cast<std::size_t>(match)];
  }
  return times;
}

namespace {

/// The length; started(i, start_ns): as each operation starts. end_ns: by operation; of a match that is not complete its start.
template <class Started>
std::int64_t run_through(const StepGraph& graph, const std::vector<std::int64_t>& gap_ns, const std::vector<std::int64_t>& run_ns,
                         std::vector<std::int64_t>& end_ns, Started started) {
  end_ns.assign(graph.size(), 0);
  const std::size_t matches = graph.first_member.size() - 1;
  std::vector<std::uint32_t> started_count(matches, 0);
  std::vector<std::int64_t> last_ns(matches, INT64_MIN);
  std::int64_t length_ns = 0;
  for (std::size_t at = 0; at < graph.order.size(); ++at) {
    if (at + fetch_ahead < graph.order.size())
      fetch_of(graph.order[at + fetch_ahead], graph.first_pred, graph.match, gap_ns, run_ns, end_ns);
    if (at + fetch_ahead / 2 < graph.order.size())
      if (const std::int32_t soon = graph.match[graph.order[at + fetch_ahead / 2]]; soon >= 0)
        fetch_of(static_cast<std::size_t>(soon), started_count, last_ns, graph.first_member);
    const std::uint32_t i = graph.order[at];
    std::int64_t start_ns = graph.preds_of(i).empty() ? 0 : INT64_MIN;
    for (const std::uint32_t pred : graph.preds_of(i)) start_ns = std::max(start_ns, end_ns[pred]);
    start_ns += gap_ns[i];
    started(i, start_ns);
    if (graph.match[i] < 0) {
      end_ns[i] = start_ns + run_ns[i];
      length_ns = std::max(length_ns, end_ns[i]);
      continue;
    }
    const auto m = static_cast<std::size_t>(graph.match[i]);
    end_ns[i] = start_ns;
    last_ns[m] = std::max(last_ns[m], start_ns);
    if (++started_count[m] < graph.members_of(m).size()) continue;
    const auto members = graph.members_of(m);
    for (std::size_t at_member = 0; at_member < members.size(); ++at_member) {
      if (at_member + fetch_ahead < members.size()) fetch_of(members[at_member + fetch_ahead], end_ns, run_ns);
      const std::uint32_t member = members[at_member];
      end_ns[member] = std::max(end_ns[member], last_ns[m] + run_ns[member]);
      length_ns = std::max(length_ns, end_ns[member]);
    }
  }
  return length_ns;
}

}  // namespace

Replay replay(const StepGraph& graph, const GraphTimes& times) {
  Replay out;
  out.start_ns.resize(graph.size());
  out.length_ns = run_through(graph, times.gap_ns, times.run_ns, out.end_ns, [&](std::uint32_t i, std::int64_t ns) { out.start_ns[i] = ns; });
  return out;
}

std::int64_t replayed_length_ns(const StepGraph& graph, const std::vector<std::int64_t>& gap_ns,
                                const std::vector<std::int64_t>& run_ns) {
  std::vector<std::int64_t> end_ns;
  return run_through(graph, gap_ns, run_ns, end_ns, [](std::uint32_t, std::int64_t) {});
}

std::vector<std::int64_t> slack_ns(const StepGraph& graph, const GraphTimes& measured) {
  // By operation its latest end while others may still bring it forward, then its slack: one list instead of two.
  std::vector<std::int64_t> slack(graph.size(), graph.end_ns), &latest_end_ns = slack;
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
  for (std::size_t at = graph.order.size(); at-- > 0;) {
    if (at >= fetch_ahead)
      fetch_of(graph.order[at - fetch_ahead], graph.first_pred, graph.match, graph.ops, measured.gap_ns, measured.run_ns, slack);
    if (at >= fetch_ahead / 2)
      if (const std::int32_t soon = graph.match[graph.order[at - fetch_ahead / 2]]; soon >= 0)
        fetch_of(static_cast<std::size_t>(soon), seen, latest_start_ns, graph.first_member);
    const std::uint32_t i = graph.order[at];
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
