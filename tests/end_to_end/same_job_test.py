"""One planted job, written once as Kineto and once as Nsight Systems would have recorded it: every table of every
metric holds the same rows. What one of the two profilers does not record is listed here and must be absent there."""
import collections
import os
import shutil
import unittest

import h5py

from planted import Folder, plain

STYLE = ("--style", "seq")  # with the ranks of sends and receives, which NVTX tells too
JOBS = {
    "tiny": (STYLE, {}),
    "experts": ((*STYLE, "--mesh", "dp_shard=4,ep=4", "--experts", "8", "--steps", "2"), {}),
    "deep_pipeline": ((*STYLE, "--mesh", "pp=4,dp_shard=2", "--layers", "8", "--schedule", "interleaved",
                       "--microbatches", "4", "--steps", "2"), {}),
    "context_parallel": ((*STYLE, "--mesh", "dp_shard=2,cp=2,tp=2", "--steps", "2"), {}),
    "sequence_parallel": ((*STYLE, "--mesh", "dp_replicate=2,dp_shard=2,tp=2", "--tensor-parallel", "sequence",
                           "--steps", "2"), {}),
}
# Columns that say what only one of the profilers records, by table ("" = everywhere).
NOT_RECORDED = {
    "": {"dtype", "sequence", "match", "host", "host_source", "rank_source", "group_name"},
    "ranks": {"file", "format", "file_bytes", "events_count"},
    "process_groups": {"name", "description", "dimension_source"},
    "metrics/straggler_lag/stragglers": {"why"},  # names the group
    "metrics/microbatch/by_phase": {"number_source"},
    "metrics/critical_path/top": {"name"},  # of operations that begin at once, the order in the file decides
    "metrics/sm/rows": {"compute_rated_ns", "compute_occupied_ns", "compute_occupancy_ratio", "all_rated_ns",
                        "all_occupied_ns", "all_occupancy_ratio"},
}
# Without CPU operators nsys can not tell the loss and loading a batch from the forward around them, nor by what else a
# phase is known: of these tables what does not depend on it is compared, as sums over the columns that do.
BY_OPERATORS = {
    "metrics/microbatch/rows": (("step", "rank", "device", "category"), ("events_count", "sum_ns")),
    "metrics/microbatch/overlap": (("step", "rank", "device", "communication"), ("communication_ns",)),
    "metrics/microbatch/evidence": (("step", "rank"), ("events_count",)),
}
# Kineto prints blocks per SM with six decimals.
ROUNDED = {"metrics/sm/rows": 1e-6}
# Whole tables that NVTX can not fill: its payloads have bytes, not rows of tokens.
ABSENT = ("metrics/token_to_expert_assignment/",)
# Tables made of counters, or of ranges that ccl-synth writes as NVTX only (PithTrain's; stages_test.py looks at them).
NVTX_ONLY = ("metrics/stage_overlap/", "metrics/stream_roles/", "metrics/hardware_saturation/counters")
OUTSIDE = ("timings", "warnings", "workload")


def tables_of(path):
    """name -> list of {column: value}; group numbers become what the group is."""
    with h5py.File(path, "r") as file:
        found = {}
        file.visititems(lambda name, item: found.__setitem__(name, item[()]) if isinstance(item, h5py.Dataset) else None)
    members = collections.defaultdict(tuple)
    for row in found["process_group_members"]:
        members[int(row["group"])] += (int(row["rank"]),)
    groups = {}
    for row in found["process_groups"]:
        number = int(row["group"])
        groups[number] = (plain(row["dimension"]), int(row["group_size"]), members[number])
    tables = {}
    for name, rows in found.items():
        if name.startswith(OUTSIDE):
            continue
        if rows.dtype.names is None:
            tables[name] = rows.tolist()
            continue
        left_out = NOT_RECORDED[""] | NOT_RECORDED.get(name, set()) | {"instance"}
        columns = [c for c in rows.dtype.names if c not in left_out]
        table = collections.defaultdict(lambda: collections.Counter())
        for row in rows:
            cells = {c: plain(row[c]) for c in columns}
            for c in columns:
                if c == "group" or c.endswith("_group"):
                    cells[c] = groups.get(cells[c], cells[c])
            # Rows that differ only in what is left out are one row, with the sums of its counts, bytes and times.
            sums = name == "metrics/traffic_distribution/by_group"
            numbers = {c for c in columns if sums and c.endswith(("_count", "_bytes", "_ns"))}
            key = tuple((c, repr(cells[c])) for c in columns if c not in numbers)
            table[key].update({c: cells[c] for c in numbers} or {"rows": 1})
        tables[name] = table
    return tables


