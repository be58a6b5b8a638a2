#include "exchange/graph_alone.hpp"

#include <map>

#include "core/fetch.hpp"
#include "exchange/graph_transfer.hpp"

namespace ccl {

std::int64_t one_group_ns(const StepGraph& step) {
  struct Seen {
    std::vector<std::int32_t> ranks;
    std::int64_t length_ns = 0;
    bool several = false;
  };
  std::map<TransferKind, Seen> kinds;
  std::vector<std::int32_t> ranks;
  for (std::size_t m = 0; m + 1 < step.first_member.size(); ++m) {
    ranks.clear();
    std::int64_t length_ns = 0;
    for (std::size_t at = step.first_member[m]; at < step.first_member[m + 1]; ++at) {
      if (at + fetch_ahead < step.members.size()) fetch_of(step.members[at + fetch_ahead], step.ops);
      const std::uint32_t member = step.members[at];
      ranks.push_back(step.ops[member].rank_row);
      length_ns += step.ops[member].length_ns();
    }
    Seen& seen = kinds[kind_of(step.communication_of(step.members_of(m)[0]))];
    if (seen.ranks.empty()) seen.ranks = ranks;
    seen.several = seen.several || seen.ranks != ranks;
    seen.length_ns += length_ns;
  }
  std::int64_t sum_ns = 0;
  for (const auto& [kind, seen] : kinds) sum_ns += seen.several ? 0 : seen.length_ns;
  return sum_ns;
}

ComputeTime compute_time(const StepGraph& step, const std::vector<std::int32_t>& stage_of_row) {
  struct Stage {
    std::int32_t rank_row = -1;
    bool several = false;
    std::int64_t compute_ns = 0;
  };
  std::map<std::int32_t, Stage> stages;
  for (const GraphOp& op : step.ops) {
    Stage& stage = stages[stage_of_row[static_cast<std::size_t>(op.rank_row)]];
    if (stage.rank_row < 0) stage.rank_row = op.rank_row;
    stage.several = stage.several || stage.rank_row != op.rank_row;
    if (op.kind == EventKind::compute) stage.compute_ns += op.length_ns();
  }
  ComputeTime sum;
  for (const auto& [number, stage] : stages) {
    sum.all_ns += stage.compute_ns;
    if (!stage.several) sum.one_rank_ns += stage.compute_ns;
  }
  return sum;
}

}  // namespace ccl
