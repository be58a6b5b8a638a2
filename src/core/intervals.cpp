#include "core/intervals.hpp"

#include <algorithm>

#include "core/interval_passes.hpp"

namespace ccl {

Intervals merge_intervals(Intervals any) {
  std::sort(any.begin(), any.end());
  Intervals merged;
  merged.reserve(any.size());
  for (const Interval& interval : any) append_merged(merged, interval);
  return merged;
}

std::int64_t length_ns(std::span<const Interval> merged) {
  std::int64_t total = 0;
  for (const Interval& interval : merged) total += interval.length_ns();
  return total;
}

namespace {

/// Calls found(common) for every non-empty piece of A ∩ B, in order.
template <class Found>
void for_each_common(std::span<const Interval> a, std::span<const Interval> b, Found found) {
  for_each_pair(a, b, [&](Interval common) {
    if (common.start_ns < common.end_ns) found(common);
  });
}

}  // namespace

std::int64_t overlap_ns(std::span<const Interval> a, std::span<const Interval> b) {
  std::int64_t total = 0;
  for_each_pair(a, b, [&](Interval common) { total += std::max<std::int64_t>(common.length_ns(), 0); });
  return total;
}

Intervals intersect(std::span<const Interval> a, std::span<const Interval> b) {
  Intervals out;
  for_each_common(a, b, [&](Interval common) { append_merged(out, common); });
  return out;
}

Intervals unite(std::span<const Interval> a, std::span<const Interval> b) {
  Intervals out;
  out.reserve(a.size() + b.size());
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool from_a = j == b.size() || (i < a.size() && a[i].start_ns <= b[j].start_ns);
    append_merged(out, from_a ? a[i++] : b[j++]);
  }
  return out;
}

Intervals subtract(std::span<const Interval> a, std::span<const Interval> b) {
  Intervals out;
  std::size_t j = 0;
  for (const Interval& interval : a) {
    std::int64_t from = interval.start_ns;
    while (j < b.size() && b[j].end_ns <= from) ++j;
    for (std::size_t k = j; k < b.size() && b[k].start_ns < interval.end_ns; ++k) {
      append_merged(out, {from, b[k].start_ns});
      from = std::max(from, b[k].end_ns);
    }
    append_merged(out, {from, interval.end_ns});
  }
  return out;
}

Intervals clip(std::span<const Interval> a, Interval window) { return intersect(a, std::span(&window, 1)); }

Budget budget(std::span<const Interval> communication, std::span<const Interval> compute,
              std::span<const Interval> memory, Interval window) {
  Budget out;
  out.window_ns = window.length_ns();
  out.communication_ns = length_ns(communication);
  out.compute_ns = length_ns(compute);
  out.memory_ns = length_ns(memory);
  out.overlap_ns = overlap_ns(communication, compute);
  out.exposed_ns = out.communication_ns - out.overlap_ns;
  out.compute_only_ns = out.compute_ns - out.overlap_ns;
  // M ∩ (C ∪ K) by inclusion and exclusion: the union of the kernels would be another list of all of them.
  std::int64_t under_both_ns = 0;
  for_each_common(memory, communication,
                  [&](const Interval& both) { under_both_ns += overlap_ns(std::span(&both, 1), compute); });
  const std::int64_t under_kernels_ns = overlap_ns(memory, communication) + overlap_ns(memory, compute) - under_both_ns;
  out.memory_only_ns = out.memory_ns - under_kernels_ns;
  out.busy_ns = out.compute_only_ns + out.overlap_ns + out.exposed_ns + out.memory_only_ns;
  out.idle_ns = out.window_ns - out.busy_ns;
  return out;
}

}  // namespace ccl
