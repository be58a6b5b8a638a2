"""Bytes per step that published measurements of Llama-3.1-8B obey to the printed digits: traces of a job of that size
through the product. P = parameters, N = norms, which tensor parallelism does not split, O = output module."""
import collections
import unittest

from planted import Folder

P, N, O = 8_030_261_248, 266_240, 525_340_672
SIZE = ("--preset", "node", "--coarse", "--plain", "--mb-per-rank", "0", "--steps", "1",
        "--no-faults", "--ranks-per-host", "64", "--clock-offset-us", "0", "--clock-drift-ppm", "0")

ONE_BATCH = ("--microbatches", "1", "--local-batch", "4", "--seq", "512")


class PublishedVolumes(unittest.TestCase):
    def traffic(self, *options):
        """(dimension, op) -> calls, in and out bytes of rank 0 in the step."""
        folder = Folder(*SIZE, *options)
        self.addCleanup(folder.remove)
        sums = collections.defaultdict(collections.Counter)
        for row in folder.analyze(options=("--metric", "traffic_distribution")).table(
                "/metrics/traffic_distribution/by_group"):
            if row["rank"] == 0 and row["step"] >= 0:
                for name in ("calls_count", "in_bytes", "out_bytes", "payload_bytes", "wire_bytes"):
                    sums[row["dimension"], row["op"]][name] += row[name]
        return sums

    def test_fsdp_on_8_ranks(self):
        rows = self.traffic("--mesh", "dp_shard=8", "--microbatches", "1", "--local-batch", "4", "--seq", "1024")
        gather, reduce = rows["dp", "all_gather"], rows["dp", "reduce_scatter"]
        self.assertEqual((gather["calls_count"], reduce["calls_count"]), (67, 34))
        self.assertEqual(reduce["in_bytes"], 4 * P)                      # published 32.121 GB
        self.assertEqual(gather["out_bytes"], 4 * P - 2 * O)             # 31.0704 GB
        self.assertEqual(gather["in_bytes"], (4 * P - 2 * O) // 8)       # published as volume: 3.8838 GB
        self.assertEqual(gather["payload_bytes"], gather["out_bytes"])   # F7: the size of an all-gather is its Out
        self.assertEqual(gather["wire_bytes"], gather["out_bytes"] * 7 // 8)

    def test_fsdp_that_always_reshards(self):
        rows = self.traffic("--mesh", "dp_shard=4", "--data-parallel", "fsdp-always", *ONE_BATCH)
        self.assertEqual(rows["dp", "all_gather"]["out_bytes"], 4 * P)
        self.assertEqual(rows["dp", "all_gather"]["in_bytes"], P)        # published 8.03026 GB
        # FSDP with 16-bit gathers and 32-bit gradients moves equal bytes both ways.
        self.assertEqual(rows["dp", "all_gather"]["payload_bytes"], rows["dp", "reduce_scatter"]["payload_bytes"])

    def test_fsdp_with_tensor_parallelism(self):
        rows = self.traffic("--mesh", "dp_shard=2,tp=2", "--tensor-parallel", "sequence", "--data-parallel", "fsdp-always",
                            *ONE_BATCH)
        own, message = (P - N) // 2 + N, 2048 * 4096 * 2
        reduce = sum(rows[d, "reduce_scatter"]["in_bytes"] for d in ("dp", "tp"))
        gather = sum(rows[d, "all_gather"]["in_bytes"] for d in ("dp", "tp"))
        self.assertEqual(reduce, 4 * own + 130 * message)                # published 18.2421 GB
        self.assertEqual(gather, 2 * own + 130 * message // 2)           # published 9.12105 GB
        # F30: the message tells the batch of one data-parallel rank: 2048 tokens of 512 are 4 sequences.
        self.assertEqual(message // (4096 * 2) // 512, 4)

    def test_sequence_parallelism_alone(self):
        rows = self.traffic("--mesh", "tp=4", "--tensor-parallel", "sequence", *ONE_BATCH)
        self.assertEqual(rows["tp", "reduce_scatter"]["in_bytes"], 130 * 2048 * 4096 * 4)  # published 4.36208 GB
        self.assertEqual(rows["tp", "all_gather"]["in_bytes"] * 4, rows["tp", "reduce_scatter"]["in_bytes"])
        self.assertEqual(rows["tp", "all_gather"]["out_bytes"], rows["tp", "reduce_scatter"]["in_bytes"])

    def test_megatron_with_a_distributed_optimizer(self):
        rows = self.traffic("--layout", "megatron", "--mesh", "dp_shard=4,tp=2", "--data-parallel", "distopt",
                            "--tensor-parallel", "allreduce", "--recompute", "--microbatches", "8", "--local-batch", "1",
                            "--seq", "1024")
        own, message = (P - N) // 2 + N, 1024 * 4096 * 2
        self.assertEqual(rows["dp", "reduce_scatter"]["in_bytes"], 4 * own)       # published 16.0621 GB
        self.assertEqual(rows["dp", "all_gather"]["in_bytes"], 2 * own // 4)      # published 2.00777 GB
        scalar = rows["tp", "all_reduce"]["in_bytes"] - 8 * 194 * message         # published 13.0192 GB
        self.assertTrue(0 <= scalar < 1_000_000, scalar)


if __name__ == "__main__":
    unittest.main(verbosity=2)
