// The critical path of a step: the chain of operations and waits, over ranks, that ends with the last operation of the
// step and reaches back to its begin. Its parts touch, so that they add up to the run's step window exactly.
// Pure. Walks back from the last end: an operation, then what it waited for last; from a matched collective to the member
// that started last (Böhme et al., critical path of wait states).
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "exchange/graph.hpp"

namespace ccl {

/// launch: idle until the CPU launches the next operation. idle: that is launched, nothing it is known to wait for runs.
enum class PathCategory : std::uint8_t { compute, communication, memory, launch, idle };
std::string_view to_text(PathCategory category);

struct PathPart {
  std::int64_t start_ns = 0, end_ns = 0;  // corrected clock; end > start
  std::uint32_t op = 0;                   // of launch and idle: the operation that follows
  PathCategory category = PathCategory::compute;
  std::int64_t length_ns() const { return end_ns - start_ns; }
};

/// From the last part to the first. Empty only for an empty graph.
std::vector<PathPart> critical_path_of(const StepGraph& graph);

}  // namespace ccl
