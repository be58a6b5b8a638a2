// Communication of one device in one step, or in the whole file -> sums by operation and by dimension. Local stage.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "metrics/busy.hpp"

namespace ccl {

/// In one pass: how much time the merged list of each kind covers and how much of it compute does, without the lists.
class PartSweep {
 public:
  /// What an event counts for.
  static std::size_t kind_of(CollectiveOp op) { return static_cast<std::size_t>(op); }
  static std::size_t kind_of(Dimension dimension) { return collective_op_count + static_cast<std::size_t>(dimension); }

  /// compute: merged, as long as events are added.
  explicit PartSweep(std::span<const Interval> compute) : compute_(compute) {}
  /// In order of start.
  void add(std::size_t kind, Interval event) {
    if (at_[kind] == 0) {
      parts_.emplace_back();
      at_[kind] = static_cast<std::uint8_t>(parts_.size());
    }
    Part& part = parts_[at_[kind] - 1];
    ++part.calls_count;
    part.sum_ns += event.length_ns();
    if (event.length_ns() <= 0) return;
    if (first_end_ns_ < event.start_ns) close_before(event.start_ns);
    if (!part.open) {
      part.open = true;
      part.end_ns = event.end_ns;
      part.communication_ns -= event.start_ns;
      part.overlap_ns -= compute_before_ns(event.start_ns);
    }
    part.end_ns = std::max(part.end_ns, event.end_ns);
    first_end_ns_ = std::min(first_end_ns_, part.end_ns);
  }
  void finish() { close_before(std::numeric_limits<std::int64_t>::max()); }
  /// Those that have calls, by kind.
  template <class Kind>
  void write(std::size_t step_row, std::size_t device_row, int kinds_count, std::vector<BusyPart<Kind>>& out) const {
    for (int number = 0; number < kinds_count; ++number) {
      const Kind kind{static_cast<std::uint8_t>(number)};
      if (at_[kind_of(kind)] == 0) continue;
      const Part& part = parts_[at_[kind_of(kind)] - 1];
      out.push_back({step_row, device_row, kind, part.calls_count, part.sum_ns, part.communication_ns, part.overlap_ns});
    }
  }

 private:
  struct Part {
    std::int64_t calls_count = 0, sum_ns = 0;
    std::int64_t communication_ns = 0, overlap_ns = 0;  // while open without what lies before end_ns
    std::int64_t end_ns = 0;
    bool open = false;  // more may touch the last interval
  };

  /// Times must not decrease from call to call.
  std::int64_t compute_before_ns(std::int64_t t_ns) {
    for (; next_ < compute_.size() && compute_[next_].end_ns <= t_ns; ++next_) passed_ns_ += compute_[next_].length_ns();
    return passed_ns_ + (next_ < compute_.size() ? std::max<std::int64_t>(t_ns - compute_[next_].start_ns, 0) : 0);
  }
  /// Ends those intervals that end before, in the order of their ends.
  void close_before(std::int64_t t_ns) {
    for (;;) {
      Part* first = nullptr;
      for (Part& part : parts_)
        if (part.open && (first == nullptr || part.end_ns < first->end_ns)) first = &part;
      first_end_ns_ = first == nullptr ? std::numeric_limits<std::int64_t>::max() : first->end_ns;
      if (first_end_ns_ >= t_ns) return;
      first->open = false;
      first->communication_ns += first->end_ns;
      first->overlap_ns += compute_before_ns(first->end_ns);
    }
  }

  std::span<const Interval> compute_;
  std::size_t next_ = 0;        // in compute_
  std::int64_t passed_ns_ = 0;  // compute in front of it
  std::int64_t first_end_ns_ = std::numeric_limits<std::int64_t>::max();  // of the open ones, or earlier
  std::vector<Part> parts_;
  std::array<std::uint8_t, std::size_t{collective_op_count} + dimension_count> at_{};  // by kind, from 1 on; 0: none
};

}  // namespace ccl
