"""Runs ccl-synth and ccl-analyze, and reads what both say. Programs come from the environment:
CCL_SYNTH, CCL_ANALYZE, CCL_MPIEXEC (with its option for the number of workers)."""
import collections
import json
import os
import shutil
import subprocess
import tempfile

import h5py

TIMEOUT_S = 240


def run(command, expected=(0,)):
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode not in expected:
        raise AssertionError(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def analyze(folders, output, workers=1, options=(), expected=(0,)):
    """The text summary of ccl-analyze; the HDF5 file lies at output afterwards."""
    program = [os.environ["CCL_ANALYZE"]]
    if workers > 1:
        program = os.environ["CCL_MPIEXEC"].split() + [str(workers)] + program
    if isinstance(folders, str):
        folders = [folders]
    return run(program + folders + ["-o", output, "--quiet", *options], expected).stdout


def content_hash(path):
    return run([os.environ["CCL_ANALYZE"], "--content-hash", path]).stdout.split()[0]


class Folder:
    """A scratch folder with planted traces in traces/ and the truth beside it."""

    def __init__(self, *options):
        self.path = tempfile.mkdtemp(prefix="ccl_end_to_end_")
        self.traces = os.path.join(self.path, "traces")
        self.made = run([os.environ["CCL_SYNTH"], "-o", self.traces,
                         "--truth", os.path.join(self.path, "truth.json"), *options]).stdout
        self.truth = Truth(os.path.join(self.path, "truth.json"))

    def analyze(self, workers=1, options=(), expected=(0,)):
        output = os.path.join(self.path, f"out{workers}.h5")
        summary = analyze(self.traces, output, workers, options, expected)
        return Output(output, summary)

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Truth:
    """truth.json; tables become lists of named tuples."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.values = json.load(file)

    def __getitem__(self, name):
        value = self.values[name]
        if isinstance(value, dict) and "rows" in value:
            row = collections.namedtuple("row", value["columns"])
            return [row(*cells) for cells in value["rows"]]
        return value


class Output:
    """What ccl-analyze wrote: summary text and HDF5 tables, as lists of dicts of Python values."""

    def __init__(self, path, summary):
        self.path, self.summary = path, summary

    def table(self, name):
        with h5py.File(self.path, "r") as file:
            if name not in file:
                return []
            rows = file[name][:]
        return [{column: plain(row[column]) for column in rows.dtype.names} for row in rows]

    def attributes(self, name="/"):
        with h5py.File(self.path, "r") as file:
            return {key: plain(value) for key, value in file[name].attrs.items()}

    def matrix(self, name):
        with h5py.File(self.path, "r") as file:
            return file[name][:]

    def warnings(self):
        """Codes that occurred, with their counts."""
        return {row["code"]: row["count"] for row in self.table("/warnings/counts") if row["count"] > 0}


def plain(value):
    if isinstance(value, bytes):
        return value.decode("utf-8").rstrip("\0")
    return value.item() if hasattr(value, "item") else value
