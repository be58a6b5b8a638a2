#include "parse/nsys_tables.hpp"

#include <algorithm>
#include <limits>

namespace ccl {
namespace {

std::uint64_t unsigned_of(std::optional<std::int64_t> value) { return static_cast<std::uint64_t>(value.value_or(0)); }

std::int32_t small(std::optional<std::int64_t> value) {
  constexpr std::int64_t least = std::numeric_limits<std::int32_t>::min(), most = std::numeric_limits<std::int32_t>::max();
  return value && *value >= least && *value <= most ? static_cast<std::int32_t>(*value) : 0;
}

// Times within which sums and differences can not overflow: 73 years on either side.
bool in_range(std::int64_t time_ns) {
  constexpr std::int64_t most = std::int64_t{1} << 61;
  return time_ns > -most && time_ns < most;
}

void add_descriptions(NsysBuild& build, const TraceFile& file, Problems& problems, std::vector<NsysTable>& all) {
  for (const std::string_view table : {"META_DATA_EXPORT", "EXPORT_META_DATA"})
    all.push_back({table, {"name", "value"}, [&build](const TableRow& r) {
                     if (r.text(0).ends_with("TIME_NORMALIZE") && r.text(1) == "true") build.times_are_normalised();
                     return true;
                   }});
  all.push_back({"TARGET_INFO_SESSION_START_TIME", {"utcEpochNs", "systemClockNs"}, [&build](const TableRow& r) {
                   const std::int64_t epoch = r.integer(0).value_or(0), system = r.integer(1).value_or(-1);
                   if (in_range(epoch)) build.session(epoch, system >= 0 && in_range(system) ? system : -1);
                   return true;
                 }});
  all.push_back({"StringIds", {"id", "value"}, [&build](const TableRow& r) {
                   const auto id = r.integer(0);
                   if (id) build.string(*id, r.text(1));
                   return id.has_value();
                 }});
  all.push_back({"META_DATA_CAPTURE", {"name", "value"}, [&build](const TableRow& r) {
                   if (r.text(0) == "PROCESS_0:ENVIRONMENT_VARIABLE") build.environment(r.text(1));
                   return true;
                 }});
  all.push_back({"TARGET_INFO_SYSTEM_ENV", {"name", "value"}, [&build](const TableRow& r) {
                   if (r.text(0) == "Hostname") build.host(r.text(1));
                   // Of the nsys command itself: what the captured process says of itself came before.
                   if (r.text(0) != "DeviceEnvironment") return true;
                   for (std::string_view rest = r.text(1); !rest.empty();) {
                     const std::string_view one = rest.substr(0, rest.find_first_of(std::string_view(";\0", 2)));
                     build.environment(one);
                     rest.remove_prefix(std::min(rest.size(), one.size() + 1));
                   }
                   return true;
                 }});
  all.push_back({"TARGET_INFO_GPU", {"name", "totalMemory", "computeMajor", "smCount", "id", "cuDevice"},
                 [&build](const TableRow& r) {
                   // Adapters of other makers are listed too, with compute capability 0.
                   if (r.integer(2).value_or(1) == 0) return true;
                   build.gpu_description(r.text(0), r.integer(1).value_or(-1), r.integer(3).value_or(-1));
                   if (r.integer(4) && r.integer(5)) build.gpu_ordinal(*r.integer(4), -1, *r.integer(5));
                   return true;
                 }});
  all.push_back({"TARGET_INFO_CUDA_GPU", {"numMultiprocessors"}, [&build](const TableRow& r) {
                   build.gpu_description("", -1, r.integer(0).value_or(-1));
                   return true;
                 }});
  all.push_back({"TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"}, [&build](const TableRow& r) {
                   if (r.integer(0) && r.integer(1)) build.gpu_ordinal(*r.integer(0), r.integer(2).value_or(-1), *r.integer(1));
                   return true;
                 }});
  all.push_back({"ThreadNames", {"globalTid", "nameId"}, [&build](const TableRow& r) {
                   build.thread_name(unsigned_of(r.integer(0)), r.integer(1).value_or(-1));
                   return true;
                 }});
  all.push_back({"MPI_RANKS", {"globalTid", "rank"}, [&build](const TableRow& r) {
                   build.mpi_rank(unsigned_of(r.integer(0)), r.integer(1).value_or(-1));
                   return true;
                 }});
  all.push_back({"NVTX_PAYLOAD_SCHEMA_ENTRIES", {"schemaId", "name", "offset", "type"}, [&build](const TableRow& r) {
                   build.payload_field({unsigned_of(r.integer(0)), std::string(r.text(1)), r.integer(2).value_or(0),
                                        r.integer(3).value_or(0)});
                   return true;
                 }});
  all.push_back({"DIAGNOSTIC_EVENT", {"severity", "text"}, [&file, &problems](const TableRow& r) {
                   constexpr std::int64_t warning = 2;
                   constexpr std::size_t longest = 300;
                   if (r.integer(0).value_or(0) >= warning)
                     problems.add({.code = Code::profiler_warning, .file = file.shown,
                                   .detail = std::string(r.text(1).substr(0, longest))});
                   return true;
                 }});
}

constexpr std::string_view copy_name(std::int64_t kind) {
  switch (kind) {
    case 1: case 11: return "Memcpy HtoD";
    case 2: case 12: return "Memcpy DtoH";
    case 8: case 13: return "Memcpy DtoD";
    case 9: return "Memcpy HtoH";
    case 10: return "Memcpy PtoP";
    default: return "Memcpy";
  }
}

/// There is something, but no number.
bool is_no_number(const TableRow& r, std::size_t column) { return !r.integer(column) && !r.text(column).empty(); }

/// The first six columns are alike in all tables of GPU work.
bool place(const TableRow& r, NsysGpuRow& row) {
  const auto start = r.integer(0), end = r.integer(1);
  if (!start || !end || !in_range(*start) || !in_range(*end)) return false;
  if (r.integer(2).value_or(0) < 0 || is_no_number(r, 2) || is_no_number(r, 3)) return false;
  row.start_ns = *start;
  row.end_ns = *end;
  row.device = small(r.integer(2));
  row.stream = r.integer(3).value_or(0);
  row.correlation = r.integer(4).value_or(0);
  row.process = process_of_row(r.integer(5));
  return true;
}

/// Where the kernels name their processes, a row that does not is damaged: as a process of its own it would be a rank.
bool place(const TableRow& r, const NsysBuild& build, NsysGpuRow& row) {
  return place(r, row) && (row.process != 0 || !build.knows_processes());
}

/// Of a grid or a block from its three columns; −1 if one is absent or beyond what CUDA allows.
std::int64_t product(const TableRow& rows, std::size_t first) {
  std::int64_t all = 1;
  for (std::size_t i = first; i < first + 3; ++i) {
    const std::int64_t part = rows.integer(i).value_or(-1);
    if (part <= 0 || part > INT32_MAX || all > INT32_MAX) return -1;
    all *= part;
  }
  return all;
}

std::vector<std::string_view> gpu_columns(std::initializer_list<std::string_view> more) {
  std::vector<std::string_view> all(nsys_gpu_columns.begin(), nsys_gpu_columns.end());
  all.insert(all.end(), more);
  return all;
}

void add_gpu(NsysBuild& build, std::vector<NsysTable>& all) {
  auto columns = gpu_columns({"demangledName", "shortName"});
  if (build.wants().kernel_shapes)
    columns.insert(columns.end(), {"gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"});
  all.push_back({"CUPTI_ACTIVITY_KIND_KERNEL", std::move(columns), [&build](const TableRow& r) {
                   NsysGpuRow row;
                   if (!place(r, build, row)) return false;
                   row.name = r.integer(6).value_or(r.integer(7).value_or(-1));
                   if (build.wants().kernel_shapes) {
                     row.blocks_count = product(r, 8);
                     row.threads_per_block = product(r, 11);
                   }
                   build.gpu(row);
                   return true;
                 }});
  all.push_back({"CUPTI_ACTIVITY_KIND_MEMCPY", gpu_columns({"bytes", "copyKind"}), [&build](const TableRow& r) {
                   NsysGpuRow row;
                   if (!place(r, build, row)) return false;
                   row.kind = EventKind::memory_copy;
                   row.bytes = r.integer(6).value_or(-1);
                   row.fixed_name = copy_name(r.integer(7).value_or(0));
                   build.gpu(row);
                   return true;
                 }});
  all.push_back({"CUPTI_ACTIVITY_KIND_MEMSET", gpu_columns({"bytes"}), [&build](const TableRow& r) {
                   NsysGpuRow row;
                   if (!place(r, build, row)) return false;
                   row.kind = EventKind::memory_set;
                   row.bytes = r.integer(6).value_or(-1);
                   row.fixed_name = "Memset";
                   build.gpu(row);
                   return true;
                 }});
  if (build.wants().memory_usage)
    all.push_back({"CUDA_GPU_MEMORY_USAGE_EVENTS",
                   {"start", "deviceId", "globalPid", "bytes", "memKind", "memoryOperationType"},
                   [&build](const TableRow& r) {
                     constexpr std::int64_t device = 2, device_static = 5, taken = 0;
                     constexpr std::int64_t largest_bytes = std::int64_t{1} << 40;
                     const auto start = r.integer(0), bytes = r.integer(3);
                     const std::int64_t kind = r.integer(4).value_or(-1);
                     if (!start || !in_range(*start) || !bytes || *bytes < 0 || *bytes > largest_bytes) return false;
                     if (kind != device && kind != device_static) return true;
                     const std::uint64_t process = process_of_row(r.integer(2));
                     if (process == 0 && build.knows_processes()) return false;
                     build.memory(process, static_cast<std::int32_t>(r.integer(1).value_or(0)),
                                  *start, r.integer(5).value_or(taken) == taken ? *bytes : -*bytes);
                     return true;
                   }});
  // Kernels of a CUDA graph traced as a whole: one event per launch stands for them.
  all.push_back({"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", gpu_columns({}), [&build](const TableRow& r) {
                   NsysGpuRow row;
                   if (!place(r, build, row)) return false;
                   row.name = NsysBuild::graph_name;
                   build.gpu(row);
                   return true;
                 }});
}

void add_cpu(NsysBuild& build, std::vector<NsysTable>& all) {
  all.push_back({"CUPTI_ACTIVITY_KIND_RUNTIME",
                 {"start", "end", "eventClass", "globalTid", "correlationId", "nameId"},
                 [&build](const TableRow& r) {
                   const auto start = r.integer(0);
                   const std::int64_t event_class = r.integer(2).value_or(0);
                   if (!start || !in_range(*start)) return false;
                   constexpr std::int64_t runtime = 0, driver = 1;
                   if (event_class != runtime && event_class != driver) return true;
                   build.call({unsigned_of(r.integer(3)), *start, r.integer(1).value_or(*start),
                               r.integer(4).value_or(0), r.integer(5).value_or(-1)});
                   return true;
                 }});
  all.push_back({"NVTX_EVENTS",
                 {"start", "end", "eventType", "globalTid", "text", "textId", "domainId", "jsonText", "binaryData"},
                 [&build](const TableRow& r) {
                   const auto start = r.integer(0);
                   NsysRangeRow row;
                   row.thread = unsigned_of(r.integer(3));
                   // A row of another reader's process is missed there.
                   if (!start || !in_range(*start)) return !build.owns_thread(row.thread);
                   row.start_ns = *start;
                   row.end_ns = r.integer(1).value_or(absent_ns);
                   if (!in_range(row.end_ns)) row.end_ns = absent_ns;
                   row.type = small(r.integer(2));
                   row.domain = small(r.integer(6));
                   row.text = r.text(4);
                   row.text_id = r.integer(5).value_or(-1);
                   row.json = r.text(7);
                   row.payload = r.blob(8);
                   build.range(row);
                   return true;
                 }});
}

void add_counters(NsysBuild& build, std::vector<NsysTable>& all) {
  if (!build.wants().counters) return;
  all.push_back({"TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"}, [&build](const TableRow& r) {
                   if (r.integer(0) && r.integer(1)) build.counter_name(*r.integer(0), *r.integer(1), r.text(2));
                   return true;
                 }});
  all.push_back({"GPU_METRICS", {"timestamp", "typeId", "metricId", "value"}, [&build](const TableRow& r) {
                   const auto time = r.integer(0), type = r.integer(1), metric = r.integer(2), value = r.integer(3);
                   if (!time || !type || !metric || !value || !in_range(*time)) return false;
                   build.counter(*time, *type, *metric, *value);
                   return true;
                 }});
}

}  // namespace

