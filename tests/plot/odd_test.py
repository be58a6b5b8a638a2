"""Files that are partial, odd or no results at all: one clear line each, never a traceback."""
import random
import unittest

import h5py
import numpy as np

from planted_output import PLOT, PlantedTest, need_matplotlib, run

need_matplotlib()
import figures  # noqa: E402

FEW = ("--only", "straggler_steps,bandwidth,utilisation,overlap")


class OddFileTest(PlantedTest):

    def refused(self, *arguments):
        done = run([PLOT / "plot", *arguments, "-o", self.folder / "none"], expected=1)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("plot: "), done.stderr)
        return done.stderr

    def test_what_is_no_output_is_refused_in_one_line(self):
        text = self.folder / "text.h5"
        text.write_text("not HDF5")
        self.assertIn("cannot be read as HDF5", self.refused(text))
        self.assertIn("cannot be read", self.refused(self.folder / "missing.h5"))
        with h5py.File(self.folder / "other.h5", "w") as file:
            file["x"] = [1, 2]
        self.assertIn("not an output of ccl-analyze", self.refused(self.folder / "other.h5"))
        self.assertIn("no figure is called pie", self.refused(self.output, "--only", "pie"))

    def test_report_replaces_reports_only(self):
        mine = self.folder / "mine.csv"
        mine.write_text("a,b\n")
        self.assertIn("is no HTML page", self.refused(self.output, "--html", mine))
        self.assertIn("is no HTML page", self.refused(self.output, "--html", self.output))
        self.assertEqual(mine.read_text(), "a,b\n")
        page = self.folder / "page.html"
        page.touch()
        for _ in range(2):
            self.plot(self.output, "--html", page, *FEW)
        self.assertIn("</html>", page.read_text())

    def test_missing_groups_are_named(self):
        path = self.copy("less.h5")
        with h5py.File(path, "r+") as file:
            for name in ("timeline", "metrics/straggler_lag", "collectives", "metrics/comm_comp_overlap/rows"):
                del file[name]
        lines, _ = self.plot(path, "--html", self.folder / "less.html", *FEW)
        self.assertEqual(lines["utilisation"], "skipped: the file has no timeline")
        self.assertEqual(lines["straggler_steps"], "skipped: the metric straggler_lag is not in the file")
        self.assertEqual(lines["bandwidth"], "skipped: the file has no table /collectives/instances")
        self.assertEqual(lines["overlap"], "skipped: the file has no table /metrics/comm_comp_overlap/rows")
        page = (self.folder / "less.html").read_text()
        self.assertIn("the file has no timeline", page)
        self.assertIn("<b>table ranks</b>", page)

    def test_empty_tables_and_missing_columns(self):
        path = self.copy("empty.h5")
        with h5py.File(path, "r+") as file:
            for name in ("collectives/instances", "metrics/straggler_lag/rows"):
                rows = file[name][:0]
                del file[name]
                file[name] = rows
            rows = file["metrics/comm_comp_overlap/rows"][:]
            kept = [name for name in rows.dtype.names if name != "exposed_ns"]
            del file["metrics/comm_comp_overlap/rows"]
            file["metrics/comm_comp_overlap/rows"] = rows[kept]
        lines, _ = self.plot(path, *FEW)
        self.assertEqual(lines["bandwidth"], "skipped: /collectives/instances is empty")
        self.assertEqual(lines["straggler_steps"], "skipped: /metrics/straggler_lag/rows is empty")
        self.assertEqual(lines["overlap"], "skipped: /metrics/comm_comp_overlap/rows has no column exposed_ns")

    def test_any_damage_leaves_a_line_for_every_figure(self):
        for seed in range(2):
            path = self.copy(f"damaged{seed}.h5")
            dice = random.Random(seed)
            with h5py.File(path, "r+") as file:
                tables = []
                file.visititems(lambda name, item: tables.append(name) if isinstance(item, h5py.Dataset) else None)
                for name in dice.sample(sorted(tables), len(tables) // 3):
                    rows = file[name][:]
                    del file[name]
                    how = dice.choice(["gone", "empty", "one", "absent", "number"])
                    if how == "empty":
                        file[name] = rows[:0]
                    elif how == "one":
                        file[name] = rows[:1]
                    elif how == "absent" and rows.dtype.names:
                        for field in rows.dtype.names:
                            rows[field] = np.nan if rows.dtype[field].kind == "f" else b"" if rows.dtype[field].kind == "S" \
                                else -1 if rows.dtype[field].kind == "i" else False
                        file[name] = rows
                    elif how == "number":
                        file[name] = 7
            lines, _ = self.plot(path, "--html", self.folder / "damaged.html")
            self.assertEqual(list(lines), figures.ORDER + ["report"])


if __name__ == "__main__":
    unittest.main()
