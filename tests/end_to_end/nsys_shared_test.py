"""An export of a node is read by several workers, each its part of the ranks, and an export for each rank is as good as
one for the node: the answer is the same."""
import os
import random
import shutil
import sqlite3
import unittest

from planted import Folder, Output, analyze, content_hash
from same_job_test import tables_of

BY_PID = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
BY_TID = ("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "ThreadNames")
WORKERS = (2, 3, 5)
JOB = ("--format", "nsys", "--steps", "2", "--ranks-per-host", "8", "--style", "seq")


class NsysSharedTest(unittest.TestCase):
    maxDiff = 2000

    def planted(self, *options):
        folder = Folder(*JOB, *options)
        self.addCleanup(folder.remove)
        self.assertEqual([n for n in os.listdir(folder.traces) if n.endswith(".sqlite")], ["nsys_0.sqlite"])
        return folder, os.path.join(folder.traces, "nsys_0.sqlite")

    def same_from_any_number(self, folder):
        alone = folder.analyze(1)
        expected = content_hash(alone.path)
        for workers in WORKERS:
            output = folder.analyze(workers)
            self.assertEqual(content_hash(output.path), expected, f"{workers} workers")
            readers = [r["worker"] for r in output.table("/timings/files") if r["file"].endswith(".sqlite")]
            self.assertEqual(sorted(readers), list(range(workers)))
        return alone

    def test_one_file_over_workers(self):
        folder, _ = self.planted("--mesh", "pp=2,dp_shard=2,tp=2")
        self.assertEqual([r["rank"] for r in self.same_from_any_number(folder).table("/ranks")], list(range(8)))

    def test_ranks_by_the_order_of_devices(self):
        folder, path = self.planted("--mesh", "dp_shard=4,tp=2")
        with sqlite3.connect(path) as base:
            base.execute("DELETE FROM NVTX_EVENTS WHERE text LIKE '%rank=%' OR text LIKE 'ncclComm%' "
                         "OR textId IN (SELECT id FROM StringIds WHERE value LIKE 'ncclComm%')")
        base.close()
        output = self.same_from_any_number(folder)
        self.assertEqual({r["rank_source"] for r in output.table("/ranks")}, {"device_order"})
        self.assertEqual(output.warnings()["rank_guessed"], 1)

    def test_damage_is_counted_once(self):
        folder, path = self.planted("--mesh", "dp_shard=4,tp=2")
        with sqlite3.connect(path) as base:
            for statement in (
                    f"UPDATE {BY_PID[0]} SET start = 'x' WHERE rowid % 7 = 0",
                    f"UPDATE {BY_PID[0]} SET \"end\" = start - 5 WHERE rowid % 11 = 0 AND start <> 'x'",
                    f"UPDATE {BY_PID[0]} SET globalPid = 'none' WHERE rowid % 13 = 0",
                    f"UPDATE {BY_PID[1]} SET globalPid = -1 WHERE rowid % 3 = 0",
                    f"UPDATE {BY_TID[0]} SET globalTid = '' WHERE rowid % 17 = 0",
                    f"UPDATE {BY_TID[0]} SET start = 'x' WHERE rowid % 5 = 0",
                    f"UPDATE {BY_TID[1]} SET start = 'x' WHERE rowid % 19 = 0",
                    "CREATE TABLE IF NOT EXISTS DIAGNOSTIC_EVENT (severity INTEGER, text TEXT)",
                    "INSERT INTO DIAGNOSTIC_EVENT (severity, text) VALUES (2, 'Not all events were collected')"):
                base.execute(statement)
        base.close()
        warnings = self.same_from_any_number(folder).warnings()
        self.assertEqual(warnings["profiler_warning"], 1)
        self.assertGreater(warnings["event_damaged"], 0)

    def test_a_row_left_out_costs_a_step_of_its_rank(self):
        folder, path = self.planted("--mesh", "dp_shard=4,tp=2")
        with sqlite3.connect(path) as base:
            base.execute(f"UPDATE {BY_PID[0]} SET \"end\" = start + 8000000000000000000 "
                         f"WHERE rowid = (SELECT MIN(rowid) FROM {BY_PID[0]})")
        base.close()
        output = self.same_from_any_number(folder)
        self.assertRegex(output.attributes()["coverage"],
                         r"^8 of 8 ranks analysed, 1 of them in part: rank \d \(step \d+ lost with the damage\)$")
        self.assertRegex(output.summary, r"\nlost +rank \d, nsys_0\.sqlite: event_damaged ")
        with sqlite3.connect(path) as base:
            base.execute(f"UPDATE {BY_PID[0]} SET globalPid = 0 WHERE rowid = (SELECT MIN(rowid) FROM {BY_PID[0]})")
        base.close()
        self.assertRegex(self.same_from_any_number(folder).attributes()["coverage"],
                         r"^8 of 8 ranks analysed, 8 of them in part: ranks 0-7 \(")

    def test_rows_that_can_not_be_read_end_a_table_for_all(self):
        """Bytes change anywhere behind the schema, so most often in a row that one of the readers looks into."""
        folder, path = self.planted("--mesh", "dp_shard=4,tp=2")
        with open(path, "rb") as file:
            whole = file.read()
        cut = 0
        for seed in range(6):
            dice = random.Random(seed)
            damaged = bytearray(whole)
            for _ in range(dice.choice((4, 40))):
                damaged[dice.randrange(len(whole) // 4, len(whole))] = dice.randrange(256)
            with open(path, "wb") as file:
                file.write(damaged)
            with self.subTest(seed):
                cut += "file_cut" in self.same_from_any_number(folder).warnings()
        self.assertGreater(cut, 2)

    def test_ranks_by_names_of_threads(self):
        """NVTX names the threads against the order of devices; two processes name no communicator, so the places in
        those of the others tell no ranks."""
        folder, path = self.planted("--mesh", "dp_shard=4,tp=2")
        with sqlite3.connect(path) as base:
            base.execute("DELETE FROM NVTX_EVENTS WHERE text LIKE '%rank=%'")
            processes = [row[0] for row in base.execute(
                f"SELECT globalPid >> 24 FROM {BY_PID[0]} GROUP BY 1 ORDER BY MIN(deviceId)")]
            base.executemany("INSERT INTO NVTX_EVENTS (start, eventType, globalTid, text) VALUES (1000, 39, ?, ?)",
                             [((process << 24) + 1, f"MPI Rank {7 - at}") for at, process in enumerate(processes)])
            base.execute("DELETE FROM NVTX_EVENTS WHERE globalTid >> 24 IN (?, ?) AND (text LIKE 'ncclComm%' OR "
                         "textId IN (SELECT id FROM StringIds WHERE value LIKE 'ncclComm%'))", processes[:2])
        base.close()
        output = self.same_from_any_number(folder)
        self.assertEqual({r["rank_source"] for r in output.table("/ranks")}, {"thread_name"})

    def test_processes_as_texts(self):
        """A number that goes on as a word is none, a number with zeros before it is one."""
        folder, path = self.planted("--mesh", "dp_shard=4,tp=2")
        with sqlite3.connect(path) as base:
            for table, column in ((BY_PID[0], "globalPid"), (BY_TID[0], "globalTid"), (BY_TID[1], "globalTid")):
                base.execute(f"CREATE TABLE changed AS SELECT * FROM {table}")
                base.execute(f"DROP TABLE {table}")
                names = [f'"{row[1]}"' for row in base.execute("PRAGMA table_info(changed)")]
                base.execute(f"CREATE TABLE {table} ({', '.join(names)})")  # no types: values stay what they are
                values = ", ".join(f"CASE rowid % 4 WHEN 0 THEN CAST({name} AS TEXT) WHEN 1 THEN '00' || {name} WHEN 2 "
                                   f"THEN {name} || CASE rowid % 8 WHEN 2 THEN 'th' ELSE '' END ELSE {name} END"
                                   if name.strip('"') == column else name for name in names)
                base.execute(f"INSERT INTO {table} SELECT {values} FROM changed")
                base.execute("DROP TABLE changed")
        base.close()
        self.same_from_any_number(folder)

    def test_tables_without_processes_are_one_rank(self):
        folder, path = self.planted("--mesh", "dp_shard=8")
        with sqlite3.connect(path) as base:
            base.execute(f"ALTER TABLE {BY_PID[0]} DROP COLUMN globalPid")
        base.close()
        output = self.same_from_any_number(folder)
        self.assertEqual(len(output.table("/ranks")), 1)

    def test_a_first_kernel_without_process_costs_itself_alone(self):
        folder, path = self.planted("--mesh", "dp_shard=4,tp=2")
        for value in ("0", "'none'"):
            with sqlite3.connect(path) as base:
                base.execute(f"UPDATE {BY_PID[0]} SET globalPid = {value} WHERE rowid = (SELECT MIN(rowid) FROM {BY_PID[0]})")
            base.close()
            output = self.same_from_any_number(folder)
            self.assertEqual([r["rank"] for r in output.table("/ranks")], list(range(8)))
            self.assertEqual(output.warnings()["event_damaged"], 1)

    def test_an_export_for_each_rank(self):
        folder, path = self.planted("--mesh", "pp=2,dp_shard=2,tp=2", "--layers", "4")
        node = folder.analyze()
        base = sqlite3.connect(path)
        processes = [row[0] for row in base.execute(f"SELECT DISTINCT globalPid >> 24 FROM {BY_PID[0]} ORDER BY 1")]
        base.close()
        self.assertEqual(len(processes), 8)
        target = os.path.join(folder.path, "apart")
        os.makedirs(target)
        for other in os.listdir(folder.traces):
            if not other.endswith(".sqlite"):
                shutil.copy(os.path.join(folder.traces, other), target)
        for number, process in enumerate(processes):
            copy = os.path.join(target, f"export_{(number * 3) % 8}.sqlite")  # names say nothing of ranks
            shutil.copy(path, copy)
            with sqlite3.connect(copy) as base:
                for tables, column in ((BY_PID, "globalPid"), (BY_TID, "globalTid")):
                    for table in tables:
                        base.execute(f"DELETE FROM {table} WHERE {column} >> 24 <> {process}")
            base.close()
        path = os.path.join(folder.path, "apart.h5")
        apart = Output(path, analyze(target, path, workers=3))
        expected, found = tables_of(node.path), tables_of(apart.path)
        self.assertEqual(set(expected), set(found))
        for name, rows in expected.items():
            with self.subTest(name):
                if isinstance(rows, list):
                    self.assertEqual(rows, found[name])
                else:
                    self.assertEqual([row for row in rows if rows[row] != found[name].get(row)][:1], [])
                    self.assertEqual(len(rows), len(found[name]))
        known = {r["dimension"] for r in apart.table("/metrics/comm_comp_overlap/by_dimension")}
        self.assertTrue({"tp", "pp", "dp"} <= known, known)


if __name__ == "__main__":
    unittest.main(verbosity=2)
