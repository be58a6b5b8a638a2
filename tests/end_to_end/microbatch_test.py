"""What every kernel of a planted Megatron job is for: category, micro-batch and virtual stage of --events against the
truth. By hand, on the whole job: CCL_WHOLE_JOB=1 (tp 2 x pp 4 x dp 2)."""
import collections
import glob
import os
import unittest

from planted import Folder, content_hash

SIZE = ("--plain", "--mb-per-rank", "0", "--no-faults", "--steps", "2")
MEGATRON = ("--layout", "megatron", "--data-parallel", "distopt", "--schedule", "interleaved", "--chunks", "2",
            "--recompute", "--experts", "4", "--layers", "8", *SIZE)
WHOLE = os.environ.get("CCL_WHOLE_JOB") == "1"
MESH = ("--mesh", "pp=4,dp_shard=2,tp=2,ep=2" if WHOLE else "pp=2,dp_shard=2,tp=1,ep=2", "--microbatches",
        "8" if WHOLE else "4")
NO_STACKS = "roles: {forward_microbatch: [], backward_microbatch: [], recompute: [], grad_norm: [], pp_communication: []}"

NO_FRAMES = "forward: [], recompute: [], grad_clip: [], pipeline: [], backward: ['autograd::engine::evaluate_function']"


def confusion(truth, output):
    """(truth, found) -> kernels, of categories, of (micro-batch, virtual stage); every planted kernel must be in the
    table once."""
    found = {(int(row["rank"]), int(row["step"]), int(row["correlation"])): row for row in output.table("/events/rows")}
    categories, batches, missing = collections.Counter(), collections.Counter(), 0
    for kernel in truth["kernels"]:
        row = found.get((kernel.rank, kernel.step, kernel.correlation))
        if row is None:
            missing += 1
            continue
        categories[kernel.category, row["category"]] += 1
        batches[(kernel.microbatch, kernel.chunk), (int(row["microbatch"]), int(row["chunk"]))] += 1
    return categories, batches, missing


def share_right(pairs):
    return sum(n for (want, got), n in pairs.items() if want == got) / max(1, sum(pairs.values()))


def show(pairs):
    return "\n".join(f"  {want} -> {got}: {n}" for (want, got), n in sorted(pairs.items(), key=str) if want != got)


class MicrobatchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.megatron = Folder(*MEGATRON, *MESH, "--ranks-per-host", "2")
        cls.addClassCleanup(cls.megatron.remove)

    def check(self, folder, least=1.0, batch_least=None):
        output = folder.analyze(options=("--events", "--metric", "microbatch"))
        categories, batches, missing = confusion(folder.truth, output)
        if WHOLE:
            print(f"\ncategory right {share_right(categories):.4%} of {sum(categories.values())}\n{show(categories)}")
            print(f"micro-batch right {share_right(batches):.4%}\n{show(batches)}")
        self.assertEqual(missing, 0)
        self.assertGreater(sum(categories.values()), 100)
        self.assertGreaterEqual(share_right(categories), least, show(categories))
        self.assertGreaterEqual(share_right(batches), batch_least or least, show(batches))
        return output

    def test_interleaved_megatron_with_recompute_and_experts(self):
        output = self.check(self.megatron)
        rows = list(output.table("/metrics/microbatch/by_phase"))
        self.assertEqual({row["number_source"] for row in rows}, {"interleaved_order"})
        self.assertEqual({int(row["chunk"]) for row in rows}, {0, 1})
        for row in rows:
            self.assertGreaterEqual(row["wall_ns"], max(row["compute_ns"], row["communication_ns"]))
            self.assertLessEqual(row["recompute_ns"], row["compute_ns"])
        order = [(row["iteration"], row["rank"], row["start_ns"]) for row in output.table("/events/rows")]
        self.assertEqual(order, sorted(order))

    def test_named_micro_batches_of_torchtitan(self):
        folder = Folder("--mesh", "pp=2,dp_shard=2", "--schedule", "1f1b", "--microbatches", "4", "--layers", "4", *SIZE)
        self.addCleanup(folder.remove)
        self.check(folder)

    def test_several_iterations_and_a_file_that_fails(self):
        folder = Folder("--layout", "megatron", "--data-parallel", "distopt", "--mesh", "pp=2,dp_shard=2", "--layers", "4",
                        "--microbatches", "2", "--plain", "--mb-per-rank", "0", "--no-faults", "--steps", "6",
                        "--steps-per-iteration", "2")
        self.addCleanup(folder.remove)
        broken = sorted(glob.glob(os.path.join(folder.traces, "iteration_8", "rank_0003*")))
        self.assertEqual(len(broken), 1)
        with open(broken[0], "w", encoding="utf-8") as file:
            file.write("this is no trace")
        output = folder.analyze(options=("--events", "--metric", "microbatch"))
        self.assertEqual(len({row["iteration"] for row in output.table("/events/rows")}), 3)
        found = {(row["iteration"], row["step"], row["rank"]) for row in output.table("/metrics/microbatch/by_phase")}
        want = {(6 + 2 * i, 4 + 2 * i + s, rank) for i in range(3) for s in range(2) for rank in range(4)}
        self.assertEqual(found, want - {(8, 6, 3), (8, 7, 3)})
        lost = {(8, step, 3) for step in (6, 7)}
        folder.truth.values["kernels"]["rows"] = [
            row for row in folder.truth.values["kernels"]["rows"] if (8, row[1], row[0]) not in lost]
        categories, batches, missing = confusion(folder.truth, output)
        self.assertEqual((missing, share_right(categories), share_right(batches)), (0, 1, 1), show(categories))
        told = [row for row in output.table("/warnings/rows") if os.path.basename(broken[0]) in str(row)]
        self.assertTrue(told, "the file that failed is named")
        self.assertEqual(len(output.table("/timings/files")), 11, "seconds of every file that was read")

    def test_events_are_the_same_from_any_number_of_workers(self):
        hashes = {workers: content_hash(self.megatron.analyze(workers, ("--events", "--metric", "microbatch")).path)
                  for workers in (1, 2, 3, 5)}
        self.assertEqual(len(set(hashes.values())), 1, hashes)

    def test_without_stacks_launch_order_tells(self):
        folder = self.megatron
        settings = os.path.join(folder.path, "no_stacks.yaml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(f"megatron: {{{NO_STACKS}}}\nkernels: {{slices: {{{NO_FRAMES}}}}}\n")
        output = folder.analyze(options=("--events", "--metric", "microbatch", "--settings", settings))
        categories, batches, _ = confusion(folder.truth, output)
        if WHOLE:
            print(f"\nwithout stacks: category {share_right(categories):.4%}, micro-batch {share_right(batches):.4%}")
            print(show(categories), show(batches), sep="\n")
        self.assertEqual({want for want, got in categories if want != got}, {"grad_norm"}, show(categories))
        self.assertGreater(share_right(categories), 0.99, "recompute is told by its operators")
        self.assertEqual(share_right(batches), 1, show(batches))


if __name__ == "__main__":
    unittest.main(verbosity=2)
