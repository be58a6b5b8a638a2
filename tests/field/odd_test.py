"""The mutations of the corpus (odd/) come out as its expected/odd.json says: the same numbers as the file they were
made from, fewer with a warning, or an error."""
import json
import os
import shutil
import sys
import unittest

from traces import FieldTest

CORPUS = os.environ.get("CCL_CORPUS") or os.environ.get("CCL_CORPUS_DEFAULT", "")
COLUMNS = ("communication_count", "compute_count", "memory_count", "communication_sum_ns", "compute_sum_ns",
           "memory_sum_ns", "busy_ns", "overlap_ns", "exposed_ns", "idle_ns", "window_ns")


class OddTest(FieldTest):

    def one(self, name, code):
        """The file alone, renamed so that a rank can be told where the content has none."""
        self.runs_count += 1
        traces = os.path.join(self.folder, "traces%d" % self.runs_count)
        os.mkdir(traces)
        shutil.copy(os.path.join(CORPUS, "given", "odd", name), os.path.join(traces, name))
        return self.analyze_folder(traces, code=code)

    def test_odd_files_come_out_as_expected(self):
        with open(os.path.join(CORPUS, "expected", "odd.json"), encoding="utf-8") as file:
            rows = json.load(file)
        base = None
        for row in rows:
            with self.subTest(file=row["file"]):
                run = self.one(row["file"], 2 if row["expect"] == "error" else 0)
                if row["expect"] == "error":
                    self.assertFalse(run.has_file())
                    continue
                ranks = run.ranks()
                self.assertEqual(len(ranks), 1)
                whole = run.whole(ranks[0])
                values = {name: whole[name] for name in COLUMNS} if whole else {}
                if row["expect"] == "same":
                    base = base or values
                    self.assertGreater(values.get("compute_count", 0), 0)
                    self.assertEqual(values, base)
                else:
                    self.assertTrue(run.warnings())
                    self.assertLess(values.get("compute_count", 0), base["compute_count"])


if __name__ == "__main__":
    if not os.path.isfile(os.path.join(CORPUS, "expected", "odd.json")):
        print("skipped: no real traces (set CCL_CORPUS)")
        sys.exit(77)
    unittest.main(verbosity=2)
