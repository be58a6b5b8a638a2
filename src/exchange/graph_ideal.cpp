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

/// Calls set(i, ideal) for each operation with the middle of the measured values of its class. class_of(i): −1 if it has none.
template <class ClassOf, class Measured, class Set>
void set_by_class(std::size_t ops_count, Middle middle, ClassOf class_of, Measured measured, Set set) {
  std::vector<std::uint32_t> at(1, 0);  // where the next value of each class goes: behind those of the classes before
  for (std::uint32_t i = 0; i < ops_count; ++i)
    if (const std::int32_t c = class_of(i); c >= 0) {
      if (static_cast<std::size_t>(c) + 2 > at.size()) at.resize(static_cast<std::size_t>(c) + 2, 0);
      ++at[static_cast<std::size_t>(c) + 1];
    }
  for (std::size_t c = 1; c < at.size(); ++c) at[c] += at[c - 1];
  // Values and results in the order of the operations: class by class each would be a line of memory of its own.
  std::vector<std::int64_t> values(at.back()), ideal_ns(at.size() - 1);
  for (std::uint32_t i = 0; i < ops_count; ++i)
    if (const std::int32_t c = class_of(i); c >= 0) values[at[static_cast<std::size_t>(c)]++] = measured(i);
  for (std::size_t c = 0, first = 0; c < ideal_ns.size(); first = at[c++])
    if (first < at[c]) ideal_ns[c] = middle_of(std::span(values).subspan(first, at[c] - first), middle);
  for (std::uint32_t i = 0; i < ops_count; ++i)
    if (const std::int32_t c = class_of(i); c >= 0) set(i, ideal_ns[static_cast<std::size_t>(c)]);
}

/// The CPU of a rank at one of its launches.
struct CpuLaunch {
  std::uint32_t op = 0;
  std::int64_t before_ns = 0;  // launch before it; of the first: the step's begin
  std::int64_t idle_ns = 0;    // by when all that was launched before had ended
  bool first = false;          // of its rank
};

/// Operations with a launch, by rank and launch.
std::vector<std::uint32_t> launched_ops(const StepGraph& graph, const Peers& peers) {
  std::vector<std::uint32_t> launched;
  launched.reserve(graph.size());
  std::vector<std::pair<std::int64_t, std::uint32_t>> of_rank;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {  // ops are by rank
    const GraphOp& op = graph.ops[i];
    if (op.launch_ns != absent_ns && peers.launch[i] >= 0) of_rank.push_back({op.launch_ns, i});
    if (i + 1 < graph.size() && graph.ops[i + 1].rank_row == op.rank_row) continue;
    std::sort(of_rank.begin(), of_rank.end());
    for (const auto& launch : of_rank) launched.push_back(launch.second);
    of_rank.clear();
  }
  return launched;
}

/// What a launch is told by is worked out on the way: kept it would be six times the list.
template <class Use>
void for_each_launch(const StepGraph& graph, const std::vector<std::uint32_t>& launched, Use use) {
  CpuLaunch launch;
  const GraphOp* before = nullptr;
  for (const std::uint32_t i : launched) {
    launch.op = i;
    launch.first = before == nullptr || before->rank_row != graph.ops[i].rank_row;
    launch.before_ns = launch.first ? graph.start_ns : before->launch_ns;
    launch.idle_ns = launch.first ? graph.start_ns : std::max(launch.idle_ns, before->end_ns);
    before = &graph.ops[i];
    use(std::as_const(launch));
  }
}

/// By class: all ranks launch it only once their devices have nothing left to do, after a long time without a launch:
/// the CPU was waiting for the device.
std::vector<bool> where_cpus_wait(const StepGraph& graph, const std::vector<std::uint32_t>& launched, const Peers& peers) {
  constexpr std::int64_t least_wait_ns = 200'000;
  std::vector<bool> waits(graph.size() + 1, true);
  for_each_launch(graph, launched, [&](const CpuLaunch& launch) {
    const bool waited = !launch.first && launch.idle_ns <= graph.ops[launch.op].launch_ns &&
                        launch.idle_ns - launch.before_ns >= least_wait_ns;
    if (!waited) waits[static_cast<std::size_t>(peers.launch[launch.op])] = false;
  });
  return waits;
}

