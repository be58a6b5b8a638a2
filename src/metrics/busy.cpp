#include "metrics/busy.hpp"

#include <algorithm>

#include "core/interval_passes.hpp"

namespace ccl {
namespace {

constexpr std::size_t few_events = std::size_t{1} << 19;  // 8 MB of lists at most

std::size_t place_of(EventKind kind) {
  constexpr std::array<std::uint8_t, 4> places{1, 0, 2, 2};  // looked up: nobody could foretell a branch
  static_assert(EventKind::compute == EventKind{0} && EventKind::communication == EventKind{1});
  return places[static_cast<std::size_t>(kind)];
}

Intervals& list_of(BusyLists& lists, std::size_t which) {
  return which == 0 ? lists.communication : which == 1 ? lists.compute : lists.memory;
}

void add_event(BusyLists& lists, EventKind kind, Interval event) {
  const bool first = lists.empty();
  const std::size_t which = place_of(kind);
  append_merged(list_of(lists, which), event);
  ++lists.events_count[which];
  lists.sum_ns[which] += event.length_ns();
  if (first) lists.window = event;
  lists.window.end_ns = std::max(lists.window.end_ns, event.end_ns);
}

/// add_event for all the events of some lists.
class BusyWriter {
 public:
  explicit BusyWriter(BusyLists& lists)
      : lists_(lists), writers_{MergedWriter(lists.communication), MergedWriter(lists.compute), MergedWriter(lists.memory)} {}
  void add(EventKind kind, Interval event) {
    const std::size_t which = place_of(kind);
    if (count_++ == 0) lists_.window = event;
    end_ns_ = std::max(end_ns_, event.end_ns);
    writers_[which].add(event);
    ++lists_.events_count[which];
    lists_.sum_ns[which] += event.length_ns();
  }
  void finish() {
    if (count_ > 0) lists_.window.end_ns = end_ns_;
    for (MergedWriter& writer : writers_) writer.finish();
  }

 private:
  BusyLists& lists_;
  std::array<MergedWriter, 3> writers_;
  std::size_t count_ = 0;
  std::int64_t end_ns_ = INT64_MIN;
};

}  // namespace

Interval gpu_window(const Step& step) {
  Interval all{absent_ns, absent_ns};
  for (const DeviceWindow& device : step.devices) {
    if (device.gpu_start_ns == absent_ns) continue;
    all.start_ns = all.start_ns == absent_ns ? device.gpu_start_ns : std::min(all.start_ns, device.gpu_start_ns);
    all.end_ns = std::max(all.end_ns, device.gpu_end_ns);
  }
  return all;
}

std::vector<std::size_t> device_rows(const RankTrace& trace) {
  std::vector<std::size_t> rows;
  for (const Lane& lane : trace.lanes) {
    const auto at = std::lower_bound(trace.devices.begin(), trace.devices.end(), lane.device);
    rows.push_back(static_cast<std::size_t>(at - trace.devices.begin()));
  }
  return rows;
}

namespace {

using Counts = std::array<std::size_t, 3>;

// Room for all at once, of which only what is used is touched: lists that double copy themselves to fresh memory.
void make_room(std::vector<BusyLists>& lists, const std::vector<Counts>& counts) {
  for (std::size_t at = 0; at < lists.size(); ++at)
    for (std::size_t which = 0; which < 3; ++which) list_of(lists[at], which).reserve(counts[at][which]);
}

}  // namespace

void BusyLists::clear() {
  for (std::size_t which = 0; which < 3; ++which) list_of(*this, which).clear();
  events_count = sum_ns = {};
  window = {};
  budget_.reset();
}

BusyTrace::BusyTrace(const RankTrace& trace, std::span<const Processors> lent)
    : devices_count(trace.devices.size()), trace_(trace), lent_(lent), device_of_lane_(device_rows(trace)), counts_(devices_count),
      rows_(trace.steps.size()) {
  const EventTable& events = trace.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    ++counts_[device_of_lane_[events.lane[i]]][place_of(events.kind[i])];
    if (events.step[i] < 0) continue;
    Rows& rows = rows_[static_cast<std::size_t>(events.step[i])];
    if (rows.events_count++ == 0) rows.first = i;
    rows.end = i + 1;
  }
  // Steps follow each other but for a few events, unless a trace is damaged; then one pass makes all of them.
  std::size_t passed = 0;
  for (const Rows& rows : rows_) passed += rows.end - rows.first;
  all_at_once_ = passed > 4 * events.size() || events.size() <= few_events;
}

