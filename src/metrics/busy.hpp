// A trace -> merged busy lists per step and device and per whole file and device, and the pieces of communication by
// operation and by dimension. Local stage; shared by the metrics that do interval algebra.
#pragma once
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "core/intervals.hpp"
#include "core/processors.hpp"
#include "core/result_table.hpp"
#include "core/tables.hpp"

namespace ccl {

/// Events of one device in one step or in the whole file. Counts and sums by {communication, compute, memory}.
struct BusyLists {
  Intervals communication, compute, memory;
  std::array<std::int64_t, 3> events_count{}, sum_ns{};
  Interval window;  // first start to last end; empty if there is no event
  bool empty() const { return (events_count[0] | events_count[1] | events_count[2]) == 0; }
  /// Of the lists as they are at the first call: several metrics ask for it.
  const Budget& whole_budget() const {
    if (!budget_) budget_ = budget(communication, compute, memory, window);
    return *budget_;
  }
  void clear();

 private:
  mutable std::optional<Budget> budget_;
};

/// What remains of the lists of one device in one step.
struct BusySums {
  std::array<std::int64_t, 3> events_count{};
  Budget budget;
  bool empty() const { return (events_count[0] | events_count[1] | events_count[2]) == 0; }
};

/// Communication of one kind in one step, or in the whole file, on one device.
template <class Kind>
struct BusyPart {
  std::size_t step_row = 0, device_row = 0;
  Kind kind{};
  std::int64_t calls_count = 0, sum_ns = 0;
  std::int64_t communication_ns = 0, overlap_ns = 0;  // len(C_kind), len(C_kind & K)
};
/// By step, device and kind.
struct BusyParts {
  std::vector<BusyPart<CollectiveOp>> by_op;
  std::vector<BusyPart<Dimension>> by_dimension;
};

/// What will be asked for beside the sums. All else can be asked for too, and costs more.
struct BusyNeeds {
  bool parts = false;  // made with the sums
  bool lists = false;  // step(): of few events, whose lists are small beside all else, those of all steps stay
};

/// The lists of the whole file, and those of one step at a time: no event stands in two lists for longer than needed.
class BusyTrace {
 public:
  std::size_t devices_count = 0;

  /// The trace must outlive it unchanged. One pass over the events.
  /// lent: the sums of several steps are made at once there.
  explicit BusyTrace(const RankTrace& trace, std::span<const Processors> lent = {}, BusyNeeds needs = {});
  /// [device row], events outside every step included. Made when first asked for: 16 bytes an event at most.
  const std::vector<BusyLists>& whole() const;
  std::vector<BusyLists> take_whole() {
    whole();
    return std::move(whole_);
  }
  /// Good until another step is asked for, which costs a pass over the rows of that step: ask in the order of steps.
  const BusyLists& step(std::size_t step_row, std::size_t device_row) const;
  /// Made for all steps when the first is asked for, and kept.
  const BusySums& sums(std::size_t step_row, std::size_t device_row) const;
  /// Of all steps, and kept.
  const BusyParts& parts() const;
  /// Of the whole file, events outside every step included.
  std::vector<BusyPart<CollectiveOp>> whole_by_op() const;

 private:
  struct Rows {
    std::size_t first = 0, end = 0, events_count = 0;
  };
  struct StepSums {
    std::vector<BusySums> sums;
    BusyParts parts;
  };
  Rows rows_of(std::size_t first, std::size_t count) const;
  bool has_all_events(std::size_t step_row) const { return rows_[step_row].events_count == trace_.events.size(); }
  /// made: one for each device.
  void make_step(std::size_t step_row, std::span<BusyLists> made) const;
  void make_all_steps() const;
  void make_interleaved(std::span<BusyLists> made) const;
  template <class Lists>
  void sum_steps(std::size_t first, std::size_t count, Lists lists, StepSums& out) const;
  void sum_all_steps() const;

  const RankTrace& trace_;
  std::span<const Processors> lent_;
  std::vector<std::size_t> device_of_lane_;
  std::vector<std::array<std::size_t, 3>> counts_;  // [device row]
  mutable std::vector<BusyLists> whole_;
  std::vector<Rows> rows_;  // of each step
  bool interleaved_ = false;  // steps lie within each other
  bool keeps_steps_ = false;  // their lists, once made
  mutable std::vector<BusyLists> made_;  // [(step row - first) × devices_count + device row]
  mutable std::size_t made_first_ = 0, made_count_ = 0;
  mutable bool parts_too_;
  mutable StepSums all_;  // sums: [step row × devices_count + device row]
};

/// One device in one step that has GPU events there.
struct StepBusy {
  const Step& step;
  std::int32_t device;
  const DeviceWindow& window;
  const BusySums& sums;
  /// gap + GPU window: what shares of the step divide by.
  std::int64_t period_ns() const { return window.gap_ns + sums.budget.window_ns; }
};
/// Calls use(StepBusy) by step, then device.
template <class Use>
void for_each_step(const RankTrace& trace, const BusyTrace& busy, Use use) {
  for (std::size_t s = 0; s < trace.steps.size(); ++s)
    for (std::size_t d = 0; d < trace.devices.size(); ++d)
      if (const BusySums& sums = busy.sums(s, d); !sums.empty())
        use(StepBusy{trace.steps[s], trace.devices[d], trace.steps[s].devices[d], sums});
}

/// First start to last end of the step's GPU events over all devices; {absent_ns, absent_ns} if it has none.
Interval gpu_window(const Step& step);

/// Row in trace.devices of each lane.
std::vector<std::size_t> device_rows(const RankTrace& trace);

/// Calls found(event row, its collective or null) for every communication event, in time order.
void for_each_communication(const RankTrace& trace, const std::function<void(std::size_t, const Collective*)>& found);

/// Dimension of a collective: its group's; expert-parallel kernels without a known group are ep.
Dimension dimension_of(const RankTrace& trace, const Collective* collective);

/// The columns of Row::budget, in ns.
template <class Row>
void add_budget_columns(std::vector<ColumnSpec<Row>>& all) {
  const auto add = [&](const char* name, std::int64_t Budget::*member, const char* description) {
    all.push_back(
        integer_column<Row>(name, "ns", description, {}, [member](const Row& row) { return row.budget.*member; }));
  };
  add("window_ns", &Budget::window_ns, "first start to last end of the GPU events");
  add("communication_ns", &Budget::communication_ns, "union of communication kernels, len(C)");
  add("compute_ns", &Budget::compute_ns, "union of compute kernels, len(K)");
  add("memory_ns", &Budget::memory_ns, "union of copies and sets, len(M)");
  add("busy_ns", &Budget::busy_ns, "len(C | K | M)");
  add("overlap_ns", &Budget::overlap_ns, "communication hidden by compute, len(C & K)");
  add("exposed_ns", &Budget::exposed_ns, "communication without compute, len(C) - len(C & K)");
  add("compute_only_ns", &Budget::compute_only_ns, "len(K) - len(C & K)");
  add("memory_only_ns", &Budget::memory_only_ns, "len(M without C and K)");
  add("idle_ns", &Budget::idle_ns, "window_ns - busy_ns");
}

}  // namespace ccl