// A gap before a late launch is as long as the rank is late there, which says nothing about its CPU: peers that are ahead
// wait in a collective instead, and a lag of long ago shows in every gap. What a CPU takes from launch to launch is its own.
// What that adds up to beyond its peers is taken off the next gaps that a launch ends, once. Where it is quicker than they
// are, that makes up for what it loses later, but nothing gets longer.
void set_launch_gaps(const MeasuredGraph& graph, const Peers& peers, GraphTimes& ideal) {
  const GraphTimes& measured = graph.measured;
  std::vector<bool> begins(graph.size() + 1, false);  // by class: one of it waits for nothing
  bool any_late = false;  // one that waits for something
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (!graph.preds_of(i).empty()) any_late = any_late || measured.starved[i];
    else if (peers.launch[i] >= 0) begins[static_cast<std::size_t>(peers.launch[i])] = true;
  }
  set_by_class(graph.size(), Middle::lower_median,
               [&](std::uint32_t i) {
                 const std::int32_t of_class = peers.launch[i];
                 return of_class >= 0 && begins[static_cast<std::size_t>(of_class)] ? of_class : -1;
               },
               [&](std::uint32_t i) { return measured.starved[i] ? measured.gap_ns[i] : 0; },
               [&](std::uint32_t i, std::int64_t ns) {
                 if (graph.preds_of(i).empty()) ideal.gap_ns[i] = std::min(measured.gap_ns[i], ns);
               });
  if (!any_late) return;
  const std::vector<std::uint32_t> launched = launched_ops(graph, peers);
  const std::vector<bool> waits = where_cpus_wait(graph, launched, peers);
  const auto class_waits = [&](std::uint32_t i) { return waits[static_cast<std::size_t>(peers.launch[i])]; };
  std::vector<std::int64_t> more_ns(graph.size(), absent_ns);  // from launch to launch; then than its peers
  for_each_launch(graph, launched, [&](const CpuLaunch& launch) {
    more_ns[launch.op] = graph.ops[launch.op].launch_ns - (class_waits(launch.op) ? launch.idle_ns : launch.before_ns);
  });
  set_by_class(graph.size(), Middle::lower_median,
               [&](std::uint32_t i) { return more_ns[i] != absent_ns ? peers.launch[i] : -1; },
               [&](std::uint32_t i) { return more_ns[i]; }, [&](std::uint32_t i, std::int64_t ns) { more_ns[i] -= ns; });
  std::int64_t behind_ns = 0;  // its peers, as far as no gap has shown it yet
  for_each_launch(graph, launched, [&](const CpuLaunch& launch) {
    const std::uint32_t i = launch.op;
    if (launch.first || class_waits(i)) behind_ns = 0;
    behind_ns += more_ns[i];
    if (!measured.starved[i]) return;
    if (!graph.preds_of(i).empty())
      ideal.gap_ns[i] = measured.gap_ns[i] - std::clamp<std::int64_t>(behind_ns, 0, std::max<std::int64_t>(0, measured.gap_ns[i]));
    const std::int64_t shown_ns = measured.gap_ns[i] - ideal.gap_ns[i];
    if (behind_ns > 0) behind_ns = std::max<std::int64_t>(0, behind_ns - shown_ns);
  });
}

/// By match: whether its members are on several hosts; none where hosts are not known.
std::vector<bool> between_hosts_of(const StepGraph& graph, const std::vector<std::int32_t>& host_of_row) {
  constexpr std::int32_t nobody = INT32_MIN;
  std::vector<bool> between(graph.first_member.size() - 1, false);
  std::vector<std::int32_t> host_of_match(between.size(), nobody);
  for (std::size_t i = 0; i < graph.size() && !host_of_row.empty(); ++i) {
    if (graph.match[i] < 0) continue;
    const auto m = static_cast<std::size_t>(graph.match[i]);
    const std::int32_t host = host_of_row[static_cast<std::size_t>(graph.ops[i].rank_row)];
    if (host_of_match[m] == nobody) host_of_match[m] = host;
    if (host_of_match[m] != host) between[m] = true;
  }
  return between;
}

}  // namespace

Peers peers_of(const MeasuredGraph& graph, const std::vector<std::int32_t>& stage_of_row,
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
  const std::vector<bool> between_hosts = between_hosts_of(graph, host_of_row);
  Numbers<TransferKey, TransferHash> transfers;
  peers.transfer.assign(graph.size(), -1);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    if (op.kind != EventKind::compute) peers.run[i] = -1;
    if (graph.match[i] >= 0 && graph.unseen.of(i) < 0)
      peers.transfer[i] = transfers.of({kind_of(graph.communication_of(i)), between_hosts[static_cast<std::size_t>(graph.match[i])]});
  }
  return peers;
}

GraphTimes ideal_times(const MeasuredGraph& graph, const Peers& peers, IdealForm form) {
  const GraphTimes& measured = graph.measured;
  GraphTimes ideal = measured;
  const auto run_ns = [&](std::uint32_t i) { return measured.run_ns[i]; };
  const auto set_run = [&](std::uint32_t i, std::int64_t ns) { ideal.run_ns[i] = ns; };
  const bool published = form == IdealForm::mean;
  set_by_class(graph.size(), published ? Middle::mean : Middle::lower_median,
               [&](std::uint32_t i) { return peers.run[i]; }, run_ns, set_run);
  set_by_class(graph.size(), published ? Middle::median : Middle::lower_median,
               [&](std::uint32_t i) { return peers.transfer[i]; }, run_ns, set_run);
  for (std::size_t i = 0; i < graph.size() && graph.unseen.any(); ++i)
    if (const std::int64_t transfer_ns = graph.unseen.of(i); transfer_ns > 0 && peers.transfer[i] < 0)
      ideal.run_ns[i] = transfer_ns;
  set_launch_gaps(graph, peers, ideal);
  return ideal;
}

}  // namespace ccl
