#include "exchange/graph_ideal.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include "exchange/graph_transfer.hpp"

namespace ccl {
namespace {

enum class Middle : std::uint8_t { lower_median, median, mean };

std::int64_t middle_of(std::span<std::int64_t> values, Middle middle) {
  const std::size_t n = values.size();
  if (middle == Middle::mean) {
    std::int64_t sum = 0;
    for (const std::int64_t value : values) sum += value;
    return sum / static_cast<std::int64_t>(n);
  }
  const auto lower = values.begin() + static_cast<std::ptrdiff_t>((n - 1) / 2);
  std::nth_element(values.begin(), lower, values.end());
  if (middle == Middle::lower_median || n % 2 == 1) return *lower;
  return (*lower + *std::min_element(lower + 1, values.end())) / 2;
}

/// Gives every key a number, in the order in which they come.
template <class Key, class Hash>
class Numbers {
 public:
  std::int32_t of(const Key& key) {
    return numbers_.try_emplace(key, static_cast<std::int32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<Key, std::int32_t, Hash> numbers_;
};

/// What operations of one class have in common: those of one stage, the same one of the device's operations of its name.
struct PeerKey {
  std::int32_t stage = -1, number = 0;
  std::int32_t device_row = 0;
  StringId name;
  friend bool operator==(const PeerKey&, const PeerKey&) = default;
};
struct PeerHash {
  std::size_t operator()(const PeerKey& key) const {
    return hash_combine(key.name.value ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.device_row)),
                        static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.stage)) << 32 ^
                            static_cast<std::uint32_t>(key.number));
  }
};
struct TransferKey {
  TransferKind kind;
  bool between_hosts = false;
  friend bool operator==(const TransferKey&, const TransferKey&) = default;
};
struct TransferHash {
  std::size_t operator()(const TransferKey& key) const {
    const auto small = static_cast<std::uint64_t>(key.kind.op) << 16 | static_cast<std::uint64_t>(key.kind.dimension) << 8 |
                       (key.between_hosts ? 1U : 0U);
    return hash_combine(static_cast<std::uint64_t>(key.kind.payload_bytes),
                        small << 32 ^ static_cast<std::uint32_t>(key.kind.group_size));
  }
};

/// By operation: how many of its device before it have its name.
std::vector<std::int32_t> numbers_on_device(const StepGraph& graph) {
  std::vector<std::int32_t> number(graph.size(), 0);
  std::vector<std::pair<StringId, std::uint32_t>> named;  // of one device
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    named.push_back({op.name, i});
    if (i + 1 < graph.size() && graph.ops[i + 1].rank_row == op.rank_row && graph.ops[i + 1].device_row == op.device_row)
      continue;
    std::sort(named.begin(), named.end());
    for (std::size_t k = 1; k < named.size(); ++k)
      if (named[k].first == named[k - 1].first) number[named[k].second] = number[named[k - 1].second] + 1;
    named.clear();
  }
  return number;
}

/// Sets new_ns of each operation from the measured values of its class.
template <class Measured, class Set>
void set_by_class(const std::vector<std::int32_t>& classes, Middle middle, Measured measured, Set set) {
  std::vector<std::uint32_t> first(1, 0);
  for (const std::int32_t c : classes)
    if (c >= 0) {
      if (static_cast<std::size_t>(c) + 2 > first.size()) first.resize(static_cast<std::size_t>(c) + 2, 0);
      ++first[static_cast<std::size_t>(c) + 1];
    }
  for (std::size_t c = 1; c < first.size(); ++c) first[c] += first[c - 1];
  // Values and results in the order of the operations: class by class each would be a line of memory of its own.
  std::vector<std::int64_t> values(first.back()), ideal_ns(first.size() - 1);
  std::vector<std::uint32_t> at(first);
  for (std::uint32_t i = 0; i < classes.size(); ++i)
    if (classes[i] >= 0) values[at[static_cast<std::size_t>(classes[i])]++] = measured(i);
  for (std::size_t c = 0; c < ideal_ns.size(); ++c)
    if (first[c] < first[c + 1]) ideal_ns[c] = middle_of(std::span(values).subspan(first[c], first[c + 1] - first[c]), middle);
  for (std::uint32_t i = 0; i < classes.size(); ++i)
    if (classes[i] >= 0) set(i, ideal_ns[static_cast<std::size_t>(classes[i])]);
}

