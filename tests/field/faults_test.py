"""Failing machines and hostile files, with 3 workers: one clear line, the right exit code, no complete-looking wrong
file, no hang. Every run is bounded in time."""
import gzip
import os
import resource
import signal
import subprocess
import time
import unittest

import h5py

from traces import TIMEOUT_S, FieldTest, collective, kernel, trace

WORKERS = 3


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

    def workers_of(self, process):
        for _ in range(200):
            found = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(process.pid)], capture_output=True, text=True).stdout
            pids = [int(line.split()[0]) for line in found.splitlines() if "ccl-analyze" in line]
            if len(pids) == WORKERS:
                return pids
            time.sleep(0.02)
        self.fail("workers did not start")

    def test_one_broken_file_of_eight_costs_one_rank(self):
        files = traces()
        files["rank3.json"] = b"\x00\xff broken" * 100
        for broken in (files["rank3.json"], b"", b"{", gzip.compress(b"")):
            files["rank3.json"] = broken
            run = self.analyze(files)
            good = {row["rank"] for row in run.table("/ranks") if row["status"] == "ok"}
            self.assertEqual(good, {0, 1, 2, 4, 5, 6, 7})
            for rank in good:
                self.assert_has(run.whole(rank), compute_count=50, compute_sum_ns=250000)
            self.assertEqual(run.warnings()["missing_ranks"], 1)
            self.assertIn("rank3.json", str(run.table("/warnings/rows")))

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
        big = trace(*[kernel("k%d" % i, 10 * i, 5) for i in range(100000)], rank=0)
        whole = self.together(self.write(big), limit=(resource.RLIMIT_AS, (260 << 20, 260 << 20)))
        self.assertEqual(whole[0], 1, whole)
        self.assertFalse(os.path.exists(whole[2]))

    def test_one_worker_killed(self):
        folder = self.write(traces(6, 60000))
        output = os.path.join(self.folder, "killed.h5")
        process = self.started(folder, output)
        os.kill(self.workers_of(process)[1], signal.SIGKILL)
        process.communicate(timeout=TIMEOUT_S)
        self.assertNotEqual(process.returncode, 0)
        self.assertFalse(os.path.exists(output))

    def signalled(self, *numbers):
        """(exit code or codes seen, output path): all workers get each of the signals soon after they started."""
        output = os.path.join(self.folder, "signalled.h5")
        process = self.started(self.write(traces(6, 60000)), output)
        workers = self.workers_of(process)
        time.sleep(0.3)  # before MPI_Init ends a signal kills, as anywhere else; either end is checked
        for number in numbers:
            time.sleep(0.02)  # equal signals that wait together are one
            for worker in workers:
                try:
                    os.kill(worker, number)
                except ProcessLookupError:
                    pass
        process.communicate(timeout=TIMEOUT_S)
        return process.returncode, output

    def assert_honest(self, code, output):
        """When a signal arrives is not in a test's hands: what is left behind must fit the exit code."""
        if os.path.exists(output):
            with h5py.File(output, "r") as file:
                self.assertEqual(file.attrs["completeness"], {0: "complete", 4: "partial"}[code])
        else:
            self.assertNotEqual(code, 0)

    def test_a_signal_ends_early_with_what_is_there(self):
        self.assert_honest(*self.signalled(signal.SIGTERM))

    def test_a_second_signal_ends_at_once(self):
        self.assert_honest(*self.signalled(signal.SIGINT, signal.SIGINT))

    def test_unreadable_and_vanishing_links(self):
        folder = self.write(traces())
        os.symlink(os.path.join(folder, "nowhere"), os.path.join(folder, "rank9.json"))
        os.symlink(folder, os.path.join(folder, "loop"))
        run = self.analyze_folder(folder)
        self.assertEqual(run.ranks(), list(range(8)))

    def test_names_with_any_byte_are_neutralised(self):
        names = [b"rank0_\n.json", b"rank1_\xff\xfe.json", b"rank2_\x1b[31m.json", b"rank3_\x07\x9b.json"]
        folder = self.write({"rank9.json": trace(kernel("x\\u001b[2Jy", 0, 1), rank=9)})
        for rank, name in enumerate(names):
            with open(os.path.join(folder.encode(), name), "wb") as file:
                file.write(trace(kernel("a", 0, 1), rank=rank, world=10).encode()[:-5 if rank % 2 else None])
        for options in ((), ("--output-json",), ("--metric", "kernel")):
            run = self.analyze_folder(folder, *options)
            self.assertEqual(run.ranks(), [0, 1, 2, 3, 9])
            self.assertFalse(set(run.raw) & (set(range(32)) - {10, 13}), options)
            run.raw.decode("utf-8")

    def test_nesting_bomb_costs_its_event(self):
        run = self.analyze(trace(kernel("a", 0, 1), '{"ph": "X", "args": ' + '{"a":[' * 200000 + "]}" * 200000 + "}", kernel("b", 5, 1)))
        self.assert_has(run.whole(), compute_count=2)

    def test_a_string_of_100_megabytes(self):
        run = self.analyze(trace(kernel("a", 0, 1), kernel("x" * 100000000, 2, 1), kernel("b", 5, 1)))
        self.assertGreaterEqual(run.whole()["compute_count"], 2)

    def test_compressed_blanks_need_no_memory(self):
        bomb = gzip.compress(b" " * 200000000)
        run = self.analyze_folder(self.write({"rank0.json": trace(kernel("a", 0, 1), world=2), "rank1.json.gz": bomb}),
                                  before=("prlimit", "--as=1500000000"))
        self.assert_has(run.whole(0), compute_count=1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
