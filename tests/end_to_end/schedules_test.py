"""Micro-batch, virtual stage and category of every kernel under each pipeline schedule and in each format, against the
truth: forwards and backwards woven into each other, backwards in two parts, NVTX ranges."""
import unittest

from microbatch_test import confusion, share_right, show
from planted import Folder

SIZE = ("--plain", "--mb-per-rank", "0", "--no-faults", "--steps", "2")
EXPERTS = ("--experts", "4", "--mesh", "pp=2,dp_shard=2,ep=2", "--layers", "8")
MEGATRON = ("--layout", "megatron", "--data-parallel", "distopt")
# What no range tells, as (planted, found).
LOSS = {("loss", "forward")}


class SchedulesTest(unittest.TestCase):

    def check(self, *options, untold=frozenset(), source, batches_least=1.0):
        folder = Folder(*options, *SIZE)
        self.addCleanup(folder.remove)
        output = folder.analyze(options=("--events", "--metric", "microbatch"))
        categories, batches, missing = confusion(folder.truth, output)
        self.assertEqual(missing, 0)
        wrong = {pair for pair in categories if pair[0] != pair[1]}
        self.assertLessEqual(wrong, untold, show(categories))
        self.assertGreaterEqual(share_right(batches), batches_least, show(batches))
        rows = output.table("/metrics/microbatch/by_phase")
        self.assertEqual({row["number_source"] for row in rows}, {source})
        return batches

    def test_combined_forward_and_backward_of_megatron(self):
        self.check(*MEGATRON, *EXPERTS, "--schedule", "combined", "--microbatches", "4", source="interleaved_order")

    def test_combined_without_a_pipeline(self):
        self.check(*MEGATRON, "--mesh", "dp_shard=2,ep=2", "--experts", "4", "--layers", "4", "--schedule", "combined",
                   "--microbatches", "4", source="order")

    def test_zero_bubble(self):
        self.check("--mesh", "pp=4", "--layers", "4", "--schedule", "zb", "--microbatches", "6", source="name")

    def test_dualpipev_of_pytorch(self):
        # A receive may be launched before the work of another micro-batch, as its sender sends it first: no name says so.
        self.check("--mesh", "pp=4", "--layers", "8", "--schedule", "dualpipev", "--microbatches", "9",
                   source="name", batches_least=0.995)

    def test_1f1b_in_nvtx_ranges(self):
        self.check("--format", "nsys", *EXPERTS, "--schedule", "1f1b", "--microbatches", "4", untold=LOSS,
                   source="order")

    def test_interleaved_in_nvtx_ranges(self):
        self.check("--format", "nsys", *EXPERTS, "--schedule", "interleaved", "--microbatches", "4", untold=LOSS,
                   source="order")

    def test_dualpipev_in_nvtx_ranges_of_one_thread(self):
        batches = self.check("--format", "nsys", *EXPERTS, "--schedule", "dualpipev", "--microbatches", "6",
                             untold=LOSS, source="order", batches_least=0.95)
        # "weight chunk" names no micro-batch; "pipeline send/recv" between two woven ones does not say whose it is.
        told = sum(n for (want, got), n in batches.items() if want == got)
        unknown = sum(n for (want, got), n in batches.items() if want != got and got == (-1, -1))
        self.assertGreater(told + unknown, 0.98 * sum(batches.values()), show(batches))


if __name__ == "__main__":
    unittest.main(verbosity=2)