/// The CPU of a rank at one of its launches.
struct CpuLaunch {
  std::uint32_t op = 0;
  std::int64_t before_ns = 0;  // launch before it; of the first: the step's begin
  std::int64_t idle_ns = 0;    // by when all that was launched before had ended
  bool first = false;          // of its rank
};

/// By rank, in order.
std::vector<CpuLaunch> launches_of(const StepGraph& graph, const Peers& peers) {
  std::vector<CpuLaunch> launches;
  launches.reserve(graph.size());
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    if (graph.ops[i].launch_ns != absent_ns && peers.launch[i] >= 0) launches.push_back({i});
  const auto rank_row = [&](const CpuLaunch& launch) { return graph.ops[launch.op].rank_row; };
  for (auto first = launches.begin(), last = first; first != launches.end(); first = last) {  // ops are by rank
    last = std::find_if(first, launches.end(), [&](const CpuLaunch& launch) { return rank_row(launch) != rank_row(*first); });
    std::sort(first, last, [&](const CpuLaunch& a, const CpuLaunch& b) {
      return std::pair(graph.ops[a.op].launch_ns, a.op) < std::pair(graph.ops[b.op].launch_ns, b.op);
    });
  }
  for (std::size_t k = 0; k < launches.size(); ++k) {
    CpuLaunch& launch = launches[k];
    const GraphOp* before = k == 0 ? nullptr : &graph.ops[launches[k - 1].op];
    launch.first = before == nullptr || before->rank_row != graph.ops[launch.op].rank_row;
    launch.before_ns = launch.first ? graph.start_ns : before->launch_ns;
    launch.idle_ns = launch.first ? graph.start_ns : std::max(launches[k - 1].idle_ns, before->end_ns);
  }
  return launches;
}

/// By class: all ranks launch it only once their devices have nothing left to do, after a long time without a launch:
/// the CPU was waiting for the device.
std::vector<bool> where_cpus_wait(const StepGraph& graph, const std::vector<CpuLaunch>& launches, const Peers& peers) {
  constexpr std::int64_t least_wait_ns = 200'000;
  std::vector<bool> waits(graph.size() + 1, true);
  for (const CpuLaunch& launch : launches) {
    const bool waited = !launch.first && launch.idle_ns <= graph.ops[launch.op].launch_ns &&
                        launch.idle_ns - launch.before_ns >= least_wait_ns;
    if (!waited) waits[static_cast<std::size_t>(peers.launch[launch.op])] = false;
  }
  return waits;
}

