"""critical_path and what_if of a planted job, computed again in Python from the traces and the written definition."""
import bisect
import collections
import decimal
import glob
import gzip
import json
import os
import statistics
import unittest

from planted import Folder

JOB = ("--preset", "tiny", "--no-faults", "--mb-per-rank", "0", "--mesh", "dp_shard=2,tp=2", "--layers", "2",
       "--ranks-per-host", "4", "--clock-offset-us", "0", "--clock-drift-ppm", "0", "--end-skew-us", "0",
       "--fault", "slow_rank:rank=3,factor=1.5,from=5")


class Op:
    def __init__(self, rank, event, launch_ns):
        self.rank, self.name, self.launch_ns = rank, event["name"], launch_ns
        self.start, self.end = event["ts"], event["ts"] + event["dur"]
        self.stream, self.args = event["tid"], event["args"]
        self.compute = event["cat"] == "kernel" and "nccl" not in self.name
        self.members = [self]


def ns(microseconds):
    return int((decimal.Decimal(microseconds) * 1000).to_integral_value())


def operations(path):
    """step -> operations of one rank in order of start."""
    with gzip.open(path, "rt") as file:
        trace = json.load(file, parse_float=decimal.Decimal)
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    for event in events:
        event["ts"], event["dur"] = trace["baseTimeNanoseconds"] + ns(event["ts"]), ns(event["dur"])
    launches = {e["args"]["correlation"]: e["ts"] for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    windows = sorted((e["ts"], e["ts"] + e["dur"], int(e["name"].split("#")[1]))
                     for e in events if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation")
    steps = collections.defaultdict(list)
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        launch = launches.get(event["args"].get("correlation"))
        at = -1 if launch is None else bisect.bisect_right(windows, (launch, float("inf"), 0)) - 1
        if at >= 0 and launch < windows[at][1]:
            steps[windows[at][2]].append(Op(trace["distributedInfo"]["rank"], event, launch))
    for ops in steps.values():
        ops.sort(key=lambda op: (op.start, op.stream))
    return steps


def link(ranks):
    """Predecessors on each rank, members of each collective."""
    matches, seen = collections.defaultdict(list), collections.defaultdict(list)
    for ops in ranks:
        ordinals, streams = collections.Counter(), {stream: [] for stream in sorted({op.stream for op in ops})}
        for op in ops:
            op.place = op.stream, len(streams[op.stream])
            op.ended = {stream: sum(other.end <= op.start for other in streams[stream]) for stream in streams}
            streams[op.stream].append(op)
            seen[op.place].append(op)
            if "Collective name" in op.args:
                key = op.args["Process Group Ranks"], op.args["Process Group Description"], op.args["Collective name"]
                matches[(*key, ordinals[key])].append(op)
                ordinals[key] += 1
        for op in ops:
            op.streams = streams
    # All ranks ran the same operations: what had not ended on one of them is not waited for on any.
    for peers in seen.values():
        assert len(peers) == len(ranks) and len({op.name for op in peers}) == 1
        for op in peers:
            ended = {stream: min(peer.ended[stream] for peer in peers) for stream in op.streams}
            ended[op.stream] = op.place[1]
            op.before = [ops[ended[stream] - 1] for stream, ops in op.streams.items() if ended[stream]]
    for members in matches.values():
        for op in members:
            op.members = members


def path_by_rank(ops):
    op = max(ops, key=lambda op: (op.end, -op.rank))
    now, begin, times = op.end, min(op.start for op in ops), collections.Counter()
    while now > begin:
        last = max(op.members, key=lambda member: (member.start, member is op))
        times[op.rank] += now - last.start
        now = last.start
        if not last.before:
            times[last.rank] += now - begin
            break
        op = max(last.before, key=lambda before: before.end)
        times[last.rank] += now - op.end
        now = op.end
    return times


def replay(ops, run, gap, begin):
    """Ends of a fixed point: each operation after what it waits for, collectives after their last member."""
    start, end, waiting = {}, {}, list(ops)
    while waiting:
        left = []
        for op in waiting:
            if op not in start and all(before in end for before in op.before):
                start[op] = max((end[before] for before in op.before), default=begin) + gap[op]
            if op in start and all(member in start for member in op.members):
                last = max(start[member] for member in op.members)
                end[op] = (last if len(op.members) > 1 else start[op]) + run[op]
            else:
                left.append(op)
        waiting = left
    return max(end.values()) - begin


def lengths(ranks):
    """Replayed and ideal length."""
    ops = [op for rank in ranks for op in rank]
    begin, run, gap, starved = min(op.start for op in ops), {}, {}, {}
    for op in ops:
        ready = max((before.end for before in op.before), default=begin)
        gap[op] = op.start - ready
        starved[op] = op.launch_ns >= ready or not op.before
        run[op] = op.end - max(member.start for member in op.members)
    ideal_run, ideal_gap = dict(run), dict(gap)
    peers, shapes = collections.defaultdict(list), collections.defaultdict(list)
    for rank in ranks:
        numbers = collections.Counter()
        for op in rank:
            peers[op.name, numbers[op.name]].append(op)
            numbers[op.name] += 1
            if len(op.members) > 1:
                size = max(op.args["In msg nelems"], op.args["Out msg nelems"]), op.args["dtype"]
                shapes[op.args["Collective name"], op.args["Process Group Description"], size].append(op)
    for same in peers.values():
        usual = int(statistics.median_low(gap[op] if starved[op] else 0 for op in same))
        for op in same:
            if op.compute:
                ideal_run[op] = int(statistics.median_low(run[peer] for peer in same))
            if starved[op]:
                ideal_gap[op] = min(gap[op], usual)
    for same in shapes.values():
        for op in same:
            ideal_run[op] = int(statistics.median_low(run[peer] for peer in same))
    return replay(ops, run, gap, begin), replay(ops, ideal_run, ideal_gap, begin)


class PathTest(unittest.TestCase):

    def test_both_are_as_recomputed(self):
        folder = Folder(*JOB)
        self.addCleanup(folder.remove)
        output = folder.analyze(options=("--metric", "what_if,critical_path"))
        by_rank = {(row["step"], row["rank"]): row["path_ns"] for row in output.table("/metrics/critical_path/by_rank")}
        rows = {row["step"]: row for row in output.table("/metrics/what_if/rows")}
        files = sorted(glob.glob(os.path.join(folder.traces, "**", "rank*.json.gz"), recursive=True))
        traces = [operations(path) for path in files]
        self.assertEqual(len(traces), 4)
        for step in (4, 5):
            ranks = [trace[step] for trace in traces]
            link(ranks)
            times = path_by_rank([op for ops in ranks for op in ops])
            for rank in range(4):
                self.assertEqual(by_rank[step, rank], times[rank], (step, rank))
            self.assertEqual((rows[step]["replayed_ns"], rows[step]["ideal_ns"]), lengths(ranks), step)


if __name__ == "__main__":
    unittest.main()
