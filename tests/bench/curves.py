#!/usr/bin/env python3
"""Curves of memory over file size, and of everything behind the parse over ranks and over workers.

    curves.py --build BUILD [--work DIR] [--only memory,ranks,workers] [--sizes 0.01,0.1,1,5] [--ranks 64,256,1024,6144]
              [--filled 10,500] [--workers 1,2,4,8,16,32] [--workers-ranks 1024]

One data set at a time in --work: at most the largest of --sizes in GB, or 0.1 GB per 1000 ranks."""
import argparse
import os
import re
import shutil
import sys
import tempfile

from measure import BEHIND_PARSE, Run, Stages, Tools, machine, ready, table
from speed import MAIN_JOB, metrics


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
        for megabytes in map(int, self.options.filled.split(",")):
            folder = os.path.join(self.work, "filled")
            Run([self.tools.synth, "--preset", "tiny", "--mesh", "dp_shard=2", "--no-faults", "--plain", "--mb-per-rank",
                 str(megabytes), "-o", folder])
            rows.append((megabytes, *(f"{Run(self.analyze(folder, *more)).peak_mb:.0f}"
                                      for more in (metrics(MAIN_JOB), ()))))
            shutil.rmtree(folder)
        print("\nThe same GPU events among more CPU events\n")
        print(table(rows, ("MB per rank", "main-job metrics MB", "all metrics MB")))

    def measured(self, ranks, workers):
        run = Run(self.tools.mpirun(workers, *self.analyze(self.tools.job(self.work, ranks))))
        stages = Stages(run)
        behind = sum(stages.cpu_of_all_s[stage] for stage in BEHIND_PARSE)  # CPU: with more workers than processors wall is waiting
        slowest = [f"{stages.cpu_s[stage]:.3f}" for stage in ("analyze", *BEHIND_PARSE)]
        return (ranks, workers, stages.items["match"], *slowest, f"{run.wall_s:.1f}", f"{behind:.2f}",
                f"{stages.behind_parse_us():.2f}", f"{stages.sent['match'] * 1e-6:.1f}", f"{stages.sent['merge'] * 1e-6:.1f}",
                stages.peak_mb)

    HEAD = ("ranks", "workers", "records", "analyze", *BEHIND_PARSE, "run, wall s", "CPU s behind parse", "µs per record, slowest worker",
            "match MB sent", "merge MB sent", "peak MB")

    def ranks(self):
        rows = []
        for ranks in map(int, self.options.ranks.split(",")):
            rows.append(self.measured(ranks, 2))
            print(*rows[-1], file=sys.stderr, flush=True)
            shutil.rmtree(self.tools.job(self.work, ranks))
        print("\nOver training ranks, 2 workers, all metrics; CPU seconds of the slowest worker by stage\n")
        print(table(rows, self.HEAD))

    def workers(self):
        ranks = self.options.workers_ranks
        rows = []
        for workers in map(int, self.options.workers.split(",")):
            rows.append(self.measured(ranks, workers))
            print(*rows[-1], file=sys.stderr, flush=True)
        shutil.rmtree(self.tools.job(self.work, ranks))
        print("\nOver workers, oversubscribed\n")
        print(table(rows, self.HEAD))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--work")
    parser.add_argument("--only", default="memory,ranks,workers")
    parser.add_argument("--sizes", default="0.01,0.1,1,5")
    parser.add_argument("--filled", default="10,500", help="MB a rank of the two files with the same GPU events")
    parser.add_argument("--workers", default="1,2,4,8,16,32")
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
