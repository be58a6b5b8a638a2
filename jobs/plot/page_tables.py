"""The tables of the report: for each a function that gives columns (name, hover), rows of (value, unit) and how many
rows were left out."""
import json

import numpy as np

from results import Skip, in_steps, ranks_of, summed

MOST_ROWS = 2000


def tables_of(results):
    """(name, caption, maker)"""
    return [
        ("ranks", "Ranks", lambda: rank_table(results)),
        ("steps", "Steps", lambda: step_table(results)),
        ("kernels", "Kernels", lambda: whole_table(results, "metrics/kernel/top")),
        ("traffic", "Traffic", lambda: whole_table(results, "traffic/totals")),
        ("bandwidth", "Bandwidth", lambda: whole_table(results, "metrics/bandwidth/rows")),
        ("groups", "Process groups", lambda: group_table(results)),
        ("workload", "Workload", lambda: whole_table(results, "workload")),
        ("warnings", "Warnings", lambda: warning_table(results)),
    ]


def hovers(results, path):
    try:
        told = json.loads(results.column_text(path))
        return {name: f"{about.get('description', '')} ({about.get('unit', '')})".replace(" ()", "").strip()
                for name, about in told.items()}
    except (ValueError, AttributeError, KeyError):
        return {}


def rows_of(table, names):
    kept = table[:MOST_ROWS]
    return [[(row[name].item(), name) for name in names] for row in kept], len(table) - len(kept)


def whole_table(results, path):
    table = results.table(path)
    about = hovers(results, path)
    rows, left = rows_of(table, table.dtype.names)
    return [(name, about.get(name, "")) for name in table.dtype.names], rows, left


def rank_table(results):
    """One row per rank over all its steps and iterations."""
    budget = in_steps(results.table("metrics/comm_comp_overlap/rows", "rank", "period_ns", "exposed_ns", "compute_ns"))
    labels, at = ranks_of(budget)
    size = len(labels)
    period = np.maximum(summed(at, budget["period_ns"], size), 1)
    compute, exposed = (summed(at, budget[name], size) / period for name in ("compute_ns", "exposed_ns"))
    steps = np.bincount(at, minlength=size)
    columns = [("rank", "replica/rank where there are replicas"), ("host", "host of the rank"),
               ("steps", "rows of the budget"), ("period", "mean step period on the GPU"),
               ("compute", "compute kernels / period"), ("exposed", "exposed communication / period"),
               ("blame", "delay that the rank causes by being last, over all steps"), ("waited", "its own waiting in matched collectives"),
               ("last in", "matched collectives in which it was last")]
    hosts = host_of(results)
    lag = lag_of(results, labels)
    rows = []
    for row, label in enumerate(labels):
        rank = int(label) if label.lstrip("-").isdigit() else label
        blame, waited, last = lag.get(label, (float("nan"),) * 3)
        rows.append([(rank, ""), (hosts.get(label, "?"), ""), (int(steps[row]), ""), (period[row] / steps[row], "_ns"),
                     (compute[row], "_ratio"), (exposed[row], "_ratio"),
                     (blame, "_ns"), (waited, "_ns"), (last, "")])
    return columns, rows[:MOST_ROWS], max(0, len(rows) - MOST_ROWS)


def host_of(results):
    if not results.has("ranks"):
        return {}
    table = results.table("ranks", "rank", "replica", "host")
    return {(str(r["rank"]) if r["replica"] < 0 else f"{r['replica']}/{r['rank']}"): str(r["host"]) for r in table}


def lag_of(results, labels):
    """Label of a rank -> blame ns, waited ns, times last."""
    if not results.has("metrics/straggler_lag/rows") or not len(results.file["metrics/straggler_lag/rows"]):
        return {}
    table = results.table("metrics/straggler_lag/rows", "rank", "blame_ns", "wait_ns", "last_count")
    names, at = ranks_of(table)
    sums = [summed(at, table[column], len(names)) for column in ("blame_ns", "wait_ns", "last_count")]
    return {name: tuple(float(column[row]) for column in sums) for row, name in enumerate(names) if name in labels}


def step_table(results):
    table = in_steps(results.table("metrics/iter_time/rows", "iteration", "step", "step_ns", "period_ns", "rank"))
    keys, at = np.unique(np.stack([table["iteration"], table["step"]], 1), axis=0, return_inverse=True)
    at = at.reshape(-1)
    columns = [("iteration", "number of the iteration folder"), ("step", "ProfilerStep"), ("ranks", "ranks that have the step"),
               ("CPU step", "longest ProfilerStep over ranks"), ("GPU period", "longest period over ranks"),
               ("slowest", "rank with the longest GPU period")]
    rows = []
    order = np.argsort(at, kind="stable")
    bounds = np.searchsorted(at[order], np.arange(len(keys) + 1))
    for row, (iteration, step) in enumerate(keys):
        part = table[order[bounds[row]:bounds[row + 1]]]
        longest = part[int(part["period_ns"].argmax())]
        cpu = float(part["step_ns"].max())
        rows.append([(int(iteration), ""), (int(step), ""), (len(part), ""), (cpu if cpu >= 0 else float("nan"), "_ns"),
                     (float(longest["period_ns"]), "_ns"), (int(longest["rank"]), "")])
    return columns, rows[:MOST_ROWS], max(0, len(rows) - MOST_ROWS)


def group_table(results):
    table = results.table("process_groups", "group", "name", "dimension", "group_size", "first_members")
    names = [name for name in ("group", "name", "dimension", "group_size", "first_members", "description")
             if name in table.dtype.names]
    rows, left = rows_of(table, names)
    about = hovers(results, "process_groups")
    return [(name, about.get(name, "")) for name in names], rows, left


def warning_table(results):
    table = results.table("warnings/counts", "code", "severity", "count")
    table = table[table["count"] > 0]
    if not len(table):
        raise Skip("no warnings")
    names = list(table.dtype.names)
    rows, left = rows_of(table, names)
    about = hovers(results, "warnings/counts")
    return [(name, about.get(name, "")) for name in names], rows, left
