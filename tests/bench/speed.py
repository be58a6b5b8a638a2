#!/usr/bin/env python3
"""The table of speed ratios, each inside one run on one machine: the program beside bare walks of the same file.

    speed.py --build BUILD [--work DIR] [--gb 1] [--runs 5] [--only PARTS] [--trace FILE]

PARTS: plain,gz,nsys,one_file,workers,python,merge,start. workers is 16 files of --gb in all, merge wants 0.9 GB, 3 GB of
memory and 8 minutes. Only where asked for: instructions behind the parse, as valgrind counts them, 15 minutes.
Needs about 3.2 times --gb of disk in --work (a temporary folder, removed) and nothing but the standard library."""
import argparse
import gzip
import os
import re
import shlex
import shutil
import statistics
import sys
import tempfile

import nsys_export
from measure import Run, Stages, Tools, cpu, interleaved, machine, ratios, ready, spread, table, wall

MAIN_JOB = ("coll_call_num", "iter_time", "comm_comp_overlap", "gpu_utilization", "traffic_distribution",
            "straggler_lag", "timeline")
WITHOUT_STACKS = ("straggler", "communication", "bandwidth", "kernel", "hardware_saturation", "efficiency", "clock")

# The stages of run.cpp behind the parse, as callgrind names functions.
BEHIND_PARSE_FUNCTIONS = ("ccl::agree_on_ranks(*", "ccl::local_groups(*", "ccl::agree_on_groups(*", "ccl::match(*", "ccl::close(*",
                          "ccl::close_graphs(*", "ccl::merge(std::vector<std::unique_ptr<ccl::Metric*", "ccl::report(*",
                          "ccl::write_results(*")


def metrics(names):
    return [part for name in names for part in ("--metric", name)]


