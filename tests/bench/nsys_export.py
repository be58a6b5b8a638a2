"""A large Nsight Systems export (SQLite) of one process with emit_nvtx: of ten rows six are ranges of operations, two are
runtime calls and two what these start, about as in real captures. As there, every operation has a number of its own."""
import sqlite3

TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "CUPTI_ACTIVITY_KIND_KERNEL": """start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
        contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
        globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
        launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL,
        gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,
        blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
        localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
        sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER""",
    "CUPTI_ACTIVITY_KIND_RUNTIME": """start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
        globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,
        callchainId INTEGER""",
    "CUPTI_ACTIVITY_KIND_MEMCPY": """start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
        contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
        globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER,
        graphNodeId INTEGER, copyCount INTEGER""",
    "NVTX_EVENTS": """start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
        category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
        domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER,
        int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT"""}
OPERATIONS = ("view", "as_strided", "copy_", "_to_copy", "reshape", "empty_strided", "permute", "mul", "add", "unsqueeze",
              "empty", "_unsafe_view", "arange", "resize_", "linear", "transpose", "matmul", "mm", "slice", "narrow",
              "expand", "clone", "pow", "mean", "rsqrt", "softmax", "dropout", "gelu", "native_layer_norm", "embedding")
CALLS = ("cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020")
PROCESS = 281476838981743 >> 24 << 24


def columns(table):
    return [part.split()[0] for part in TABLES[table].replace("\n", " ").split(",")]


def strings():
    return list(CALLS) + [f"void at::native::{name}_kernel<float, {size}>(int, float*)"
                          for name in OPERATIONS for size in (1, 2, 4)]


def ranges(count):
    for i in range(count):
        name = OPERATIONS[i * 7 % len(OPERATIONS)]
        numbers = f", seq = {45000 + i // 2}, op_id = {i + 1}" if i % 2 else f", op_id = {i + 1}"
        start = i * 6000 + i % 7
        yield (start, start + (5000 if i % 3 else 16000), 59, f"aten::{name}{numbers}", PROCESS + 367, 0)


def calls(count):
    for i in range(count):
        yield (i * 15000 + 900, i * 15000 + 3500, 0, PROCESS + 367, i + 1, 1 if i % 5 == 4 else 0, 0)


def kernels(count):
    for i in range(count):
        at = i * 5 // 4  # every fifth call is a copy
        start, name = at * 15000 + 9000, len(CALLS) + i * 11 % (3 * len(OPERATIONS))
        yield (start, start + 4000 + i % 1000, 0, 1, 7, at + 1, PROCESS, name, name, 32, 128, 1, 1, 256, 1, 1,
               0, 0, 0, 0, i)


def copies(count):
    for i in range(count):
        start = (5 * i + 4) * 15000 + 9000
        yield (start, start + 2500, 0, 1, 7, 5 * i + 5, PROCESS, 4096, 8)


def write(path, rows):
    """About that many rows, 60 % of them ranges; 70 MB a million."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    for table, definition in TABLES.items():
        database.execute(f"CREATE TABLE {table} ({definition})")

    def fill(table, names, values):
        marks = ", ".join("?" * len(names))
        database.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", values)

    launched = rows // 5
    fill("StringIds", ("id", "value"), enumerate(strings()))
    fill("CUPTI_ACTIVITY_KIND_KERNEL", [c for c in columns("CUPTI_ACTIVITY_KIND_KERNEL") if c not in (
        "greenContextId", "mangledName", "launchType", "cacheConfig", "sharedMemoryExecuted", "graphNodeId",
        "sharedMemoryLimitConfig")], kernels(launched * 4 // 5))
    fill("CUPTI_ACTIVITY_KIND_RUNTIME", columns("CUPTI_ACTIVITY_KIND_RUNTIME")[:-1], calls(launched))
    fill("CUPTI_ACTIVITY_KIND_MEMCPY", [c for c in columns("CUPTI_ACTIVITY_KIND_MEMCPY")[:10] if c != "greenContextId"],
         copies(launched // 5))
    fill("NVTX_EVENTS", ("start", "end", "eventType", "text", "globalTid", "domainId"), ranges(rows * 3 // 5))
    database.commit()
    database.close()
