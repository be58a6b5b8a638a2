// The CPU step that a time lies in.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/tables.hpp"

namespace ccl {

/// CPU steps by start, to find the one a time lies in. Where two overlap the later one counts.
class StepFinder {
 public:
  explicit StepFinder(const std::vector<Step>& steps) : steps_(steps), by_start_(steps.size()) {
    std::iota(by_start_.begin(), by_start_.end(), 0);
    std::sort(by_start_.begin(), by_start_.end(), [&](std::int32_t a, std::int32_t b) { return start(a) < start(b); });
  }
  std::int32_t find(std::int64_t time_ns) {
    if (time_ns < from_ns_ || time_ns >= until_ns_) look_up(time_ns);
    return found_;
  }

 private:
  // For all times around this one that have the same answer: nearly all are asked for one after the other.
  void look_up(std::int64_t time_ns) {
    const auto after = std::upper_bound(by_start_.begin(), by_start_.end(), time_ns,
                                        [&](std::int64_t time, std::int32_t i) { return time < start(i); });
    from_ns_ = INT64_MIN;
    until_ns_ = after == by_start_.end() ? INT64_MAX : start(*after);
    found_ = -1;
    if (after == by_start_.begin()) return;
    found_ = *std::prev(after);
    from_ns_ = start(found_);
    const std::int64_t end_ns = steps_[static_cast<std::size_t>(found_)].end_ns;
    if (time_ns < end_ns)
      until_ns_ = std::min(until_ns_, end_ns);
    else
      found_ = -1, from_ns_ = std::max(from_ns_, end_ns);
  }
  std::int64_t start(std::int32_t i) const { return steps_[static_cast<std::size_t>(i)].start_ns; }
  const std::vector<Step>& steps_;
  std::vector<std::int32_t> by_start_;
  std::int64_t from_ns_ = 0, until_ns_ = 0;
  std::int32_t found_ = -1;
};

}  // namespace ccl
