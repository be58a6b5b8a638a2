// One step's operations linked: what each waits for on its own device.
#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "exchange/graph.hpp"
#include "exchange/graph_order.hpp"

namespace ccl {
namespace {

/// The operations of one device, by stream in order of start.
struct Device {
  std::size_t first = 0, last = 0;                     // ops of the graph
  std::vector<std::vector<std::uint32_t>> streams;
  std::vector<std::uint16_t> stream_of;                // by op from first
  std::uint64_t program = 0;                           // of several devices: equal for those with the same operations on each stream
};

Device device_of(const std::vector<GraphOp>& ops, std::size_t first, std::size_t last) {
  Device device{first, last, {}, std::vector<std::uint16_t>(last - first), 0};
  std::vector<std::uint32_t> count_of_lane;
  for (std::size_t i = first; i < last; ++i) {
    if (ops[i].lane >= count_of_lane.size()) count_of_lane.resize(std::size_t{ops[i].lane} + 1, 0);
    ++count_of_lane[ops[i].lane];
  }
  std::vector<std::uint16_t> stream_of_lane(count_of_lane.size(), 0);
  for (std::size_t lane = 0; lane < count_of_lane.size(); ++lane) {
    if (count_of_lane[lane] == 0) continue;
    stream_of_lane[lane] = static_cast<std::uint16_t>(device.streams.size());
    device.streams.emplace_back().reserve(count_of_lane[lane]);
  }
  for (std::size_t i = first; i < last; ++i) {
    const std::uint16_t stream = stream_of_lane[ops[i].lane];
    device.stream_of[i - first] = stream;
    device.streams[stream].push_back(static_cast<std::uint32_t>(i));
  }
  return device;
}

std::uint64_t program_of(const std::vector<GraphOp>& ops, const Device& device) {
  std::uint64_t program = 0;
  for (const auto& stream : device.streams) {
    program = hash_combine(program, stream.size());
    for (const std::uint32_t i : stream) program = hash_combine(program, ops[i].name.value);
  }
  return program;
}

/// By stream, place in it and other stream: how many operations of the other had ended when this one started.
using Ended = std::vector<std::uint32_t>;

/// Where the numbers of operations begin in Ended: rows, by stream and place in it.
class EndedRows {
 public:
  explicit EndedRows(const Device& device) : streams_count_(device.streams.size()), first_(streams_count_, 0) {
    for (std::size_t s = 1; s < streams_count_; ++s) first_[s] = first_[s - 1] + device.streams[s - 1].size();
  }
  std::size_t of(std::size_t stream, std::size_t place) const { return (first_[stream] + place) * streams_count_; }

