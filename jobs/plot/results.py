"""Reads an output of ccl-analyze: a path of the file in, tables with decoded text out.

Whatever a figure needs and the file lacks is a Skip with the reason, never an empty picture."""
import re

import h5py
import numpy as np


class Skip(Exception):
    """Why something is not drawn, as one line."""


def decoded(rows):
    """The same table with str in place of fixed-length UTF-8."""
    kinds = [(name, f"U{max(1, rows.dtype[name].itemsize)}" if rows.dtype[name].kind == "S" else rows.dtype[name])
             for name in rows.dtype.names]
    out = np.empty(rows.shape, kinds)
    for name in rows.dtype.names:
        column = rows[name]
        out[name] = np.char.decode(column, "utf-8", "replace") if column.dtype.kind == "S" else column
    return out


class Results:
    def __init__(self, path):
        self.path = str(path)
        try:
            self.file = h5py.File(path, "r")
        except OSError as error:
            raise Skip(f"{path} cannot be read as HDF5: {error}") from error
        if "metrics" not in self.file:
            raise Skip(f"{path} has no group /metrics: not an output of ccl-analyze")
        self.tables = {}

    def attribute(self, name, otherwise=None, group="/"):
        value = self.file[group].attrs.get(name, otherwise) if group in self.file else otherwise
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    def has(self, path):
        return path in self.file and isinstance(self.file[path], h5py.Dataset)

    def table(self, path, *columns):
        """A table that has rows and these columns."""
        if path not in self.tables:
            if not self.has(path):
                raise Skip(f"the file has no table /{path}")
            dataset = self.file[path]
            if dataset.dtype.names is None or dataset.ndim != 1:
                raise Skip(f"/{path} is no table of columns")
            self.tables[path] = decoded(dataset[:])
        table = self.tables[path]
        missing = [name for name in columns if name not in table.dtype.names]
        if missing:
            raise Skip(f"/{path} has no column {', '.join(missing)}")
        if not len(table):
            raise Skip(f"/{path} is empty")
        return table

    def metric(self, name):
        """The attributes of a metric that has a value."""
        group = f"metrics/{name}"
        if group not in self.file:
            raise Skip(f"the metric {name} is not in the file")
        status, reason = self.attribute("status", "ok", group), self.attribute("reason", "", group)
        if status not in ("ok", "partial"):
            raise Skip(f"{name} is {status}" + (f": {reason}" if reason else ""))
        return self.file[group].attrs

    def need_clocks(self):
        """Lanes of several ranks beside each other say nothing where their clocks are not known."""
        group = "metrics/pipeline_bubble"
        reason = self.attribute("reason", "", group)
        if self.attribute("status", "", group) == "absent" and "clocks are known to" in reason:
            raise Skip(reason)

    def column_text(self, path):
        """The attribute columns: name -> {unit, description}, as the JSON text of the file."""
        text = self.file[path].attrs.get("columns", "{}")
        return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)

    def iterations(self):
        """Iterations that have a timeline, in order."""
        found = [re.fullmatch(r"iteration_(-?\d+)", name) for name in self.file.get("timeline", {})]
        return sorted(int(match.group(1)) for match in found if match)

    def group_names(self):
        """Row of /process_groups -> a short name: dimension and first members."""
        groups = self.table("process_groups", "group", "dimension", "first_members", "name")
        names = {}
        for row in groups:
            members = row["first_members"] if len(row["first_members"]) <= 16 else row["first_members"][:14] + "…"
            names[int(row["group"])] = f"{row['dimension']} [{members}]" if members else f"{row['dimension']} {row['name']}"
        return names


def ranks_of(table):
    """Labels of the ranks of a table in order, and the row of each label per table row."""
    replica = table["replica"] if "replica" in table.dtype.names else np.full(len(table), -1)
    keys, rows = np.unique(np.stack([replica, table["rank"]], 1), axis=0, return_inverse=True)
    return [str(rank) if at < 0 else f"{at}/{rank}" for at, rank in keys], rows.reshape(-1)


def corrected_ns(results, table, column):
    """Times of the files of a table on the common clock, as int64; where the clock is unknown, as they are."""
    none = np.iinfo(np.int64).min
    ranks = results.table("ranks", "iteration", "replica", "rank", "clock_offset_ns", "clock_drift_ppb")
    clocks = {(int(r["iteration"]), int(r["replica"]), int(r["rank"])): (int(r["clock_offset_ns"]), int(r["clock_drift_ppb"]))
              for r in ranks if r["clock_offset_ns"] != none}
    reference = int(results.attribute("clock_t_ref_ns", 0))
    offset, drift = (np.array(part, np.int64) for part in zip(*(
        clocks.get((int(r["iteration"]), int(r["replica"]), int(r["rank"])), (0, 0)) for r in table)))
    drift = np.where(drift == none, 0, drift)
    times = table[column].astype(np.int64)
    return times + offset + (drift * ((times - reference) / 1e9)).astype(np.int64)


def steps_of(table):
    """Labels of the steps of a table in order, and the column of each label per table row."""
    keys, columns = np.unique(np.stack([table["iteration"], table["step"]], 1), axis=0, return_inverse=True)
    several = len(np.unique(keys[:, 0])) > 1
    return [f"{step}\n({iteration})" if several else str(step) for iteration, step in keys], columns.reshape(-1)


def in_steps(table):
    """Rows of real steps: outside events (-1) have no place on a step axis."""
    kept = table[table["step"] >= 0]
    if not len(kept):
        raise Skip("no row belongs to a step")
    return kept


def summed(rows, values, length):
    """Sum of values per row number, as an array of that length."""
    return np.bincount(rows, weights=np.asarray(values, float), minlength=length)


def grid(table, value):
    """rank labels, step labels, matrix of summed values (NaN where a rank lacks the step)."""
    ranks, rows = ranks_of(table)
    steps, columns = steps_of(table)
    cells = rows * len(steps) + columns
    matrix = summed(cells, table[value], len(ranks) * len(steps))
    seen = np.bincount(cells, minlength=matrix.size) > 0
    return ranks, steps, np.where(seen, matrix, np.nan).reshape(len(ranks), len(steps))
