// The rows of memory, shared by its two halves: memory.cpp fills them, the page is written from them in
// memory_report.cpp. Every row names the snapshot file: a rank may have dumped more than one.
#pragma once
#include "metrics/format.hpp"
#include "metrics/metric.hpp"

namespace ccl::memory_rows {

/// Whose memory: one device in one snapshot.
struct Owner {
  std::int32_t iteration = -1;
  RankId rank;
  std::int32_t device = 0, replica = -1;
  std::int32_t file = -1;  // number of the file: keeps the natural order of names
  StringId name;
  friend auto operator<=>(const Owner& a, const Owner& b) {
    return std::tie(a.iteration, a.rank, a.device, a.replica, a.file) <=>
           std::tie(b.iteration, b.rank, b.device, b.replica, b.file);
  }
  friend bool operator==(const Owner& a, const Owner& b) { return (a <=> b) == 0; }
};

/// iteration, (step,) rank, device, replica, file; Row has `owner`, and `step` where it is of a step.
template <class Row>
std::vector<ColumnSpec<Row>> owner_columns(const Resolver& resolver) {
  std::vector<ColumnSpec<Row>> all;
  const auto add = [&all](const char* name, const char* description, std::optional<std::int64_t> absent, auto value) {
    all.push_back(integer_column<Row>(name, "", description, absent, value));
  };
  add("iteration", "number of the iteration folder", -1, [](const Row& row) { return row.owner.iteration; });
  if constexpr (requires(const Row& row) { row.step; })
    add("step", "number of the ProfilerStep", {}, [](const Row& row) { return row.step; });
  add("rank", "rank in the file's name; -1 = it has none", -1, [](const Row& row) { return row.owner.rank.value; });
  add("device", "GPU ordinal", {}, [](const Row& row) { return row.owner.device; });
  add("replica", "replica folder the rank belongs to; -1 = none", -1, [](const Row& row) { return row.owner.replica; });
  all.push_back(text_column<Row>("file", "the snapshot, relative to the trace folder",
                                 [text = resolver.text](const Row& row) { return text(row.owner.name); }));
  return all;
}

/// Plain numbers of a device; the lists of DeviceMemory have tables of their own.
struct Row {
  Owner owner;
  RankId rank;  // again, for the count of ranks with a value
  std::int64_t reserved_bytes = 0, allocated_bytes = 0, active_bytes = 0, requested_bytes = -1;
  std::int64_t segments_count = 0, blocks_count = 0;
  std::int64_t peak_active_bytes = -1, peak_requested_bytes = -1, peak_reserved_bytes = -1, peak_us = -1;
  std::int64_t start_active_bytes = -1, start_reserved_bytes = -1;
  std::int64_t entries_count = 0, first_us = -1, last_us = -1;
  std::int64_t allocations_count = 0, allocations_bytes = 0, frees_count = 0, frees_bytes = 0;
  std::int64_t segment_allocations_count = 0, out_of_memory_count = 0;
  RingEvidence ring_full = RingEvidence::none;
  bool cut = false;

  auto key() const { return owner; }
  /// The peak, or what is active at the dump where no history was recorded.
  std::int64_t most_active_bytes() const { return peak_active_bytes >= 0 ? peak_active_bytes : active_bytes; }
  std::int64_t most_reserved_bytes() const { return peak_reserved_bytes >= 0 ? peak_reserved_bytes : reserved_bytes; }
  double seconds() const { return last_us > first_us ? static_cast<double>(last_us - first_us) / 1e6 : 0; }
  static TableInfo table() { return {"rows", "memory of each device: state at the dump and peaks of the history"}; }
  static std::vector<ColumnSpec<Row>> columns(const Resolver& resolver);
};

struct ByPool {
  Owner owner;
  bool large = false;
  PoolMemory pool;
  auto key() const { return std::tuple(owner, large); }
  static TableInfo table() { return {"by_pool", "cached but unused memory of each device by pool, at the dump"}; }
  static std::vector<ColumnSpec<ByPool>> columns(const Resolver& resolver);
};

struct BySize {
  Owner owner;
  std::int64_t from_bytes = 0, allocations_count = 0;
  auto key() const { return std::tuple(owner, from_bytes); }
  static TableInfo table() { return {"by_size", "allocations of each device by size, in powers of two"}; }
  static std::vector<ColumnSpec<BySize>> columns(const Resolver& resolver);
};

struct ByStream {
  Owner owner;
  double seconds = 0;  // between the oldest and the newest entry of the device
  StreamMemory memory;
  auto key() const { return std::tuple(owner, memory.stream); }
  static TableInfo table() { return {"by_stream", "allocations and frees of each device by stream"}; }
  static std::vector<ColumnSpec<ByStream>> columns(const Resolver& resolver);
};

struct Failure {
  Owner owner;
  std::int64_t number = 0;
  OutOfMemory what;
  auto key() const { return std::tuple(owner, number); }
  static TableInfo table() { return {"out_of_memory", "requests that failed"}; }
  static std::vector<ColumnSpec<Failure>> columns(const Resolver& resolver);
};

struct Top {
  Owner owner;
  std::int64_t place = 0, line = -1, at_peak_bytes = 0, at_end_bytes = 0;
  StringId source, function;
  auto key() const { return std::tuple(owner, place); }
  static TableInfo table() { return {"top", "where the memory at the peak was asked for, largest first"}; }
  static std::vector<ColumnSpec<Top>> columns(const Resolver& resolver);
};

struct ByStep {
  Owner owner;
  std::int64_t step = 0;
  StepMemory memory;
  auto key() const { return std::tuple(owner, step); }
  static TableInfo table() { return {"by_step", "memory of each device over the steps that the snapshot marks"}; }
  static std::vector<ColumnSpec<ByStep>> columns(const Resolver& resolver);
};

/// What the allocator reported in a trace with profile_memory, where it is not told by a snapshot.
struct InTrace {
  StepId step;  // −1: outside every step
  RankId rank;
  std::int32_t device = 0, replica = -1;
  std::int64_t peak_allocated_bytes = -1, peak_reserved_bytes = -1, events_count = 0;
  /// In use; what was taken, where nothing else is told (Nsight Systems).
  std::int64_t most_bytes() const { return peak_allocated_bytes >= 0 ? peak_allocated_bytes : peak_reserved_bytes; }
  auto key() const { return std::tuple(step, rank, device, replica); }
  static TableInfo table() { return {"in_trace", "memory of each step as the allocator reported it in the trace"}; }
  static std::vector<ColumnSpec<InTrace>> columns(const Resolver& resolver);
};
void add_in_trace(const RankTrace& trace, std::vector<InTrace>& out);

using Tables = RowTables<Row, ByPool, BySize, ByStream, Failure, Top, ByStep, InTrace>;

void report(const Tables& tables, const ReportContext& context, Report& out);

}  // namespace ccl::memory_rows
