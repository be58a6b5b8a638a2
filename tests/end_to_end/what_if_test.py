"""What a fault costs is what was planted; the critical path fills the step and goes through the slow rank."""
import collections
import unittest

from planted import Folder

TINY = ("--preset", "tiny", "--no-faults", "--mb-per-rank", "0", "--mesh", "dp_shard=4,tp=2")
METRICS = ("--metric", "what_if,critical_path,efficiency")


class WhatIfTest(unittest.TestCase):

    def planted(self, *options):
        folder = Folder(*TINY, *options)
        self.addCleanup(folder.remove)
        return folder.truth, folder.analyze(options=METRICS)

    def expect_slowdown_recovered(self, truth, output, rank):
        periods = {(row.without_fault, row.step): row.period_ns for row in truth["periods"]}
        steps = {row["step"]: row for row in output.table("/metrics/what_if/rows")}
        fixed = {row["step"]: row["fixed_ns"] for row in output.table("/metrics/what_if/cases")
                 if row["subject"] == "rank" and row["number"] == rank}
        self.assertEqual(len(steps), 6)
        for step, row in steps.items():
            planted = periods[-1, step] / periods[0, step]
            self.assertLess(abs(row["replayed_ns"] - row["measured_ns"]), 0.01 * row["measured_ns"])
            self.assertLess(abs(row["slowdown_ratio"] / planted - 1), 0.02, step)
            self.assertLess(abs(row["replayed_ns"] / fixed[step] / planted - 1), 0.02, step)

    def test_slow_rank(self):
        truth, output = self.planted("--fault", "slow_rank:rank=5,factor=1.5,from=8")
        self.expect_slowdown_recovered(truth, output, 5)
        path = collections.Counter()
        for row in output.table("/metrics/critical_path/by_rank"):
            if row["step"] >= 8:
                path[row["rank"]] += row["path_ns"]
        self.assertEqual(max(path, key=path.get), 5)

    def test_late_launch(self):
        truth, output = self.planted("--fault", "late_launch:rank=2,factor=1,delay_us=3000")
        self.expect_slowdown_recovered(truth, output, 2)

    def test_the_path_is_as_long_as_the_step(self):
        _, output = self.planted("--fault", "slow_rank:rank=5,factor=1.5,from=8")
        windows = {row["step"]: row["length_ns"] for row in output.table("/metrics/efficiency/rows")}
        by_rank = collections.Counter()
        for row in output.table("/metrics/critical_path/by_rank"):
            by_rank[row["step"]] += row["path_ns"]
        for row in output.table("/metrics/critical_path/rows"):
            parts = sum(row[f"{name}_ns"] for name in ("compute", "communication", "memory", "launch", "idle"))
            self.assertEqual(parts, row["length_ns"])
            self.assertEqual(parts, windows[row["step"]])
            self.assertEqual(parts, by_rank[row["step"]])

    def test_communication_efficiency_is_the_product_of_its_parts(self):
        _, output = self.planted()
        values = output.attributes("/metrics/efficiency")
        product = values["serialisation_efficiency_ratio"] * values["transfer_efficiency_ratio"]
        self.assertAlmostEqual(product, values["communication_efficiency_ratio"], places=6)
        self.assertLessEqual(values["transfer_efficiency_ratio"], 1)


if __name__ == "__main__":
    unittest.main()
