#!/usr/bin/env python3
"""Real traces against independently computed values: corpus_check.py CCL_ANALYZE CORPUS WORK_FOLDER [SET ...]

Runs the program on every set of the corpus that has expected values and compares what both define alike, exactly:
kernels, sums, unions, overlap, window, busy, idle, per-type times, bytes per group, CPU steps, matches and their times.
Prints one line per set; exit code 1 on any disagreement, 77 when there is no corpus.
"""
import collections
import json
import pathlib
import pickle
import subprocess
import sys
import tarfile

import h5py

MULTI = ["torchtitan-fsdp4-prA", "torchtitan-fsdp4-mini", "nanogpt-ddp8-r04", "param-dlrm8", "hta-trace-filter"]
SINGLE = {
    "single-hta-amd-mi250": "hta-small/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "single-hta-nccl-data": "hta-nccl-data/nccl_data.json.gz",
    "single-nanogpt-h2dprefetch": "nanogpt-h2dprefetch/profile-rank0-trace.json.gz",
}
MEMORY, EXECUTION = "memsnap-cs336-silmont", "et-param-dlrm8"


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def rows(file, path):
    """A table as a list of dicts; an absent table is empty."""
    if path not in file:
        return []
    table = file[path][:]
    return [{name: text(row[name]) for name in table.dtype.names} for row in table]


class Check:
    def __init__(self, name):
        self.name, self.compared, self.wrong = name, 0, []

    def equal(self, what, got, want):
        self.compared += 1
        if got != want:
            self.wrong.append(f"{what}: got {got}, expected {want}")


def check_rank(check, file, expected):
    rank = expected["rank"]
    whole = [r for r in rows(file, "metrics/comm_comp_overlap/whole") if r["rank"] == rank]
    if not expected["kernels"]["comm"] + expected["kernels"]["compute"]:
        return
    check.equal(f"rank {rank} whole rows", len(whole), 1)
    if len(whole) != 1:
        return
    whole = whole[0]
    base = expected["base_time_ns"] or 0
    pairs = {
        "communication_count": expected["kernels"]["comm"], "compute_count": expected["kernels"]["compute"],
        "memory_count": expected["kernels"]["copies"], "communication_sum_ns": expected["sum_ns"]["comm"],
        "compute_sum_ns": expected["sum_ns"]["compute"], "memory_sum_ns": expected["sum_ns"]["copy"],
        "communication_ns": expected["union_ns"]["comm"], "compute_ns": expected["union_ns"]["compute"],
        "memory_ns": expected["union_ns"]["copy"], "busy_ns": expected["gpu_busy_ns"],
        "kernels_busy_ns": expected["union_ns"]["kernels"], "overlap_ns": expected["overlap_comm_compute_ns"],
        "exposed_ns": expected["comm_exposed_ns"], "idle_ns": expected["gpu_idle_ns"],
        "window_ns": expected["gpu_window_ns"]["length"], "gpu_start_ns": base + expected["gpu_window_ns"]["start"],
        "gpu_end_ns": base + expected["gpu_window_ns"]["end"],
    }
    for column, want in pairs.items():
        check.equal(f"rank {rank} {column}", whole[column], want)
    steps = {r["step"]: r for r in rows(file, "steps") if r["rank"] == rank}
    for want in expected["steps_cpu"]:
        got = steps.get(want["step"])
        start = base + want["start_ns"]
        check.equal(f"rank {rank} step {want['step']}", got and (got["start_ns"], got["end_ns"] - got["start_ns"]),
                    (start, want["dur_ns"]))


class NothingButData(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} in a snapshot")


