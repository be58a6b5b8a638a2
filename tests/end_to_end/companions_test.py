"""What stands beside the events of a trace or between them: execution traces give the arguments that old traces lack,
[memory] instants tell what the allocator held."""
import unittest

import compare
from planted import Folder

SIZE = ("--plain", "--mb-per-rank", "0", "--no-faults", "--steps", "2", "--ranks-per-host", "64", "--clock-offset-us", "0")


class CompanionsTest(unittest.TestCase):
    maxDiff = None

    def planted(self, *options):
        folder = Folder(*options, *SIZE)
        self.addCleanup(folder.remove)
        return folder

    def check(self, comparisons):
        for name, lines in comparisons.items():
            with self.subTest(name):
                self.assertEqual(lines[:5], [], f"{len(lines)} disagreements")

    def with_execution_traces(self, *options):
        folder = self.planted("--style", "old", "--execution-traces", *options)
        output = folder.analyze()
        self.assertNotIn("bytes_unknown", output.warnings())
        truth = folder.truth
        self.check({"calls": compare.calls(truth, output), "traffic": compare.traffic(truth, output),
                    "groups": compare.groups(truth, output), "collectives": compare.collectives(truth, output),
                    "blame": compare.blame(truth, output), "budgets": compare.budgets(truth, output)})

    def test_execution_traces_give_bytes_and_groups(self):
        self.with_execution_traces("--mesh", "dp_shard=4,tp=2", "--layout", "ccl-bench")

    def test_execution_traces_of_all_to_alls_and_messages(self):
        self.with_execution_traces("--mesh", "pp=2,dp_shard=4,ep=4", "--experts", "8", "--layout", "torchtitan")

    def test_memory_instants_of_each_step(self):
        folder = self.planted("--memory-events", "--mesh", "dp_shard=2")
        output = folder.analyze()
        expected = {(r.rank, r.step): (r.peak_allocated, r.peak_reserved, r.events)
                    for r in folder.truth["memory_events"]}
        found = {(r["rank"], r["step"]): (r["peak_allocated_bytes"], r["peak_reserved_bytes"], r["events_count"])
                 for r in output.table("/metrics/memory/in_trace") if r["step"] >= 0}
        self.assertEqual(len(expected), 4)
        self.assertEqual(found, expected)
        self.assertEqual(compare.budgets(folder.truth, output), [], "they change nothing else")


if __name__ == "__main__":
    unittest.main(verbosity=2)
