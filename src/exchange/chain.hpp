// The GPU events of one rank's steps, kept from its parse until the graph of each step is made: packed, since those of
// all ranks of a worker are kept. Times stand as differences to the event before, names and lanes by number. About 12
// bytes an event.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "core/ids.hpp"
#include "core/tables.hpp"

namespace ccl {

/// One GPU event of a step, trace clock.
struct ChainOp {
  std::int64_t start_ns = 0, dur_ns = 0, launch_ns = absent_ns;
  StringId name;
  std::int32_t record = -1;     // number among the trace's CollectiveRecords; −1: no communication
  std::uint16_t lane = 0;
  EventKind kind = EventKind::compute;
  std::int8_t device_row = 0;   // row of the trace's devices
};

class Chain {
 public:
  Chain() = default;
  /// Names go into strings. While it is made, 4 bytes an event.
  Chain(const RankTrace& trace, StringTable& strings);
  std::size_t events_count(std::size_t step_row) const { return steps_[step_row].events_count; }
  /// The events of a step in order of start.
  void for_each(std::size_t step_row, const std::function<void(const ChainOp&)>& use) const;

 private:
  struct StepEvents {
    std::size_t events_count = 0;
    std::vector<std::uint8_t> bytes;
  };
  std::vector<StepEvents> steps_;  // by row of the trace's steps
  std::vector<StringId> names_;
  std::vector<std::int8_t> device_rows_;  // by lane
};

}  // namespace ccl
