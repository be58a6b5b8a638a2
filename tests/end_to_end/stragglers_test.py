"""Pipelines: a healthy one has no straggler; a slow GPU, a late CPU and a slow link are named with rank, onset and cause."""
import re
import unittest

from planted import Folder

SMALL = ("--preset", "tiny", "--no-faults", "--mb-per-rank", "0", "--plain", "--steps", "6", "--ranks-per-host", "4")


def pipeline(pp, microbatches, *options):
    return (*SMALL, "--mesh", f"pp={pp},dp_shard=2,tp=2", "--layers", str(2 * pp), "--microbatches", str(microbatches),
            *options)


class StragglersTest(unittest.TestCase):

    def planted(self, *options):
        folder = Folder(*options)
        self.addCleanup(folder.remove)
        return folder, folder.analyze(options=("--metric", "straggler_lag"))

    @staticmethod
    def named(output):
        return {row["rank"]: row for row in output.table("/metrics/straggler_lag/own_blame") if row["straggler"]}

    @staticmethod
    def slow_links(output):
        """Those that cost at least 1 % of a step."""
        period_ns = output.table("/metrics/straggler_lag/own_blame")[0]["period_ns"]
        return [row for row in output.table("/metrics/straggler_lag/slow_links")
                if row["more_ns"] >= 0.01 * period_ns * row["steps_count"]]

    def members(self, output, group):
        return {row["rank"] for row in output.table("/process_group_members") if row["group"] == group}

    def test_a_healthy_pipeline_has_no_straggler(self):
        for pp, microbatches, seed, more in ((2, 4, 1, ()), (4, 4, 2, ()), (4, 8, 3, ("--schedule", "interleaved")),
                                             (4, 16, 1, ("--schedule", "dualpipev"))):
            with self.subTest(pp=pp, seed=seed):
                _, output = self.planted(*pipeline(pp, microbatches, "--seed", str(seed), *more))
                self.assertEqual(self.named(output), {})
                self.assertEqual(self.slow_links(output), [])
                self.assertIn("no rank stands out", output.summary)

    @staticmethod
    def gain_ns(truth, step):
        """What a step of the planted job takes longer than without its first fault."""
        periods = {(row.step, row.without_fault): row.period_ns for row in truth["periods"]}
        return periods[step, -1] - periods[step, 0]

    def slow_gpu(self, rank):
        folder, output = self.planted(*pipeline(4, 8, "--fault", f"slow_rank:rank={rank},factor=1.3,from=7"))
        self.assertEqual(list(self.named(output)), [rank])
        row = self.named(output)[rank]
        self.assertEqual((row["cause"], row["since_step"]), ("slow_compute", 7))
        self.assertRegex(output.summary, r"its kernels\s+take\s+1\.(29|30|31)\s+x")
        self.assertRegex(output.summary, rf"rank {rank}: blame .*\n    straggler: [0-9.]+ ms of it is its own, ")
        longer_ms = float(re.search(r"steps\s+take\s+([0-9.]+)\s+ms\s+longer", output.summary).group(1))
        gain_ns = sum(self.gain_ns(folder.truth, step) for step in (7, 8, 9)) / 3
        self.assertAlmostEqual(longer_ms, gain_ns / 1e6, delta=0.2 + 0.05 * gain_ns / 1e6)
        return row, gain_ns

    def test_a_slow_gpu_that_paces_the_pipeline(self):
        row, gain_ns = self.slow_gpu(12)
        self.assertAlmostEqual(row["per_step_ns"] / gain_ns, 1, delta=0.15)

    def test_a_slow_gpu_whose_delay_the_other_stages_hide(self):
        row, gain_ns = self.slow_gpu(6)
        self.assertGreater(row["per_step_ns"], gain_ns)

    def test_a_cpu_that_begins_late_in_an_interleaved_pipeline(self):
        _, output = self.planted(*pipeline(2, 4, "--schedule", "interleaved", "--fault",
                                           "late_launch:rank=5,factor=1,delay_us=6000"))
        self.assertEqual(list(self.named(output)), [5])
        row = self.named(output)[5]
        self.assertEqual((row["cause"], row["since_step"]), ("late_before_step", -1))
        self.assertAlmostEqual(row["per_step_ns"] / 6e6, 1, delta=0.25)
        self.assertRegex(output.summary, r"in\s+all\s+6\s+steps")

    def test_a_cpu_that_launches_slowly(self):
        folder, output = self.planted(*pipeline(1, 2, "--fault", "late_launch:rank=1,factor=30,from=7"))
        self.assertEqual(list(self.named(output)), [1])
        row = self.named(output)[1]
        self.assertEqual((row["cause"], row["since_step"]), ("late_launch", 7))
        gain_ns = sum(self.gain_ns(folder.truth, step) for step in (7, 8, 9)) / 3
        self.assertAlmostEqual(row["per_step_ns"] / gain_ns, 1, delta=0.15)  # nobody waits after the last collective

    def test_a_pause_that_ends(self):
        folder, output = self.planted(*pipeline(1, 2, "--fault", "gc_pause:rank=2,step=6,launch=20,ms=30"))
        self.assertEqual(list(self.named(output)), [2])
        row = self.named(output)[2]
        self.assertEqual((row["cause"], row["since_step"]), ("late_launch", -1))
        self.assertEqual((row["first_affected_step"], row["last_affected_step"], row["affected_steps_count"],
                          row["steps_count"]), (6, 6, 1, 6))
        self.assertAlmostEqual(row["per_step_ns"] / self.gain_ns(folder.truth, 6), 1, delta=0.1)
        self.assertRegex(output.summary, r"in\s+step\s+6\s+\(iteration_10\)\s+only\s+\(1\s+of\s+6\)")

    def test_a_stage_without_peers_that_becomes_slow(self):
        _, output = self.planted(*SMALL, "--mesh", "pp=4", "--layers", "8", "--microbatches", "8", "--fault",
                                 "slow_rank:rank=2,factor=1.3,from=8")
        self.assertRegex(output.summary, r"rank\s+2\s+computes\s+1\.(29|30|31)\s+x\s+as\s+long\s+as\s+itself")
        rows = output.table("/metrics/straggler_lag/slower_than_before")
        self.assertEqual([(row["rank"], row["since_step"]) for row in rows], [(2, 8)])

    def test_a_slow_link_between_stages_and_one_within_a_stage(self):
        _, output = self.planted(*pipeline(4, 8, "--fault", "slow_link:a=2,b=6,factor=4",
                                           "--fault", "slow_link:a=12,b=13,factor=3,from=7"))
        self.assertEqual(self.named(output), {})
        links = self.slow_links(output)
        self.assertEqual(len(links), 2)
        messages = [row for row in links if row["rank_a"] >= 0]
        self.assertEqual([(row["rank_a"], row["rank_b"], row["since_step"]) for row in messages], [(2, 6, -1)])
        self.assertAlmostEqual(messages[0]["transfer_ratio"], 4, delta=0.4)
        collectives = [row for row in links if row["rank_a"] < 0]
        self.assertEqual(self.members(output, collectives[0]["group"]), {12, 13})
        self.assertEqual(collectives[0]["since_step"], 7)
        self.assertAlmostEqual(collectives[0]["transfer_ratio"], 3, delta=0.1)

    def test_sixty_four_ranks_with_three_faults_at_once(self):
        folder, output = self.planted(
            *SMALL, "--mesh", "pp=4,dp_shard=4,tp=4", "--layers", "4", "--microbatches", "4", "--clock-offset-us",
            "20000", "--clock-drift-ppm", "20", "--fault", "slow_rank:rank=21,factor=1.4,from=7", "--fault",
            "late_launch:rank=42,factor=1,delay_us=6000", "--fault", "slow_link:a=12,b=13,factor=4")
        named = self.named(output)
        self.assertEqual({rank: (row["cause"], row["since_step"]) for rank, row in named.items()},
                         {21: ("slow_compute", 7), 42: ("late_before_step", -1)})
        compute_ns = [r.compute_ns for r in folder.truth["rank_steps"] if r.rank == 21 and r.step >= 7]
        more_ns = 0.4 / 1.4 * sum(compute_ns) / len(compute_ns)
        self.assertAlmostEqual(named[21]["per_step_ns"] / more_ns, 1, delta=0.2)
        self.assertAlmostEqual(named[42]["per_step_ns"] / 6e6, 1, delta=0.25)
        links = self.slow_links(output)
        self.assertEqual(len(links), 1)
        self.assertEqual(self.members(output, links[0]["group"]), {12, 13, 14, 15})
        self.assertAlmostEqual(links[0]["transfer_ratio"], 4, delta=0.2)
        self.assertEqual(output.warnings().get("collective_unmatched", 0), 0)


if __name__ == "__main__":
    unittest.main()
