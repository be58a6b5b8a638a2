// The GPU events of one rank's steps, kept from its parse until the graph of each step is made: packed, since those of
// all ranks of a worker are kept, and travel so. Times stand as differences to the event before, names and lanes by
// number. About 12 bytes an event.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/bytes.hpp"
#include "core/ids.hpp"
#include "core/tables.hpp"
#include "core/zigzag.hpp"

namespace ccl {

/// One GPU event of a step, trace clock.
struct ChainOp {
  std::int64_t start_ns = 0, dur_ns = 0, launch_ns = absent_ns;
  StringId name;
  std::int32_t record = -1;     // number among the trace's CollectiveRecords; −1: no communication
  std::uint16_t lane = 0;
  EventKind kind = EventKind::compute;
  std::int8_t device_row = 0;   // row of the trace's devices
  friend bool operator==(const ChainOp&, const ChainOp&) = default;
};

namespace packed {

// The first byte of an event: its kind, and what follows. Numbers have seven bits a byte, the lowest first.
inline constexpr std::uint8_t kind_bits = 3, has_launch = 4, has_record = 8, same_lane = 16;
inline constexpr std::size_t most_number_bytes = 10, most_numbers = 6, most_event_bytes = 1 + most_numbers * most_number_bytes;

class Reader {
 public:
  explicit Reader(const std::uint8_t* from) : from_(from) {}
  std::uint8_t byte() { return *from_++; }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint8_t one = byte();
      value |= static_cast<std::uint64_t>(one & 127) << shift;
      if (one < 128) return value;
    }
  }
  std::int64_t difference(std::int64_t& before) { return before = after_zigzag(before, number()); }

 private:
  const std::uint8_t* from_;
};

/// What the next event of a step is told by.
struct Before {
  std::int64_t start_ns = 0, launch_ns = 0, record = 0;
  std::uint16_t lane = 0;
};

}  // namespace packed

/// The events of one step as they are kept: views of a Chain, or of what came of one.
struct ChainStep {
  std::size_t events_count = 0;
  std::span<const std::uint8_t> bytes;
  std::span<const StringId> names;
  std::span<const std::int8_t> device_rows;  // by lane

  /// The events in order of start.
  template <class Use>
  void for_each(Use use) const {
    packed::Reader in(bytes.data());
    packed::Before before;
    for (std::size_t left = events_count; left > 0; --left) use(next(in, before));
  }
  void pack(ByteWriter& out) const;

 private:
  ChainOp next(packed::Reader& in, packed::Before& before) const {
    ChainOp op;
    const std::uint8_t marks = in.byte();
    op.kind = static_cast<EventKind>(marks & packed::kind_bits);
    op.start_ns = in.difference(before.start_ns);
    op.dur_ns = static_cast<std::int64_t>(in.number());
    op.name = names[in.number()];
    if ((marks & packed::same_lane) == 0) before.lane = static_cast<std::uint16_t>(in.number());
    op.lane = before.lane;
    op.device_row = device_rows[op.lane];
    if ((marks & packed::has_launch) != 0) op.launch_ns = in.difference(before.launch_ns);
    if ((marks & packed::has_record) != 0) op.record = static_cast<std::int32_t>(in.difference(before.record));
    return op;
  }
};

/// A step that came: what its views look at.
class ArrivedStep {
 public:
  explicit ArrivedStep(ByteReader& in);
  ChainStep step() const { return {events_count_, bytes_, names_, device_rows_}; }

 private:
  std::size_t events_count_;
  std::vector<std::uint8_t> bytes_;
  std::vector<StringId> names_;
  std::vector<std::int8_t> device_rows_;
};

class Chain {
 public:
  Chain() = default;
  /// Names go into strings. While it is made, 4 bytes an event.
  Chain(const RankTrace& trace, StringTable& strings);
  std::size_t events_count(std::size_t step_row) const { return steps_[step_row].events_count; }
  ChainStep step(std::size_t step_row) const { return {events_count(step_row), steps_[step_row].bytes, names_, device_rows_}; }

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
