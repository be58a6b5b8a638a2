"""A planted serving run: prefill and decode passes, their communication, and the benchmark's result file."""
import collections
import json
import os
import unittest

import compare
from planted import Folder

JOB = ("--style", "inference", "--mesh", "tp=4", "--microbatches", "1", "--steps", "5", "--no-faults", "--plain",
       "--mb-per-rank", "0", "--ranks-per-host", "64", "--clock-offset-us", "0", "--clock-drift-ppm", "0")


class InferenceTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder(*JOB)
        cls.addClassCleanup(cls.folder.remove)
        cls.output = cls.folder.analyze(workers=2)

    def passes(self):
        return [r for name in ("ttft", "tpot") for r in self.output.table(f"/metrics/{name}/passes")]

    def test_passes_are_those_planted(self):
        expected = {(r.rank, r.step): (r.kind, r.start_ns, r.end_ns - r.start_ns) for r in self.folder.truth["passes"]}
        found = {(r["rank"], r["step"]): (r["kind"], r["start_ns"], r["dur_ns"]) for r in self.passes()}
        self.assertEqual(compare.differences("pass", expected, found), [])

    def test_headlines_follow_from_the_passes(self):
        slowest = collections.defaultdict(int)
        for r in self.folder.truth["passes"]:
            slowest[r.kind, r.step] = max(slowest[r.kind, r.step], r.end_ns - r.start_ns)
        decodes = [length for (kind, _), length in slowest.items() if kind == "decode"]
        prefills = [length for (kind, _), length in slowest.items() if kind == "prefill"]
        self.assertEqual(self.output.attributes("/metrics/ttft")["ttft_ns"], prefills[0])
        self.assertAlmostEqual(self.output.attributes("/metrics/tpot")["tpot_ns"], sum(decodes) / len(decodes))
        own = [r for r in self.folder.truth["passes"] if r.rank == 0 and r.kind == "decode"]
        length = {r.step: slowest["decode", r.step] for r in own}
        until = max(r.start_ns + length[r.step] for r in own)
        tokens = len(own) * int(next(r["decode_tokens_count"] for r in self.passes() if r["kind"] == "decode"))
        self.assertAlmostEqual(self.output.attributes("/metrics/tpot")["output_tokens_per_s"],
                               tokens / (until - min(r.start_ns for r in own)) * 1e9, places=3)

    def test_communication_is_split_between_prefill_and_decode(self):
        expected = {(r.rank, r.step): (r.communication_ns, r.exposed_ns, r.compute_ns)
                    for r in self.folder.truth["rank_steps"]}
        found = {(r["rank"], r["step"]): (r["communication_ns"], r["exposed_ns"], r["compute_ns"])
                 for r in self.passes()}
        self.assertEqual(compare.differences("busy time of pass", expected, found), [])

    def test_the_benchmark_result_stands_beside_it(self):
        with open(os.path.join(self.folder.traces, "bench_results.jsonl"), encoding="utf-8") as file:
            bench = json.loads(file.readlines()[-1])
        ttft, tpot = (self.output.attributes(f"/metrics/{name}") for name in ("ttft", "tpot"))
        self.assertAlmostEqual(ttft["bench_median_s"], bench["median_ttft_ms"] / 1e3)
        self.assertAlmostEqual(tpot["bench_mean_s"], bench["mean_tpot_ms"] / 1e3)
        self.assertAlmostEqual(tpot["bench_output_tokens_per_s"], bench["total_output_tokens"] / bench["duration"])
        self.assertAlmostEqual(tpot["bench_requests_per_s"], bench["completed"] / bench["duration"])
        self.assertEqual(self.output.warnings(), {})

    def test_questions_about_training_are_not_applicable(self):
        for name in ("throughput_tokens", "mfu", "training_phases", "fsdp", "pipeline_bubble"):
            self.assertEqual(self.output.attributes(f"/metrics/{name}")["status"], "not_applicable", name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
