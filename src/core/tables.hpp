// The data model: what a reader makes of one trace, in integer nanoseconds and bytes. Columns grow with the trace and
// are kept in Column<T>; the small tables (steps, groups) and the collectives hold whole rows, since they are used whole.
// A RankTrace is const once its reader has called finish() (parse/finish.hpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/column.hpp"
#include "core/cpu_slices.hpp"
#include "core/ids.hpp"
#include "core/intervals.hpp"
#include "core/kinds.hpp"
#include "core/strings.hpp"

namespace ccl {

/// GPU events of one rank, sorted by (start, lane, correlation). 47 bytes each.
struct EventTable {
  Column<std::int64_t> start_ns;       // trace clock: baseTimeNanoseconds + ts, or nsys session start + time
  Column<std::int64_t> dur_ns;         // ≥ 0
  Column<std::uint32_t> name;          // index into RankTrace::strings
  Column<std::uint16_t> lane;          // index into RankTrace::lanes
  Column<EventKind> kind;
  Column<std::int32_t> step;           // index into RankTrace::steps, −1 = outside every step
  Column<std::int64_t> correlation;    // 0 = none; gone before metrics see the trace, unless events are written
  Column<std::int64_t> launch_ns;      // start of the CPU call that launched it; absent_ns = no launch in the file
  Column<std::uint32_t> launch_thread; // index into RankTrace::threads; meaningless without a launch

  std::size_t size() const { return start_ns.size(); }
  std::int64_t end_ns(std::size_t i) const { return start_ns[i] + dur_ns[i]; }
  void clear();
};

/// A queue of one GPU: events of one lane run in order.
struct Lane {
  std::int32_t device = 0;
  std::int64_t stream = 0;
  friend bool operator==(const Lane&, const Lane&) = default;
};

/// A GPU copy or set, by event row (sorted by it). bytes −1 = the trace does not say.
struct MemoryOperation {
  std::uint32_t event = 0;
  std::int64_t bytes = -1;
};

/// What the allocator says at one moment, from instant events; −1 = it does not say.
struct MemoryUsage {
  std::int64_t time_ns = 0, allocated_bytes = -1, reserved_bytes = -1;
  std::int32_t device = 0;
};

/// Occupancy of a kernel, by event row (sorted by it); kept only when a metric wants it. NaN = absent.
struct KernelShape {
  std::uint32_t event = 0;
  float blocks_per_sm = 0, warps_per_sm = 0, occupancy_percent = 0;
};

/// A peer whose rank is not known until the members of its group are.
constexpr std::int32_t peer_at_place(std::int32_t place) { return -2 - place; }

/// A sample of a hardware counter of one device, averaged over the time since the sample before. percent of its peak.
struct CounterSample {
  std::int64_t time_ns = 0;
  std::int32_t device = 0;
  std::uint32_t name = 0;  // index into RankTrace::strings
  std::int32_t percent = 0;
};

/// One rank's part in one collective (one communication kernel), sorted by event row. Sizes −1 = unknown.
struct Collective {
  std::uint32_t event = 0;        // row in EventTable
  std::uint32_t group = 0;        // row in RankTrace::groups
  CollectiveOp op = CollectiveOp::unknown;
  Dtype dtype = Dtype::unknown;
  bool has_arguments = false;     // the event, or its record_param_comms, carried communication arguments
  bool coalesced = false;
  std::int32_t group_size = -1;   // of the event; −1 unknown
  std::int32_t peer = -1;         // send: destination, recv: source (global rank); −1 unknown;
                                  // peer_at_place(p): known only by its place in the group
  std::int64_t sequence = -1;     // NCCL `Seq`; −1 unknown
  std::int64_t in_elements = -1, out_elements = -1;
  std::uint32_t first_split = 0, splits_count = 0;          // In split sizes, rows in RankTrace::splits
  std::uint32_t first_out_split = 0, out_splits_count = 0;  // Out split sizes
  bool splits_cut = false;        // the profiler cut the list at 30: totals only

