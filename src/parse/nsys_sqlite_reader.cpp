// Nsight Systems SQLite exports (nsys export --type=sqlite), schemas 2021 to 2026. One file holds the processes of one
// node.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "parse/nsys_tables.hpp"
#include "parse/sqlite_rows.hpp"

namespace ccl {
namespace {

class NsysSqliteReader final : public TraceReader {
 public:
  void read(const TraceFile& file, const ReadOptions& options, Problems& problems, Progress& progress,
            const TraceSink& sink) override;
};

/// Why the kernel table can not be read: what it lacks, and in which schema; "" if it can.
std::string lacks(const SqliteFile& file) {
  const std::string table = file.table("CUPTI_ACTIVITY_KIND_KERNEL");
  if (table.empty()) return "no kernel table: no Nsight Systems export with CUDA traces";
  const std::vector<std::string> columns = file.columns(table);
  const auto has = [&](std::string_view name) { return std::find(columns.begin(), columns.end(), name) != columns.end(); };
  std::string missing;
  for (const std::string_view name : {"start", "end", "deviceId"})
    if (!has(name)) missing.append(1, ' ').append(name);
  if (!has("demangledName") && !has("shortName")) missing += " shortName";
  if (missing.empty()) return "";
  std::string version = "unknown";
  constexpr std::array<std::string_view, 2> asked{"name", "value"};
  for (const std::string_view described : {"META_DATA_EXPORT", "EXPORT_META_DATA"})
    for (SqliteRows rows(file, described, asked); rows.next();)
      if (rows.text(0).ends_with("EXPORT_SCHEMA_VERSION")) version = std::string(rows.text(1).substr(0, 40));
  return table + " lacks the column" + missing + " (schema version " + version + ")";
}

constexpr const char* names_a_rank =
    R"(("text" LIKE 'ncclComm%' OR "text" LIKE '%rank=%'))";
constexpr const char* names_a_rank_by_id =
    R"(("text" LIKE 'ncclComm%' OR "text" LIKE '%rank=%' OR "textId" IN (SELECT "id" FROM "StringIds" WHERE
        "value" LIKE 'ncclComm%' OR "value" LIKE '%rank=%')))";

constexpr const char* names_a_thread = R"( OR ("eventType" = 39 AND "text" LIKE 'MPI Rank %'))";

/// Condition for ranges and names of threads that tell the rank of a process or its place in a communicator; "0" if
/// none can.
std::string names_ranks(const SqliteFile& file) {
  const std::vector<std::string> columns = file.columns(file.table("NVTX_EVENTS"));
  const auto has = [&](const char* name) { return std::find(columns.begin(), columns.end(), name) != columns.end(); };
  const std::vector<std::string> strings = file.columns("StringIds");
  if (!has("text")) return "0";
  const std::string ranges = has("textId") && strings.size() >= 2 ? names_a_rank_by_id : names_a_rank;
  return has("eventType") ? ranges + names_a_thread : ranges;
}

/// Whether one of the first kernels names its process: a single one may be damaged.
bool names_processes(const SqliteFile& file) {
  constexpr std::array<std::string_view, 1> asked{"globalPid"};
  const std::vector<std::string> columns = file.columns(file.table("CUPTI_ACTIVITY_KIND_KERNEL"));
  if (std::find(columns.begin(), columns.end(), asked[0]) == columns.end()) return false;
  constexpr int looked_at = 64;
  int count = 0;
  for (SqliteRows rows(file, "CUPTI_ACTIVITY_KIND_KERNEL", asked); count < looked_at && rows.next(); ++count)
    if (process_of_row(rows.integer(0)) != 0) return true;
  return count == 0;
}

/// Every process with GPU work, with its lowest device.
std::map<std::uint64_t, std::int32_t> gpu_processes(const SqliteFile& file, bool& damaged) {
  std::map<std::uint64_t, std::int32_t> all;
  std::uint64_t process = 0, last = 0;
  std::int32_t device = 0, lowest = -1;
  for (const std::string_view table : nsys_gpu_tables) {
    SqliteRows rows(file, table, nsys_gpu_columns);
    while (rows.next()) {
      if (!read_gpu_place(rows, process, device) || (process == last && device >= lowest && lowest >= 0)) continue;
      const auto [at, added] = all.try_emplace(process, device);
      at->second = std::min(at->second, device);
      last = process;
      lowest = at->second;
    }
    damaged |= rows.damaged();
  }
  return all;
}

/// What one reader of a shared file reads of each table.
struct Share {
  FilePart part;
  std::vector<std::uint64_t> elsewhere, own;  // processes with GPU work
  std::string names_ranks;
  bool known = true;  // else the file is not shared: part 0 has all of it
  bool damaged = false;

  bool has(std::uint64_t process) const {
    const auto in = [&](const auto& list) { return std::find(list.begin(), list.end(), process) != list.end(); };
    return in(own) || in(elsewhere);
  }
  std::optional<ProcessFilter> filter(const NsysTable& table) const {
    if (table.process_column.empty()) return {};
    ProcessFilter filter{table.process_column, part.number == 0 ? elsewhere : own, part.number == 0, ""};
    if (table.names_ranks) filter.or_else = names_ranks;
    return filter;
  }
};

Share share_of(const SqliteFile& file, FilePart part, NsysBuild& build) {
  Share share{part, {}, {}, names_ranks(file), names_processes(file), false};
  if (!share.known) {
    build.processes_are_unknown();
    return share;
  }
  build.processes_are_known();
  if (part.count < 2) return share;
  const std::map<std::uint64_t, std::int32_t> all = gpu_processes(file, share.damaged);
  build.share(all, part);
  for (const auto& [process, device] : all)
    (build.owns_thread(process << 24) ? share.own : share.elsewhere).push_back(process);
  return share;
}

