// A RankTrace in a few readable lines, for tests. Times in ns, sizes in bytes. Events go to the current device, stream
// and launching thread; an event's launch is at its start unless said otherwise (not_launched: none in the file).
//
//   const RankTrace trace = TraceBuilder().rank(3).step(9, 0, 1000)
//       .kernel("gemm", 10, 50)
//       .group("dp", "mesh_dp", {0, 1, 2, 3})
//       .stream(20).collective(CollectiveOp::all_gather, "dp", 4096, 20, 70).sequence(5)
//       .build();
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/problems.hpp"
#include "core/tables.hpp"
#include "parse/finish.hpp"

namespace ccl::test {

inline constexpr std::int64_t not_launched = absent_ns;

class TraceBuilder {
 public:
  using Launch = std::optional<std::int64_t>;

  TraceBuilder() { trace_.format = TraceFormat::kineto; }

  TraceBuilder& rank(std::int32_t rank, std::int64_t world_size = -1) {
    trace_.rank = RankId(rank);
    trace_.world_size = world_size;
    return *this;
  }
  TraceBuilder& iteration(std::int32_t number) { return file_.iteration = number, *this; }
  TraceBuilder& replica(std::int32_t number) { return file_.replica = number, *this; }
  TraceBuilder& step(std::int64_t number, std::int64_t start_ns, std::int64_t end_ns) {
    trace_.steps.push_back({number, start_ns, end_ns, StepSource::marker, {}});
    return *this;
  }

  TraceBuilder& device(std::int32_t ordinal) { return lane_.device = ordinal, *this; }
  TraceBuilder& stream(std::int64_t number) { return lane_.stream = number, *this; }
  TraceBuilder& thread(std::string name) { return thread_ = std::move(name), *this; }

  TraceBuilder& kernel(const std::string& name, std::int64_t start_ns, std::int64_t dur_ns, Launch launch_ns = {}) {
    return event(EventKind::compute, name, start_ns, dur_ns, launch_ns);
  }
  /// bytes −1 = the trace does not say.
  TraceBuilder& copy(const std::string& name, std::int64_t bytes, std::int64_t start_ns, std::int64_t dur_ns,
                     Launch launch_ns = {}) {
    return memory(EventKind::memory_copy, name, bytes, start_ns, dur_ns, launch_ns);
  }
  TraceBuilder& set(std::int64_t bytes, std::int64_t start_ns, std::int64_t dur_ns, Launch launch_ns = {}) {
    return memory(EventKind::memory_set, "Memset (Device)", bytes, start_ns, dur_ns, launch_ns);
  }
  /// Occupancy of the last kernel.
  TraceBuilder& shape(float blocks_per_sm, float warps_per_sm, float occupancy_percent) {
    trace_.kernel_shapes.push_back({last_event(), blocks_per_sm, warps_per_sm, occupancy_percent});
    return *this;
  }

  /// members.size() is the size of the group unless size is given (then the list is incomplete).
  TraceBuilder& group(const std::string& name, const std::string& description, std::vector<std::int32_t> members,
                      std::int32_t size = -1, Dimension dimension = Dimension::unknown) {
    ProcessGroup added;
    added.name = name;
    added.description = description;
    added.size = size < 0 ? static_cast<std::int32_t>(members.size()) : size;
    added.members = std::move(members);
    added.dimension = dimension;
    added.dimension_source = dimension == Dimension::unknown ? "" : "test";
    trace_.groups.push_back(std::move(added));
    return *this;
  }
  /// A communication kernel with arguments. payload_bytes is S of nccl-tests (all_gather: out; reduce_scatter: in; …),
  /// −1 = unknown. A group that was not declared has no members and size −1.
  TraceBuilder& collective(CollectiveOp op, const std::string& group_name, std::int64_t payload_bytes,
                           std::int64_t start_ns, std::int64_t dur_ns, Launch launch_ns = {}) {
    event(EventKind::communication, "ncclDevKernel_" + std::string(to_text(op)), start_ns, dur_ns, launch_ns);
    Collective added;
    added.event = last_event();
    added.group = group_row(group_name);
    added.op = op;
    added.dtype = Dtype::uint8;
    added.has_arguments = true;
    added.group_size = trace_.groups[added.group].size;
    const std::int64_t n = added.group_size > 0 ? added.group_size : 1;
    const bool gathers = op == CollectiveOp::all_gather || op == CollectiveOp::gather;
    const bool scatters = op == CollectiveOp::reduce_scatter || op == CollectiveOp::scatter;
    added.in_elements = gathers && payload_bytes >= 0 ? payload_bytes / n : payload_bytes;
    added.out_elements = scatters && payload_bytes >= 0 ? payload_bytes / n : payload_bytes;
    trace_.collectives.push_back(added);
    return *this;
  }
  // What else the last collective says.
  TraceBuilder& sequence(std::int64_t number) { return last().sequence = number, *this; }
  TraceBuilder& peer(std::int32_t rank) { return last().peer = rank, *this; }
  TraceBuilder& coalesced() { return last().coalesced = true, *this; }
  TraceBuilder& dtype(Dtype type, std::int64_t in_elements, std::int64_t out_elements) {
    last().dtype = type;
    last().in_elements = in_elements;
    last().out_elements = out_elements;
    return *this;
  }
  TraceBuilder& splits(std::initializer_list<std::int64_t> in, std::initializer_list<std::int64_t> out = {}) {
    last().first_split = static_cast<std::uint32_t>(trace_.splits.size());
    last().splits_count = static_cast<std::uint32_t>(in.size());
    trace_.splits.insert(trace_.splits.end(), in);
    last().first_out_split = static_cast<std::uint32_t>(trace_.splits.size());
    last().out_splits_count = static_cast<std::uint32_t>(out.size());
    trace_.splits.insert(trace_.splits.end(), out);
    return *this;
  }
  /// As kernels queued before the profiler started: op from the name only, no sizes, the group "all".
  TraceBuilder& without_arguments() {
    Collective& collective = last();
    const Collective bare{.event = collective.event, .group = group_row(""), .op = collective.op};
    collective = bare;
    return *this;
  }

