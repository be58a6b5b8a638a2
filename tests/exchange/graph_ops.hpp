// Steps made by hand: operations that carry what their communication tells.
#pragma once
#include <utility>
#include <vector>

#include "exchange/measured_graph.hpp"

namespace ccl::test {

struct MadeOp : GraphOp, GraphCommunication {};

inline StepOps step_of(const std::vector<MadeOp>& made) {
  StepOps step;
  for (const MadeOp& op : made) {
    step.ops.push_back(op);
    if (op.kind != EventKind::communication) continue;
    step.ops.back().communication = static_cast<std::int32_t>(step.communications.size());
    step.communications.push_back(op);
  }
  return step;
}

inline MeasuredGraph graph_of(const std::vector<MadeOp>& made, StepKey key = {}) {
  return MeasuredGraph(link_graph(step_of(made), key));
}

inline MadeOp op(std::int32_t rank, std::int64_t start_ns, std::int64_t end_ns, const char* name, std::uint16_t lane = 0) {
  MadeOp made;
  made.start_ns = start_ns;
  made.end_ns = end_ns;
  made.launch_ns = 0;
  made.name = string_id(name);
  made.rank_row = rank;
  made.lane = lane;
  return made;
}

inline MadeOp reduce(std::int32_t rank, std::int64_t start_ns, std::int64_t end_ns, std::uint64_t instance) {
  MadeOp made = op(rank, start_ns, end_ns, "all_reduce", 1);
  made.kind = EventKind::communication;
  made.op = CollectiveOp::all_reduce;
  made.dimension = Dimension::dp;
  made.group_size = 3;
  made.payload_bytes = 1000;
  made.instance = instance;
  return made;
}

/// Three ranks compute (rank 1 for 300 instead of 100), reduce for 50, compute 40 each.
inline std::vector<MadeOp> slow_rank() {
  std::vector<MadeOp> ops;
  for (const std::int32_t rank : {0, 1, 2}) {
    const std::int64_t ready_ns = rank == 1 ? 300 : 100;
    ops.push_back(op(rank, 0, ready_ns, "gemm"));
    ops.push_back(reduce(rank, ready_ns + 10, 360, 7));
    ops.push_back(op(rank, 365, 405, "adam"));
  }
  return ops;
}

/// by chance its gather has ended before the third kernel, which rank 1 starts without it.
inline std::vector<MadeOp> slow_and_fast() {
  std::vector<MadeOp> ops;
  for (const std::int32_t rank : {0, 1}) {
    const std::int64_t each_ns = rank == 0 ? 200 : 100;
    for (std::int64_t k = 0; k < 3; ++k) ops.push_back(op(rank, k * each_ns, (k + 1) * each_ns, "gemm"));
    ops.push_back(reduce(rank, 0, 330, 9));
    ops.push_back(op(rank, std::max<std::int64_t>(330, 3 * each_ns), 3 * each_ns + 300, "adam"));
  }
  return ops;
}

}  // namespace ccl::test
