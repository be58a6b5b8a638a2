"""Failing machines, with 3 workers: one clear line, the right exit code, no complete-looking wrong
file, no hang. Every run is bounded in time."""
import os
import re
import resource
import shutil
import signal
import subprocess
import time
import unittest

import h5py

from traces import TIMEOUT_S, FieldTest, collective, kernel, trace

WORKERS = 3
LONG = 20000  # events of a file that is still being read when something happens


def traces(count=8, events=50):
    return {"rank%d.json" % r: trace(*[kernel("k%d" % i, 10 * i, 5) for i in range(events)], rank=r, world=count)
            for r in range(count)}


class FaultsTest(FieldTest):

    def command(self, folder, output, *options):
        return [*os.environ["CCL_MPIEXEC"].split(), str(WORKERS), os.environ["CCL_ANALYZE"], folder, "-o", output, *options]

    def together(self, folder, *options, limit=None, output=None, environment=None):
        """(exit code, lines of ccl-analyze on stderr, path of the output)"""
        output = output or os.path.join(self.folder, "out.h5")
        set_limit = (lambda: resource.setrlimit(*limit)) if limit else None
        done = subprocess.run(self.command(folder, output, *options), capture_output=True, timeout=TIMEOUT_S,
                              preexec_fn=set_limit, env={**os.environ, **(environment or {})})
        lines = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.startswith("ccl-analyze:")]
        return done.returncode, lines, output

    def started(self, folder, output):
        """A run in the background; it is killed after the test at the latest."""
        process = subprocess.Popen(self.command(folder, output), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def ended(self, process):
        """(exit code, lines of ccl-analyze on stderr)"""
        errors = process.communicate(timeout=TIMEOUT_S)[1].decode("utf-8", "replace")
        return process.returncode, [line for line in errors.splitlines() if line.startswith("ccl-analyze:")]

    def opens_a_trace(self, pid):
        try:
            return any("/traces" in os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid))
        except OSError:
            return False  # the file is closed, or the worker ended, meanwhile

    def reading(self, process):
        """The workers, once one of them reads a trace; none if the run was quicker. (Open MPI may wait for ever if
        something happens to a worker while it starts.)"""
        until = time.monotonic() + TIMEOUT_S
        pids = []
        while time.monotonic() < until and process.poll() is None:
            if len(pids) < WORKERS:
                found = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(process.pid)], capture_output=True, text=True).stdout
                pids = [int(line.split()[0]) for line in found.splitlines() if "ccl-analyze" in line]
            if len(pids) == WORKERS and any(self.opens_a_trace(pid) for pid in pids):
                return pids
            time.sleep(0.002)
        self.assertIsNotNone(process.poll(), "no worker reads")
        return []

    def test_disk_full(self):
        # Open MPI's own files (shared memory) would not fit the limit either.
        environment = {"OMPI_MCA_btl": "self,tcp", "PMIX_MCA_gds": "hash"}
        code, lines, output = self.together(self.write(traces()), limit=(resource.RLIMIT_FSIZE, (20000, 20000)),
                                            environment=environment)
        self.assertEqual((code, len(lines)), (1, 1), lines)
        self.assertFalse(os.path.exists(output))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("out")], [])

    def test_output_folder_missing(self):
        code, lines, _ = self.together(self.write(traces()), output=os.path.join(self.folder, "gone", "out.h5"))
        self.assertEqual((code, len(lines)), (2, 1), lines)

    def test_out_of_memory(self):
        big = trace(*[kernel("k%d" % i, 10 * i, 5) for i in range(400000)], rank=0)
        code, lines, output = self.together(self.write(big), limit=(resource.RLIMIT_AS, (260 << 20, 260 << 20)))
        self.assertEqual((code, len(lines)), (1, 1), lines)
        self.assertIn("memory", lines[0])
        self.assertFalse(os.path.exists(output))

    def test_one_worker_killed(self):
        for events in (LONG, 10 * LONG, 100 * LONG):  # until a machine is slow enough
            output = os.path.join(self.folder, "killed%d.h5" % events)
            process = self.started(self.write(traces(6, events)), output)
            workers = self.reading(process)
            if workers:
                break
            process.communicate()
        os.kill(workers[1], signal.SIGKILL)
        code, lines = self.ended(process)
        self.assertNotEqual(code, 0)
        self.assertLessEqual(len(lines), 1)  # the launcher, which ends the others, says what happened
        self.assertFalse(os.path.exists(output))

    def signalled(self, whom, *numbers):
        """(exit code, lines, output path): the launcher or all workers get each of the signals while files are read."""
        output = os.path.join(self.folder, "signalled.h5")
        process = self.started(self.write(traces(6, LONG)), output)
        workers = self.reading(process)
        for number in numbers:
            for pid in workers if whom == "workers" else [process.pid]:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
            time.sleep(0.1)  # equal signals that wait together are one
        return (*self.ended(process), output)

    def launcher_keeps_silent(self):
        """From version 5 on mpirun passes on nothing that the workers say once it was asked to end."""
        version = subprocess.run([os.environ["CCL_MPIEXEC"].split()[0], "--version"], capture_output=True, text=True).stdout
        told = re.search(r"Open MPI\) (\d+)\.", version)
        return told is not None and int(told.group(1)) >= 5

    def assert_honest(self, code, lines, output, partial=4, complete=0, silent=False):
        """When a signal arrives is not in a test's hands: what is left behind must fit the exit code."""
        done = False
        if os.path.exists(output):
            with h5py.File(output, "r") as file:
                done = file.attrs["completeness"] == "complete"
                self.assertIn((file.attrs["completeness"], code), (("complete", 0), ("complete", complete), ("partial", partial)))
        else:
            self.assertNotEqual(code, 0)
        if code != 0 and not ((done or silent) and not lines):  # who had done all when the launcher ended has nothing to say
            self.assertEqual(len(lines), 1, lines)
            self.assertIn("ending early (SIG", lines[0])

    def test_a_signal_ends_early_with_what_is_there(self):
        self.assert_honest(*self.signalled("workers", signal.SIGTERM))

    def test_a_second_signal_ends_at_once(self):
        self.assert_honest(*self.signalled("workers", signal.SIGINT, signal.SIGINT))

    def unfinished(self):
        return [name for name in os.listdir(self.folder) if ".tmp." in name]

    def test_a_second_signal_leaves_no_unfinished_file(self):
        output = os.path.join(self.folder, "signalled.h5")
        process = self.started(self.write(traces(6, 500)), output)
        workers = self.reading(process)
        while process.poll() is None and not self.unfinished() and not os.path.exists(output):
            time.sleep(0.0005)
        for number in (signal.SIGINT, signal.SIGINT):
            for pid in workers:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)
        self.assert_honest(*self.ended(process), output, complete=4)
        self.assertEqual(self.unfinished(), [])

    def test_the_launcher_ends_the_workers_early(self):
        # Open MPI kills the workers one second later, whatever they are at, and ends with 1, also when they are done.
        self.assert_honest(*self.signalled("launcher", signal.SIGTERM), partial=1, complete=1,
                           silent=self.launcher_keeps_silent())

    def test_the_launcher_passes_a_signal_on(self):
        self.assert_honest(*self.signalled("launcher", signal.SIGUSR1))

    def test_output_folder_removed_meanwhile(self):
        folder = self.write(traces(6, LONG))
        place = os.path.join(self.folder, "place")
        os.mkdir(place)
        process = self.started(folder, os.path.join(place, "out.h5"))
        self.reading(process)
        shutil.rmtree(place)
        code, lines = self.ended(process)
        if code != 0:  # else the run was quicker
            self.assertIn(code, (1, 2), lines)
            self.assertEqual(len(lines), 1, lines)
        self.assertFalse(os.path.exists(place))

    def test_files_that_shrink_grow_or_vanish_while_read(self):
        folder = self.write(traces(6, LONG))
        output = os.path.join(self.folder, "changing.h5")
        process = self.started(folder, output)
        self.reading(process)
        os.truncate(os.path.join(folder, "rank3.json"), 100000)
        os.remove(os.path.join(folder, "rank4.json"))
        with open(os.path.join(folder, "rank5.json"), "a", encoding="utf-8") as file:
            file.write("more")
        self.assertEqual(self.ended(process)[0], 0)
        with h5py.File(output, "r") as file:
            warned = [(row["code"], row["rank"], row["file"].decode()) for row in file["/warnings/rows"][:]]
            rows = {row["rank"]: row for row in file["/ranks"][:]}
            kept = {row["rank"]: row["compute_count"] for row in file["/metrics/comm_comp_overlap/whole"][:]}
        for rank in (0, 1, 2, 5):
            self.assertEqual((rows[rank]["status"], kept[rank]), (b"ok", LONG))
        for rank in (3, 4):
            # Gone before it was found, it is a rank that is missing.
            named = any("rank%d.json" % rank == name or (code == b"missing_ranks" and rank not in rows)
                        for code, _, name in warned)
            self.assertTrue(kept.get(rank) == LONG or named, warned)

    def test_a_full_disk(self):
        disk = os.path.join(self.folder, "disk")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True).returncode != 0:
            self.skipTest("no right to mount a small disk")
        self.addCleanup(subprocess.run, ["umount", "-l", disk])
        code, lines, output = self.together(self.write(traces()), output=os.path.join(disk, "out.h5"))
        self.assertEqual((code, len(lines)), (1, 1), lines)
        self.assertEqual(os.listdir(disk), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
