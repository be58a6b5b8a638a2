// Nsight Systems SQLite exports (nsys export --type=sqlite), schemas 2021 to 2026: tables and columns come and go, so
// everything is asked for by name and may be absent. One file holds the processes of one node.
#include <algorithm>
#include <array>

#include "parse/nsys_build.hpp"
#include "parse/sqlite_rows.hpp"

namespace ccl {
namespace {

class NsysSqliteReader final : public TraceReader {
 public:
  void read(const TraceFile& file, const ReadOptions& options, Problems& problems, Progress& progress,
            const TraceSink& sink) override;
};

/// Times that no clock shows are as good as none: sums of two times and differences then fit.
std::optional<std::int64_t> time_of(const SqliteRows& rows, std::size_t column) {
  constexpr std::int64_t farthest_ns = std::int64_t{1} << 61;
  const std::optional<std::int64_t> time_ns = rows.integer(column);
  return time_ns && (*time_ns < -farthest_ns || *time_ns > farthest_ns) ? std::nullopt : time_ns;
}

std::uint64_t unsigned_of(std::optional<std::int64_t> value) { return static_cast<std::uint64_t>(value.value_or(0)); }

/// One pass over one table. Rows without the values that `row` needs are counted as lost.
template <class Row>
void each_row(const SqliteFile& file, const TraceFile& trace_file, NsysBuild& build, Problems& problems,
              std::string_view table, std::initializer_list<std::string_view> columns, Row row) {
  SqliteRows rows(file, table, std::span(columns.begin(), columns.size()));
  std::int64_t lost = 0;
  while (rows.next()) lost += row(rows) ? 0 : 1;
  if (lost > 0)
    problems.add({.code = Code::event_damaged, .file = trace_file.shown, .count = lost,
                  .detail = "rows of " + std::string(table) + " without usable numbers"});
  if (rows.damaged())
    problems.add({.code = Code::file_cut, .file = trace_file.shown,
                  .detail = "table " + std::string(table) + ": " + rows.error()});
  build.lost(lost);
}

void read_descriptions(const SqliteFile& file, const TraceFile& trace_file, NsysBuild& build, Problems& problems) {
  const auto each = [&](std::string_view table, std::initializer_list<std::string_view> columns, auto row) {
    each_row(file, trace_file, build, problems, table, columns, row);
  };
  bool normalised = false;
  for (const std::string_view table : {"META_DATA_EXPORT", "EXPORT_META_DATA"})
    each(table, {"name", "value"}, [&](const SqliteRows& r) {
      if (r.text(0).ends_with("TIME_NORMALIZE") && r.text(1) == "true") normalised = true;
      return true;
    });
  each("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [&](const SqliteRows& r) {
    if (!normalised) build.session(time_of(r, 0).value_or(0));
    return true;
  });
  each("StringIds", {"id", "value"}, [&](const SqliteRows& r) {
    const auto id = r.integer(0);
    if (id) build.string(*id, r.text(1));
    return id.has_value();
  });
  each("TARGET_INFO_SYSTEM_ENV", {"name", "value"}, [&](const SqliteRows& r) {
    if (r.text(0) == "Hostname") build.host(r.text(1));
    return true;
  });
  each("META_DATA_CAPTURE", {"name", "value"}, [&](const SqliteRows& r) {
    if (r.text(0) == "PROCESS_0:ENVIRONMENT_VARIABLE") build.environment(r.text(1));
    return true;
  });
  each("TARGET_INFO_GPU", {"name", "totalMemory", "computeMajor", "smCount"}, [&](const SqliteRows& r) {
    // Adapters of other makers are listed too, with compute capability 0.
    if (r.integer(2).value_or(1) != 0)
      build.gpu_description(r.text(0), r.integer(1).value_or(-1), r.integer(3).value_or(-1));
    return true;
  });
  each("TARGET_INFO_CUDA_GPU", {"numMultiprocessors"}, [&](const SqliteRows& r) {
    build.gpu_description("", -1, r.integer(0).value_or(-1));
    return true;
  });
  each("ThreadNames", {"globalTid", "nameId"}, [&](const SqliteRows& r) {
    build.thread_name(unsigned_of(r.integer(0)), r.integer(1).value_or(-1));
    return true;
  });
  each("NVTX_PAYLOAD_SCHEMA_ENTRIES", {"schemaId", "name", "offset", "type"}, [&](const SqliteRows& r) {
    build.payload_field({unsigned_of(r.integer(0)), std::string(r.text(1)), r.integer(2).value_or(0),
                         r.integer(3).value_or(0)});
    return true;
  });
  each("DIAGNOSTIC_EVENT", {"severity", "text"}, [&](const SqliteRows& r) {
    constexpr std::int64_t warning = 2;
    if (r.integer(0).value_or(0) >= warning)
      problems.add({.code = Code::profiler_warning, .file = trace_file.shown, .detail = std::string(r.text(1))});
    return true;
  });
}

constexpr std::int64_t graph_name = 0xFFFFFFFE;  // string ids of a file are small and dense

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

/// Of a grid or a block from its three columns; −1 if one is absent or beyond what CUDA allows.
std::int64_t product(const SqliteRows& rows, std::size_t first) {
  std::int64_t all = 1;
  for (std::size_t i = first; i < first + 3; ++i) {
    const std::int64_t part = rows.integer(i).value_or(-1);
    if (part <= 0 || part > INT32_MAX || all > INT32_MAX) return -1;
    all *= part;
  }
  return all;
}

void read_gpu_rows(const SqliteFile& file, const TraceFile& trace_file, NsysBuild& build, Problems& problems) {
  const auto each = [&](std::string_view table, std::initializer_list<std::string_view> columns, auto row) {
    each_row(file, trace_file, build, problems, table, columns, row);
  };
  // The first seven columns are alike in all three tables.
  const auto place = [](const SqliteRows& r, NsysGpuRow& row) {
    const auto start = time_of(r, 0), end = time_of(r, 1);
    if (!start || !end) return false;
    row.start_ns = *start;
    row.end_ns = *end;
    row.device = static_cast<std::int32_t>(r.integer(2).value_or(0));
    row.stream = r.integer(3).value_or(0);
    row.correlation = r.integer(4).value_or(0);
    row.process = unsigned_of(r.integer(5)) >> 24;
    return true;
  };
  each("CUPTI_ACTIVITY_KIND_KERNEL",
       {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName", "shortName", "gridX",
        "gridY", "gridZ", "blockX", "blockY", "blockZ"},
       [&](const SqliteRows& r) {
         NsysGpuRow row;
         if (!place(r, row)) return false;
         row.name = r.integer(6).value_or(r.integer(7).value_or(-1));
         if (build.wants_shapes()) {
           row.blocks_count = product(r, 8);
           row.threads_per_block = product(r, 11);
         }
         build.gpu(row);
         return true;
       });
  each("CUPTI_ACTIVITY_KIND_MEMCPY",
       {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "copyKind"},
       [&](const SqliteRows& r) {
         NsysGpuRow row;
         if (!place(r, row)) return false;
         row.kind = EventKind::memory_copy;
         row.bytes = r.integer(6).value_or(-1);
         row.fixed_name = copy_name(r.integer(7).value_or(0));
         build.gpu(row);
         return true;
       });
  each("CUPTI_ACTIVITY_KIND_MEMSET",
       {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes"}, [&](const SqliteRows& r) {
         NsysGpuRow row;
         if (!place(r, row)) return false;
         row.kind = EventKind::memory_set;
         row.bytes = r.integer(6).value_or(-1);
         row.fixed_name = "Memset";
         build.gpu(row);
         return true;
       });
  // Kernels of a CUDA graph traced as a whole: one event per launch stands for them.
  each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
       {"start", "end", "deviceId", "streamId", "correlationId", "globalPid"}, [&](const SqliteRows& r) {
         NsysGpuRow row;
         if (!place(r, row)) return false;
         row.name = graph_name;
         build.gpu(row);
         return true;
       });
}