class Bench:
    def __init__(self, options, work):
        self.tools, self.work, self.runs, self.gb = Tools(options.build), work, options.runs, options.gb
        self.smoke, self.trace = options.smoke, options.trace
        self.rows = []

    def row(self, what, target, measured, note=""):
        self.rows.append((what, target, measured, note))
        print("  ".join((what, measured, note)), file=sys.stderr, flush=True)

    def analyze(self, path, *more):
        return [self.tools.analyze, path, "--quiet", "-o", os.path.join(self.work, "o.h5"), *more]

    def file(self):
        """A folder with one large plain trace, made once."""
        folder = os.path.join(self.work, "plain")
        path = os.path.join(folder, "rank0.json")
        if not os.path.exists(path):
            os.makedirs(folder)
            if self.trace:
                os.symlink(os.path.abspath(self.trace), path)
            else:
                Run([self.tools.synth, "--big", path, "--gb", str(self.gb)])
        return path

    def gz_file(self):
        folder = os.path.join(self.work, "gz")
        path = os.path.join(folder, "rank0.json.gz")
        if not os.path.exists(path):
            os.makedirs(folder)
            with open(self.file(), "rb") as text, gzip.open(path, "wb", compresslevel=6) as packed:
                shutil.copyfileobj(text, packed, 1 << 22)
        return path

    def plain(self):
        path = self.file()
        size = os.path.getsize(path)
        done = interleaved({"walk": [self.tools.bare_walk, path], "reader": [self.tools.read_only, path],
                            "main": self.analyze(path, *metrics(MAIN_JOB)),
                            "lean": self.analyze(path, *metrics(MAIN_JOB + WITHOUT_STACKS)),
                            "all": self.analyze(path)}, self.runs)
        walk = cpu(done["walk"])
        self.row("bare walk, GB per CPU s", "", spread([size * 1e-9 / s for s in walk]), f"{size * 1e-9:.2f} GB")
        for name, target, what in (("reader", "", "reader alone"), ("main", "≥ 1.0", "main-job metrics"),
                                   ("lean", "≥ 1.0", "and all others without CPU stacks"),
                                   ("all", "≥ 0.5", "default run, all metrics")):
            own = cpu(done[name])
            self.row(f"plain, {what}: bare walk / program, CPU", target, spread(ratios(walk, own)),
                     f"{size * 1e-9 / sorted(own)[len(own) // 2]:.2f} GB per CPU s")

    def gz(self):
        path, packed = self.file(), self.gz_file()
        done = interleaved({"plain": self.analyze(path, *metrics(MAIN_JOB)),
                            "inflate": [self.tools.bare_inflate, packed],
                            "gz": self.analyze(packed, *metrics(MAIN_JOB))}, self.runs)
        floor = [a + b for a, b in zip(cpu(done["plain"]), cpu(done["inflate"]))]
        self.row("gz CPU / (plain CPU + bare inflate)", "≤ 1.1", spread(ratios(cpu(done["gz"]), floor)),
                 f"packed {os.path.getsize(packed) * 1e-6:.0f} MB, inflate {spread(cpu(done['inflate']))} s")
        self.row("gz wall / plain wall", "≤ 1.1", spread(ratios(wall(done["gz"]), wall(done["plain"]))),
                 f"inflate alone / plain {spread(ratios(wall(done['inflate']), wall(done['plain'])))}")

    def nsys(self):
        if not os.path.exists(self.tools.bare_select):
            return  # built without SQLite
        path = os.path.join(self.work, "export.sqlite")
        nsys_export.write(path, int(2.5e6 * self.gb))
        done = interleaved({"select": [self.tools.bare_select, path], "reader": [self.tools.read_only, path],
                            "main": self.analyze(path, *metrics(MAIN_JOB)), "all": self.analyze(path)}, self.runs)
        self.row("nsys SQLite, reader alone: bare SELECT / reader, CPU", "≥ 0.7",
                 spread(ratios(cpu(done["select"]), cpu(done["reader"]))),
                 f"{os.path.getsize(path) * 1e-6:.0f} MB; SELECT {spread(cpu(done['select']))} s")
        for name, what in (("main", "main-job metrics"), ("all", "default run, all metrics")):
            self.row(f"nsys SQLite, {what}: bare SELECT / program, CPU", "", spread(ratios(cpu(done["select"]), cpu(done[name]))))
        os.remove(path)

    def one_file(self):
        """One plain file by 1 and by 2 workers, beside one and two bare walks over all of it."""
        path = self.file()
        job = self.analyze(path, "--timings", *metrics(MAIN_JOB))
        walk = f"{self.tools.bare_walk} {path}"
        done = interleaved({"walk 1": [self.tools.bare_walk, path], "walk 2": ["sh", "-c", f"{walk} & {walk}; wait"],
                            "1": job, "2": self.tools.mpirun(2, *job)}, self.runs)
        walks = [2 * gain for gain in ratios(wall(done["walk 1"]), wall(done["walk 2"]))]
        stages = {workers: [Stages(run).all_wall_s for run in done[workers]] for workers in ("1", "2")}
        own = ratios(stages["1"], stages["2"])
        self.row("one file, gain of 2 workers / gain of 2 bare walks, wall of the stages", "≥ 0.95", spread(ratios(own, walks)),
                 f"workers {spread(own)}, walks {spread(walks)}; {spread(stages['1'])} and {spread(stages['2'])} s")
        self.row("the same with the start of mpirun and MPI_Init", "",
                 spread(ratios(ratios(wall(done["1"]), wall(done["2"])), walks)))

    def workers(self):
        """16 equal files by 1 and by 2 workers, beside one and two bare walks over the same bytes."""
        folder = os.path.join(self.work, "equal")
        os.makedirs(folder)
        for rank in range(16):
            target = os.path.join(folder, f"rank{rank}.json")
            Run([self.tools.synth, "--big", target, "--gb", str(self.gb / 16), "--seed", str(rank)])
        names = sorted(os.listdir(folder))
        walks = lambda part: " && ".join(f"{self.tools.bare_walk} {folder}/{name}" for name in part)
        done = interleaved({
            "walk 1": ["sh", "-c", walks(names)],
            "walk 2": ["sh", "-c", f"( {walks(names[::2])} ) & {walks(names[1::2])}; wait"],
            "1": self.tools.mpirun(1, *self.analyze(folder, *metrics(MAIN_JOB))),
            "2": self.tools.mpirun(2, *self.analyze(folder, *metrics(MAIN_JOB)))}, self.runs)
        walk, own = ratios(wall(done["walk 1"]), wall(done["walk 2"])), ratios(wall(done["1"]), wall(done["2"]))
        self.row("gain of 2 workers / gain of 2 bare walks, wall", "≥ 0.95", spread(ratios(own, walk)),
                 f"workers {spread(own)}, walks {spread(walk)}; both with mpirun and MPI_Init")
        shutil.rmtree(folder)

    def merge(self):
        """What is behind the parse, by records: one run of many small ranks against as many runs of fewer as have its records
        together, so that both sides take the same stretch of time; with and without first touches."""
        few, many = (16, 32) if self.smoke else (1024, 6144)
        touched = ["env", f"LD_PRELOAD={self.tools.touched_heap}.so", f"CCL_TOUCHED_HEAP_MB={64 if self.smoke else 1500}"]
        ways = {"as it is": []}
        if os.path.exists(f"{self.tools.touched_heap}.so"):
            ways["heap touched before"] = touched
        done = {(ranks, how): [] for ranks in (few, many) for how in ways}
        peak_mb = {}
        for _ in range(self.runs):
            for how, before in ways.items():
                for ranks, times in ((few, many // few), (many, 1)):
                    command = self.tools.mpirun(2, *before, *self.analyze(self.tools.job(self.work, ranks), "--timings"))
                    stages = [Stages(Run(command)) for _ in range(times)]
                    done[ranks, how].append(stages)
                    peak_mb.setdefault(ranks, stages[0].peak_mb)
        for how in ways:
            for what, us in (("CPU of the slower of 2 workers", Stages.behind_parse_us), ("wall", Stages.behind_parse_wall_us)):
                mean = {ranks: [statistics.fmean(us(stage) for stage in stages) for stages in done[ranks, how]] for ranks in (few, many)}
                self.row(f"behind the parse, µs a record, {many} / {few} ranks, {what}, {how}", "≤ 1",
                         spread(ratios(mean[many], mean[few])), f"{spread(mean[few])} and {spread(mean[many])} µs")
        self.reach(few, many, peak_mb)
        for ranks in (few, many):
            shutil.rmtree(self.tools.job(self.work, ranks))

    def reach(self, few, many, peak_mb):
        """What memory of the size of these runs costs by itself: a walk by two processes at once, as the workers are two."""
        found = {few: [], many: []}
        for _ in range(self.runs):
            for ranks, ns in found.items():
                walk = shlex.join([self.tools.memory_walk, str(peak_mb[ranks])])
                ns.append([float(cell) for cell in Run(["sh", "-c", f"{walk} & {walk}; wait"]).out.split()[:3]])
        for i, what in enumerate(("a line in order", "a line anywhere", "the first touch of a page")):
            values = {ranks: [one[i] for one in ns] for ranks, ns in found.items()}
            self.row(f"{what}, {peak_mb[many]} / {peak_mb[few]} MB, the memory of these", "",
                     spread(ratios(values[many], values[few])), f"{spread(values[few])} and {spread(values[many])} ns")

    def instructions(self):
        """Instructions behind the parse a record, one worker."""
        few, many = (16, 32) if self.smoke else (1024, 6144)
        if shutil.which("valgrind") is None:
            return self.row("instructions behind the parse", "≤ 1", "not measured", "valgrind is not installed")
        counted = {}
        for ranks in (few, many):
            job = self.analyze(self.tools.job(self.work, ranks), "--timings")
            run = Run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
                       *(f"--toggle-collect={stage}" for stage in BEHIND_PARSE_FUNCTIONS), *job], timeout_s=7200)
            counted[ranks] = int(re.search(r"Collected\s*:\s*(\d+)", run.err).group(1)) / Stages(run).items["match"]
            shutil.rmtree(self.tools.job(self.work, ranks))
        self.row(f"instructions behind the parse a record, {many} / {few} ranks, 1 worker", "≤ 1",
                 f"{counted[many] / counted[few]:.4f}", f"{counted[few]:.0f} and {counted[many]:.0f}")

    def python(self):
        path = self.file()
        load = [sys.executable, "-c", "import json, sys; json.load(open(sys.argv[1], 'rb'))"]
        tiny = os.path.join(self.work, "tiny.json")
        with open(tiny, "w", encoding="utf-8") as out:
            out.write("[]")
        done = interleaved({"python": [*load, path], "start": [*load, tiny], "own": self.analyze(path, *metrics(MAIN_JOB)),
                            "empty": [self.tools.empty_program]}, min(self.runs, 3), warm_up=False)
        net = ratios([a - b for a, b in zip(cpu(done["python"]), cpu(done["start"]))],
                     [a - b for a, b in zip(cpu(done["own"]), cpu(done["empty"]))])  # alone it starts no MPI
        self.row("json.load CPU / program CPU, starts taken off", "≥ 50", spread(net, 1),
                 f"json.load {spread(cpu(done['python']))} s and {max(run.peak_mb for run in done['python']):.0f} MB; "
                 f"program {max(run.peak_mb for run in done['own']):.0f} MB")
        self.row("the same with starts", "", spread(ratios(cpu(done["python"]), cpu(done["own"])), 1))

    def start(self):
        tiny = os.path.join(self.work, "tiny")
        Run([self.tools.synth, "--preset", "tiny", "-o", tiny, "--seed", "1"])
        commands = {"empty": [self.tools.empty_program], "mpi": [self.tools.empty_program, "mpi"],
                    "tiny": self.analyze(tiny)}
        for option in ("--version", "--help", "--list-metrics"):
            commands[option] = [self.tools.analyze, option]
        done = interleaved(commands, 1 if self.smoke else max(self.runs, 15), warm_up=not self.smoke)
        for option in ("--version", "--help", "--list-metrics"):
            self.row(f"{option} / empty program, wall", "≤ 1.5", spread(ratios(wall(done[option]), wall(done["empty"]))),
                     f"{1e3 * min(wall(done[option])):.1f} ms")
        over = [a - b for a, b in zip(wall(done["tiny"]), wall(done["mpi"]))]
        size = sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(tiny) for f in files)
        self.row("tiny folder, wall s over MPI_Init", "≤ 0.3", spread(over),
                 f"{size * 1e-6:.1f} MB in 8 gz files; MPI_Init {spread(wall(done['mpi']))} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--work")
    parser.add_argument("--gb", type=float, default=1)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="plain,gz,nsys,one_file,workers,python,merge,start")
    parser.add_argument("--trace", help="measure this plain trace instead of a generated one")
    parser.add_argument("--smoke", action="store_true", help="tiny and once: does the bench still run")
    options = parser.parse_args()
    if options.smoke:
        options.gb, options.runs = 0.005, 1
    ready(options, options.trace)
    with tempfile.TemporaryDirectory(prefix="ccl-bench-", dir=options.work) as work:
        bench = Bench(options, work)
        print(machine(bench.tools.analyze))
        for part in options.only.split(","):
            getattr(bench, part)()
    print(f"median (least–most) of {options.runs} interleaved runs\n")
    print(table(bench.rows, ("what", "target", "measured", "beside it")))


if __name__ == "__main__":
    main()
