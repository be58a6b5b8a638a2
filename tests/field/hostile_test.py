"""Hostile files and folders: they cost what they hold, never the run, and nothing of them reaches a terminal raw."""
import gzip
import os
import socket
import subprocess
import unittest

import h5py

from faults_test import traces
from traces import TIMEOUT_S, FieldTest, collective, kernel, trace


class HostileTest(FieldTest):

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

    def as_nobody(self, folder, output):
        def drop():
            os.setgid(65534)
            os.setuid(65534)
        done = subprocess.run([os.environ["CCL_ANALYZE"], folder, "-o", output], capture_output=True, timeout=TIMEOUT_S,
                              preexec_fn=drop if os.getuid() == 0 else None,
                              env={**os.environ, "HOME": self.folder, "TMPDIR": self.folder})
        return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")

    def test_unreadable_files_and_folders_are_named(self):
        files = traces(4)
        files["closed/rank9.json"] = files["rank3.json"]
        folder = self.write(files)
        os.chmod(os.path.join(folder, "rank2.json"), 0)
        os.chmod(os.path.join(folder, "closed"), 0)
        os.chmod(self.folder, 0o777)
        if os.getuid() == 0 and not os.access(os.environ["CCL_ANALYZE"], os.X_OK):
            self.skipTest("nobody cannot reach the program")
        output = os.path.join(self.folder, "out.h5")
        try:
            code, text = self.as_nobody(folder, output)
        except PermissionError:
            self.skipTest("nobody cannot reach the program")
        finally:
            os.chmod(os.path.join(folder, "closed"), 0o700)
        self.assertEqual(code, 0, text)
        with h5py.File(output, "r") as file:
            self.assertEqual([row["rank"] for row in file["/ranks"][:] if row["status"] == b"ok"], [0, 1, 3])
            codes = {(row["code"].decode(), row["file"].decode()) for row in file["/warnings/rows"][:]}
        self.assertIn(("unreadable_file", "rank2.json"), codes)
        self.assertIn(("unreadable_file", "closed"), codes)

    def test_output_has_the_permissions_that_the_user_wants(self):
        for mask in (0o022, 0o077):
            folder = self.write(traces(1))
            before = os.umask(mask)
            try:
                run = self.analyze_folder(folder)
            finally:
                os.umask(before)
            self.assertEqual(os.stat(run.path).st_mode & 0o777, 0o666 & ~mask)

    def test_links_that_lead_outside_are_named_not_followed(self):
        outside = self.write({"rank1.json": trace(kernel("a", 0, 1), rank=1, world=2)})
        folder = self.write({"rank0.json": trace(kernel("a", 0, 1), world=2)})
        os.symlink(os.path.join(outside, "rank1.json"), os.path.join(folder, "rank1.json"))
        run = self.analyze_folder(folder)
        self.assertEqual(run.ranks(), [0])
        self.assertIn("not followed", str(run.table("/warnings/rows")))

    def test_unreadable_and_vanishing_links(self):
        folder = self.write(traces())
        os.symlink(os.path.join(folder, "nowhere"), os.path.join(folder, "rank9.json"))
        os.symlink(folder, os.path.join(folder, "loop"))
        run = self.analyze_folder(folder)
        self.assertEqual(run.ranks(), list(range(8)))

    def test_pipes_sockets_and_devices_are_named_not_opened(self):
        folder = self.write(traces(1))
        os.mkfifo(os.path.join(folder, "rank1.json"))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.join(folder, "rank2.json"))
        os.symlink("/dev/zero", os.path.join(folder, "rank3.json"))
        run = self.analyze_folder(folder)
        self.assertEqual((run.ranks(), run.warnings()["unreadable_file"]), ([0], 3))

    def test_numbers_that_are_none_are_named(self):
        for start, dur, code in (("null", 1, "time_out_of_range"), ("nan", 1, "time_out_of_range"), ("[1]", 1, "time_out_of_range"),
                                 ("9" * 30, 1, "time_out_of_range"), (1, "1e308", "time_out_of_range"),
                                 (1, "inf", "duration_missing"), (1, "null", "duration_missing")):
            run = self.analyze(trace(kernel("a", 0, 1), kernel("b", start, dur), kernel("c", 5, 1)))
            self.assertEqual(run.warnings().get(code), 1, (start, dur))
            self.assertEqual(run.whole()["compute_sum_ns"], 2000)

    def test_sizes_that_do_not_fit_are_unknown(self):
        for count in (2**62, -5, 2**63 - 1, "9" * 30, 1e300):
            files = {"rank%d.json" % r: trace(collective(10, 5, 1, nelems=(count, count)), rank=r, world=2) for r in (0, 1)}
            run = self.analyze(files)
            # A number that is one, but of more than any GPU holds, is named as such.
            code = "inout_disagree" if count in (2**62, 2**63 - 1) else "bytes_unknown"
            self.assertEqual(run.warnings().get(code), 2, count)
            self.assertIn("bytes unknown", run.summary)

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

    def test_a_file_that_inflates_without_end_is_cut_at_the_limit(self):
        head = b'{"distributedInfo": {"rank": 1, "world_size": 2}, "traceEvents": [' + kernel("b", 0, 1).encode() + b","
        bomb = gzip.compress(head + b" " * 600000000, 9)
        folder = self.write({"rank0.json": trace(kernel("a", 0, 1), world=2), "rank1.json.gz": bomb})
        run = self.analyze_folder(folder, before=("prlimit", "--as=1500000000"))
        self.assertEqual(run.warnings()["size_limit"], 1)
        self.assertIn("--inflate-limit", str(run.table("/warnings/rows")))
        self.assert_has(run.whole(1), compute_count=1)
        self.assertNotIn("size_limit", self.analyze_folder(folder, "--inflate-limit", "0").warnings())

    def test_a_time_limit_ends_a_file_that_inflates_without_end(self):
        bomb = gzip.compress(b'{"traceEvents": [' + b" " * 400000000, 1)
        run = self.analyze_folder(self.write({"rank0.json": trace(kernel("a", 0, 1), world=2), "rank1.json.gz": bomb}),
                                  "--time-limit", "0.02s", before=("prlimit", "--as=1500000000"), code=4)
        self.assertIn("rank1.json.gz", str(run.table("/warnings/rows")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