void read_cpu_rows(const SqliteFile& file, const TraceFile& trace_file, NsysBuild& build, Problems& problems) {
  each_row(file, trace_file, build, problems, "CUPTI_ACTIVITY_KIND_RUNTIME",
           {"start", "end", "eventClass", "globalTid", "correlationId", "nameId"}, [&](const SqliteRows& r) {
             const auto start = time_of(r, 0);
             const std::int64_t event_class = r.integer(2).value_or(0);
             if (!start) return false;
             constexpr std::int64_t runtime = 0, driver = 1;
             if (event_class != runtime && event_class != driver) return true;
             build.call({unsigned_of(r.integer(3)), *start, time_of(r, 1).value_or(*start), r.integer(4).value_or(0),
                         r.integer(5).value_or(-1)});
             return true;
           });
  each_row(file, trace_file, build, problems, "NVTX_EVENTS",
           {"start", "end", "eventType", "globalTid", "text", "textId", "domainId", "jsonText", "binaryData"},
           [&](const SqliteRows& r) {
             const auto start = time_of(r, 0);
             if (!start) return false;
             NsysRangeRow row;
             row.thread = unsigned_of(r.integer(3));
             row.start_ns = *start;
             row.end_ns = time_of(r, 1).value_or(absent_ns);
             row.type = static_cast<std::int32_t>(r.integer(2).value_or(0));
             row.domain = static_cast<std::int32_t>(r.integer(6).value_or(0));
             row.text = r.text(4);
             row.text_id = r.integer(5).value_or(-1);
             row.json = r.text(7);
             row.payload = r.blob(8);
             build.range(row);
             return true;
           });
}