 private:
  std::size_t streams_count_;
  std::vector<std::size_t> first_;  // by stream: operations of those before it
};

/// Calls use(op, its stream, its place in the stream) in order of start.
template <class Use>
void for_each_op(const Device& device, Use use) {
  std::vector<std::size_t> place(device.streams.size(), 0);
  for (std::size_t i = device.first; i < device.last; ++i) {
    const std::size_t stream = device.stream_of[i - device.first];
    use(i, stream, place[stream]++);
  }
}

/// Keeps the least of what this device and those before saw.
void see_ended(const std::vector<GraphOp>& ops, const Device& device, Ended& ended) {
  const std::size_t streams_count = device.streams.size();
  const EndedRows rows(device);
  if (ended.empty()) ended.assign((device.last - device.first) * streams_count, UINT32_MAX);
  std::vector<std::uint32_t> now(streams_count, 0);
  for_each_op(device, [&](std::size_t i, std::size_t own, std::size_t place) {
    const std::size_t row = rows.of(own, place);
    for (std::size_t s = 0; s < streams_count; ++s) {
      const auto& stream = device.streams[s];
      while (now[s] < stream.size() && stream[now[s]] < i && ops[stream[now[s]]].end_ns <= ops[i].start_ns) ++now[s];
      ended[row + s] = std::min(ended[row + s], now[s]);
    }
  });
}

void add_preds(const Device& device, const Ended& ended, std::vector<std::uint32_t>& first_pred,
               std::vector<std::uint32_t>& preds) {
  const std::size_t streams_count = device.streams.size();
  const EndedRows rows(device);
  std::vector<std::size_t> count(streams_count);  // by stream: the last of so many is waited for; 0: nothing
  // Of what an operation waits for, what another of them has waited for. That must not have begun before its own stream was
  // free: a replay may let such a one end earlier than what it waits for.
  const auto has_waited = [&](std::size_t other, std::size_t s) {
    if (other == s || count[other] == 0) return false;
    const std::size_t place = count[other] - 1, row = rows.of(other, place);
    return ended[row + s] >= count[s] && ended[row + other] == place;
  };
  for_each_op(device, [&](std::size_t, std::size_t own, std::size_t place) {
    const std::size_t row = rows.of(own, place);
    for (std::size_t s = 0; s < streams_count; ++s) {
      const std::uint32_t before = place > 0 ? ended[row - streams_count + s] : 0;
      count[s] = s == own ? place : ended[row + s] > before ? ended[row + s] : 0;
    }
    for (std::size_t s = 0; s < streams_count; ++s) {
      bool known = count[s] == 0;
      for (std::size_t other = 0; other < streams_count && !known; ++other) known = has_waited(other, s);
      if (!known) preds.push_back(device.streams[s][count[s] - 1]);
    }
    first_pred.push_back(static_cast<std::uint32_t>(preds.size()));
  });
}

/// ops are sorted by rank, device and start.
void link_devices(const std::vector<GraphOp>& ops, std::vector<std::uint32_t>& first_pred,
                  std::vector<std::uint32_t>& preds) {
  std::vector<Device> devices;
  struct Program {
    Ended ended;
    std::size_t devices_count = 0;
  };
  std::map<std::uint64_t, Program> programs;
  for (std::size_t i = 0, first = 0; i < ops.size(); ++i) {
    const bool last = i + 1 == ops.size() || ops[i + 1].rank_row != ops[i].rank_row ||
                      ops[i + 1].device_row != ops[i].device_row;
    if (!last) continue;
    devices.push_back(device_of(ops, first, i + 1));
    first = i + 1;
  }
  for (Device& device : devices) {
    if (devices.size() > 1) device.program = program_of(ops, device);
    ++programs[device.program].devices_count;
  }
  for (const Device& device : devices)
    if (Program& program = programs[device.program]; program.devices_count > 1) see_ended(ops, device, program.ended);
  for (Device& device : devices) {
    Program& program = programs[device.program];
    if (program.ended.empty()) see_ended(ops, device, program.ended);
    add_preds(device, program.ended, first_pred, preds);
    if (--program.devices_count == 0) program.ended = {};
    device = {};
  }
}

bool before(const GraphOp& a, const GraphOp& b) {
  return std::tuple(a.rank_row, a.device_row, a.start_ns) < std::tuple(b.rank_row, b.device_row, b.start_ns);
}

/// By rank, device and start. What came from one chain is one run, in order but for its devices; runs are moved as a
/// whole, since rows are large.
void sort_ops(std::vector<GraphOp>& ops) {
  if (std::is_sorted(ops.begin(), ops.end(), before)) return;
  std::vector<std::span<GraphOp>> runs;
  for (std::size_t i = 0, first = 0; i < ops.size(); ++i) {
    if (i + 1 < ops.size() && ops[i + 1].rank_row == ops[i].rank_row && !before(ops[i + 1], ops[i])) continue;
    runs.push_back(std::span(ops).subspan(first, i + 1 - first));
    first = i + 1;
  }
  std::stable_sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return before(a.front(), b.front()); });
  std::vector<GraphOp> sorted;
  sorted.reserve(ops.size());
  for (const auto& run : runs) sorted.insert(sorted.end(), run.begin(), run.end());
  if (!std::is_sorted(sorted.begin(), sorted.end(), before)) std::stable_sort(sorted.begin(), sorted.end(), before);
  ops = std::move(sorted);
}

}  // namespace

StepGraph graph_of(StepOps step, std::vector<std::uint32_t> first_pred, std::vector<std::uint32_t> preds, StepKey key) {
  StepGraph graph;
  static_cast<StepOps&>(graph) = std::move(step);
  graph.step = key.step;
  graph.replica = key.replica;
  graph.first_pred = std::move(first_pred);
  graph.preds = std::move(preds);
  if (!graph.ops.empty()) graph.start_ns = INT64_MAX, graph.end_ns = INT64_MIN;
  for (const GraphOp& op : graph.ops) {
    graph.start_ns = std::min(graph.start_ns, op.start_ns);
    graph.end_ns = std::max(graph.end_ns, op.end_ns);
  }
  order_graph(graph);
  return graph;
}

StepGraph link_graph(StepOps step, StepKey key) {
  std::vector<GraphOp>& ops = step.ops;
  sort_ops(ops);
  std::vector<std::uint32_t> first_pred{0}, preds;
  first_pred.reserve(ops.size() + 1);
  preds.reserve(ops.size());
  link_devices(ops, first_pred, preds);
  return graph_of(std::move(step), std::move(first_pred), std::move(preds), key);
}

}  // namespace ccl