def independent(rows, keys, values):
    """Communication and copies by key (all rows where a table has no category); what repeats in each row is taken once."""
    sums = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows:
        kind = row.get("category", "memory")
        if kind == "memory" or kind.endswith("_communication"):
            for value in values:
                sums[tuple(row[k] for k in keys)][value].append(row[value])
    once = "communication_ns" in values
    return {key: {v: (sorted(set(n)) if once else sum(n)) for v, n in of.items()} for key, of in sums.items()}


def close(a, b, tolerance):
    def number(text):
        try:
            return float(text)
        except ValueError:
            return text
    return len(a) == len(b) and all(
        x == y or (isinstance(number(x[1]), float) and isinstance(number(y[1]), float) and
                   abs(number(x[1]) - number(y[1])) <= tolerance * max(1.0, abs(number(x[1]))))
        for x, y in zip(a, b))


class SameJobTest(unittest.TestCase):
    maxDiff = 2000

    def both(self, options):
        outputs = []
        for form in ("kineto", "nsys"):
            folder = Folder("--plain", "--mb-per-rank", "0", "--format", form, *options)
            self.addCleanup(folder.remove)
            if form == "nsys":  # exports lie beside the iteration folders; here they belong to the same iteration
                target = os.path.join(folder.traces, iteration)
                os.makedirs(target)
                for name in os.listdir(folder.traces):
                    if name.endswith(".sqlite"):
                        shutil.move(os.path.join(folder.traces, name), os.path.join(target, name))
            else:
                inside = os.path.join(folder.traces, "profile_traces")
                iteration = os.path.join("profile_traces", os.listdir(inside)[0])
            outputs.append(folder.analyze())
        return outputs

    def compare(self, options, left_out):
        kineto, nsys = self.both(options)
        expected, found = tables_of(kineto.path), tables_of(nsys.path)
        self.assertGreater(len(expected), 60)
        self.assertEqual({name for name in expected if not name.startswith(ABSENT)},
                         {name for name in found if not name.startswith(ABSENT)})
        for name, rows in expected.items():
            with self.subTest(name):
                if name.startswith(ABSENT):
                    self.assertFalse(found[name])
                elif name.startswith(NVTX_ONLY):
                    self.assertFalse(rows)
                elif name in BY_OPERATORS:
                    of = [independent(output.table("/" + name), *BY_OPERATORS[name]) for output in (kineto, nsys)]
                    self.assertTrue(of[0])
                    self.assertEqual(*of)
                elif name in ROUNDED:
                    pairs = zip(sorted(rows), sorted(found[name]))
                    self.assertEqual(len(rows), len(found[name]))
                    self.assertEqual([p for p in pairs if not close(*p, ROUNDED[name])][:1], [])
                elif name not in left_out:
                    self.check_rows(rows, found[name])
        self.absent(nsys)

    def check_rows(self, rows, found):
        if isinstance(rows, list):
            return self.assertEqual(rows, found)
        self.assertEqual([row for row in rows if rows[row] != found.get(row)][:1], [], "Kineto only")
        self.assertEqual([row for row in found if row not in rows][:1], [], "nsys only")

    def absent(self, nsys):
        for row in nsys.table("/metrics/sm/rows"):
            self.assertEqual(row["compute_rated_ns"], 0)
            self.assertNotEqual(row["compute_occupancy_ratio"], row["compute_occupancy_ratio"])
        for row in nsys.table("/collectives/instances"):
            self.assertEqual((row["dtype"], row["sequence"]), ("untyped", -1))


    def test_folder_with_both(self):
        kineto, nsys = (Folder("--plain", "--mb-per-rank", "0", "--format", form, "--steps", "2")
                        for form in ("kineto", "nsys"))
        for folder in (kineto, nsys):
            self.addCleanup(folder.remove)
        alone = content_rows(kineto.analyze()), content_rows(nsys.analyze())
        for name in os.listdir(nsys.traces):
            if name.endswith(".sqlite"):
                shutil.copy(os.path.join(nsys.traces, name), kineto.traces)
        both = kineto.analyze()
        self.assertEqual(both.warnings()["two_profilers"], 8)
        for mode, expected in (("auto", alone[0]), ("torch", alone[0]), ("nsys", alone[1])):
            with self.subTest(mode):
                output = kineto.analyze(options=("--profile-mode", mode))
                self.assertEqual(content_rows(output), expected)
                self.assertEqual("two_profilers" in output.warnings(), mode == "auto")


def content_rows(output):
    return [output.table(f"/metrics/{name}/rows") for name in ("iter_time", "comm_comp_overlap", "straggler_lag")]


def add_job(name, options, left_out):
    setattr(SameJobTest, f"test_{name}", lambda self: self.compare(options, left_out))


for job_name, job in JOBS.items():
    add_job(job_name, *job)

if __name__ == "__main__":
    unittest.main(verbosity=2)
