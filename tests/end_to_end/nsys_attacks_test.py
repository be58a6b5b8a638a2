"""Exports that are cut, mutilated or lie: the program uses what is good, names what is not, and never crashes."""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import unittest

import h5py

from planted import TIMEOUT_S, Folder, Output

KERNEL, CALLS, RANGES = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
COLUMNS = {KERNEL: "start end deviceId streamId correlationId globalPid demangledName shortName gridX blockZ",
           CALLS: "start end eventClass globalTid correlationId nameId",
           RANGES: "start end eventType globalTid text textId domainId jsonText binaryData"}
OPTIONAL = ("META_DATA_EXPORT", "META_DATA_CAPTURE", "PROCESSES", "ThreadNames", "TARGET_INFO_SYSTEM_ENV",
            "TARGET_INFO_SESSION_START_TIME", "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE", "TARGET_INFO_GPU_METRICS",
            "GPU_METRICS", CALLS, "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", RANGES,
            "NVTX_PAYLOAD_SCHEMAS", "NVTX_PAYLOAD_SCHEMA_ENTRIES")


class NsysAttacksTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder("--format", "nsys", "--steps", "2", "--mesh", "dp_shard=2", "--no-faults")
        cls.good = os.path.join(cls.folder.traces, "nsys_0.sqlite")
        cls.made = 0

    @classmethod
    def tearDownClass(cls):
        cls.folder.remove()

    def copy(self, *statements):
        """A copy of the good export after some SQL."""
        NsysAttacksTest.made += 1
        target = os.path.join(self.folder.path, f"attack{self.made}")
        os.makedirs(target)
        path = os.path.join(target, "node.sqlite")
        shutil.copy(self.good, path)
        base = sqlite3.connect(path)
        for statement in statements:
            if isinstance(statement, str):
                base.execute(statement)
            else:
                base.execute(*statement)
        base.commit()
        base.close()
        return path

    def run_on(self, path, expected=(0,), options=()):
        output = path + ".h5"
        done = subprocess.run([os.environ["CCL_ANALYZE"], path, "-o", output, "-q", *options], capture_output=True,
                              timeout=TIMEOUT_S, check=False)
        said = (done.stdout + done.stderr).decode("utf-8")  # whatever is in the file, what is said is UTF-8
        self.assertIn(done.returncode, expected, said)
        if done.returncode == 2:
            self.assertEqual(done.stderr.decode().count("ccl-analyze: "), 1, said)
            return said
        return Output(output, said)

    def kernels(self, output):
        return sum(row["communication_count"] + row["compute_count"]
                   for row in output.table("/metrics/comm_comp_overlap/whole"))

    def count(self, path, table=KERNEL, where="1"):
        base = sqlite3.connect(path)
        number = base.execute(f"SELECT COUNT(*) FROM {table} WHERE {where}").fetchone()[0]
        base.close()
        return number

    def test_truncated_anywhere(self):
        with open(self.good, "rb") as file:
            whole = file.read()
        used = 0
        for size in (16, 100, 4096, len(whole) // 10, len(whole) // 3, len(whole) // 2, len(whole) * 9 // 10,
                     len(whole) - 1):
            path = self.copy()
            with open(path, "wb") as file:
                file.write(whole[:size])
            found = self.run_on(path, (0, 2))
            if isinstance(found, Output):
                used += 1
                # What is not said to be damaged is whole.
                if not {"file_cut", "event_damaged"} & set(found.warnings()):
                    self.assertEqual(self.kernels(found), self.count(self.good), size)
        self.assertGreater(used, 0)

    def test_flipped_bytes(self):
        with open(self.good, "rb") as file:
            whole = bytearray(file.read())
        for seed in range(12):
            dice = random.Random(seed)
            damaged = bytearray(whole)
            for _ in range(40):
                damaged[dice.randrange(100, len(damaged))] = dice.randrange(256)
            path = self.copy()
            with open(path, "wb") as file:
                file.write(damaged)
            self.run_on(path, (0, 2))

    def test_no_tables_and_no_kernel_table(self):
        path = self.copy()
        os.remove(path)
        sqlite3.connect(path).executescript("VACUUM")
        self.run_on(path, (2,))
        self.assertIn("no kernel table", self.run_on(self.copy(f"DROP TABLE {KERNEL}"), (2,)))
        # A view is not what nsys writes: its SQL is not run.
        view = self.copy(f"ALTER TABLE {KERNEL} RENAME TO other", f"CREATE VIEW {KERNEL} AS SELECT * FROM other")
        self.assertIn("no kernel table", self.run_on(view, (2,)))

    def test_every_optional_table_may_be_missing(self):
        for table in OPTIONAL:
            with self.subTest(table):
                path = self.copy(f"DROP TABLE {table}")
                self.assertEqual(self.kernels(self.run_on(path)), self.count(path))

    def test_a_kernel_without_a_name_is_lost_with_its_step(self):
        for statement in ("DROP TABLE StringIds", "DELETE FROM StringIds", "UPDATE StringIds SET value = ''",
                          "UPDATE StringIds SET value = x'ff00fe'"):
            with self.subTest(statement):
                path = self.copy(statement)
                output = self.run_on(path)
                self.assertEqual(self.kernels(output), 0)
                self.assertGreaterEqual(output.warnings()["event_damaged"], self.count(path))
                self.assertIn("every step of", output.attributes()["coverage"])
        path = self.copy(f"UPDATE {KERNEL} SET demangledName = 99999, shortName = 99999 WHERE rowid = "
                         f"(SELECT rowid FROM {KERNEL} ORDER BY start LIMIT 1 OFFSET 20)")
        output = self.run_on(path)
        self.assertEqual(output.warnings()["event_damaged"], 1)
        self.assertEqual(self.kernels(output), self.count(path) - 1)
        row, = [row for row in output.table("/warnings/rows") if row["code"] == "event_damaged"]
        self.assertEqual(row["detail"], "kernels whose names are not in StringIds")
        self.assertRegex(output.attributes()["coverage"], r"1 of them in part: rank \d \(step \d+ lost with the damage\)")

    def process(self):
        base = sqlite3.connect(self.good)
        found, = base.execute(f"SELECT MIN(globalPid) FROM {KERNEL}").fetchone()
        base.close()
        return found

    def test_a_rank_without_its_kernels_is_not_judged(self):
        own = self.process()
        output = self.run_on(self.copy(f"DELETE FROM {KERNEL} WHERE globalPid = {own}"))
        row, = [row for row in output.table("/warnings/rows") if row["code"] == "event_damaged"]
        self.assertRegex(row["detail"], r"^\d+ launches of kernels, but only 0 kernels$")
        self.assertIn("every step of rank 0 lost", output.attributes()["coverage"])

    def test_kernels_that_name_no_launch_are_placed_by_their_own_time(self):
        own = self.process()
        whole = self.run_on(self.copy())
        output = self.run_on(self.copy(f"UPDATE {KERNEL} SET correlationId = NULL WHERE globalPid = {own}"))

        def calls(of):
            return {(row["rank"], row["step"]): row["calls_count"] for row in of.table("/metrics/coll_call_num/rows")}
        self.assertEqual(calls(output), calls(whole))
        self.assertEqual(output.warnings()["no_launch_records"], 1)

    def test_a_marker_over_the_steps_behind_it_ends_where_the_next_begins(self):
        marker = f"SELECT {RANGES}.rowid FROM {RANGES} LEFT JOIN StringIds ON textId = id WHERE COALESCE(text, value) LIKE "
        long = f"UPDATE {RANGES} SET end = start + 3600000000000 WHERE rowid = ({marker} 'iteration%' ORDER BY start LIMIT 1)"
        whole, output = self.run_on(self.copy()), self.run_on(self.copy(long))
        self.assertEqual(output.warnings()["time_out_of_range"], 1)
        for one, other in zip(whole.table("/metrics/iter_time/rows"), output.table("/metrics/iter_time/rows")):
            self.assertAlmostEqual(one["step_ns"] / other["step_ns"], 1, delta=0.02)

    def test_a_kernel_that_ends_long_behind_its_process_is_lost(self):
        path = self.copy(f"UPDATE {KERNEL} SET end = start + 82800000000000 WHERE rowid = "
                         f"(SELECT rowid FROM {KERNEL} ORDER BY start LIMIT 1 OFFSET 20)")
        output = self.run_on(path)
        self.assertEqual(output.warnings()["time_out_of_range"], 1)
        self.assertEqual(self.kernels(output), self.count(path) - 1)
        self.assertLess(max(row["period_ns"] for row in output.table("/metrics/iter_time/rows")), 1_000_000_000)

    def test_every_column_may_be_missing(self):
        for table, columns in COLUMNS.items():
            for column in columns.split():
                with self.subTest(f"{table}.{column}"):
                    path = self.copy(f"ALTER TABLE {table} RENAME COLUMN {column} TO gone")
                    needed = table == KERNEL and column in ("start", "end", "deviceId")
                    found = self.run_on(path, (2,) if needed else (0,))
                    if needed:
                        self.assertIn(f"lacks the column {column}", found)
                    else:
                        self.assertEqual(self.kernels(found), self.count(path))

    def test_tables_with_a_version_suffix(self):
        expected = self.run_on(self.copy()).table("/metrics/comm_comp_overlap/rows")
        path = self.copy(f"ALTER TABLE {KERNEL} RENAME TO {KERNEL}_V10", f"CREATE TABLE {KERNEL}_V9 (start INTEGER)",
                         f"ALTER TABLE {CALLS} RENAME TO {CALLS}_V2")
        self.assertEqual(self.run_on(path).table("/metrics/comm_comp_overlap/rows"), expected)

    def test_text_in_integer_columns(self):
        path = self.copy(f"UPDATE {KERNEL} SET start = 'soon' WHERE rowid % 7 = 0",
                         f"UPDATE {KERNEL} SET end = x'00ff' WHERE rowid % 7 = 1",
                         f"UPDATE {KERNEL} SET streamId = 'x', deviceId = 'y' WHERE rowid % 7 = 2",
                         f"UPDATE {CALLS} SET correlationId = 'none' WHERE rowid % 5 = 0")
        lost = self.count(path, KERNEL, "rowid % 7 < 3")
        output = self.run_on(path)
        self.assertEqual(output.warnings()["event_damaged"], lost)
        self.assertEqual(self.kernels(output), self.count(path) - lost)
        self.assertEqual({row["status"] for row in output.table("/ranks")}, {"partial"})
        as_text = self.copy(f"CREATE TABLE t AS SELECT * FROM {KERNEL}", f"DELETE FROM {KERNEL}",
                            f"DROP TABLE {KERNEL}", "CREATE TABLE k AS SELECT * FROM t",
                            f"ALTER TABLE k RENAME TO {KERNEL}",
                            f"UPDATE {KERNEL} SET start = CAST(start AS TEXT), end = CAST(end AS TEXT)")
        self.assertEqual(self.kernels(self.run_on(as_text)), self.count(as_text))

    def test_times_that_are_absent_negative_reversed_or_enormous(self):
        base = self.copy(f"CREATE TABLE k AS SELECT * FROM {KERNEL}", f"DROP TABLE {KERNEL}",
                         f"ALTER TABLE k RENAME TO {KERNEL}")
        for change, code in (("end = NULL", "event_damaged"), ("start = NULL", "event_damaged"),
                             ("end = start - 5", "duration_missing"),
                             ("end = 9223372036854775807", "event_damaged"),
                             ("start = -9223372036854775808", "event_damaged")):
            with self.subTest(change):
                path = self.copy()
                shutil.copy(base, path)
                changed = sqlite3.connect(path)
                changed.execute(f"UPDATE {KERNEL} SET {change} WHERE rowid <= 6")
                changed.commit()
                changed.close()
                output = self.run_on(path)
                self.assertEqual(output.warnings()[code], 6)
                self.assertEqual(self.kernels(output), self.count(path) - 6)
        shifted = self.copy(*(f"UPDATE {table} SET start = start - 3000000000, end = end - 3000000000"
                              for table in (*COLUMNS, "CUPTI_ACTIVITY_KIND_MEMCPY",
                                            "CUPTI_ACTIVITY_KIND_MEMSET")))
        self.assertEqual([row["period_ns"] for row in self.run_on(shifted).table("/metrics/iter_time/rows")],
                         [row["period_ns"] for row in self.run_on(self.copy()).table("/metrics/iter_time/rows")])

    def test_a_table_of_samples_that_cannot_be_read_costs_no_step(self):
        for table, lost in (("GPU_METRICS", "damaged, but no step lost"), ("CUPTI_ACTIVITY_KIND_MEMCPY", "lost with the damage")):
            with self.subTest(table):
                path = self.copy()
                base = sqlite3.connect(path)
                page, = base.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
                size, = base.execute("PRAGMA page_size").fetchone()
                base.close()
                with open(path, "r+b") as file:
                    file.seek((page - 1) * size)
                    file.write(b"\xff" * size)
                output = self.run_on(path)
                self.assertIn(lost, output.attributes()["coverage"])
                told, = [row["detail"] for row in output.table("/warnings/rows") if row["code"] == "file_cut"]
                self.assertIn(f"table {table}: ", told)

    def test_ranges_without_an_end_and_before_the_capture(self):
        path = self.copy(f"UPDATE {RANGES} SET end = NULL WHERE rowid % 3 = 0",
                         f"UPDATE {RANGES} SET start = -1957198520 WHERE textId IS NOT NULL AND rowid % 3 = 1")
        self.assertEqual(self.kernels(self.run_on(path)), self.count(path))

    def test_giant_and_broken_strings(self):
        bad = b"kern\xff\xfe\x00el \xed\xa0\x80 \x1b[31m"
        path = self.copy(("UPDATE StringIds SET value = ? WHERE id = (SELECT MIN(shortName) FROM " + KERNEL + ")",
                          ("x" * 30_000_000,)),
                         ("UPDATE StringIds SET value = CAST(? AS TEXT) WHERE id = (SELECT MAX(demangledName) FROM " +
                          KERNEL + ")", (bad,)),
                         (f"UPDATE {RANGES} SET text = ? WHERE rowid = (SELECT MIN(rowid) FROM {RANGES} "
                          "WHERE text LIKE 'forward%')", ("forward " + "y" * 10_000_000,)),
                         ("UPDATE TARGET_INFO_SYSTEM_ENV SET value = CAST(? AS TEXT)", (b"node\xc3\x28\x00rest",)))
        output = self.run_on(path)
        self.assertEqual(self.kernels(output), self.count(path))
        json.loads(self.run_on(path, options=("--output-json",)).summary.rsplit("}", 1)[0] + "}")
        with h5py.File(output.path) as file:
            for name in file["metrics/kernel/rows"][:]["name"]:
                name.decode("utf-8")

    def test_views_without_end_are_not_asked(self):
        endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
        path = self.copy("DROP TABLE StringIds", f"CREATE VIEW StringIds AS {endless} x AS id, x AS value FROM c")
        self.assertEqual(self.kernels(self.run_on(path)), 0)
        columns = ", ".join(f"x AS {name}" for name in COLUMNS[KERNEL].split())
        path = self.copy(f"DROP TABLE {KERNEL}", f"CREATE VIEW {KERNEL} AS {endless} {columns} FROM c")
        self.assertIn("no kernel table", self.run_on(path, expected=(2,)))

    def test_payloads_that_lie(self):
        header = (1).to_bytes(8, "little") + (16777221).to_bytes(8, "little")
        for blob in (b"", b"\x01" * 31, header + (2**63).to_bytes(8, "little") * 2, header + bytes(16),
                     header + (24).to_bytes(8, "little") + bytes(8) + bytes(23)):
            path = self.copy((f"UPDATE {RANGES} SET binaryData = ? WHERE binaryData IS NOT NULL", (blob,)))
            self.assertEqual(self.kernels(self.run_on(path)), self.count(path))
        for text in ("{", '{"Message size [bytes]": }', '{"Message size [bytes]": 18446744073709551615}',
                     '{"No. of ranks": 2147483647, "Rank": -5, "NCCL communicator ID": 1}', "[" * 100_000):
            path = self.copy((f"UPDATE {RANGES} SET binaryData = NULL, jsonText = ? WHERE binaryData IS NOT NULL", (text,)))
            self.assertEqual(self.kernels(self.run_on(path)), self.count(path))
        path = self.copy("UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET offset = -8, type = 99")
        self.assertEqual(self.kernels(self.run_on(path)), self.count(path))

    def test_normalised_times_are_not_shifted_again(self):
        path = self.copy("UPDATE META_DATA_EXPORT SET value = 'true' WHERE name LIKE '%TIME_NORMALIZE'")
        starts = [row["start_ns"] for row in self.run_on(path).table("/steps")]
        self.assertTrue(starts and max(starts) < 10**12)


if __name__ == "__main__":
    unittest.main(verbosity=2)
