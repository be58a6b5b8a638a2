// The Nsight Systems reader on any bytes as an SQLite file.
#include <sqlite3.h>

#include "parse/config_files.hpp"
#include "parse/trace_reader.hpp"
#include "scratch_file.hpp"
#include "target.hpp"

namespace ccl::fuzz {
namespace {

std::string database(const std::string& statements) {
  sqlite3* base = nullptr;
  std::string out;
  if (sqlite3_open(":memory:", &base) == SQLITE_OK &&
      sqlite3_exec(base, ("PRAGMA page_size=512;" + statements).c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) {
    sqlite3_int64 size = 0;
    unsigned char* const bytes = sqlite3_serialize(base, "main", &size, 0);
    out.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    sqlite3_free(bytes);
  }
  sqlite3_close(base);
  return out;
}

constexpr const char* texts =
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES(1,'gemm'),(2,'ncclDevKernel_AllReduce_Sum_f32'),(3,'cudaLaunchKernel'),(4,'step 1');";
constexpr const char* kernels =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,"
    " correlationId INTEGER, globalPid INTEGER, shortName INTEGER, demangledName INTEGER, gridX, gridY, gridZ);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(100,300,0,7,1,16777216,1,1,1,1,1),(300,400,0,8,2,16777216,2,2,1,1,1);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(50,60,16777217,1,3),(70,80,16777217,2,3);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(410,420,0,7,3,16777216,64,1);";
constexpr const char* ranges =
    "CREATE TABLE NVTX_EVENTS(start, end, eventType, globalTid, text, textId, domainId, jsonText, binaryData);"
    "INSERT INTO NVTX_EVENTS VALUES(40,500,59,16777217,NULL,4,0,NULL,NULL),(41,61,59,16777217,'ncclAllReduce',NULL,1,NULL,"
    "x'0001020304050607'),(-500000000,10,59,16777217,'forward',NULL,0,NULL,NULL);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs); INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1700000000000000000);"
    "CREATE TABLE TARGET_INFO_GPU(id, name, totalMemory); INSERT INTO TARGET_INFO_GPU VALUES(0,'H100',85);"
    "CREATE TABLE TARGET_INFO_SYSTEM_ENV(name, value); INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES('Hostname','n1');"
    "CREATE TABLE META_DATA_EXPORT(name, value); INSERT INTO META_DATA_EXPORT VALUES('EXPORT_SCHEMA_VERSION','3.20.1');";

}  // namespace

std::vector<std::string> seeds() {
  return {database(std::string(texts) + kernels + ranges), database(std::string(texts) + kernels), database(texts),
          database("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start;" + std::string(texts))};
}

void run(std::string_view bytes) {
  static ScratchFile scratch(".sqlite");
  static const Classifier classifier(embedded_config("kernels"));
  static const std::unique_ptr<TraceReader> reader = make_nsys_sqlite_reader();
  TraceFile file;
  file.path = scratch.hold(bytes);
  file.shown = "rank0.sqlite";
  file.format = TraceFormat::nsys_sqlite;
  ReadOptions options;
  options.wants = {true, true, true, true, true, true};
  options.classifier = &classifier;
  Problems problems;
  Progress progress;
  reader->read(file, options, problems, progress, [](const RankTrace&) {});
}

}  // namespace ccl::fuzz
