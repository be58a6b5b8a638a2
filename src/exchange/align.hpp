// Two members' sequences of collectives lined up when their counts differ: which of mine is which of yours.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ccl {

struct AlignItem {
  std::uint64_t signature = 0;  // only equal ones can be partners
  std::int64_t end_ns = 0;
  bool symmetric = false;       // members end together: its end helps to choose
};

/// Pairs (row of a, row of b), rising in both: a longest common sequence of signatures. Where several are as long, the
/// one whose ends differ by the most constant amount: of the constant shifts, the earliest and the latest common
/// sequence. Cost: |a|·|b| cells, none beyond `most_cells` (then constant shifts alone are tried).
std::vector<std::pair<std::uint32_t, std::uint32_t>> align(std::span<const AlignItem> a, std::span<const AlignItem> b,
                                                           std::size_t most_cells = std::size_t{4} << 20);

}  // namespace ccl