  /// A kept slice of the current CPU thread.
  TraceBuilder& slice(SliceKind kind, const std::string& name, std::int64_t start_ns, std::int64_t end_ns,
                      std::int32_t autograd_sequence = -1) {
    trace_.slices.push_back({start_ns, end_ns, trace_.strings.index(name), thread_row(), kind, autograd_sequence >= 0});
    return *this;
  }

  /// For what the lines above do not cover.
  RankTrace& raw() { return trace_; }

  RankTrace build() {
    Problems ignored;
    return build(ignored);
  }
  RankTrace build(Problems& problems) {
    trace_.events_count = static_cast<std::int64_t>(trace_.events.size());
    finish(trace_, file_, problems);
    return std::move(trace_);
  }

 private:
  TraceBuilder& event(EventKind kind, const std::string& name, std::int64_t start_ns, std::int64_t dur_ns,
                      Launch launch_ns) {
    EventTable& events = trace_.events;
    const std::int64_t launch = launch_ns.value_or(start_ns);
    events.start_ns.push_back(start_ns);
    events.dur_ns.push_back(dur_ns);
    events.name.push_back(trace_.strings.index(name));
    events.lane.push_back(static_cast<std::uint16_t>(row_of(trace_.lanes, lane_)));
    events.kind.push_back(kind);
    events.step.push_back(-1);
    events.correlation.push_back(++correlation_);
    events.launch_ns.push_back(launch);
    events.launch_thread.push_back(thread_row());
    if (launch != not_launched) ++trace_.launches_count;
    return *this;
  }
  TraceBuilder& memory(EventKind kind, const std::string& name, std::int64_t bytes, std::int64_t start_ns,
                       std::int64_t dur_ns, Launch launch_ns) {
    event(kind, name, start_ns, dur_ns, launch_ns);
    trace_.memory_operations.push_back({last_event(), bytes});
    return *this;
  }
  template <class T>
  static std::size_t row_of(std::vector<T>& rows, const T& wanted) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i] == wanted) return i;
    rows.push_back(wanted);
    return rows.size() - 1;
  }
  std::uint32_t thread_row() { return static_cast<std::uint32_t>(row_of(trace_.threads, thread_)); }
  std::uint32_t group_row(const std::string& name) {
    for (std::size_t i = 0; i < trace_.groups.size(); ++i)
      if (trace_.groups[i].name == name) return static_cast<std::uint32_t>(i);
    trace_.groups.emplace_back().name = name;
    return static_cast<std::uint32_t>(trace_.groups.size() - 1);
  }
  std::uint32_t last_event() const { return static_cast<std::uint32_t>(trace_.events.size() - 1); }
  Collective& last() { return trace_.collectives.back(); }

  RankTrace trace_;
  TraceFile file_;
  Lane lane_{0, 7};
  std::string thread_ = "1/1";
  std::int64_t correlation_ = 0;
};

}  // namespace ccl::test
