// The critical path of a step: the chain of operations and waits, over ranks, that ends with the last operation of the
// step and reaches back to its begin. Its parts touch, so that they add up to the run's step window exactly.
// Pure. Walks back from the last end: an operation, then what it waited for last; from a matched collective to the member
// that started last (Böhme et al., critical path of wait states).
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "exchange/measured_graph.hpp"

namespace ccl {

/// launch: from the end of what the path's next operation waited for until the CPU launches it. idle: that is launched,
/// nothing it is known to wait for runs. Other streams of the device may run meanwhile.
/// unseparated: communication with members that are not here; waiting for them and transfer can not be told apart, but
/// for as long a transfer as complete ones of its kind take (graph_transfer.hpp).
enum class PathCategory : std::uint8_t { compute, communication, memory, launch, idle, unseparated };
inline constexpr std::size_t path_category_count = 6;
std::string_view to_text(PathCategory category);

struct PathPart {
  std::int64_t start_ns = 0, end_ns = 0;  // corrected clock; end > start
  std::uint32_t op = 0;                   // of launch and idle: the operation that follows
  PathCategory category = PathCategory::compute;
  std::int64_t length_ns() const { return end_ns - start_ns; }
};

/// From the last part to the first. Empty only for an empty graph.
std::vector<PathPart> critical_path_of(const MeasuredGraph& graph);

}  // namespace ccl
