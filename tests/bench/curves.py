#!/usr/bin/env python3
"""Curves of memory over file size, and of everything behind the parse over ranks and over workers.

    curves.py --build BUILD [--work DIR] [--only memory,ranks,workers] [--sizes 0.01,0.1,1,5] [--ranks 64,256,1024,6144]

One data set at a time in --work: at most the largest of --sizes in GB, or 0.1 GB per 1000 ranks."""
import argparse
import os
import re
import shutil
import sys
import tempfile

from measure import Run, Tools, machine, ready, table
from speed import MAIN_JOB, metrics

BEHIND_PARSE = ("agree", "match", "close", "graph", "merge", "report", "write")


def stages(run):
    """--timings -> {stage: (CPU s of the slowest worker, CPU s of all, items, sent bytes)}, peak MB of a worker.
    CPU, since more workers than processors wait for each other most of the wall time."""
    workers = int(re.search(r"(\d+) workers", run.err).group(1))
    rows = {}
    for line in run.err.splitlines():
        cells = line.split()
        if len(cells) == 9 and re.fullmatch(r"[\d.]+", cells[1]):
            rows[cells[0]] = (float(cells[3]), float(cells[2]) * workers, int(cells[6]), int(cells[7]))
    return rows, int(re.search(r"peak memory of a worker (\d+) MB", run.err).group(1))


class Curves:
    def __init__(self, options, work):
        self.tools, self.work, self.options = Tools(options.build), work, options

    def analyze(self, path, *more):
        return [self.tools.analyze, path, "--quiet", "--timings", "-o", os.path.join(self.work, "o.h5"), *more]

    def without_graphs(self):
        """All metrics but those that keep every GPU event for the dependency graph of its step."""
        listed = Run([self.tools.analyze, "--list-metrics"]).out
        names = re.findall(r"^\w+", listed, re.MULTILINE)
        return [name for name in names if name not in ("critical_path", "what_if", "efficiency")]

    def memory(self):
        rows = []
        kinds = (metrics(MAIN_JOB), metrics(self.without_graphs()), ())
        path = os.path.join(self.work, "rank0.json")
        for gb in map(float, self.options.sizes.split(",")):
            Run([self.tools.synth, "--big", path, "--gb", str(gb)])
            read = Run([self.tools.read_only, path]).out
            gpu = int(re.search(r"gpu_events (\d+)", read).group(1))
            peaks = [Run(self.analyze(path, *more)).peak_mb for more in kinds]
            rows.append((f"{os.path.getsize(path) * 1e-9:.2f}", gpu, *(f"{peak:.0f}" for peak in peaks),
                         f"{64 + (64 + 16) * gpu * 1e-6:.0f}"))
            os.remove(path)
        print("\nPeak memory of one worker over file size; allowed = 64 MB + 80 B per GPU event (records not counted)\n")
        print(table(rows, ("GB", "GPU events", "main-job metrics MB", "without graphs MB", "all metrics MB", "allowed MB")))
        rows = []
        for megabytes in (10, 500):
            folder = os.path.join(self.work, "filled")
            Run([self.tools.synth, "--preset", "tiny", "--mesh", "dp_shard=2", "--no-faults", "--plain", "--mb-per-rank",
                 str(megabytes), "-o", folder])
            rows.append((megabytes, *(f"{Run(self.analyze(folder, *more)).peak_mb:.0f}"
                                      for more in (metrics(MAIN_JOB), ()))))
            shutil.rmtree(folder)
        print("\nThe same GPU events among more CPU events\n")
        print(table(rows, ("MB per rank", "main-job metrics MB", "all metrics MB")))

    def job(self, ranks):
        folder = os.path.join(self.work, f"ranks{ranks}")
        if not os.path.exists(folder):
            Run([self.tools.synth, "--preset", "perlmutter-6144", "--mesh", f"pp=4,dp_shard={ranks // 16},tp=4",
                 "--no-faults", "--gz", "-o", folder])
        return folder

    def measured(self, ranks, workers):
        run = Run(self.tools.mpirun(workers, *self.analyze(self.job(ranks))))
        rows, peak = stages(run)
        records = rows["match"][2]
        behind = sum(rows[stage][1] for stage in BEHIND_PARSE)
        slowest = [f"{rows[stage][0]:.3f}" for stage in ("analyze", *BEHIND_PARSE)]
        return (ranks, workers, records, *slowest, f"{run.wall_s:.1f}", f"{behind:.2f}", f"{behind * 1e6 / max(records, 1):.2f}",
                f"{rows['match'][3] * 1e-6:.1f}", f"{rows['merge'][3] * 1e-6:.1f}", peak)

    HEAD = ("ranks", "workers", "records", "analyze", *BEHIND_PARSE, "run, wall s", "CPU s behind parse", "µs per record",
            "match MB sent", "merge MB sent", "peak MB")

    def ranks(self):
        rows = []
        for ranks in map(int, self.options.ranks.split(",")):
            rows.append(self.measured(ranks, 2))
            print(*rows[-1], file=sys.stderr, flush=True)
            shutil.rmtree(self.job(ranks))
        print("\nOver training ranks, 2 workers, all metrics; CPU seconds of the slowest worker by stage\n")
        print(table(rows, self.HEAD))

    def workers(self):
        ranks = self.options.workers_ranks
        rows = []
        for workers in (1, 2, 4, 8, 16, 32):
            rows.append(self.measured(ranks, workers))
            print(*rows[-1], file=sys.stderr, flush=True)
        shutil.rmtree(self.job(ranks))
        print("\nOver workers, oversubscribed\n")
        print(table(rows, self.HEAD))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--work")
    parser.add_argument("--only", default="memory,ranks,workers")
    parser.add_argument("--sizes", default="0.01,0.1,1,5")
    parser.add_argument("--ranks", default="64,256,1024,6144")
    parser.add_argument("--workers-ranks", type=int, default=1024)
    options = parser.parse_args()
    ready(options)
    with tempfile.TemporaryDirectory(prefix="ccl-curves-", dir=options.work) as work:
        curves = Curves(options, work)
        print(machine(curves.tools.analyze))
        for part in options.only.split(","):
            getattr(curves, part)()


if __name__ == "__main__":
    main()
