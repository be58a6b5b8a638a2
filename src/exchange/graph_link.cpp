// One step's operations linked: what each waits for on its own device.
#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "exchange/graph.hpp"
#include "exchange/graph_order.hpp"

namespace ccl {
namespace {

/// The operations of one device. Those of a stream lie in order of start behind those of the streams before it.
struct Device {
  std::size_t first = 0, last = 0;   // ops of the graph
  std::size_t first_stream = 0;      // of all devices' streams
  std::size_t streams_count = 0;
  std::uint64_t program = 0;         // of several devices: equal for those with the same operations on each stream
};

/// The devices of a step. Lists of all, not of each: thousands of ranks would be as many times some pieces of memory.
class Devices {
 public:
  /// ops are sorted by rank, device and start.
  explicit Devices(const std::vector<GraphOp>& ops) : ops_(ops), stream_of_(ops.size()), by_stream_(ops.size()) {
    for (std::size_t i = 0, first = 0; i < ops.size(); ++i) {
      const bool last = i + 1 == ops.size() || ops[i + 1].rank_row != ops[i].rank_row ||
                        ops[i + 1].device_row != ops[i].device_row;
      if (!last) continue;
      add(first, i + 1);
      first = i + 1;
    }
    for (Device& device : list_)
      if (list_.size() > 1) device.program = program_of(device);
  }
  const std::vector<Device>& list() const { return list_; }
  std::span<const std::uint32_t> stream(const Device& device, std::size_t s) const {
    const std::size_t begin = streams_[device.first_stream + s];
    const std::size_t end = s + 1 < device.streams_count ? streams_[device.first_stream + s + 1] : device.last;
    return std::span(by_stream_).subspan(begin, end - begin);
  }
  /// How many operations of the device are on streams before this one.
  std::size_t before(const Device& device, std::size_t s) const { return streams_[device.first_stream + s] - device.first; }
  /// Calls use(op, its stream, its place in the stream) in order of start. place: room to work in.
  template <class Use>
  void for_each_op(const Device& device, std::vector<std::uint32_t>& place, Use use) const {
    place.assign(device.streams_count, 0);
    for (std::size_t i = device.first; i < device.last; ++i) {
      const std::size_t stream = stream_of_[i];
      use(i, stream, std::size_t{place[stream]++});
    }
  }

 private:
  void add(std::size_t first, std::size_t last) {
    lanes_.clear();  // operations of each; then where its next one goes
    for (std::size_t i = first; i < last; ++i) {
      if (ops_[i].lane >= lanes_.size()) lanes_.resize(std::size_t{ops_[i].lane} + 1, 0);
      ++lanes_[ops_[i].lane];
    }
    Device device{first, last, streams_.size(), 0, 0};
    stream_of_lane_.assign(lanes_.size(), 0);
    std::size_t at = first;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (lanes_[lane] == 0) continue;
      stream_of_lane_[lane] = static_cast<std::uint16_t>(device.streams_count++);
      streams_.push_back(static_cast<std::uint32_t>(at));
      at += std::exchange(lanes_[lane], static_cast<std::uint32_t>(at));
    }
    for (std::size_t i = first; i < last; ++i) {
      stream_of_[i] = stream_of_lane_[ops_[i].lane];
      by_stream_[lanes_[ops_[i].lane]++] = static_cast<std::uint32_t>(i);
    }
    list_.push_back(device);
  }
  std::uint64_t program_of(const Device& device) const {
    std::uint64_t program = 0;
    for (std::size_t s = 0; s < device.streams_count; ++s) {
      program = hash_combine(program, stream(device, s).size());
      for (const std::uint32_t i : stream(device, s)) program = hash_combine(program, ops_[i].name.value);
    }
    return program;
  }

  const std::vector<GraphOp>& ops_;
  std::vector<Device> list_;
  std::vector<std::uint16_t> stream_of_;   // by op
  std::vector<std::uint32_t> by_stream_;   // ops: of each device by stream
  std::vector<std::uint32_t> streams_;     // where each begins there
  std::vector<std::uint32_t> lanes_;       // of one device, as the next
  std::vector<std::uint16_t> stream_of_lane_;
};

/// By stream, place in it and other stream: how many operations of the other had ended when this one started.
using Ended = std::vector<std::uint32_t>;

/// What each operation of a device waits for. Asked again for every device of a step: what it works in is kept.
class DeviceLinks {
 public:
  DeviceLinks(const std::vector<GraphOp>& ops, const Devices& devices) : ops_(ops), devices_(devices) {}

