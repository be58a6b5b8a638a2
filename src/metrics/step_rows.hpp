// Which events lie in which step: for metrics that make lists of events, so that they hold those of one step at a time.
// In: a finished trace. Local stage.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "metrics/busy.hpp"

namespace ccl {

/// Event rows of each step and device, by start. 4 bytes an event.
class StepRows {
 public:
  StepRows(const RankTrace& trace, std::size_t devices_count)
      : devices_count_(devices_count), first_(trace.steps.size() * devices_count + 1) {
    const std::vector<std::size_t> device_of_lane = device_rows(trace);
    const EventTable& events = trace.events;
    const auto at = [&](std::size_t i) {
      return static_cast<std::size_t>(events.step[i]) * devices_count + device_of_lane[events.lane[i]];
    };
    for (std::size_t i = 0; i < events.size(); ++i)
      if (events.step[i] >= 0) ++first_[at(i) + 1];
    for (std::size_t s = 1; s < first_.size(); ++s) first_[s] += first_[s - 1];
    rows_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::size_t i = 0; i < events.size(); ++i)
      if (events.step[i] >= 0) rows_[next[at(i)]++] = static_cast<std::uint32_t>(i);
  }
  std::span<const std::uint32_t> of(std::size_t step, std::size_t device) const {
    const std::size_t at = step * devices_count_ + device;
    return std::span(rows_).subspan(first_[at], first_[at + 1] - first_[at]);
  }

 private:
  std::size_t devices_count_;
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> rows_;
};

}  // namespace ccl
