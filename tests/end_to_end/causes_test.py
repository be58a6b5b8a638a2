"""Why a rank is late is what was planted; the parts of a rank's blame add up to it."""
import collections
import glob
import gzip
import json
import os
import unittest

from planted import Folder

TINY = ("--preset", "tiny", "--no-faults", "--mb-per-rank", "0")


def load_until_first_launch(path):
    """Data loading takes all of a step before its first launch."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    steps = [event["ts"] for event in events if event["name"].startswith("ProfilerStep#")]
    launches = [event["ts"] for event in events if event.get("cat") == "cuda_runtime"]
    for event in events:
        if event["name"].startswith("enumerate(DataLoader)#"):
            event["ts"] = max(ts for ts in steps if ts <= event["ts"]) + 1
            event["dur"] = min(ts for ts in launches if ts > event["ts"]) - event["ts"] - 1
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump(trace, file)


class CausesTest(unittest.TestCase):

    def planted(self, *options):
        folder = Folder(*TINY, *options)
        self.addCleanup(folder.remove)
        output = folder.analyze(options=("--metric", "straggler_lag"))
        blame = collections.Counter()
        for row in output.table("/metrics/straggler_lag/rows"):
            if row["step"] >= 0:
                blame[row["rank"]] += row["blame_ns"]
        explained = collections.Counter()
        for row in output.table("/metrics/straggler_lag/causes"):
            explained[row["rank"]] += row["blame_ns"]
        self.assertEqual(+explained, +blame)
        return output

    def causes_of(self, output, rank):
        """Share of the rank's blame by (origin rank, cause)."""
        causes = collections.Counter()
        for row in output.table("/metrics/straggler_lag/causes"):
            if row["rank"] == rank:
                causes[row["origin_rank"], row["cause"]] += row["blame_ns"]
        total = sum(causes.values())
        return {key: value / total for key, value in causes.items()}

    def test_slow_compute(self):
        output = self.planted("--fault", "slow_rank:rank=5,factor=1.5,from=8")
        self.assertGreater(self.causes_of(output, 5)[5, "slow_compute"], 0.8)
        self.assertRegex(output.summary, r"cause since then: slow compute")

    def test_blame_moves_on_to_the_slow_rank_of_another_group(self):
        output = self.planted("--mesh", "dp_shard=4,tp=2", "--fault", "slow_rank:rank=5,factor=1.5,from=8")
        for rank in (5, 1, 3, 7):
            self.assertGreater(self.causes_of(output, rank)[5, "slow_compute"], 0.8, rank)

    def test_late_launch(self):
        output = self.planted("--mesh", "dp_shard=4,tp=2", "--fault", "late_launch:rank=2,factor=1,delay_us=3000")
        causes = self.causes_of(output, 2)
        self.assertEqual(max(causes, key=causes.get), (2, "late_launch"))
        self.assertRegex(output.summary, r"cause: late before the step's first launch")

    def test_slow_data_loading_is_named_where_other_metrics_keep_cpu_slices(self):
        folder = Folder(*TINY, "--mesh", "dp_shard=4,tp=2", "--fault", "late_launch:rank=2,factor=1,delay_us=3000")
        self.addCleanup(folder.remove)
        for path in glob.glob(os.path.join(folder.traces, "**", "rank*.json.gz"), recursive=True):
            load_until_first_launch(path)
        for options, cause in (((), r"first launch: data loading takes 3\.0\d ms, 2\d\.\d us on its peers"),
                               (("--metric", "straggler_lag"), r"first launch \(data loading, host work before it\)")):
            text = " ".join(folder.analyze(options=options).summary.split())
            self.assertRegex(text, cause, options)

    def test_slow_link(self):
        output = self.planted("--mesh", "dp_shard=4,tp=2", "--fault", "slow_link:a=4,b=5,factor=4")
        self.assertRegex(output.summary, r"slow link: 'mesh_tp' \(tp, 2 ranks\) of ranks 4, 5")
        causes = self.causes_of(output, 5)
        self.assertEqual(max(causes, key=causes.get)[1], "slow_link")

    def test_stages_of_a_healthy_pipeline_are_late_by_their_order(self):
        output = self.planted()
        self.assertIn("no rank stands out", output.summary)
        causes = self.causes_of(output, 0)
        self.assertEqual(max(causes, key=causes.get), (0, "pipeline_order"))


if __name__ == "__main__":
    unittest.main()
