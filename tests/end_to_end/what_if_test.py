"""What a fault costs is what was planted; the critical path fills the step and goes through the slow rank."""
import collections
import unittest

from planted import Folder

TINY = ("--preset", "tiny", "--no-faults", "--mb-per-rank", "0", "--mesh", "dp_shard=4,tp=2")
PIPELINE = ("--preset", "tiny", "--no-faults", "--mb-per-rank", "0", "--layers", "4", "--microbatches", "4", "--steps", "3")
METRICS = ("--metric", "what_if,critical_path,efficiency")


class WhatIfTest(unittest.TestCase):

    def planted(self, *options, job=TINY):
        folder = Folder(*job, *options)
        self.addCleanup(folder.remove)
        return folder.truth, folder.analyze(options=METRICS)

    def expect_slowdown_recovered(self, truth, output, rank=None, steps_count=6):
        periods = {(row.without_fault, row.step): row.period_ns for row in truth["periods"]}
        steps = {row["step"]: row for row in output.table("/metrics/what_if/rows")}
        fixed = {row["step"]: row["fixed_ns"] for row in output.table("/metrics/what_if/cases")
                 if row["subject"] == "rank" and row["number"] == rank}
        self.assertEqual(len(steps), steps_count)
        for step, row in steps.items():
            planted = periods[-1, step] / periods[0, step]
            self.assertEqual(row["unmatched_ns"], 0)
            self.assertLess(abs(row["measured_ns"] / periods[-1, step] - 1), 0.001)
            self.assertLess(abs(row["replayed_ns"] - row["measured_ns"]), 0.01 * row["measured_ns"])
            self.assertLess(abs(row["slowdown_ratio"] / planted - 1), 0.02, step)
            if rank is not None:
                self.assertLess(abs(row["replayed_ns"] / fixed[step] / planted - 1), 0.02, step)

    def expect_sum_of_faults_recovered(self, truth, output):
        periods = {(row.without_fault, row.step): row.period_ns for row in truth["periods"]}
        worst = 0
        for row in output.table("/metrics/what_if/rows"):
            planted = periods[-1, row["step"]] / periods[-2, row["step"]]
            self.assertLess(abs(row["slowdown_ratio"] / planted - 1), 0.02, (row["step"], planted))
            worst = max(worst, planted)
        return worst

    def expect_hidden_dimensions(self, truth, output):
        """A step is as long as planted with the transfers of one dimension left out."""
        planted = {(row.dimension, row.step): row.period_ns for row in truth["hidden_periods"]}
        found = {(row["dimension"], row["step"]): row["fixed_ns"] for row in output.table("/metrics/what_if/cases")
                 if row["subject"] == "dimension"}
        for key, period in found.items():
            self.assertLess(abs(period / planted[key] - 1), 0.02, key)
        return {dimension for dimension, _ in found}

    def test_two_slow_ranks_hide_each_other(self):
        truth, output = self.planted("--fault", "slow_rank:rank=5,factor=1.5", "--fault", "slow_rank:rank=2,factor=1.45")
        periods = {(row.without_fault, row.step): row.period_ns for row in truth["periods"]}
        cases = output.table("/metrics/what_if/cases")
        self.assertEqual({row["number"] for row in cases if row["subject"] == "rank" and row["slow"]}, {2, 5})
        together = {row["step"]: row for row in cases if row["subject"] == "slow_ranks"}
        alone = {row["step"]: row["gain_ns"] for row in cases if row["subject"] == "rank" and row["number"] == 5}
        self.assertEqual(len(together), 6)
        for step, row in together.items():
            self.assertLess(abs(row["fixed_ns"] / periods[-2, step] - 1), 0.02, step)
            self.assertGreater(row["gain_ns"], 3 * alone[step])
        self.assertRegex(" ".join(output.summary.split()), r"all slow ranks \(2, 5\) together like their peers save [\d.]+ ms")

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

    def test_slow_cpu(self):
        truth, output = self.planted("--mesh", "dp_shard=4,tp=2", "--ranks-per-host", "64",
                                     "--fault", "late_launch:rank=0,factor=8", job=PIPELINE)
        self.assertGreater(output.table("/metrics/what_if/rows")[0]["slowdown_ratio"], 1.2)
        self.expect_slowdown_recovered(truth, output, 0, 3)

    def test_slow_rank_of_a_pipeline(self):
        for seed, mesh, rank, more in (("2", "pp=1,dp_shard=4", 1, ()), ("3", "pp=2,dp_shard=2", 3, ()),
                                       ("4", "pp=4,dp_shard=2,tp=2", 9, ()),
                                       ("5", "pp=2,dp_shard=4", 6, ("--schedule", "interleaved", "--chunks", "2"))):
            with self.subTest(mesh=mesh):
                truth, output = self.planted("--seed", seed, "--mesh", mesh, *more, "--fault",
                                             f"slow_rank:rank={rank},factor=1.5,from=5", job=PIPELINE)
                self.expect_slowdown_recovered(truth, output, rank, 3)
                self.expect_hidden_dimensions(truth, output)

    def test_slower_links_between_hosts_are_no_slowdown(self):
        """Four stages on two hosts: one of three channels stays within a host."""
        truth, output = self.planted("--mesh", "pp=4,dp_shard=2", "--schedule", "interleaved", "--layers", "8",
                                     "--microbatches", "8", "--data-parallel", "fsdp-always", "--steps", "3",
                                     "--fault", "late_launch:rank=2,factor=1,delay_us=1", job=TINY[:-2])
        self.expect_slowdown_recovered(truth, output, steps_count=3)

    def test_slow_transfers_between_two_stages(self):
        truth, output = self.planted("--mesh", "pp=4,dp_shard=4", "--fault", "slow_link:a=0,b=4,factor=20,from=5",
                                     job=PIPELINE)
        self.expect_slowdown_recovered(truth, output, steps_count=3)

    def test_half_of_the_links_slow(self):
        truth, output = self.planted("--mesh", "dp_shard=2,tp=2", "--fault", "slow_link:a=0,b=1,factor=6,from=5",
                                     job=PIPELINE)
        self.expect_slowdown_recovered(truth, output, steps_count=3)

    def test_pause_of_a_cpu(self):
        truth, output = self.planted("--mesh", "pp=2,dp_shard=4", "--fault", "gc_pause:rank=3,step=5,launch=20,ms=20",
                                     job=PIPELINE)
        self.expect_slowdown_recovered(truth, output, 3, 3)

    def test_a_slow_gpu_a_slow_cpu_and_a_slow_link_at_once(self):
        for seed, mesh, rank, late, a, b in (("1", "pp=4,dp_shard=4", 9, 2, 0, 4), ("2", "pp=2,dp_shard=4,tp=2", 3, 12, 1, 9)):
            with self.subTest(mesh=mesh):
                truth, output = self.planted(
                    "--seed", seed, "--mesh", mesh, "--fault", f"slow_rank:rank={rank},factor=1.4,from=5", "--fault",
                    f"late_launch:rank={late},factor=1,delay_us=2000", "--fault", f"slow_link:a={a},b={b},factor=10",
                    job=PIPELINE)
                self.assertGreater(self.expect_sum_of_faults_recovered(truth, output), 1.1)

    def test_hidden_transfers(self):
        truth, output = self.planted("--mesh", "pp=2,dp_shard=2,tp=2", job=PIPELINE)
        self.assertEqual(self.expect_hidden_dimensions(truth, output), {"pp", "dp", "tp"})

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
        segments = collections.defaultdict(list)
        for row in output.table("/metrics/critical_path/segments"):
            segments[row["step"]].append((row["start_ns"], row["end_ns"]))
        for row in output.table("/metrics/efficiency/rows"):
            of_step = segments[row["step"]]
            self.assertEqual((of_step[0][0], of_step[-1][1]), (row["start_ns"], row["start_ns"] + row["length_ns"]))
            self.assertTrue(all(a[1] == b[0] and a[0] < a[1] for a, b in zip(of_step, of_step[1:])))
            self.assertLessEqual(len(of_step), 1001)

    def test_communication_efficiency_is_the_product_of_its_parts(self):
        _, output = self.planted()
        values = output.attributes("/metrics/efficiency")
        product = values["serialisation_efficiency_ratio"] * values["transfer_efficiency_ratio"]
        self.assertAlmostEqual(product, values["communication_efficiency_ratio"], places=6)
        self.assertLessEqual(values["transfer_efficiency_ratio"], 1)
        rows = output.table("/metrics/efficiency/rows")
        windows = collections.defaultdict(list)
        for row in output.table("/metrics/efficiency/windows"):
            windows[row["step"]].append(row)
        for row in rows:
            parts = row["serialisation_efficiency_ratio"] * row["transfer_efficiency_ratio"]
            self.assertAlmostEqual(parts, row["communication_efficiency_ratio"], places=9)
        for row in rows + [window for of_step in windows.values() for window in of_step]:
            mean = row["useful_sum_ns"] / row["gpus_count"]
            self.assertAlmostEqual(row["parallel_efficiency_ratio"], mean / row["length_ns"], places=9)
            self.assertLessEqual(row["useful_max_ns"], row["length_ns"])
            if row["useful_max_ns"]:
                product = row["load_balance_ratio"] * row["communication_efficiency_ratio"]
                self.assertAlmostEqual(row["parallel_efficiency_ratio"], product, places=9)
        for row in rows:
            of_step = windows[row["step"]]
            self.assertEqual(len(of_step), 20)
            self.assertEqual(sum(window["length_ns"] for window in of_step), row["length_ns"])
            self.assertEqual(sum(window["useful_sum_ns"] for window in of_step), row["useful_sum_ns"])


if __name__ == "__main__":
    unittest.main()
