// The inner loops of interval algebra over long lists. How two intervals lie to each other is no branch here: nobody could
// foretell it, and a wrong guess costs more than all else.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/intervals.hpp"

namespace ccl {

/// append_merged for many intervals. The list is complete with finish().
class MergedWriter {
 public:
  explicit MergedWriter(Intervals& merged) : merged_(&merged) {}
  /// In order of start.
  void add(Interval added) {
    if (added.length_ns() <= 0) return;
    const bool apart = added.start_ns > end_ns_;
    at_ += apart ? 1 : 0;
    // Kept as two numbers: a pair that was written in halves and is read whole waits for both halves to be stored.
    start_ns_ = apart ? added.start_ns : start_ns_;
    end_ns_ = std::max(end_ns_, added.end_ns);
    buffer_[at_] = {start_ns_, end_ns_};
    if (at_ + 1 == buffer_.size()) write(at_);
  }
  void finish() { write(at_ + 1); }

 private:
  // Up to there; the last one moves to the front.
  void write(std::size_t end) {
    merged_->insert(merged_->end(), buffer_.begin() + first_, buffer_.begin() + static_cast<std::ptrdiff_t>(end));
    buffer_[0] = {start_ns_, end_ns_};
    at_ = 0;
    first_ = 0;
  }

  Intervals* merged_;
  std::int64_t start_ns_ = INT64_MIN, end_ns_ = INT64_MIN;  // of the last one
  std::size_t at_ = 0;        // of the last one in the buffer
  std::ptrdiff_t first_ = 1;  // in the buffer; in front of the first of all stands none
  std::array<Interval, 32> buffer_;
};

/// From the first interval on that ends behind t.
inline std::span<const Interval> from_time(std::span<const Interval> merged, std::int64_t t_ns) {
  const auto first = std::partition_point(merged.begin(), merged.end(),
                                          [t_ns](const Interval& interval) { return interval.end_ns <= t_ns; });
  return merged.subspan(static_cast<std::size_t>(first - merged.begin()));
}

/// Calls found(common) for every piece of A ∩ B, in order, and for some of no or negative length. What lies before the
/// other list is not walked through: a short list within a long one costs a binary search.
template <class Found>
void for_each_pair(std::span<const Interval> a, std::span<const Interval> b, Found found) {
  if (a.empty() || b.empty()) return;
  a = from_time(a, b.front().start_ns);
  if (a.empty()) return;
  b = from_time(b, a.front().start_ns);
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    found(Interval{std::max(a[i].start_ns, b[j].start_ns), std::min(a[i].end_ns, b[j].end_ns)});
    const bool a_ends = a[i].end_ns < b[j].end_ns;
    i += a_ends ? 1 : 0;
    j += a_ends ? 0 : 1;
  }
}

}  // namespace ccl
