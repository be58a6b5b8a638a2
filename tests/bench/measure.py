"""What the bench scripts share: commands run in turn, their CPU and wall time and memory as the kernel accounts them."""
import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

MPI_SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_tcp_if_include": "lo",
                "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # the same for Open MPI 5
                "OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_MCA_mpi_yield_when_idle": "1"}
BEHIND_PARSE = ("agree", "match", "close", "graph", "merge", "report", "write")


class Run:
    """One finished command: user + system seconds and the largest process of its whole tree, wall seconds, output."""

    def __init__(self, command, timeout_s=1800):
        environment = dict(os.environ, **MPI_SETTINGS)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            began = time.perf_counter()
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
            watch = threading.Timer(timeout_s, process.kill)  # waits without asking: a second processor is measured too
            watch.start()
            _, status, usage = os.wait4(process.pid, 0)
            self.wall_s = time.perf_counter() - began
            watch.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0), err.seek(0)
            self.out, self.err = out.read().decode(errors="replace"), err.read().decode(errors="replace")
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.peak_mb = usage.ru_maxrss * 1024e-6
        if process.returncode != 0:
            raise RuntimeError(f"{shlex.join(command)}: exit {process.returncode}\n{self.err[-2000:]}")


def interleaved(commands, runs, warm_up=True):
    """{name: command} -> {name: [Run, …]}: the commands in turn, so that a change of the machine's speed meets all."""
    if warm_up:
        for command in commands.values():
            Run(command)
    done = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            done[name].append(Run(command))
    return done


def spread(values, digits=2):
    values = sorted(values)
    return f"{statistics.median(values):.{digits}f} ({values[0]:.{digits}f}–{values[-1]:.{digits}f})"


def ratios(over, under):
    """Pair by pair, run by run."""
    return [a / b for a, b in zip(over, under)]


def cpu(runs):
    return [run.cpu_s for run in runs]


def wall(runs):
    return [run.wall_s for run in runs]


class Stages:
    """What --timings says: by stage wall and CPU s of the slowest worker, CPU s of all, items and bytes sent; wall s of all
    stages; peak MB of a worker."""

    def __init__(self, run):
        workers = int(re.search(r"(\d+) workers?\b", run.err).group(1))
        self.wall_s, self.cpu_s, self.cpu_of_all_s, self.items, self.sent = {}, {}, {}, {}, {}
        for line in run.err.splitlines():
            cells = line.split()
            if len(cells) != 9 or not re.fullmatch(r"[\d.]+", cells[1]):
                continue
            stage = cells[0]
            if stage == "all":
                self.all_wall_s = float(cells[1])
                continue
            self.wall_s[stage], self.cpu_s[stage] = float(cells[1]), float(cells[3])
            self.cpu_of_all_s[stage] = float(cells[2]) * workers
            self.items[stage], self.sent[stage] = int(cells[6]), int(cells[7])
        self.peak_mb = int(re.search(r"peak memory of a worker (\d+) MB", run.err).group(1))

    def behind_parse_us(self):
        """CPU of the slowest worker in the stages behind the parse, µs a collective record."""
        return self.us_a_record(self.cpu_s)

    def behind_parse_wall_us(self):
        """Wall time of the slowest worker in each of these stages, µs a collective record."""
        return self.us_a_record(self.wall_s)

    def us_a_record(self, seconds):
        return sum(seconds[stage] for stage in BEHIND_PARSE) * 1e6 / max(self.items["match"], 1)


def table(rows, head):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    line = lambda row: "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(row, widths)) + " |"
    return "\n".join([line(head), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(line, rows)])


def machine(analyze):
    model = "unknown processor"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    version = subprocess.run([analyze, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    compiler = shutil.which("c++") and subprocess.run(["c++", "--version"], capture_output=True, text=True,
                                                      check=False).stdout.splitlines()[0]
    mpi = shutil.which("mpirun") and subprocess.run(["mpirun", "--version"], capture_output=True, text=True,
                                                    check=False).stdout.splitlines()[0]
    return (f"{model}, {len(os.sched_getaffinity(0))} processors, {platform.system()} {platform.release()}; {version}; "
            f"{compiler}; {mpi}; load {os.getloadavg()[0]:.1f}")


def ready(options, *files):
    """Makes the folder for temporary files; ends with one line if something that was named is not there."""
    for file in filter(None, files):
        if not os.path.isfile(file):
            raise SystemExit(f"{file}: no such file")
    if not os.path.isfile(os.path.join(options.build, "src", "ccl-analyze")):
        raise SystemExit(f"{options.build}: no build of ccl-analyze there (cmake --build {options.build})")
    options.build = os.path.abspath(options.build)
    if options.work:
        try:
            os.makedirs(options.work, exist_ok=True)
        except OSError as error:
            raise SystemExit(f"--work {options.work}: {error.strerror}")


class Tools:
    """The programs, by the build folder."""

    def __init__(self, build):
        self.analyze = os.path.join(build, "src", "ccl-analyze")
        self.synth = os.path.join(build, "tests", "synth", "ccl-synth")
        self.bench = os.path.join(build, "tests", "bench")

    def __getattr__(self, name):
        return os.path.join(self.bench, name)

    def mpirun(self, workers, *command):
        return ["mpirun", "-np", str(workers), *command]

    def job(self, work, ranks):
        """A folder with the small traces of a synthetic job without faults, made once: 0.1 GB per 1000 ranks."""
        folder = os.path.join(work, f"ranks{ranks}")
        if not os.path.exists(folder):
            Run([self.synth, "--preset", "perlmutter-6144", "--mesh", f"pp=4,dp_shard={ranks // 16},tp=4",
                 "--no-faults", "--gz", "-o", folder])
        return folder
