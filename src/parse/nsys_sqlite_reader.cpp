// Nsight Systems SQLite exports (nsys export --type=sqlite), schemas 2021 to 2026. One file holds the processes of one
// node.
#include <algorithm>
#include <array>

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

/// One pass over one table; false if there was a stop signal.
bool read_table(const SqliteFile& database, const NsysTable& table, const TraceFile& file, NsysBuild& build,
                Problems& problems, const Progress& progress) {
  SqliteRows rows(database, table.name, table.columns);
  constexpr std::int64_t between_looks = 1 << 16;
  std::int64_t lost = 0, count = 0;
  while (rows.next()) {
    lost += table.take(rows) ? 0 : 1;
    if (++count % between_looks == 0 && progress.stop_requested()) return false;
  }
  if (lost > 0)
    problems.add({.code = Code::event_damaged, .file = file.shown, .count = lost,
                  .detail = "rows of " + std::string(table.name) + " without usable numbers"});
  if (rows.damaged())
    problems.add({.code = Code::file_cut, .file = file.shown,
                  .detail = "table " + std::string(table.name) + ": " + rows.error()});
  build.lost(lost + (rows.damaged() ? 1 : 0));
  return true;
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
  std::int64_t left = file.bytes;
  for (const NsysTable& table : nsys_tables(build, file, problems)) {
    if (!read_table(*database, table, file, build, problems, progress)) {
      problems.add({.code = Code::not_read, .file = file.shown});
      return;
    }
    progress.add_bytes(left / 4);
    left -= left / 4;
  }
  progress.add_bytes(left);
  build.build(sink);
}

}  // namespace

std::unique_ptr<TraceReader> make_nsys_sqlite_reader() { return std::make_unique<NsysSqliteReader>(); }

}  // namespace ccl
