"""Everything ccl-analyze says about planted jobs is compared with the truth: one test per kind of job."""
import unittest

import compare
from planted import Folder

# name -> (options of ccl-synth, tolerance of spreads on the corrected clock in ns, what is not compared and why)
SIZE = ("--plain", "--mb-per-rank", "0")
ONE_HOST = ("--ranks-per-host", "64", "--clock-offset-us", "0", "--clock-drift-ppm", "0", *SIZE)
TWO_STEPS = ("--steps", "2", "--no-faults")
JOBS = {
    "tiny": ((), 6_000, {}),
    "fsdp_one_host": (("--mesh", "dp_shard=4", *ONE_HOST, *TWO_STEPS), 0, {}),
    "hsdp_sequence_parallel": (("--mesh", "dp_replicate=2,dp_shard=2,tp=2", "--tensor-parallel", "sequence", *ONE_HOST,
                                *TWO_STEPS), 0, {}),
    "gpipe_recompute": (("--style", "seq", "--mesh", "pp=4,dp_shard=2", "--layers", "4", "--schedule", "gpipe",
                         "--recompute", "--microbatches", "4", *ONE_HOST, *TWO_STEPS), 0, {}),
    "interleaved": (("--mesh", "pp=2,tp=2", "--layers", "4", "--schedule", "interleaved", "--microbatches", "4",
                     *ONE_HOST, *TWO_STEPS), 0, {}),
    "zero_bubble": (("--mesh", "pp=4", "--layers", "4", "--schedule", "zb", "--microbatches", "6", *ONE_HOST,
                     *TWO_STEPS), 0, {}),
    "experts": (("--mesh", "dp_shard=4,ep=4", "--experts", "8", *ONE_HOST, *TWO_STEPS), 0, {}),
    "context_parallel": (("--mesh", "dp_shard=2,cp=2", *ONE_HOST, *TWO_STEPS), 0, {}),
    "sequence_numbers": (("--style", "seq", "--mesh", "pp=2,dp_shard=2,tp=2", *ONE_HOST, *TWO_STEPS), 0, {}),
    "rccl": (("--style", "rocm", "--mesh", "dp_shard=2,tp=2", *ONE_HOST, *TWO_STEPS), 0, {}),
    "megatron": (("--layout", "megatron", "--data-parallel", "distopt", "--mesh", "pp=2,dp_shard=2,tp=2", *ONE_HOST,
                  *TWO_STEPS), 0, {"phases": "loading a batch is part of the forward there"}),
    "combined": (("--layout", "megatron", "--data-parallel", "distopt", "--mesh", "pp=2,dp_shard=2,ep=2", "--experts",
                  "4", "--layers", "8", "--schedule", "combined", "--microbatches", "4", *ONE_HOST, *TWO_STEPS), 0,
                 {"phases": "loading a batch is part of the forward there"}),
    "dualpipev": (("--mesh", "pp=2,dp_shard=2", "--layers", "4", "--schedule", "dualpipev", "--microbatches", "5",
                   *ONE_HOST, *TWO_STEPS), 0, {}),
    "ccl_bench": (("--layout", "ccl-bench", "--mesh", "dp_shard=2,tp=2", *ONE_HOST, *TWO_STEPS), 0, {}),
    "iteration_folders": (("--steps", "6", "--steps-per-iteration", "2", "--no-faults", "--mesh", "dp_shard=4",
                           *ONE_HOST), 0, {}),
    "inference": (("--style", "inference", "--mesh", "tp=4", "--microbatches", "1", *ONE_HOST, "--steps", "5",
                   "--no-faults"), 0, {"phases": "of training only"}),
    "groups_over_thirty": (("--mesh", "dp_shard=40", *ONE_HOST, *TWO_STEPS), 0, {}),
    "fine_kernels_with_noise": (("--mesh", "dp_shard=2", "--fine", "--gz", "--mb-per-rank", "3", "--ranks-per-host",
                                 "8", *TWO_STEPS), 0, {}),
}


class TruthTest(unittest.TestCase):
    maxDiff = None

    def compare(self, options, tolerance_ns, left_out):
        folder = Folder(*options)
        self.addCleanup(folder.remove)
        output = folder.analyze()
        for name, lines in compare.everything(folder.truth, output, tolerance_ns).items():
            if name not in left_out:
                with self.subTest(name):
                    self.assertEqual(lines[:8], [], f"{len(lines)} disagreements")

    def test_old_style_knows_time_but_no_bytes(self):
        folder = Folder("--style", "old", "--mesh", "dp_shard=4", *ONE_HOST, *TWO_STEPS)
        self.addCleanup(folder.remove)
        output = folder.analyze()
        for name, lines in {
                "steps": compare.steps(folder.truth, output),
                "budgets": compare.budgets(folder.truth, output),
                "step times": compare.step_times(folder.truth, output),
                "utilization": compare.utilization(folder.truth, output)}.items():
            with self.subTest(name):
                self.assertEqual(lines[:8], [])
        rows = output.table("/metrics/traffic_distribution/by_group")
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual(row["unknown_bytes_count"], row["calls_count"])
            self.assertEqual(row["payload_bytes"], -1)


    def test_a_chosen_step_misses_nothing_of_the_others(self):
        folder = Folder("--mesh", "pp=2,dp_shard=2", *ONE_HOST, *TWO_STEPS)
        self.addCleanup(folder.remove)
        output = folder.analyze(options=("--step", "4"))
        self.assertNotIn("collective_unmatched", output.warnings())
        self.assertEqual({row["step"] for row in output.table("/collectives/instances")}, {4})

    def test_nsys_exports_of_two_hosts(self):
        folder = Folder("--format", "nsys")
        self.addCleanup(folder.remove)
        output = folder.analyze()
        for name, lines in {
                "coverage": compare.coverage(folder.truth, output),
                "hosts": compare.hosts(folder.truth, output),
                "steps": compare.steps(folder.truth, output),
                "budgets": compare.budgets(folder.truth, output),
                "step times": compare.step_times(folder.truth, output),
                "utilization": compare.utilization(folder.truth, output),
                "calls": compare.total_calls(folder.truth, output),
                "bytes": compare.total_bytes(folder.truth, output),
                "blame": compare.blame(folder.truth, output),
                "clocks": compare.clocks(folder.truth, output)}.items():
            with self.subTest(name):
                self.assertEqual(lines[:8], [])


def add_job(name, options, tolerance_ns, left_out):
    setattr(TruthTest, f"test_{name}", lambda self: self.compare(options, tolerance_ns, left_out))


for job_name, job in JOBS.items():
    add_job(job_name, *job)

if __name__ == "__main__":
    unittest.main(verbosity=2)
