"""Literal traces through the real program: texts in, what ccl-analyze wrote out. CCL_ANALYZE names the program."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from planted import Output  # noqa: E402

TIMEOUT_S = 240  # many times what a run takes: only a hang is to fail, also on a busy machine
GROUP = '"Process Group Name": "7", "Process Group Description": "mesh_dp", "Group size": %d, "Process Group Ranks": "%s"'


def kernel(name, start_us, dur_us, stream=7, correlation=None, **args):
    """One kernel event; name is put in raw, so that it may be broken. Numbers may be texts."""
    known = {"device": 0, "stream": stream, **args}
    if correlation is not None:
        known["correlation"] = correlation
    return ('{"ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": %s, "ts": %s, "dur": %s, "args": %s}'
            % (name, stream, start_us, dur_us, json.dumps(known)))


def launch(correlation, start_us, dur_us=1, name="cudaLaunchKernel", **args):
    return ('{"ph": "X", "cat": "cuda_runtime", "name": "%s", "pid": 9, "tid": 9, "ts": %s, "dur": %s, "args": %s}'
            % (name, start_us, dur_us, json.dumps({"correlation": correlation, **args})))


def step(number, start_us, dur_us):
    return ('{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 9, "tid": 9, "ts": %s, "dur": %s}'
            % (number, start_us, dur_us))


def collective(start_us, dur_us, sequence, op="allreduce", nelems=(1024, 1024), members=2, name="AllReduce_Sum_f32_RING_LL",
               **args):
    return kernel("ncclDevKernel_%s(x)" % name, start_us, dur_us, stream=20, **{
        "Collective name": op, "In msg nelems": nelems[0], "Out msg nelems": nelems[1], "dtype": "Float", "Seq": sequence,
        "Group size": members, "Process Group Name": "7", "Process Group Description": "mesh_dp",
        "Process Group Ranks": str(list(range(members))), **args})


def trace(*events, rank=0, world=None, head=None, separator=",\n"):
    """A Kineto file. rank None = no distributedInfo."""
    if head is None:
        head = "" if rank is None else '"distributedInfo": {"rank": %d, "world_size": %d},' % (rank, world or rank + 1)
    return "{%s\n\"traceEvents\": [\n%s\n]}\n" % (head, separator.join(events))


class Run(Output):
    """One run of the program: its exit code and texts beside the tables of its file, if it left one."""

    def __init__(self, path, done):
        super().__init__(path, done.stdout.decode("utf-8", "replace"))
        self.code, self.errors, self.raw = done.returncode, done.stderr.decode("utf-8", "replace"), done.stdout + done.stderr

    def has_file(self):
        return os.path.exists(self.path)

    def whole(self, rank=0):
        rows = [row for row in self.table("/metrics/comm_comp_overlap/whole") if row["rank"] == rank]
        return rows[0] if rows else None

    def kernels(self):
        return {row["name"]: row["count"] for row in self.table("/metrics/kernel/rows")}

    def ranks(self):
        return [row["rank"] for row in self.table("/ranks")]


class FieldTest(unittest.TestCase):
    """analyze() writes files and runs the program; all of it is gone after the test."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ccl_field_")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.runs_count = 0

    def write(self, files):
        if not isinstance(files, dict):
            files = {"rank0.json": files}
        self.runs_count += 1
        traces = os.path.join(self.folder, "traces%d" % self.runs_count)
        for name, content in files.items():
            path = os.path.join(traces, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
        return traces

    def analyze(self, files, *options, code=0):
        return self.analyze_folder(self.write(files), *options, code=code)

    def analyze_folder(self, traces, *options, code=0, before=()):
        output = os.path.join(self.folder, "out%d.h5" % self.runs_count)
        done = subprocess.run([*before, os.environ["CCL_ANALYZE"], traces, "-o", output, *options], capture_output=True,
                              timeout=TIMEOUT_S)
        run = Run(output, done)
        self.assertEqual(run.code, code, run.summary + run.errors)
        return run

    def assert_has(self, whole, **values):
        self.assertIsNotNone(whole)
        self.assertEqual({key: whole[key] for key in values}, values)
