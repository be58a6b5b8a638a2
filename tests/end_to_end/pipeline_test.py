"""Bubbles of planted pipelines: window, bubble and waiting of every stage, step and pipeline against the truth, which
knows the phase of every kernel. What is left are the clocks of the hosts, known to 2 us."""
import unittest

from planted import Folder

PLAIN = ("--plain", "--mb-per-rank", "0", "--steps", "2", "--no-faults", "--clock-drift-ppm", "0")
SCHEDULES = {
    "1f1b": ("--mesh", "pp=4,dp_shard=2", "--layers", "8", "--microbatches", "8", "--schedule", "1f1b"),
    "interleaved": ("--mesh", "pp=4,dp_shard=2", "--layers", "8", "--microbatches", "4", "--schedule", "interleaved"),
    "zero_bubble": ("--mesh", "pp=2,dp_shard=2,tp=2", "--layers", "4", "--microbatches", "4", "--schedule", "zb"),
    "gpipe": ("--mesh", "pp=4", "--layers", "4", "--microbatches", "6", "--schedule", "gpipe"),
    "woven": ("--layout", "megatron", "--data-parallel", "distopt", "--mesh", "pp=2,dp_shard=2,ep=2", "--experts", "4",
              "--layers", "8", "--schedule", "combined", "--recompute", "--microbatches", "4"),
    "dualpipev": ("--mesh", "pp=2,dp_shard=2", "--layers", "8", "--schedule", "dualpipev", "--microbatches", "6"),
    "dualpipev_nsys": ("--mesh", "pp=2,dp_shard=2,ep=2", "--experts", "4", "--layers", "8", "--schedule", "dualpipev",
                       "--microbatches", "6", "--format", "nsys"),
    "nsys": ("--mesh", "pp=2,dp_shard=4", "--layers", "4", "--format", "nsys"),
}
CLOCK_NS = 2000


class PipelineTest(unittest.TestCase):

    def compare(self, options):
        folder = Folder(*PLAIN, *options)
        self.addCleanup(folder.remove)
        output = folder.analyze(workers=2, options=("--metric", "pipeline_bubble"))
        found = {(r["step"], r["rank"]): r for r in output.table("/metrics/pipeline_bubble/rows")}
        truth = folder.truth["pipelines"]
        self.assertEqual({(r.step, r.rank) for r in truth}, set(found))
        for row in truth:
            own = found[row.step, row.rank]
            self.assertEqual((own["stage"], own["window_by_compute"]), (row.stage, 0))
            for name in ("window_ns", "bubble_ns", "pp_wait_ns", "idle_ns"):
                self.assertLessEqual(abs(own[name] - getattr(row, name)), CLOCK_NS, (name, row, own))
        self.assertNotIn("phases are not told apart", output.summary)


for schedule, job in SCHEDULES.items():
    setattr(PipelineTest, f"test_{schedule}", lambda self, job=job: self.compare(job))

if __name__ == "__main__":
    unittest.main(verbosity=2)