  /// Keeps the least of what this device and those before saw.
  void see_ended(const Device& device, Ended& ended) {
    const std::size_t streams_count = device.streams_count;
    if (ended.empty()) ended.assign((device.last - device.first) * streams_count, UINT32_MAX);
    begin(device);
    now_.assign(streams_count, 0);
    devices_.for_each_op(device, place_, [&](std::size_t i, std::size_t own, std::size_t place) {
      std::uint32_t* const row = ended.data() + (before_[own] + place) * streams_count;
      for (std::size_t s = 0; s < streams_count; ++s) {
        const std::span<const std::uint32_t> stream = streams_[s];
        while (now_[s] < stream.size() && stream[now_[s]] < i && ops_[stream[now_[s]]].end_ns <= ops_[i].start_ns) ++now_[s];
        row[s] = std::min(row[s], now_[s]);
      }
    });
  }

  void add_preds(const Device& device, const Ended& ended, std::vector<std::uint32_t>& first_pred,
                 std::vector<std::uint32_t>& preds) {
    const std::size_t streams_count = device.streams_count;
    begin(device);
    count_.assign(streams_count, 0);  // by stream: the last of so many is waited for; 0: nothing
    // Of what an operation waits for, what another of them has waited for. That must not have begun before its own stream was
    // free: a replay may let such a one end earlier than what it waits for.
    const auto has_waited = [&](std::size_t other, std::size_t s) {
      if (other == s || count_[other] == 0) return false;
      const std::size_t place = count_[other] - 1, row = (before_[other] + place) * streams_count;
      return ended[row + s] >= count_[s] && ended[row + other] == place;
    };
    devices_.for_each_op(device, place_, [&](std::size_t, std::size_t own, std::size_t place) {
      const std::size_t row = (before_[own] + place) * streams_count;
      for (std::size_t s = 0; s < streams_count; ++s) {
        const std::uint32_t before = place > 0 ? ended[row - streams_count + s] : 0;
        count_[s] = s == own ? place : ended[row + s] > before ? ended[row + s] : 0;
      }
      for (std::size_t s = 0; s < streams_count; ++s) {
        bool known = count_[s] == 0;
        for (std::size_t other = 0; other < streams_count && !known; ++other) known = has_waited(other, s);
        if (!known) preds.push_back(streams_[s][count_[s] - 1]);
      }
      first_pred.push_back(static_cast<std::uint32_t>(preds.size()));
    });
  }

 private:
  void begin(const Device& device) {
    streams_.clear();
    before_.clear();
    for (std::size_t s = 0; s < device.streams_count; ++s) {
      streams_.push_back(devices_.stream(device, s));
      before_.push_back(devices_.before(device, s));
    }
  }

  const std::vector<GraphOp>& ops_;
  const Devices& devices_;
  std::vector<std::span<const std::uint32_t>> streams_;  // of one device
  std::vector<std::size_t> before_, count_;              // by stream
  std::vector<std::uint32_t> now_, place_;
};

/// ops are sorted by rank, device and start.
void link_devices(const std::vector<GraphOp>& ops, std::vector<std::uint32_t>& first_pred,
                  std::vector<std::uint32_t>& preds) {
  const Devices devices(ops);
  struct Program {
    Ended ended;
    std::size_t devices_count = 0;
  };
  std::map<std::uint64_t, Program> programs;
  DeviceLinks links(ops, devices);
  for (const Device& device : devices.list()) ++programs[device.program].devices_count;
  for (const Device& device : devices.list())
    if (Program& program = programs[device.program]; program.devices_count > 1) links.see_ended(device, program.ended);
  for (const Device& device : devices.list()) {
    Program& program = programs[device.program];
    if (program.ended.empty()) links.see_ended(device, program.ended);
    links.add_preds(device, program.ended, first_pred, preds);
    if (--program.devices_count == 0) program.ended = {};
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