const std::vector<BusyLists>& BusyTrace::whole() const {
  if (!whole_.empty()) return whole_;
  const EventTable& events = trace_.events;
  whole_.resize(devices_count);
  make_room(whole_, counts_);
  std::vector<BusyWriter> writers(whole_.begin(), whole_.end());
  for (std::size_t i = 0; i < events.size(); ++i)
    writers[device_of_lane_[events.lane[i]]].add(events.kind[i], {events.start_ns[i], events.end_ns(i)});
  for (BusyWriter& writer : writers) writer.finish();
  return whole_;
}

const BusyLists& BusyTrace::step(std::size_t step_row, std::size_t device_row) const {
  if (rows_[step_row].events_count == trace_.events.size()) return whole()[device_row];
  if (step_row < made_first_ || step_row >= made_first_ + made_count_) {
    made_first_ = all_at_once_ ? 0 : step_row;
    made_count_ = all_at_once_ ? rows_.size() : 1;
    make_steps(made_first_, made_count_, made_);
  }
  return made_[(step_row - made_first_) * devices_count + device_row];
}

void BusyTrace::make_steps(std::size_t first, std::size_t count, std::vector<BusyLists>& made) const {
  const EventTable& events = trace_.events;
  made.resize(count * devices_count);
  for (BusyLists& lists : made) lists.clear();
  std::size_t begin = events.size(), end = 0;
  for (std::size_t s = first; s < first + count; ++s) {
    if (rows_[s].events_count == 0) continue;
    begin = std::min(begin, rows_[s].first);
    end = std::max(end, rows_[s].end);
  }
  const auto for_each_event = [&](auto use) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto step = static_cast<std::size_t>(events.step[i]);  // outside every step: larger than any
      if (step - first < count) use(i, (step - first) * devices_count + device_of_lane_[events.lane[i]]);
    }
  };
  // Room that is not used is not touched: of one step there may be more than is needed.
  std::vector<Counts> counts(made.size());
  if (count == 1)
    for (Counts& of_device : counts) of_device.fill(rows_[first].events_count);
  else
    for_each_event([&](std::size_t i, std::size_t at) { ++counts[at][place_of(events.kind[i])]; });
  make_room(made, counts);
  const auto interval = [&](std::size_t i) { return Interval{events.start_ns[i], events.end_ns(i)}; };
  if (count > 1)  // many lists, of few events
    return for_each_event([&](std::size_t i, std::size_t at) { add_event(made[at], events.kind[i], interval(i)); });
  std::vector<BusyWriter> writers(made.begin(), made.end());
  for_each_event([&](std::size_t i, std::size_t at) { writers[at].add(events.kind[i], interval(i)); });
  for (BusyWriter& writer : writers) writer.finish();
}

void BusyTrace::sum_all_steps() const {
  sums_.resize(rows_.size() * devices_count);
  const auto sum = [&](std::size_t step, std::size_t device, const BusyLists& lists) {
    sums_[step * devices_count + device] = {lists.events_count,
                                            budget(lists.communication, lists.compute, lists.memory, lists.window)};
  };
  if (lent_.empty() || all_at_once_ || rows_.size() < 2) {
    for (std::size_t s = 0; s < rows_.size(); ++s)
      for (std::size_t d = 0; d < devices_count; ++d) sum(s, d, step(s, d));
    return;
  }
  std::vector<std::function<void()>> tasks;
  const std::size_t shares = lent_.size() + 1;
  for (std::size_t share = 0; share < shares; ++share)
    tasks.emplace_back([&, first = rows_.size() * share / shares, end = rows_.size() * (share + 1) / shares] {
      std::vector<BusyLists> made;
      for (std::size_t s = first; s < end; ++s) {
        make_steps(s, 1, made);
        for (std::size_t d = 0; d < devices_count; ++d) sum(s, d, made[d]);
      }
    });
  side_by_side(lent_, tasks);
}

const BusySums& BusyTrace::sums(std::size_t step_row, std::size_t device_row) const {
  if (sums_.empty()) sum_all_steps();
  return sums_[step_row * devices_count + device_row];
}

void for_each_communication(const RankTrace& trace, const std::function<void(std::size_t, const Collective*)>& found) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events.kind[i] != EventKind::communication) continue;
    while (next < trace.collectives.size() && trace.collectives[next].event < i) ++next;
    const bool known = next < trace.collectives.size() && trace.collectives[next].event == i;
    found(i, known ? &trace.collectives[next] : nullptr);
  }
}

Dimension dimension_of(const RankTrace& trace, const Collective* collective) {
  if (collective == nullptr) return Dimension::unknown;
  const Dimension dimension =
      collective->group < trace.groups.size() ? trace.groups[collective->group].dimension : Dimension::unknown;
  const bool expert = collective->op == CollectiveOp::dispatch || collective->op == CollectiveOp::combine;
  return expert && dimension == Dimension::unknown ? Dimension::ep : dimension;
}

}  // namespace ccl