def peak_in_blocks(path):
    """Forwards through the pickle: the size of a block where it is in use at the end, else asked for, rounded to 512."""
    with open(path, "rb") as file:
        snapshot = NothingButData(file).load()
    live = {b["address"]: b["size"] for s in snapshot["segments"] for b in s["blocks"] if b["state"] != "inactive"}
    (entries,) = [t for t in snapshot["device_traces"] if t]
    last = {e["addr"]: i for i, e in enumerate(entries) if e["action"] == "alloc"}
    changes = []
    for i, entry in enumerate(entries):
        size = -(-entry["size"] // 512) * 512
        if entry["action"] == "alloc":
            changes.append(live[entry["addr"]] if entry["addr"] in live and last[entry["addr"]] == i else size)
        elif entry["action"] == "free_completed":
            changes.append(-size)
    now = most = sum(live.values()) - sum(changes)
    for change in changes:
        now += change
        most = max(most, now)
    return most


def memory_lines(name, row, expected):
    for column in "reserved_bytes", "active_bytes", "requested_bytes", "peak_requested_bytes", "peak_reserved_bytes":
        print(f"  {name} {column} {row[column]} expected {expected[column]}")


def merged_types(expected_types):
    """The product tells all_to_all_v from all_to_all, and names what the oracle calls unknown; compare what is alike."""
    return {op: (v["count"], v["sum_ns"], v["union_ns"]) for op, v in expected_types.items()}


def check_types(check, file, expected):
    rank = expected["rank"]
    got = {}
    for r in rows(file, "metrics/comm_comp_overlap/whole_by_op"):
        if r["rank"] == rank:
            op = "all_to_all" if r["op"] == "all_to_allv" else r["op"]
            got[op] = (r["calls_count"], r["sum_ns"], r["communication_ns"])
    for op, want in merged_types(expected["comm_types"]).items():
        # Without arguments the oracle goes by the kernel's name. Old NCCL ran other operations in its SendRecv kernel;
        # the product asks the nccl: annotation around the launch. All kernels together must add up.
        if op == "send_recv" and not expected["comm_types"][op]["with_args"]:
            others = [v for name, v in got.items() if name not in expected["comm_types"] or name == op]
            check.equal(f"rank {rank} type {op}", [sum(v[i] for v in others) for i in (0, 1)], list(want[:2]))
            continue
        check.equal(f"rank {rank} type {op}", got.get(op), want)


def check_groups(check, file, expected):
    rank = expected["rank"]
    want = collections.Counter()
    for key, v in expected["groups"].items():
        name, description, _, op, _ = key.split("|")
        want[(name, op, "count")] += v["count"]
        for column in ("bytes_in", "bytes_out", "payload"):
            want[(name, op, column)] += v[column] or 0
    got = collections.Counter()
    names = {r["group"]: r["name"] for r in rows(file, "process_groups")}
    for r in rows(file, "metrics/traffic_distribution/by_group"):
        if r["rank"] != rank or not names.get(r["group"]):
            continue
        op = "all_to_all" if r["op"] == "all_to_allv" else r["op"]
        key = (names[r["group"]], op)
        got[key + ("count",)] += r["calls_count"]
        got[key + ("bytes_in",)] += r["in_bytes"]
        got[key + ("bytes_out",)] += r["out_bytes"]
        got[key + ("payload",)] += r["payload_bytes"]
    for key, value in want.items():
        check.equal(f"rank {rank} group {key}", got[key], value)


def check_matches(check, file, expected):
    cross = expected["cross_rank"]
    instances = rows(file, "collectives/instances")
    check.equal("matches", len(instances), cross["matched"])
    complete = sum(r["members_seen"] == len(cross["ranks"]) for r in instances)
    check.equal("complete matches", complete, cross["complete"])
    members = collections.defaultdict(dict)
    for r in rows(file, "collectives/members"):
        members[r["instance"]][r["rank"]] = r["end_ns"] - r["start_ns"]
    by_first = {}
    for r in instances:
        by_first[tuple(sorted(members[r["instance"]].items()))] = r
    for match in cross["matches"]:
        durations = tuple(sorted((int(rank), dur) for rank, dur in match["dur"].items()))
        got = by_first.get(durations)
        label = f"{match['type']} {match['index']}"
        check.equal(f"match {label} found", got is not None, True)
        if got is None or got["transfer_ns"] < 0:
            continue
        check.equal(f"{label} transfer", got["transfer_ns"], match["min_dur"])
        check.equal(f"{label} start spread", got["start_spread_file_ns"], match["start_spread"])
        check.equal(f"{label} end spread", got["end_spread_ns"], match["end_spread"])
        values = [d for _, d in durations]
        check.equal(f"{label} lag", got["lag_ns"], max(values) - min(values))
        check.equal(f"{label} last rank", got["last_rank"], min(durations, key=lambda x: (x[1], x[0]))[0])
        check.equal(f"{label} wait sum", got["wait_sum_ns"], sum(v - min(values) for v in values))


def check_memory(corpus, work, program, expected):
    """Every snapshot alone, as a user would name it; the memory metric needs no trace beside it."""
    check = Check(MEMORY)
    for want in expected["files"]:
        output = work / (want["file"] + ".h5")
        done = subprocess.run([program, str(corpus / "given" / "memsnap-silmont" / want["file"]), "-o", str(output),
                               "--quiet"], capture_output=True, text=True, timeout=120)
        check.equal(f"{want['file']} exit code", (done.returncode, done.stderr[-300:] * bool(done.returncode)), (0, ""))
        if done.returncode:
            continue
        with h5py.File(output) as file:
            found, pools = rows(file, "metrics/memory/rows"), rows(file, "metrics/memory/by_pool")
            top = rows(file, "metrics/memory/top")
        check.equal(f"{want['file']} rows", len(found), len(want["devices"]))
        row, segments, device = found[0], want["segments"], want["devices"]["0"]
        pairs = {"segments_count": segments["count"], "blocks_count": want["blocks"]["count"],
                 "entries_count": device["entries"], "first_us": device["time_us"][0], "last_us": device["time_us"][1],
                 "peak_requested_bytes": device["timeline_reqsize"]["peak_live"],
                 "peak_reserved_bytes": device["segment_timeline"]["peak_live"]}
        for name in "reserved", "allocated", "active", "requested":
            pairs[name + "_bytes"] = segments[name]
        for column, action in {"allocations": "alloc", "frees": "free_requested"}.items():
            counts = device["actions"].get(action, {"count": 0, "bytes": 0})
            pairs[column + "_count"], pairs[column + "_bytes"] = counts["count"], counts["bytes"]
        pairs["segment_allocations_count"] = device["actions"].get("segment_alloc", {"count": 0})["count"]
        for column, value in pairs.items():
            check.equal(f"{want['file']} {column}", row[column], value)
        sites = {f"{r['source']}:{r['line']}:{r['function']}" if r["source"] else "": r["at_end_bytes"] for r in top}
        for site, size in want["top_live"] if top else []:
            check.equal(f"{want['file']} held by {site}", sites.get(site), size)
        check.equal(f"{want['file']} inactive", sum(r["inactive_bytes"] for r in pools),
                    want["blocks"]["inactive_in_segments"])
        check.equal(f"{want['file']} largest inactive", max(r["largest_inactive_bytes"] for r in pools),
                    want["blocks"]["largest_inactive"])
        check.equal(f"{want['file']} peak in blocks", row["peak_active_bytes"],
                    peak_in_blocks(corpus / "given" / "memsnap-silmont" / want["file"]))
        check.equal(f"{want['file']} ring", row["ring_full"], "no")
        memory_lines(want["file"], row, pairs)
    return check


def check_execution_traces(corpus, work, program, expected):
    """Kineto traces without arguments beside execution traces of the same ranks: bytes by operation of every rank."""
    check, folder = Check(EXECUTION), work / EXECUTION
    for name in "dlrm_kineto", "dlrm_pytorch_et":
        with tarfile.open(corpus / "given" / "param-dlrm8" / f"{name}.tar.gz") as archive:
            archive.extractall(folder)
    output = work / f"{EXECUTION}.h5"
    done = subprocess.run([program, str(folder), "-o", str(output), "--quiet"], capture_output=True, text=True, timeout=120)
    check.equal("exit code", (done.returncode, done.stderr[-300:] * bool(done.returncode)), (0, ""))
    if done.returncode:
        return check
    with h5py.File(output) as file:
        found = rows(file, "metrics/traffic_distribution/by_group")
    got = collections.Counter()
    for r in found:
        got[r["rank"], r["op"], "count"] += r["calls_count"]
        got[r["rank"], r["op"], "bytes"] += r["in_bytes"]
    names = {"all_to_all": "all_to_all", "all_to_allv": "all_to_allv", "allreduce": "all_reduce"}
    for want in expected["files"]:
        rank = int(want["file"].split("_")[-1].split(".")[0])
        for op, name in names.items():
            for column in "count", "bytes":
                check.equal(f"rank {rank} {op} {column}", got[rank, name, column], want["comms"][op][column])
    return check


def unpack(corpus, name, work):
    folder = corpus / "given" / name
    if name != "param-dlrm8":
        return folder
    target = work / name
    with tarfile.open(folder / "dlrm_kineto.tar.gz") as archive:
        archive.extractall(target)
    return target


def run_set(program, corpus, work, name):
    check = Check(name)
    expected = json.loads((corpus / "expected" / f"{name}.json").read_text())
    if name == MEMORY:
        return check_memory(corpus, work, program, expected)
    if name == EXECUTION:
        return check_execution_traces(corpus, work, program, expected)
    folder = corpus / "given" / SINGLE[name] if name in SINGLE else unpack(corpus, name, work)
    output = work / f"{name}.h5"
    done = subprocess.run([program, str(folder), "-o", str(output), "--quiet"], capture_output=True, text=True, timeout=120)
    (work / f"{name}.txt").write_text(done.stdout + "\n" + done.stderr)
    check.equal("exit code", done.returncode, 0)
    if done.returncode:
        check.wrong.append(done.stderr.strip()[-300:])
        return check
    with h5py.File(output) as file:
        ranks = expected["per_rank"]
        for rank in ranks.values() if isinstance(ranks, dict) else ranks:
            if name in SINGLE:
                rank = dict(rank, rank=int(rows(file, "ranks")[0]["rank"]))
            check_rank(check, file, rank)
            check_types(check, file, rank)
            check_groups(check, file, rank)
        if name in MULTI and name != "hta-trace-filter":
            check_matches(check, file, expected)
        if name == "hta-trace-filter":
            codes = {r["code"]: r["count"] for r in rows(file, "warnings/counts")}
            check.equal("matching not credible", codes["matching_not_credible"] > 0, True)
            check.equal("straggler_lag status", text(file["metrics/straggler_lag"].attrs["status"]), "absent")
        if name.startswith("torchtitan"):
            check.equal("rank 2 named", "rank 2" in done.stdout and "27 of 28" in done.stdout, True)
    return check


def main():
    program, corpus, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    if not (corpus / "expected").is_dir():
        print("skipped: no real traces (set CCL_CORPUS)")
        return 77
    work.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in sys.argv[4:] or MULTI + list(SINGLE) + [MEMORY, EXECUTION]:
        check = run_set(program, corpus, work, name)
        print(f"{name:28} {check.compared - len(check.wrong):6} of {check.compared} values equal")
        for line in check.wrong[:12]:
            print("    " + line)
        failed += bool(check.wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
