"""What every kernel of a planted Megatron job is for: category and micro-batch of --events against the truth. By hand,
on the whole job: CCL_WHOLE_JOB=1 (tp 2 x pp 4 x dp 2)."""
import collections
import gzip
import json
import os
import unittest

from planted import Folder

SIZE = ("--plain", "--mb-per-rank", "0", "--no-faults", "--steps", "2")
MEGATRON = ("--layout", "megatron", "--data-parallel", "distopt", "--schedule", "interleaved", "--chunks", "2",
            "--recompute", "--experts", "4", "--layers", "8", *SIZE)
WHOLE = os.environ.get("CCL_WHOLE_JOB") == "1"
MESH = ("--mesh", "pp=4,dp_shard=2,tp=2,ep=2" if WHOLE else "pp=2,dp_shard=2,tp=1,ep=2", "--microbatches",
        "8" if WHOLE else "4")
NO_STACKS = "roles: {forward_microbatch: [], backward_microbatch: [], recompute: [], grad_norm: [], pp_communication: []}"

NO_FRAMES = "forward: [], recompute: [], grad_clip: [], pipeline: [], backward: ['autograd::engine::evaluate_function']"


def confusion(truth, output):
    """(truth, found) -> kernels, and the same of micro-batches; every planted kernel must be in the table once."""
    found = {(int(row["rank"]), int(row["step"]), int(row["correlation"])): row for row in output.table("/events/rows")}
    categories, batches, missing = collections.Counter(), collections.Counter(), 0
    for kernel in truth["kernels"]:
        row = found.get((kernel.rank, kernel.step, kernel.correlation))
        if row is None:
            missing += 1
            continue
        categories[kernel.category, row["category"]] += 1
        batches[kernel.microbatch, int(row["microbatch"])] += 1
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
        # No slice tells the gradient norm from the optimizer there.
        self.check(folder, least=0.96, batch_least=1.0)

    def test_timeline_is_valid_where_names_are_not(self):
        folder = Folder("--mesh", "dp_shard=2", "--fault", "bad_bytes:rank=1,events=40", *SIZE)
        self.addCleanup(folder.remove)
        path = os.path.join(folder.path, "timeline.json")
        folder.analyze(options=("--timeline-json", path, "--metric", "clock"))
        with open(path, encoding="utf-8", errors="strict") as file:
            self.assertGreater(len(json.load(file)["traceEvents"]), 50)

    def test_timeline_is_valid_and_its_arrows_end_on_slices(self):
        folder = self.megatron
        one, three = os.path.join(folder.path, "t1.json.gz"), os.path.join(folder.path, "t3.json.gz")
        folder.analyze(options=("--timeline-json", one, "--metric", "clock"))
        folder.analyze(workers=3, options=("--timeline-json", three, "--metric", "clock"))
        with open(one, "rb") as a, open(three, "rb") as b:
            self.assertEqual(a.read(), b.read(), "the number of workers changes nothing")
        with gzip.open(one, "rt", encoding="utf-8") as file:
            timeline = json.load(file)
        slices, ends = collections.defaultdict(list), collections.defaultdict(dict)
        for event in timeline["traceEvents"]:
            if event["ph"] == "X":
                slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
                self.assertGreaterEqual(event["ts"], -0.001)
            if event["ph"] in "sf":
                ends[event["id"]][event["ph"]] = event
        for track in slices.values():
            track.sort()
            for (_, end), (start, _) in zip(track, track[1:]):
                self.assertLessEqual(end, start + 1e-3, "slices of a track overlap")
        self.assertGreater(len(ends), 10)
        for pair in ends.values():
            self.assertEqual(set(pair), {"s", "f"})
            self.assertLessEqual(pair["s"]["ts"], pair["f"]["ts"])
            for event in pair.values():
                inside = any(a - 1e-3 <= event["ts"] <= b + 1e-3 for a, b in slices[event["pid"], event["tid"]])
                self.assertTrue(inside, event)
        names = [e["args"]["name"] for e in timeline["traceEvents"] if e.get("name") == "process_name"]
        self.assertEqual(len(names), folder.truth["world_size"])
        self.assertIn("model 0 pipeline 0 stage 1", " ".join(names))

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
        self.assertGreaterEqual(share_right(categories), 0.75, show(categories))
        self.assertGreaterEqual(share_right(batches), 0.9, show(batches))


if __name__ == "__main__":
    unittest.main(verbosity=2)
