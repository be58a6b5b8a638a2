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

}  // namespace ccl::test
