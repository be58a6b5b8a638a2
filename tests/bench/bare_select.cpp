// The yardstick the nsys reader is measured against: a bare SELECT of the columns it needs, all rows stepped through,
// every value fetched and nothing done with it. Prints bytes, rows and CPU seconds (user + system).
//
//   bare_select FILE.sqlite
#include <sqlite3.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "cpu_time.hpp"

namespace {

constexpr const char* queries[] = {
    "SELECT id, value FROM StringIds",
    "SELECT start, end, deviceId, streamId, correlationId, globalPid, demangledName, shortName, gridX, gridY, gridZ, "
    "blockX, blockY, blockZ FROM CUPTI_ACTIVITY_KIND_KERNEL",
    "SELECT start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind FROM CUPTI_ACTIVITY_KIND_MEMCPY",
    "SELECT start, end, deviceId, streamId, correlationId, globalPid, bytes FROM CUPTI_ACTIVITY_KIND_MEMSET",
    "SELECT start, end, eventClass, globalTid, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME",
    "SELECT start, end, eventType, globalTid, text, textId, domainId, jsonText, binaryData FROM NVTX_EVENTS",
    "SELECT timestamp, typeId, metricId, value FROM GPU_METRICS"};

}  // namespace

int main(int arguments, char** values) {
  if (arguments != 2) return std::fprintf(stderr, "usage: bare_select FILE.sqlite\n"), 2;
  sqlite3* database = nullptr;
  if (sqlite3_open_v2(values[1], &database, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK)
    return std::fprintf(stderr, "%s: %s\n", values[1], sqlite3_errmsg(database)), 1;
  std::size_t rows = 0;
  sqlite3_int64 sum = 0;
  for (const char* query : queries) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database, query, -1, &statement, nullptr) != SQLITE_OK) continue;  // an optional table
    const int columns = sqlite3_column_count(statement);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      ++rows;
      for (int column = 0; column < columns; ++column) {
        const int type = sqlite3_column_type(statement, column);
        if (type == SQLITE_INTEGER) sum += sqlite3_column_int64(statement, column) & 1;
        if (type == SQLITE_TEXT || type == SQLITE_BLOB)
          sum += sqlite3_column_blob(statement, column) != nullptr ? sqlite3_column_bytes(statement, column) : 0;
      }
    }
    sqlite3_finalize(statement);
  }
  sqlite3_close(database);
  std::printf("bare_select bytes %zu rows %zu cpu_s %.3f peak_MB %.1f (%lld)\n",
              static_cast<std::size_t>(std::filesystem::file_size(values[1])), rows, ccl::bench::cpu_seconds(),
              ccl::bench::peak_megabytes(), static_cast<long long>(sum));
  return 0;
}
