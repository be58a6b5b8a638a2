// A merged list on the corrected clock, which keeps the order. The list itself where the clock needs no correction.
#pragma once
#include "core/intervals.hpp"
#include "exchange/clock.hpp"

namespace ccl {

class CorrectedList {
 public:
  /// merged must outlive it. host −1: not known, nothing to correct.
  CorrectedList(const Intervals& merged, std::int32_t host, const ClockModel& clock) : merged_(merged) {
    moved_ = moves_times(clock, host);
    if (!moved_) return;
    own_.reserve(merged.size());
    for (const Interval& interval : merged)
      append_merged(own_, {clock.corrected(host, interval.start_ns), clock.corrected(host, interval.end_ns)});
  }
  const Intervals& list() const { return moved_ ? own_ : merged_; }

 private:
  const Intervals& merged_;
  Intervals own_;
  bool moved_ = false;
};

}  // namespace ccl