const std::array<std::string_view, 4> nsys_gpu_tables{"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                                      "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
const std::array<std::string_view, 6> nsys_gpu_columns{"start",    "end",           "deviceId",
                                                       "streamId", "correlationId", "globalPid"};

std::uint64_t process_of_row(std::optional<std::int64_t> global_pid) {
  return global_pid == -1 ? 0 : unsigned_of(global_pid) >> 24;
}

NsysLostRow lost_row_of(const NsysTable& table, const TableRow& row) {
  NsysLostRow lost;
  const auto column = std::find(table.columns.begin(), table.columns.end(), table.process_column) - table.columns.begin();
  if (!table.process_column.empty()) lost.process = process_of_row(row.integer(static_cast<std::size_t>(column)));
  lost.launch = table.name == "CUPTI_ACTIVITY_KIND_RUNTIME";
  lost.gpu = std::find(nsys_gpu_tables.begin(), nsys_gpu_tables.end(), table.name) != nsys_gpu_tables.end();
  if (!lost.gpu) return lost;
  constexpr std::size_t correlation = 4;  // of nsys_gpu_columns
  lost.correlation = row.integer(correlation).value_or(0);
  if (table.name == "CUPTI_ACTIVITY_KIND_MEMCPY") lost.kind = EventKind::memory_copy;
  if (table.name == "CUPTI_ACTIVITY_KIND_MEMSET") lost.kind = EventKind::memory_set;
  return lost;
}

bool read_gpu_place(const TableRow& row, std::uint64_t& process, std::int32_t& device) {
  NsysGpuRow found;
  if (!place(row, found) || found.process == 0) return false;
  process = found.process;
  device = found.device;
  return true;
}

std::vector<NsysTable> nsys_tables(NsysBuild& build, const TraceFile& file, Problems& problems) {
  std::vector<NsysTable> all;
  add_descriptions(build, file, problems, all);
  add_gpu(build, all);
  add_cpu(build, all);
  add_counters(build, all);
  for (NsysTable& table : all) {
    const auto has = [&](std::string_view column) {
      return std::find(table.columns.begin(), table.columns.end(), column) != table.columns.end();
    };
    table.makes_steps = table.name != "GPU_METRICS" && table.name != "DIAGNOSTIC_EVENT" &&
                        table.name != "CUDA_GPU_MEMORY_USAGE_EVENTS" && !table.name.starts_with("TARGET_INFO_");
    if (table.name == "ThreadNames" || table.name == "MPI_RANKS") continue;
    table.process_column = has("globalPid") ? "globalPid" : has("globalTid") ? "globalTid" : "";
    table.names_ranks = table.name == "NVTX_EVENTS";
  }
  return all;
}

}  // namespace ccl
