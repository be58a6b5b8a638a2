"""Planted memory snapshots: what ccl-analyze says is compared with the truth, found forwards by ccl-synth, and for one
rank with a replay in Python of the pickle itself."""
import os
import pickle
import unittest

import compare
from planted import Folder

JOB = ("--plain", "--mb-per-rank", "0", "--memory")


class NothingButData(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} in a snapshot")


def replay(path):
    """Peaks of device 0 from the file alone, forwards: (active in block sizes, requested, reserved)."""
    with open(path, "rb") as file:
        snapshot = NothingButData(file).load()
    live = [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] != "inactive"]
    entries = snapshot["device_traces"][0]

    def peak(end, plus, minus, size):
        changes = [size(e) * ((e["action"] in plus) - (e["action"] in minus)) for e in entries]
        now = most = end - sum(changes)
        for change in changes:
            now += change
            most = max(most, now)
        return most

    return {
        "peak_active_bytes": peak(sum(b["size"] for b in live), ("alloc",), ("free_completed",),
                                  lambda e: -(-e["size"] // 512) * 512),
        "peak_requested_bytes": peak(sum(b["requested_size"] for b in live), ("alloc",), ("free_completed",),
                                     lambda e: e["size"]),
        "peak_reserved_bytes": peak(sum(s["total_size"] for s in snapshot["segments"]), ("segment_alloc",),
                                    ("segment_free",), lambda e: e["size"]),
    }


def streams(path):
    """Counts, bytes and rates by stream, from the file alone."""
    with open(path, "rb") as file:
        entries = NothingButData(file).load()["device_traces"][0]
    times = [e["time_us"] for e in entries]
    seconds = (max(times) - min(times)) / 1e6
    found = {}
    for stream in {e["stream"] for e in entries if e["action"] in ("alloc", "free_requested")}:
        found[stream] = {}
        for name, action in ("allocations", "alloc"), ("frees", "free_requested"):
            sizes = [e["size"] for e in entries if e["action"] == action and e["stream"] == stream]
            found[stream].update({f"{name}_count": len(sizes), f"{name}_bytes": sum(sizes),
                                  f"{name}_per_s": len(sizes) / seconds, f"{name}_bytes_per_s": sum(sizes) / seconds})
    return found


def rows(truth, output):
    names = {"active": "active_bytes", "requested": "requested_bytes", "reserved": "reserved_bytes",
             "peak_active": "peak_active_bytes", "peak_requested": "peak_requested_bytes",
             "peak_reserved": "peak_reserved_bytes", "peak_us": "peak_us", "entries": "entries_count",
             "segments": "segments_count", "out_of_memory": "out_of_memory_count"}
    expected = {r.rank: {n: getattr(r, n) for n in names} for r in truth["memory"]}
    found = {r["rank"]: {n: r[column] for n, column in names.items()} for r in output.table("/metrics/memory/rows")}
    return compare.differences("memory of rank", expected, found)


class MemoryTest(unittest.TestCase):
    maxDiff = None

    def folder(self, *options):
        folder = Folder(*options)
        self.addCleanup(folder.remove)
        return folder

    def test_peaks_steps_and_sites_are_recovered(self):
        folder = self.folder(*JOB, "--memory-oom", "3")
        output = folder.analyze(workers=2)
        self.assertEqual(rows(folder.truth, output), [])
        steps = {(r.rank, r.step): (r.first_us, r.last_us, r.peak_active) for r in folder.truth["memory_steps"]}
        found = {(r["rank"], r["step"]): (r["first_us"], r["last_us"], r["peak_active_bytes"])
                 for r in output.table("/metrics/memory/by_step")}
        self.assertEqual(compare.differences("memory of step", steps, found), [])
        sites = {(r.rank, r.function): (r.at_peak, r.at_end) for r in folder.truth["memory_sites"]}
        found = {(r["rank"], r["function"]): (r["at_peak_bytes"], r["at_end_bytes"])
                 for r in output.table("/metrics/memory/top")}
        self.assertEqual(compare.differences("memory of site", sites, found), [])
        failures = output.table("/metrics/memory/out_of_memory")
        self.assertEqual([(r["rank"], r["asked_bytes"], r["free_bytes"]) for r in failures], [(3, 7 << 20, 12345344)])
        self.assertIn("OUT OF MEMORY", output.summary)
        values = output.attributes("/metrics/memory")
        most = max(r.peak_reserved for r in folder.truth["memory"])
        self.assertAlmostEqual(values["nearest_to_limit_ratio"], most / 42_297_786_368)
        self.assertEqual(output.attributes("/metrics/memory")["ranks_covered"], 8)

    def test_one_snapshot_replayed_in_python(self):
        folder = self.folder(*JOB)
        output = folder.analyze()
        table = {r["rank"]: r for r in output.table("/metrics/memory/rows")}
        for rank in (0, 5):
            path = os.path.join(folder.traces, table[rank]["file"])
            self.assertEqual({k: table[rank][k] for k in replay(path)}, replay(path))
            self.assertEqual(table[rank]["ring_full"], "no")
            found = {r["stream"]: {k: r[k] for k in next(iter(streams(path).values()))}
                     for r in output.table("/metrics/memory/by_stream") if r["rank"] == rank}
            self.assertEqual(compare.differences("stream", streams(path), found), [])

    def test_a_full_ring_gives_the_peaks_of_its_window(self):
        folder = self.folder(*JOB, "--steps", "70", "--layers", "4", "--memory-ring", "1000", "--mesh", "dp_shard=2",
                             "--no-faults")
        output = folder.analyze()
        self.assertEqual(rows(folder.truth, output), [])
        self.assertEqual({r["ring_full"] for r in output.table("/metrics/memory/rows")}, {"proven"})
        self.assertIn("full ring", output.summary)

    def test_snapshots_alone_are_enough(self):
        folder = self.folder(*JOB)
        folder.traces = os.path.join(folder.traces, "memory_snapshot")
        output = folder.analyze()
        self.assertEqual(rows(folder.truth, output), [])
        self.assertEqual(output.table("/ranks"), [])

    def test_a_pickle_that_would_run_code_is_named_and_the_rest_used(self):
        folder = self.folder(*JOB)
        path = next(os.path.join(top, name) for top, _, names in os.walk(folder.traces) for name in names
                    if name == "rank2_memory_snapshot.pickle")
        with open(path, "wb") as file:
            file.write(b"\x80\x04}(\x8c\x08segmentscos\nsystem\n.")
        output = folder.analyze(workers=2)
        self.assertEqual(output.warnings()["pickle_refused"], 1)
        warning = next(r for r in output.table("/warnings/rows") if r["code"] == "pickle_refused")
        self.assertEqual((warning["detail"], warning["offset_bytes"]), ("opcode GLOBAL would run code and is refused", 14))
        self.assertEqual(len(output.table("/metrics/memory/rows")), 7)


if __name__ == "__main__":
    unittest.main(verbosity=2)