  std::int64_t in_bytes() const;
  std::int64_t out_bytes() const;
};

/// Where a rank stands in a group; −1: it is no member.
struct RankPlace {
  std::int32_t rank = -1, place = -1;
};

/// One process group as this trace describes it. The row "all" (no name, no description, size −1) stands for
/// collectives without any group arguments.
struct ProcessGroup {
  std::string name, description;
  std::int32_t size = -1;
  std::vector<std::int32_t> members;  // global ranks in group order; complete if members.size() == size
  Dimension dimension = Dimension::unknown;
  std::string dimension_source;       // "description", "mesh", "pg_config", "operation"…; empty if unknown
  // Of a group without a list, named alike on all its ranks (NCCL's communicators in nsys exports):
  std::int32_t place = -1;            // of this rank
  std::vector<RankPlace> places;      // of all ranks in the same file
  bool exchanges = false;             // it carries all-to-alls: of two parts of the mesh with equal members, ep
  bool members_complete() const { return size > 0 && members.size() == static_cast<std::size_t>(size); }
};

/// Window of one step on one device of this rank. GPU window = [first start, last end) of the step's events there.
struct DeviceWindow {
  std::int32_t device = 0;
  std::int64_t gpu_start_ns = absent_ns, gpu_end_ns = absent_ns;  // absent: the step has no event on this device
  std::int64_t gap_ns = 0;  // device idle between everything earlier and gpu_start_ns
};

/// One step. source = span: the file has no ProfilerStep marker and step 0 is the whole GPU span.
struct Step {
  std::int64_t number = 0;            // N of ProfilerStep#N
  std::int64_t start_ns = absent_ns;  // CPU step W = [start, end); absent for source = span
  std::int64_t end_ns = absent_ns;
  StepSource source = StepSource::marker;
  std::vector<DeviceWindow> devices;  // one per device that occurs in the trace, same order as RankTrace::devices
  bool lost_events = false;           // with a damaged part of the file: what is left of its GPU events is in no step
  // Where a metric asks for it: from the first start of a forward to the last end of a backward compute kernel; of any
  // compute kernel where the phases are not told apart. absent: the step has none.
  std::int64_t work_start_ns = absent_ns, work_end_ns = absent_ns;
  bool work_by_phases = false;

  bool has_gpu_events() const {
    return std::any_of(devices.begin(), devices.end(),
                       [](const DeviceWindow& window) { return window.gpu_start_ns != absent_ns; });
  }
};

/// What a damaged file keeps from the reader: pieces here and there, or all from some place on.
enum class FileLoss : std::uint8_t { nothing, pieces, rest };

/// One training rank as one trace file tells it.
struct RankTrace {
  // Who
  std::int32_t file = -1;             // index into Input::files
  std::int32_t iteration = -1, replica = -1;
  RankId rank;                        // from content only; unknown when the file does not say
  RankSource rank_source = RankSource::content;  // what in the content tells the rank
  std::int64_t world_size = -1;       // from content
  std::string host;                   // a host name in the content; empty otherwise
  std::string gpu;                    // name of the first GPU in the content
  std::int32_t gpus_in_node = 0;      // number of deviceProperties
  std::int64_t gpu_memory_bytes = -1;
  std::string framework_version;
  TraceFormat format = TraceFormat::unknown;

  // What happened
  EventTable events;
  std::vector<Lane> lanes;
  std::vector<std::int32_t> devices;  // ordinals of the devices with events, ascending
  Column<MemoryOperation> memory_operations;
  Column<KernelShape> kernel_shapes;
  Column<CounterSample> counters;     // sorted by time; kept only when a metric wants them
  Column<MemoryUsage> memory_usage;   // in file order
  Column<Collective> collectives;
  std::vector<std::int64_t> splits;
  std::vector<ProcessGroup> groups;
  std::vector<Step> steps;            // ascending by number
  CpuSlices slices;                   // sorted by (thread, start, −end)
  std::vector<std::string> threads;   // "pid/tid"
  StringTable strings;

  // How much of it
  std::int64_t events_count = 0;          // all complete events in the file
  std::int64_t outside_events_count = 0;  // GPU events of no step
  std::int64_t lost_events_count = 0;     // damaged events left out
  std::int64_t launches_count = 0;        // launch records seen
  std::uint64_t fingerprint = 0;          // of the GPU events; equal for two copies of one trace

  // Of a damaged file, for finish() to find the steps that lost something (parse/lost_steps.hpp)
  FileLoss loss = FileLoss::nothing;
  std::vector<std::int64_t> lone_launches_ns;    // launches whose GPU event was not read
  std::int64_t launches_until_ns = absent_ns;    // the last launch, where launches go on as far as GPU events do
  std::vector<Interval> lost_between;            // launches in the file, [before, behind] a lost piece; ±∞: none
  bool launches_graphs = false;                  // one launch, any number of GPU events

  bool has_launches() const { return launches_count > 0; }
  /// Empties all tables but keeps their memory.
  void clear();
};

}  // namespace ccl
