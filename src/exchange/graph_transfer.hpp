// Communication whose members are not all in the step's graph (a rank has no trace, a match failed): how much of it is
// waiting for them can not be seen. In: a StepGraph. Out: how long its transfer should take, from complete ones of its
// kind: same operation, dimension, number of members and bytes. Pure.
#pragma once
#include <compare>
#include <cstdint>
#include <vector>

#include "exchange/graph_replay.hpp"

namespace ccl {

/// What transfers have in common that should take equally long.
struct TransferKind {
  CollectiveOp op = CollectiveOp::unknown;  // send, recv and send_recv are one
  Dimension dimension = Dimension::unknown;
  std::int32_t group_size = -1;
  std::int64_t payload_bytes = -1;
  friend auto operator<=>(const TransferKind&, const TransferKind&) = default;
};
TransferKind kind_of(const GraphCommunication& communication);

/// Whether it needs other ranks; one that does waits for them, or its transfer is theirs too.
inline bool is_with_others(const StepOps& step, std::size_t i) {
  return step.ops[i].kind == EventKind::communication && step.communication_of(i).group_size != 1;
}
/// Whether op i communicates with ranks of which not all are in its match.
bool has_unseen_members(const StepGraph& graph, std::size_t i);

class UnseenTransfers {
 public:
  UnseenTransfers(const StepGraph& graph, const GraphTimes& measured);
  bool any() const { return !transfer_ns_.empty(); }
  /// −1: op i is no communication, or all its members are here. 0: unknown. Else ns: the median transfer of complete
  /// ones (of an even number the lower middle), at most from the start of its last member to its end.
  std::int64_t of(std::size_t i) const { return transfer_ns_.empty() ? -1 : transfer_ns_[i]; }

 private:
  std::vector<std::int64_t> transfer_ns_;  // by op; empty: all members are here
};

}  // namespace ccl
