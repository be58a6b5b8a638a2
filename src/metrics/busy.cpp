#include "metrics/busy.hpp"

#include <algorithm>

#include "core/interval_passes.hpp"
#include "core/shares.hpp"
#include "metrics/part_sweep.hpp"

namespace ccl {
namespace {

constexpr std::size_t few_events = std::size_t{1} << 19;  // 8 MB of lists at most

using Counts = std::array<std::size_t, 3>;

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

// Room for all at once, of which only what is used is touched: lists that double copy themselves to fresh memory.
void make_room(std::span<BusyLists> lists, const std::vector<Counts>& counts) {
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

BusyTrace::BusyTrace(const RankTrace& trace, std::span<const Processors> lent, BusyNeeds needs)
    : devices_count(trace.devices.size()), trace_(trace), lent_(lent), device_of_lane_(device_rows(trace)), counts_(devices_count),
      rows_(trace.steps.size()), parts_too_(needs.parts) {
  const EventTable& events = trace.events;
  const std::vector<Share> shares = shares_of(events.size(), lent);
  std::vector<std::vector<Counts>> counts(shares.size());
  std::vector<std::vector<Rows>> rows(shares.size());
  for_each_share(shares, lent, [&](std::size_t share) {
    std::vector<Counts> by_device(devices_count);
    std::vector<Rows> by_step(trace.steps.size());
    for (std::size_t i = shares[share].begin; i < shares[share].end; ++i) {
      ++by_device[device_of_lane_[events.lane[i]]][place_of(events.kind[i])];
      if (events.step[i] < 0) continue;
      Rows& of_step = by_step[static_cast<std::size_t>(events.step[i])];
      if (of_step.events_count++ == 0) of_step.first = i;
      of_step.end = i + 1;
    }
    counts[share] = std::move(by_device);
    rows[share] = std::move(by_step);
  });
  for (std::size_t share = 0; share < shares.size(); ++share) {
    for (std::size_t d = 0; d < devices_count; ++d)
      for (std::size_t which = 0; which < 3; ++which) counts_[d][which] += counts[share][d][which];
    for (std::size_t s = 0; s < rows_.size(); ++s) {
      const Rows& more = rows[share][s];
      if (more.events_count == 0) continue;
      if (rows_[s].events_count == 0) rows_[s].first = more.first;
      rows_[s].end = more.end;
      rows_[s].events_count += more.events_count;
    }
  }
  // Steps follow each other but for a few events, unless a trace is damaged; then one pass makes all of them.
  std::size_t passed = 0;
  for (const Rows& of_step : rows_) passed += of_step.end - of_step.first;
  interleaved_ = passed > 4 * trace.events.size();
  keeps_steps_ = interleaved_ || (needs.lists && trace.events.size() <= few_events);
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
  if (has_all_events(step_row)) return whole()[device_row];
  if (step_row < made_first_ || step_row >= made_first_ + made_count_) {
    if (keeps_steps_) {
      make_all_steps();
    } else {
      made_.resize(devices_count);
      make_step(step_row, made_);
      made_first_ = step_row;
      made_count_ = 1;
    }
  }
  return made_[(step_row - made_first_) * devices_count + device_row];
}

BusyTrace::Rows BusyTrace::rows_of(std::size_t first, std::size_t count) const {
  Rows all{trace_.events.size(), 0, 0};
  for (std::size_t s = first; s < first + count; ++s) {
    if (rows_[s].events_count == 0) continue;
    all.first = std::min(all.first, rows_[s].first);
    all.end = std::max(all.end, rows_[s].end);
    all.events_count += rows_[s].events_count;
  }
  return all;
}

void BusyTrace::make_all_steps() const {
  made_first_ = 0;
  made_count_ = rows_.size();
  made_.assign(made_count_ * devices_count, {});
  if (interleaved_) return make_interleaved(made_);
  const std::vector<Share> shares = shares_of(rows_.size(), lent_);
  for_each_share(shares, lent_, [&](std::size_t share) {
    for (std::size_t s = shares[share].begin; s < shares[share].end; ++s)
      if (!has_all_events(s)) make_step(s, std::span(made_).subspan(s * devices_count, devices_count));
  });
}

void BusyTrace::make_step(std::size_t step_row, std::span<BusyLists> made) const {
  const EventTable& events = trace_.events;
  const Rows rows = rows_[step_row];
  for (BusyLists& lists : made) lists.clear();
  const auto for_each_event = [&](auto use) {
    for (std::size_t i = rows.first; i < rows.end; ++i)
      if (static_cast<std::size_t>(events.step[i]) == step_row) use(i, device_of_lane_[events.lane[i]]);
  };
  std::vector<Counts> counts(made.size());
  if (keeps_steps_)
    for_each_event([&](std::size_t i, std::size_t device) { ++counts[device][place_of(events.kind[i])]; });
  else  // lists that the next step takes over: room that is not used is not touched
    for (Counts& of_device : counts) of_device.fill(rows.events_count);
  make_room(made, counts);
  std::vector<BusyWriter> writers(made.begin(), made.end());
  for_each_event([&](std::size_t i, std::size_t device) {
    writers[device].add(events.kind[i], {events.start_ns[i], events.end_ns(i)});
  });
  for (BusyWriter& writer : writers) writer.finish();
}

void BusyTrace::make_interleaved(std::span<BusyLists> made) const {
  const EventTable& events = trace_.events;
  const auto for_each_event = [&](auto use) {
    for (std::size_t i = 0; i < events.size(); ++i)
      if (events.step[i] >= 0)
        use(i, static_cast<std::size_t>(events.step[i]) * devices_count + device_of_lane_[events.lane[i]]);
  };
  std::vector<Counts> counts(made.size());
  for_each_event([&](std::size_t i, std::size_t at) { ++counts[at][place_of(events.kind[i])]; });
  make_room(made, counts);
  for_each_event([&](std::size_t i, std::size_t at) {
    add_event(made[at], events.kind[i], {events.start_ns[i], events.end_ns(i)});
  });
}

namespace {

CollectiveOp op_of(const Collective* collective) { return collective == nullptr ? CollectiveOp::unknown : collective->op; }

/// found(event row, its collective or null) for the communication among the events [begin, end).
template <class Found>
void for_communication_in(const RankTrace& trace, std::size_t begin, std::size_t end, Found found) {
  auto next = std::lower_bound(trace.collectives.begin(), trace.collectives.end(), begin,
                               [](const Collective& collective, std::size_t event) { return collective.event < event; });
  for (std::size_t i = begin; i < end; ++i) {
    if (trace.events.kind[i] != EventKind::communication) continue;
    while (next != trace.collectives.end() && next->event < i) ++next;
    found(i, next != trace.collectives.end() && next->event == i ? &*next : nullptr);
  }
}

template <class Row>
void append(const std::vector<Row>& from, std::vector<Row>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

/// lists(step, device): as they were made.
template <class Lists>
void BusyTrace::sum_steps(std::size_t first, std::size_t count, Lists lists, StepSums& out) const {
  std::vector<PartSweep> sweeps;
  for (std::size_t s = first; s < first + count; ++s)
    for (std::size_t d = 0; d < devices_count; ++d) {
      const BusyLists& of = lists(s, d);
      out.sums.push_back({of.events_count, budget(of.communication, of.compute, of.memory, of.window)});
      if (parts_too_) sweeps.emplace_back(of.compute);
    }
  if (!parts_too_) return;
  const Rows rows = rows_of(first, count);
  for_communication_in(trace_, rows.first, rows.end, [&](std::size_t i, const Collective* collective) {
    const auto step = static_cast<std::size_t>(trace_.events.step[i]);
    if (step - first >= count) return;
    PartSweep& sweep = sweeps[(step - first) * devices_count + device_of_lane_[trace_.events.lane[i]]];
    const Interval event{trace_.events.start_ns[i], trace_.events.end_ns(i)};
    sweep.add(PartSweep::kind_of(op_of(collective)), event);
    sweep.add(PartSweep::kind_of(dimension_of(trace_, collective)), event);
  });
  for (std::size_t at = 0; at < sweeps.size(); ++at) {
    const std::size_t step_row = first + at / devices_count, device_row = at % devices_count;
    sweeps[at].finish();
    sweeps[at].write(step_row, device_row, collective_op_count, out.parts.by_op);
    sweeps[at].write(step_row, device_row, dimension_count, out.parts.by_dimension);
  }
}

void BusyTrace::sum_all_steps() const {
  all_ = {};
  const auto own = [&](std::size_t s, std::size_t d) -> const BusyLists& { return step(s, d); };
  if (interleaved_) return sum_steps(0, rows_.size(), own, all_);
  // Before threads need them.
  if (keeps_steps_ && made_count_ == 0) make_all_steps();
  for (std::size_t s = 0; s < rows_.size(); ++s)
    if (has_all_events(s)) whole();
  std::vector<StepSums> sums(lent_.size() + 1);
  const std::vector<Share> shares = shares_of(rows_.size(), lent_);
  for_each_share(shares, lent_, [&](std::size_t share) {
    std::vector<BusyLists> made(keeps_steps_ ? 0 : devices_count);
    StepSums of_share;
    for (std::size_t s = shares[share].begin; s < shares[share].end; ++s) {
      std::span<const BusyLists> lists(made);
      if (has_all_events(s))
        lists = whole_;
      else if (keeps_steps_)
        lists = std::span(made_).subspan(s * devices_count, devices_count);
      else
        make_step(s, made);
      sum_steps(s, 1, [&](std::size_t, std::size_t d) -> const BusyLists& { return lists[d]; }, of_share);
    }
    sums[share] = std::move(of_share);
  });
  for (const StepSums& of_share : sums) {
    append(of_share.sums, all_.sums);
    append(of_share.parts.by_op, all_.parts.by_op);
    append(of_share.parts.by_dimension, all_.parts.by_dimension);
  }
}

const BusySums& BusyTrace::sums(std::size_t step_row, std::size_t device_row) const {
  if (all_.sums.empty()) sum_all_steps();
  return all_.sums[step_row * devices_count + device_row];
}

const BusyParts& BusyTrace::parts() const {
  if (all_.sums.empty() || !parts_too_) {
    parts_too_ = true;
    sum_all_steps();
  }
  return all_.parts;
}

std::vector<BusyPart<CollectiveOp>> BusyTrace::whole_by_op() const {
  std::vector<PartSweep> sweeps;
  for (const BusyLists& of_device : whole()) sweeps.emplace_back(of_device.compute);
  for_communication_in(trace_, 0, trace_.events.size(), [&](std::size_t i, const Collective* collective) {
    sweeps[device_of_lane_[trace_.events.lane[i]]].add(PartSweep::kind_of(op_of(collective)),
                                                       {trace_.events.start_ns[i], trace_.events.end_ns(i)});
  });
  std::vector<BusyPart<CollectiveOp>> out;
  for (std::size_t d = 0; d < sweeps.size(); ++d) {
    sweeps[d].finish();
    sweeps[d].write(0, d, collective_op_count, out);
  }
  return out;
}

void for_each_communication(const RankTrace& trace, const std::function<void(std::size_t, const Collective*)>& found) {
  for_communication_in(trace, 0, trace.events.size(), found);
}

Dimension dimension_of(const RankTrace& trace, const Collective* collective) {
  if (collective == nullptr) return Dimension::unknown;
  const Dimension dimension =
      collective->group < trace.groups.size() ? trace.groups[collective->group].dimension : Dimension::unknown;
  const bool expert = collective->op == CollectiveOp::dispatch || collective->op == CollectiveOp::combine;
  return expert && dimension == Dimension::unknown ? Dimension::ep : dimension;
}

}  // namespace ccl
