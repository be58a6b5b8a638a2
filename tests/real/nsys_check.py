#!/usr/bin/env python3
"""Real Nsight Systems exports against plain SQL on the same file: nsys_check.py CCL_ANALYZE CORPUS WORK_FOLDER

Counts of kernels, copies and sets, of API calls and NVTX events, ranks, and the summed time of communication and other
kernels are asked of SQLite in the plainest way and must be what the program says. Prints a table, one line per export;
exit code 1 on any disagreement, 77 when there is no corpus.
"""
import pathlib
import sqlite3
import subprocess
import sys

import h5py

ATTACHED = {"extrap_callchains_s10_2021": 1, "extrap_con_kernel": 1, "extrap_concurrent_s1": 1, "h100_2gpu_1s": 2,
            "healthy_1pct": 1, "mfu_2gpu_before": 2, "mock": 1, "nsightful_power_iteration": 1,
            "pipit_cloverleaf_perlmutter": 1}  # processes with GPU events


class Export:
    def __init__(self, path):
        self.base = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        self.base.text_factory = lambda raw: raw.decode("utf-8", "replace")

    def one(self, sql):
        return self.base.execute(sql).fetchone()[0]

    def has(self, table, column=None):
        columns = [row[1] for row in self.base.execute(f"PRAGMA table_info({table})")]
        return bool(columns) and (column is None or column in columns)

    def count(self, table, where="1"):
        return self.one(f"SELECT COUNT(*) FROM {table} WHERE {where}") if self.has(table) else 0

    def schema(self):
        for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):
            if self.has(table):
                found = self.base.execute(f"SELECT value FROM {table} WHERE name LIKE '%SCHEMA_VERSION'").fetchone()
                if found:
                    return found[0]
        return "none"

    def kernel_time(self, communication):
        name = "COALESCE(d.value, '')" if self.has("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName") else "COALESCE(s.value, '')"
        demangled = "LEFT JOIN StringIds d ON d.id = k.demangledName" if name.startswith("COALESCE(d") else ""
        sign = "" if communication else "NOT "
        return self.one(f"SELECT COALESCE(SUM(k.end - k.start), 0) FROM CUPTI_ACTIVITY_KIND_KERNEL k {demangled} "
                        f"LEFT JOIN StringIds s ON s.id = k.shortName WHERE {sign}{name} LIKE '%nccl%kernel%'")

    def joined(self):
        if not self.has("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid"):
            return -1
        return self.one("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k WHERE EXISTS (SELECT 1 FROM temp.calls r "
                        "WHERE r.process = k.globalPid >> 24 AND r.correlation = k.correlationId)")

    def index_calls(self):
        self.base.execute("CREATE TEMP TABLE calls (process, correlation)")
        if self.has("CUPTI_ACTIVITY_KIND_RUNTIME"):
            wanted = "eventClass IN (0, 1)" if self.has("CUPTI_ACTIVITY_KIND_RUNTIME", "eventClass") else "1"
            self.base.execute("INSERT INTO temp.calls SELECT globalTid >> 24, correlationId FROM "
                              f"CUPTI_ACTIVITY_KIND_RUNTIME WHERE {wanted}")
        self.base.execute("CREATE INDEX temp.by_call ON calls (process, correlation)")
        return self.one("SELECT COUNT(*) FROM temp.calls")


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def check(program, path, work):
    export = Export(path)
    calls = export.index_calls()
    kernels = export.count("CUPTI_ACTIVITY_KIND_KERNEL") + export.count("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
    copies, sets = export.count("CUPTI_ACTIVITY_KIND_MEMCPY"), export.count("CUPTI_ACTIVITY_KIND_MEMSET")
    nvtx = export.count("NVTX_EVENTS")
    output = work / (path.stem + ".h5")
    done = subprocess.run([program, str(path), "-q", "-o", str(output)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        return [f"exit {done.returncode}: {done.stderr.strip()}"], ""
    with h5py.File(output) as file:
        ranks = file["ranks"][:]
        whole = file["metrics/comm_comp_overlap/whole"][:]
        warnings = {text(row["code"]): int(row["count"]) for row in file["warnings/counts"][:] if row["count"]}
    total = {name: int(sum(whole[name])) for name in whole.dtype.names if name.endswith(("_count", "_ns"))}
    gpu = int(sum(ranks["gpu_events_count"]))
    wrong = [f"{what}: got {got}, plain SQL {want}" for what, got, want in (
        ("processes", len(ranks), ATTACHED.get(path.stem, len(ranks))),
        ("kernels", total["communication_count"] + total["compute_count"], kernels),
        ("copies and sets", total["memory_count"], copies + sets),
        ("GPU events", gpu, kernels + copies + sets),
        ("API calls and NVTX events", int(sum(ranks["events_count"])) - gpu, calls + nvtx),
        ("communication ns", total["communication_sum_ns"], export.kernel_time(True)),
        ("compute ns", total["compute_sum_ns"], export.kernel_time(False))) if got != want]
    ranks_text = ",".join(f"{row['rank']}({text(row['rank_source'])})" for row in ranks)
    shown = [f"{code} {count}" for code, count in sorted(warnings.items())]
    line = (f"{path.stem:28} {export.schema():8} {ranks_text:24} {kernels:6} {export.joined():6} {copies:5} {sets:5} "
            f"{nvtx:6} {calls:6} {total['communication_sum_ns'] / 1e6:9.3f} {total['compute_sum_ns'] / 1e6:9.3f}  "
            f"{', '.join(shown)}")
    return wrong, line


def main():
    program, corpus, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    exports = sorted((corpus / "given" / "nsys").glob("*.sqlite"))
    if not exports:
        print("skipped: no real traces (set CCL_CORPUS)")
        return 77
    work.mkdir(parents=True, exist_ok=True)
    print(f"{'export':28} {'schema':8} {'ranks (source)':24} {'kernel':>6} {'joined':>6} {'copy':>5} {'set':>5} "
          f"{'NVTX':>6} {'calls':>6} {'comm ms':>9} {'comp ms':>9}  warnings")
    failed = 0
    for path in exports:
        wrong, line = check(program, path, work)
        if line:
            print(line)
        for one in wrong:
            print(f"  {path.stem}: {one}")
        failed += bool(wrong)
    return 1 if failed else 0


sys.exit(main())