/// Why the kernel table can not be read: what it lacks, and in which schema; "" if it can.
std::string lacks(const SqliteFile& file) {
  const std::string table = file.table("CUPTI_ACTIVITY_KIND_KERNEL");
  if (table.empty()) return "no kernel table: no Nsight Systems export with CUDA traces";
  const std::vector<std::string> columns = file.columns(table);
  const auto has = [&](std::string_view name) { return std::find(columns.begin(), columns.end(), name) != columns.end(); };
  std::string missing;
  for (const std::string_view name : {"start", "end", "deviceId"})
    if (!has(name)) missing += " " + std::string(name);
  if (!has("demangledName") && !has("shortName")) missing += " shortName";
  if (missing.empty()) return "";
  std::string version = "unknown";
  constexpr std::array<std::string_view, 2> asked{"name", "value"};
  for (const std::string_view described : {"META_DATA_EXPORT", "EXPORT_META_DATA"})
    for (SqliteRows rows(file, described, asked); rows.next();)
      if (rows.text(0).ends_with("EXPORT_SCHEMA_VERSION")) version = std::string(rows.text(1).substr(0, 40));
  return table + " lacks the column" + missing + " (schema version " + version + ")";
}

void NsysSqliteReader::read(const TraceFile& file, const ReadOptions& options, Problems& problems,
                            Progress& progress, const TraceSink& sink) {
  std::string error;
  const std::unique_ptr<SqliteFile> database = SqliteFile::open(file.path, error);
  if (const std::string why = database == nullptr ? error : lacks(*database); database == nullptr || !why.empty()) {
    problems.add({.code = Code::json_invalid, .file = file.shown, .detail = why});
    progress.add_bytes(file.bytes);
    return;
  }
  NsysBuild build(file, options, problems);
  build.string(graph_name, "CUDA graph");
  read_descriptions(*database, file, build, problems);
  read_gpu_rows(*database, file, build, problems);
  progress.add_bytes(file.bytes / 2);
  if (progress.stop_requested()) {
    problems.add({.code = Code::not_read, .file = file.shown});
    return;
  }
  read_cpu_rows(*database, file, build, problems);
  progress.add_bytes(file.bytes - file.bytes / 2);
  build.build(sink);
}

}  // namespace

std::unique_ptr<TraceReader> make_nsys_sqlite_reader() { return std::make_unique<NsysSqliteReader>(); }

}  // namespace ccl
