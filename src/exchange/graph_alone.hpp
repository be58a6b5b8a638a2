// What a step has no peers for, so that no median tells whether it is slow. Pure. In: a StepGraph. Out: summed times.
#pragma once
#include <cstdint>
#include <vector>

#include "exchange/graph.hpp"

namespace ccl {

/// Matched communication, ns over all members, of operation, dimension, size and bytes that one set of ranks only has: its
/// peers are its own at other times.
std::int64_t one_group_ns(const StepGraph& step);

struct ComputeTime {
  std::int64_t all_ns = 0, one_rank_ns = 0;  // one_rank: on stages of which one rank only is in the step
};
/// stage_of_row: by row of /ranks, −1 = no pipeline.
ComputeTime compute_time(const StepGraph& step, const std::vector<std::int32_t>& stage_of_row);

}  // namespace ccl
