// Merged busy lists -> nanoseconds per time bin: the arithmetic of the global timeline. Pure; closing stage.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/intervals.hpp"
#include "core/processors.hpp"

namespace ccl {

/// count bins of equal integer width over [first, first + count·width).
struct TimeBins {
  std::int64_t first_ns = 0, width_ns = 1, count = 0;
  std::int64_t edge_ns(std::int64_t bin) const { return first_ns + bin * width_ns; }
  std::vector<std::int64_t> edges() const;  // count + 1
};

/// The `wanted` narrowest equal bins that cover the span; more of them when a bin would not fit 32-bit nanoseconds.
TimeBins equal_bins(Interval span, std::int64_t wanted);

/// len(merged ∩ bin) for every bin.
std::vector<std::int64_t> length_per_bin(std::span<const Interval> merged, const TimeBins& bins);

/// One row of each timeline matrix. −1 in bins that lie wholly outside the capture. In every other bin:
/// compute + communication − overlap + memory_only + idle = len(bin ∩ capture).
struct BinnedBudget {
  std::vector<std::int32_t> compute_ns, communication_ns, overlap_ns, memory_only_ns, idle_ns;
};

/// capture: first start to last end of the rank's events; the lists lie within it. lent: shares of the bins are filled there.
BinnedBudget bin_budget(std::span<const Interval> communication, std::span<const Interval> compute,
                        std::span<const Interval> memory, Interval capture, const TimeBins& bins,
                        std::span<const Processors> lent = {});

}  // namespace ccl
