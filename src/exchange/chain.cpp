#include "exchange/chain.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace ccl {
namespace {

// The first byte of an event: its kind, and what follows.
constexpr std::uint8_t kind_bits = 3, has_launch = 4, has_record = 8, same_lane = 16;

/// One event on its way into bytes. Seven bits a byte, the lowest first.
class PackedEvent {
 public:
  void number(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_[size_++] = static_cast<std::uint8_t>(value | 128);
    bytes_[size_++] = static_cast<std::uint8_t>(value);
  }
  /// From one value to the next; wraps around.
  void difference(std::int64_t& before, std::int64_t value) {
    const auto step = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(before));
    number(static_cast<std::uint64_t>(step) << 1 ^ static_cast<std::uint64_t>(step >> 63));
    before = value;
  }
  void mark(std::uint8_t bits) { bytes_[0] |= bits; }
  std::span<const std::uint8_t> bytes() const { return {bytes_.data(), size_}; }

 private:
  static constexpr std::size_t most_number_bytes = 10, most_numbers = 6;
  std::array<std::uint8_t, 1 + most_numbers * most_number_bytes> bytes_{};
  std::size_t size_ = 1;
};

class PackedReader {
 public:
  explicit PackedReader(const std::uint8_t* from) : from_(from) {}
  std::uint8_t byte() { return *from_++; }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint8_t one = byte();
      value |= static_cast<std::uint64_t>(one & 127) << shift;
      if (one < 128) return value;
    }
  }
  std::int64_t difference(std::int64_t& before) {
    const std::uint64_t value = number(), step = value >> 1 ^ (std::uint64_t{0} - (value & 1));
    return before = static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + step);
  }

 private:
  const std::uint8_t* from_;
};

/// What the next event of a step is told by.
struct Before {
  std::int64_t start_ns = 0, launch_ns = 0, record = 0;
  std::uint16_t lane = 0;
};

/// first: by step row, zeros, one more than there are steps; becomes where the rows of each step begin.
std::vector<std::uint32_t> rows_by_step(const EventTable& events, std::vector<std::size_t>& first) {
  for (const std::int32_t step : events.step)
    if (step >= 0) ++first[static_cast<std::size_t>(step) + 1];
  for (std::size_t s = 1; s < first.size(); ++s) first[s] += first[s - 1];
  std::vector<std::uint32_t> rows(first.back());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events.step[i] >= 0) rows[next[static_cast<std::size_t>(events.step[i])]++] = static_cast<std::uint32_t>(i);
  return rows;
}

}  // namespace

Chain::Chain(const RankTrace& trace, StringTable& strings) {
  for (const Lane& lane : trace.lanes)
    device_rows_.push_back(static_cast<std::int8_t>(
        std::lower_bound(trace.devices.begin(), trace.devices.end(), lane.device) - trace.devices.begin()));
  std::vector<std::size_t> first(trace.steps.size() + 1, 0);
  const std::vector<std::uint32_t> rows = rows_by_step(trace.events, first);
  std::vector<std::uint32_t> number_of_name(trace.strings.size(), UINT32_MAX);
  const auto number = [&](std::uint32_t name) {
    if (number_of_name[name] == UINT32_MAX) {
      number_of_name[name] = static_cast<std::uint32_t>(names_.size());
      names_.push_back(strings.intern(trace.strings.text(name)));
    }
    return number_of_name[name];
  };
  std::vector<std::uint8_t> packed;  // of one step, so that what is kept has no room to spare
  for (std::size_t s = 0; s < trace.steps.size(); ++s) {
    const auto own = std::span(rows).subspan(first[s], first[s + 1] - first[s]);
    packed.clear();
    Before before;
    auto collective = std::lower_bound(trace.collectives.begin(), trace.collectives.end(), own.empty() ? 0 : own.front(),
                                       [](const Collective& c, std::uint32_t row) { return c.event < row; });
    const EventTable& events = trace.events;
    for (const std::uint32_t i : own) {
      PackedEvent event;
      event.mark(static_cast<std::uint8_t>(events.kind[i]));
      event.difference(before.start_ns, events.start_ns[i]);
      event.number(static_cast<std::uint64_t>(events.dur_ns[i]));
      event.number(number(events.name[i]));
      if (events.lane[i] == before.lane) event.mark(same_lane);
      else event.number(before.lane = events.lane[i]);
      if (events.launch_ns[i] != absent_ns) event.mark(has_launch), event.difference(before.launch_ns, events.launch_ns[i]);
      while (collective != trace.collectives.end() && collective->event < i) ++collective;
      if (collective != trace.collectives.end() && collective->event == i)
        event.mark(has_record), event.difference(before.record, collective - trace.collectives.begin());
      packed.insert(packed.end(), event.bytes().begin(), event.bytes().end());
    }
    steps_.push_back({own.size(), {packed.begin(), packed.end()}});
  }
}

void Chain::for_each(std::size_t step_row, const std::function<void(const ChainOp&)>& use) const {
  PackedReader in(steps_[step_row].bytes.data());
  Before before;
  for (std::size_t left = steps_[step_row].events_count; left > 0; --left) {
    ChainOp op;
    const std::uint8_t marks = in.byte();
    op.kind = static_cast<EventKind>(marks & kind_bits);
    op.start_ns = in.difference(before.start_ns);
    op.dur_ns = static_cast<std::int64_t>(in.number());
    op.name = names_[in.number()];
    if ((marks & same_lane) == 0) before.lane = static_cast<std::uint16_t>(in.number());
    op.lane = before.lane;
    op.device_row = device_rows_[op.lane];
    if ((marks & has_launch) != 0) op.launch_ns = in.difference(before.launch_ns);
    if ((marks & has_record) != 0) op.record = static_cast<std::int32_t>(in.difference(before.record));
    use(op);
  }
}

}  // namespace ccl