// A gap before a late launch is as long as the rank is late there, which says nothing about its CPU: peers that are ahead
// wait in a collective instead, and a lag of long ago shows in every gap. What a CPU takes from launch to launch is its own.
// What that adds up to beyond its peers is taken off the next gaps that a launch ends, once. Where it is quicker than they
// are, that makes up for what it loses later, but nothing gets longer.
void set_launch_gaps(const StepGraph& graph, const GraphTimes& measured, const Peers& peers, GraphTimes& ideal) {
  set_by_class(peers.launch, Middle::lower_median,
               [&](std::uint32_t i) { return measured.starved[i] ? measured.gap_ns[i] : 0; },
               [&](std::uint32_t i, std::int64_t ns) {
                 if (graph.preds_of(i).empty()) ideal.gap_ns[i] = std::min(measured.gap_ns[i], ns);
               });
  const std::vector<CpuLaunch> launches = launches_of(graph, peers);
  const std::vector<bool> waits = where_cpus_wait(graph, launches, peers);
  const auto class_waits = [&](std::uint32_t i) { return waits[static_cast<std::size_t>(peers.launch[i])]; };
  std::vector<std::int64_t> interval_ns(graph.size(), 0), more_ns(graph.size(), 0);
  std::vector<std::int32_t> classes(graph.size(), -1);
  for (const CpuLaunch& launch : launches) {
    const std::int64_t from_ns = class_waits(launch.op) ? launch.idle_ns : launch.before_ns;
    interval_ns[launch.op] = graph.ops[launch.op].launch_ns - from_ns;
    classes[launch.op] = peers.launch[launch.op];
  }
  set_by_class(classes, Middle::lower_median, [&](std::uint32_t i) { return interval_ns[i]; },
               [&](std::uint32_t i, std::int64_t ns) { more_ns[i] = interval_ns[i] - ns; });
  std::int64_t behind_ns = 0;  // its peers, as far as no gap has shown it yet
  for (const CpuLaunch& launch : launches) {
    const std::uint32_t i = launch.op;
    if (launch.first || class_waits(i)) behind_ns = 0;
    behind_ns += more_ns[i];
    if (!measured.starved[i]) continue;
    if (!graph.preds_of(i).empty())
      ideal.gap_ns[i] = measured.gap_ns[i] - std::clamp<std::int64_t>(behind_ns, 0, std::max<std::int64_t>(0, measured.gap_ns[i]));
    const std::int64_t shown_ns = measured.gap_ns[i] - ideal.gap_ns[i];
    if (behind_ns > 0) behind_ns = std::max<std::int64_t>(0, behind_ns - shown_ns);
  }
}

std::int32_t host_of(const GraphOp& op, const std::vector<std::int32_t>& host_of_row) {
  return host_of_row[static_cast<std::size_t>(op.rank_row)];
}

}  // namespace

Peers peers_of(const StepGraph& graph, const std::vector<std::int32_t>& stage_of_row,
               const std::vector<std::int32_t>& host_of_row) {
  Peers peers;
  const std::vector<std::int32_t> number = numbers_on_device(graph);
  Numbers<PeerKey, PeerHash> classes;
  peers.launch.reserve(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    peers.launch.push_back(classes.of({stage_of_row[static_cast<std::size_t>(op.rank_row)], number[i], op.device_row, op.name}));
  }
  peers.run = peers.launch;
  const UnseenTransfers unseen(graph);
  std::vector<bool> between_hosts(graph.first_member.size() - 1, false);  // by match
  for (std::size_t m = 0; m < between_hosts.size() && !host_of_row.empty(); ++m)
    for (const std::uint32_t member : graph.members_of(m))
      if (host_of(graph.ops[member], host_of_row) != host_of(graph.ops[graph.members_of(m)[0]], host_of_row))
        between_hosts[m] = true;
  Numbers<TransferKey, TransferHash> transfers;
  peers.transfer.assign(graph.size(), -1);
  peers.unseen_ns.reserve(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    if (op.kind != EventKind::compute) peers.run[i] = -1;
    peers.unseen_ns.push_back(unseen.of(i));
    if (graph.match[i] >= 0 && peers.unseen_ns[i] < 0)
      peers.transfer[i] = transfers.of({kind_of(op), between_hosts[static_cast<std::size_t>(graph.match[i])]});
  }
  return peers;
}

GraphTimes ideal_times(const StepGraph& graph, const GraphTimes& measured, const Peers& peers, IdealForm form) {
  GraphTimes ideal = measured;
  const auto run_ns = [&](std::uint32_t i) { return measured.run_ns[i]; };
  const auto set_run = [&](std::uint32_t i, std::int64_t ns) { ideal.run_ns[i] = ns; };
  const bool published = form == IdealForm::mean;
  set_by_class(peers.run, published ? Middle::mean : Middle::lower_median, run_ns, set_run);
  set_by_class(peers.transfer, published ? Middle::median : Middle::lower_median, run_ns, set_run);
  for (std::size_t i = 0; i < peers.unseen_ns.size(); ++i)
    if (peers.unseen_ns[i] > 0) ideal.run_ns[i] = peers.unseen_ns[i];
  set_launch_gaps(graph, measured, peers, ideal);
  return ideal;
}

}  // namespace ccl