enum class Reading : std::uint8_t { whole, damaged, nothing };

/// One pass over one table, which ends at the first row that can not be read; nothing if there was a stop signal.
Reading read_table(const SqliteFile& database, const NsysTable& table, const Share& share, const TraceFile& file,
                   NsysBuild& build, Problems& problems, const Progress& progress) {
  const std::optional<ProcessFilter> filter = share.part.count < 2 ? std::nullopt : share.filter(table);
  SqliteRows rows(database, table.name, table.columns, filter ? &*filter : nullptr);
  const bool speaks = share.part.number == 0;
  constexpr std::int64_t between_looks = 1 << 16;
  std::int64_t lost = 0, count = 0;
  bool of_all = false;  // a row that others would have to know of
  while (rows.next()) {
    if (!table.take(rows)) {
      const NsysLostRow row = lost_row_of(table, rows);
      build.lost_row(row);
      of_all = of_all || (filter && !share.has(row.process));
      ++lost;
    }
    if (++count % between_looks == 0 && progress.stop_requested()) return Reading::nothing;
  }
  if (!filter && !speaks) lost = 0;
  if (lost > 0)
    problems.add({.code = Code::event_damaged, .file = file.shown, .count = lost,
                  .detail = "rows of " + std::string(table.name) + " without usable numbers"});
  if (rows.damaged()) {
    build.lost(1);
    if (table.makes_steps) build.cut();
    problems.add({.code = Code::file_cut, .file = file.shown,
                  .detail = "table " + std::string(table.name) + ": " + rows.error()});
  }
  return rows.damaged() || of_all ? Reading::damaged : Reading::whole;
}

/// The rows of a part into the build; bytes: for progress. Nothing: no export, a stop signal, or all of it is part 0's.
Reading read_part(const TraceFile& file, FilePart part, std::int64_t bytes, NsysBuild& build, Problems& problems,
                  Progress& progress) {
  std::string error;
  // What is said of the file as a whole is said once.
  Problems unsaid;
  Problems& of_file = part.number == 0 ? problems : unsaid;
  const std::unique_ptr<SqliteFile> database = SqliteFile::open(file.path, error);
  if (const std::string why = database == nullptr ? error : lacks(*database); database == nullptr || !why.empty()) {
    of_file.add({.code = Code::json_invalid, .file = file.shown, .detail = why});
    progress.add_bytes(bytes);
    return Reading::nothing;
  }
  const Share share = share_of(*database, part, build);
  Reading reading = share.damaged ? Reading::damaged : Reading::whole;
  if (!share.known && part.number > 0) {
    progress.add_bytes(bytes);
    return Reading::nothing;
  }
  for (const NsysTable& table : nsys_tables(build, file, of_file)) {
    if (part.count > 1 && reading == Reading::damaged) break;
    const Reading of_table = read_table(*database, table, share, file, build, problems, progress);
    if (of_table == Reading::nothing) {
      of_file.add({.code = Code::not_read, .file = file.shown});
      return Reading::nothing;
    }
    if (of_table == Reading::damaged) reading = Reading::damaged;
    progress.add_bytes(bytes / 4);
    bytes -= bytes / 4;
  }
  progress.add_bytes(bytes);
  return reading;
}

// A table ends at the first row that can not be read, whoever's it is, and a row that names no process may be anyone's,
// but who reads a part sees the rows of others by halves: of such an export part 0 reads all.
void NsysSqliteReader::read(const TraceFile& file, const ReadOptions& options, Problems& problems,
                            Progress& progress, const TraceSink& sink) {
  std::int64_t bytes = file.bytes;
  if (options.part.count > 1) {
    Problems found;
    NsysBuild build(file, options, found);
    const Reading reading = read_part(file, options.part, bytes / options.part.count, build, found, progress);
    const bool damaged = reading == Reading::damaged;
    if (!(options.parts == nullptr ? damaged : options.parts->any(damaged))) {
      if (reading != Reading::nothing) build.build(sink);
      return problems.unite(found);
    }
    if (options.part.number > 0) return;
    bytes = 0;
  }
  ReadOptions alone = options;
  alone.part = {};
  NsysBuild build(file, alone, problems);
  if (read_part(file, alone.part, bytes, build, problems, progress) != Reading::nothing) build.build(sink);
}

}  // namespace

NsysSurvey survey_export(const TraceFile& file) {
  std::string error;
  const std::unique_ptr<SqliteFile> database = SqliteFile::open(file.path, error);
  if (database == nullptr || !lacks(*database).empty() || !names_processes(*database)) return {};
  Problems unsaid;
  const ReadOptions options;
  NsysBuild build(file, options, unsaid);
  build.processes_are_known();
  const std::string condition = names_ranks(*database);
  for (const NsysTable& table : nsys_tables(build, file, unsaid)) {
    if (!table.process_column.empty() && !table.names_ranks) continue;
    ProcessFilter filter{table.process_column, {}, false, condition};
    SqliteRows rows(*database, table.name, table.columns, table.names_ranks ? &filter : nullptr);
    while (rows.next()) table.take(rows);
  }
  return build.survey();
}

std::unique_ptr<TraceReader> make_nsys_sqlite_reader() { return std::make_unique<NsysSqliteReader>(); }

}  // namespace ccl
