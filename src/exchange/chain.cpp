#include "exchange/chain.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace ccl {
namespace {

/// Events on their way into bytes, a step at a time.
class PackedEvents {
 public:
  void begin(EventKind kind) {
    if (buffer_.size() - size_ < packed::most_event_bytes) flush();
    marks_ = size_;
    buffer_[size_++] = static_cast<std::uint8_t>(kind);
  }
  void number(std::uint64_t value) {
    for (; value >= 128; value >>= 7) buffer_[size_++] = static_cast<std::uint8_t>(value | 128);
    buffer_[size_++] = static_cast<std::uint8_t>(value);
  }
  /// From one value to the next; wraps around.
  void difference(std::int64_t& before, std::int64_t value) {
    number(zigzag_between(before, value));
    before = value;
  }
  void mark(std::uint8_t bits) { buffer_[marks_] |= bits; }
  /// All of a step; what is kept has no room to spare.
  std::vector<std::uint8_t> take() {
    flush();
    std::vector<std::uint8_t> all(done_.begin(), done_.end());
    done_.clear();
    return all;
  }

 private:
  void flush() {
    done_.insert(done_.end(), buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ = 0;
  }
  std::array<std::uint8_t, 4096> buffer_;
  std::size_t size_ = 0, marks_ = 0;
  std::vector<std::uint8_t> done_;
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

void ChainStep::pack(ByteWriter& out) const {
  out.value<std::uint64_t>(events_count);
  out.array(bytes);
  out.array(names);
  out.array(device_rows);
}

ArrivedStep::ArrivedStep(ByteReader& in)
    : events_count_(in.value<std::uint64_t>()),
      bytes_(in.array<std::uint8_t>()),
      names_(in.array<StringId>()),
      device_rows_(in.array<std::int8_t>()) {}

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
  PackedEvents out;
  const EventTable& events = trace.events;
  for (std::size_t s = 0; s < trace.steps.size(); ++s) {
    const auto own = std::span(rows).subspan(first[s], first[s + 1] - first[s]);
    packed::Before before;
    auto collective = std::lower_bound(trace.collectives.begin(), trace.collectives.end(), own.empty() ? 0 : own.front(),
                                       [](const Collective& c, std::uint32_t row) { return c.event < row; });
    for (const std::uint32_t i : own) {
      out.begin(events.kind[i]);
      out.difference(before.start_ns, events.start_ns[i]);
      out.number(static_cast<std::uint64_t>(events.dur_ns[i]));
      out.number(number(events.name[i]));
      if (events.lane[i] == before.lane) out.mark(packed::same_lane);
      else out.number(before.lane = events.lane[i]);
      if (events.launch_ns[i] != absent_ns)
        out.mark(packed::has_launch), out.difference(before.launch_ns, events.launch_ns[i]);
      while (collective != trace.collectives.end() && collective->event < i) ++collective;
      if (collective != trace.collectives.end() && collective->event == i)
        out.mark(packed::has_record), out.difference(before.record, collective - trace.collectives.begin());
    }
    steps_.push_back({own.size(), out.take()});
  }
}

}  // namespace ccl
