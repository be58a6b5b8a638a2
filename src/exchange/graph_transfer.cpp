#include "exchange/graph_transfer.hpp"

#include <algorithm>
#include <map>

#include "core/collective_math.hpp"

namespace ccl {
TransferKind kind_of(const GraphCommunication& of) {
  return {is_point_to_point(of.op) ? CollectiveOp::send_recv : of.op, of.dimension, of.group_size, of.payload_bytes};
}

bool has_unseen_members(const StepGraph& graph, std::size_t i) {
  if (!is_with_others(graph, i)) return false;
  if (graph.match[i] < 0) return true;
  const GraphCommunication& op = graph.communication_of(i);
  if (is_point_to_point(op.op)) return false;
  return static_cast<std::int64_t>(graph.members_of(static_cast<std::size_t>(graph.match[i])).size()) < op.group_size;
}

UnseenTransfers::UnseenTransfers(const StepGraph& graph, const GraphTimes& measured) {
  std::vector<std::uint32_t> unseen;
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    if (has_unseen_members(graph, i)) unseen.push_back(i);
  if (unseen.empty()) return;
  const auto run_ns = [&](std::size_t i) { return std::max<std::int64_t>(0, measured.run_ns[i]); };
  std::map<TransferKind, std::vector<std::int64_t>> complete;
  for (const std::uint32_t i : unseen) complete.try_emplace(kind_of(graph.communication_of(i)));
  transfer_ns_.assign(graph.size(), -1);
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.match[i] < 0 || has_unseen_members(graph, i)) continue;
    const auto kind = complete.find(kind_of(graph.communication_of(i)));
    if (kind != complete.end()) kind->second.push_back(run_ns(i));
  }
  std::map<TransferKind, std::int64_t> usual_ns;
  for (auto& [kind, values] : complete) {
    if (values.empty()) continue;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), middle, values.end());
    usual_ns[kind] = *middle;
  }
  for (const std::uint32_t i : unseen) {
    const auto usual = usual_ns.find(kind_of(graph.communication_of(i)));
    transfer_ns_[i] = usual == usual_ns.end() ? 0 : std::min(usual->second, run_ns(i));
  }
}

}  // namespace ccl
