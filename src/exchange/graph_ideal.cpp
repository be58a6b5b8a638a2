#include "exchange/graph_ideal.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "exchange/graph_transfer.hpp"

namespace ccl {
namespace {

enum class Middle : std::uint8_t { lower_median, median, mean };

std::int64_t middle_of(std::vector<std::int64_t>& values, Middle middle) {
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

/// Numbers the keys in their order: the class of each operation that has one.
template <class Key>
std::vector<std::int32_t> classes_of(std::vector<std::pair<Key, std::uint32_t>> keyed, std::size_t ops_count) {
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::int32_t> classes(ops_count, -1);
  std::int32_t number = -1;
  for (std::size_t i = 0; i < keyed.size(); ++i) {
    if (i == 0 || keyed[i - 1].first != keyed[i].first) ++number;
    classes[keyed[i].second] = number;
  }
  return classes;
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
  std::vector<std::uint32_t> members(first.back()), at(first);
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (classes[i] >= 0) members[at[static_cast<std::size_t>(classes[i])]++] = static_cast<std::uint32_t>(i);
  std::vector<std::int64_t> values;
  for (std::size_t c = 0; c + 1 < first.size(); ++c) {
    values.clear();
    for (std::uint32_t m = first[c]; m < first[c + 1]; ++m) values.push_back(measured(members[m]));
    if (values.empty()) continue;
    const std::int64_t ideal_ns = middle_of(values, middle);
    for (std::uint32_t m = first[c]; m < first[c + 1]; ++m) set(members[m], ideal_ns);
  }
}

}  // namespace

Peers peers_of(const StepGraph& graph, const std::vector<std::int32_t>& stage_of_row) {
  Peers peers;
  using NameKey = std::tuple<std::int32_t, std::int8_t, StringId>;
  std::vector<std::pair<NameKey, std::uint32_t>> named;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    named.push_back({{op.rank_row, op.device_row, op.name}, static_cast<std::uint32_t>(i)});
  }
  std::sort(named.begin(), named.end());
  using PeerKey = std::tuple<std::int32_t, std::int8_t, StringId, std::int32_t>;  // stage, device, name, number
  std::vector<std::pair<PeerKey, std::uint32_t>> keyed;
  std::int32_t number = 0;
  for (std::size_t k = 0; k < named.size(); ++k) {
    number = k > 0 && named[k - 1].first == named[k].first ? number + 1 : 0;
    const GraphOp& op = graph.ops[named[k].second];
    const std::int32_t stage = stage_of_row[static_cast<std::size_t>(op.rank_row)];
    keyed.push_back({{stage, op.device_row, op.name, number}, named[k].second});
  }
  peers.launch = classes_of(std::move(keyed), graph.size());
  peers.run = peers.launch;
  const UnseenTransfers unseen(graph);
  std::vector<std::pair<TransferKind, std::uint32_t>> kinds;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    if (op.kind != EventKind::compute) peers.run[i] = -1;
    peers.unseen_ns.push_back(unseen.of(i));
    if (graph.match[i] >= 0 && peers.unseen_ns[i] < 0) kinds.push_back({kind_of(op), static_cast<std::uint32_t>(i)});
  }
  peers.transfer = classes_of(std::move(kinds), graph.size());
  return peers;
}

GraphTimes ideal_times(const GraphTimes& measured, const Peers& peers, IdealForm form) {
  GraphTimes ideal = measured;
  const auto run_ns = [&](std::uint32_t i) { return measured.run_ns[i]; };
  const auto set_run = [&](std::uint32_t i, std::int64_t ns) { ideal.run_ns[i] = ns; };
  const bool published = form == IdealForm::mean;
  set_by_class(peers.run, published ? Middle::mean : Middle::lower_median, run_ns, set_run);
  set_by_class(peers.transfer, published ? Middle::median : Middle::lower_median, run_ns, set_run);
  for (std::size_t i = 0; i < peers.unseen_ns.size(); ++i)
    if (peers.unseen_ns[i] > 0) ideal.run_ns[i] = peers.unseen_ns[i];
  set_by_class(peers.launch, Middle::lower_median,
               [&](std::uint32_t i) { return measured.starved[i] ? measured.gap_ns[i] : 0; },
               [&](std::uint32_t i, std::int64_t ns) {
                 if (measured.starved[i]) ideal.gap_ns[i] = std::min(measured.gap_ns[i], ns);
               });
  return ideal;
}

}  // namespace ccl
