// Interval algebra on half-open [start_ns, end_ns) intervals. A "merged" list is sorted, disjoint and without empty
// intervals (touching ones are joined); every function below that takes a span expects merged lists.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace ccl {

struct Interval {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t length_ns() const { return end_ns - start_ns; }
  friend auto operator<=>(const Interval&, const Interval&) = default;
};
using Intervals = std::vector<Interval>;

/// Adds an interval to a merged list. Starts must not decrease from call to call; empty intervals are passed over.
inline void append_merged(Intervals& merged, Interval added) {
  if (added.end_ns <= added.start_ns) return;
  if (!merged.empty() && added.start_ns <= merged.back().end_ns) {
    if (added.end_ns > merged.back().end_ns) merged.back().end_ns = added.end_ns;
  } else {
    merged.push_back(added);
  }
}

/// A merged list of which only the length is asked for: append_merged without the list.
class MergedLength {
 public:
  /// In order of start. counts: else nothing happens. How two intervals lie to each other is no branch: nobody could
  /// foretell it.
  void add(Interval next, bool counts = true) {
    counts = counts && next.length_ns() > 0;
    const std::int64_t start_ns = counts ? next.start_ns : INT64_MIN, end_ns = counts ? next.end_ns : INT64_MIN;
    const bool apart = start_ns > last_.end_ns;
    closed_ns_ += apart ? last_.length_ns() : 0;
    last_ = {apart ? start_ns : last_.start_ns, std::max(last_.end_ns, end_ns)};
  }
  std::int64_t length_ns() const { return closed_ns_ + last_.length_ns(); }
  /// How much lies before a time no earlier than the last start that was added.
  std::int64_t before_ns(std::int64_t t_ns) const { return closed_ns_ + std::min(last_.end_ns, t_ns) - last_.start_ns; }
  bool empty() const { return last_.length_ns() == 0; }
  std::int64_t end_ns() const { return last_.end_ns; }

 private:
  Interval last_{earliest_ns, earliest_ns};
  static constexpr std::int64_t earliest_ns = -(std::int64_t{1} << 62);  // readers take no time before it
  std::int64_t closed_ns_ = 0;
};

/// Any list -> merged list. Sorts.
Intervals merge_intervals(Intervals any);

/// Total length, ns.
std::int64_t length_ns(std::span<const Interval> merged);
/// Length of A ∩ B, ns, without building it.
std::int64_t overlap_ns(std::span<const Interval> a, std::span<const Interval> b);
/// A ∪ B, A ∩ B, A \ B as merged lists.
Intervals unite(std::span<const Interval> a, std::span<const Interval> b);
Intervals intersect(std::span<const Interval> a, std::span<const Interval> b);
Intervals subtract(std::span<const Interval> a, std::span<const Interval> b);
/// A ∩ [window), merged.
Intervals clip(std::span<const Interval> a, Interval window);

/// The whole budget of one window W with len(W) = compute_only + overlap + exposed + memory_only + idle
/// (C communication, K compute, M memory copies and sets). Exact, in ns.
struct Budget {
  std::int64_t window_ns = 0;
  std::int64_t communication_ns = 0;  // len(C)
  std::int64_t compute_ns = 0;        // len(K)
  std::int64_t memory_ns = 0;         // len(M)
  std::int64_t busy_ns = 0;           // len(C ∪ K ∪ M)
  std::int64_t overlap_ns = 0;        // len(C ∩ K)
  std::int64_t exposed_ns = 0;        // len(C) − len(C ∩ K)
  std::int64_t compute_only_ns = 0;   // len(K) − len(C ∩ K)
  std::int64_t memory_only_ns = 0;    // len(M \ (C ∪ K))
  std::int64_t idle_ns = 0;           // window − busy
};

/// Budget of merged lists that lie within the window. Cost: one sweep over the three lists.
Budget budget(std::span<const Interval> communication, std::span<const Interval> compute,
              std::span<const Interval> memory, Interval window);

}  // namespace ccl
