"""An output of the real program on a planted job, and the plot command on it. Programs come from the environment:
CCL_SYNTH, CCL_ANALYZE; CCL_PYTHON is the interpreter."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PLOT = HERE.parents[1] / "jobs" / "plot"
sys.path.insert(0, str(PLOT))
TIMEOUT_S = 240
# Rank 5 is slow from step 8 on; pipeline, data and tensor parallel.
STRAGGLER = ("--preset", "tiny", "--seed", "1")
EXPERTS = ("--no-faults", "--mesh", "dp_shard=4,ep=4", "--experts", "8", "--layers", "2", "--steps", "2")


def run(command, expected=0):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != expected:
        raise AssertionError(f"{command}\nexit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def need_matplotlib():
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("skipped: no Python with matplotlib (Debian: python3-matplotlib)")
        sys.exit(77)


class PlantedTest(unittest.TestCase):
    """A scratch folder per test class, with out.h5 of the planted job."""
    job, options = STRAGGLER, ()

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ccl_plot_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.output = cls.make("out", cls.job)

    @classmethod
    def make(cls, name, job, beside=()):
        """beside: (name, text) of files that lie with the traces."""
        traces, output = cls.folder / name, cls.folder / f"{name}.h5"
        run([os.environ["CCL_SYNTH"], "-o", traces, "--truth", cls.folder / f"{name}.json", *job])
        for file, text in beside:
            (traces / file).write_text(text, encoding="utf-8")
        run([os.environ["CCL_ANALYZE"], traces, "-o", output, "--quiet", *cls.options])
        return output

    def copy(self, name):
        return pathlib.Path(shutil.copy(self.output, self.folder / name))

    def plot(self, results, *options, expected=0):
        """Name -> line of the command, and the folder of the figures."""
        figures = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        done = run([PLOT / "plot", results, "-o", figures, *options], expected)
        self.assertNotIn("Traceback", done.stderr)
        return dict(line.split(maxsplit=1) for line in done.stdout.splitlines()), figures
