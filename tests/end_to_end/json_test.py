"""--output-json alone answers who is late, by how much, since when, on which group, why, and what mending it brings."""
import glob
import json
import os
import unittest

from planted import Folder

SUFFIXES = ("_tokens_per_s", "_samples_per_s", "_flops_per_s", "_bytes_per_s", "_ns", "_bytes", "_flops", "_ratio", "_ppb",
            "_count", "_rank")


def unit_of(name):
    return next((suffix[1:] for suffix in SUFFIXES if ("_" + name).endswith(suffix)), "")


SLOW = 5  # from step 8 on its kernels take 1.4 x as long


class JsonTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder("--preset", "tiny", "--seed", "1")
        cls.addClassCleanup(cls.folder.remove)
        cls.text = cls.folder.analyze(options=("--output-json",)).summary
        cls.metrics = json.loads(cls.text)["metrics"]

    def table(self, metric, name):
        return self.metrics[metric]["tables"][name]["rows"]

    def test_the_straggler_is_told_whole(self):
        late, = self.table("straggler_lag", "stragglers")
        self.assertEqual((late["rank"], late["since_step"], late["since_iteration"]), (SLOW, 8, 10))
        self.assertEqual((late["steps_count"], late["affected_steps_count"]), (6, 2))
        self.assertEqual((late["group_name"], late["dimension"], late["group_ranks"]), ("mesh_dp_shard", "dp", "5, 7"))
        self.assertEqual(late["cause"], "slow_compute")
        self.assertRegex(late["why"], r"^slow compute \(its kernels take 1\.(39|40|41) x .*confidence high")
        self.assertGreater(late["group_ratio"], 0.99)
        self.assertAlmostEqual(late["delay_ns"] / late["period_ns"], late["gain_most_ratio"], places=6)
        self.assertAlmostEqual(late["gain_most_ratio"], 0.22, delta=0.01)
        best = self.table("what_if", "gains")
        alone, = [row for row in best if row["subject"] == "rank" and row["number"] == SLOW]
        self.assertLess(alone["gain_per_step_ns"] * 6, late["delay_ns"] * 2)
        self.assertGreater(alone["gain_ratio"], 0.05)
        self.assertEqual(sorted(best, key=lambda row: -row["gain_per_step_ns"]), best)

    def test_every_number_has_its_unit(self):
        for name, metric in self.metrics.items():
            for key, value in metric["values"].items():
                if not isinstance(value, str):
                    self.assertEqual(metric["units"].get(key, ""), unit_of(key), (name, key))
            first = next(iter(metric["values"]), None)
            self.assertEqual(metric["unit"], metric["units"].get(first, ""), name)
            self.assertNotEqual(metric["unit"], "count" if name != "coll_call_num" else "", name)
            for table, told in metric["tables"].items():
                for column, value in told["rows"][0].items() if told["rows"] else ():
                    if not isinstance(value, str):
                        self.assertEqual(told["units"].get(column, ""), unit_of(column), (name, table, column))

    def test_the_tables_are_small_and_alike_from_any_number_of_workers(self):
        self.assertLess(len(self.text), 100_000)
        for metric in self.metrics.values():
            for table in metric["tables"].values():
                self.assertEqual(len(table["rows"]), min(table["rows_count"], 64))
        for workers in (2, 3, 5):
            other = self.folder.analyze(workers, ("--output-json",)).summary
            self.assertEqual(json.loads(other)["metrics"], self.metrics, workers)

    def test_what_was_lost_and_what_the_card_says_is_told_as_on_the_page(self):
        folder = Folder("--preset", "tiny", "--seed", "1", "--steps", "2")
        self.addCleanup(folder.remove)
        damaged, = glob.glob(os.path.join(folder.traces, "**", "rank5_*.gz"), recursive=True)
        os.truncate(damaged, os.path.getsize(damaged) * 9 // 10)
        card, = glob.glob(os.path.join(folder.traces, "*card.yaml"))
        with open(card, encoding="utf-8") as file:
            text = file.read()
        with open(card, "w", encoding="utf-8") as file:
            file.write(text.replace("seq_len: 2048", "seq_len: 4096"))
        output = folder.analyze(options=("--output-json",))
        told = {one["code"]: one for one in json.loads(output.summary)["warnings"]}
        card_row, = told["card_disagrees"]["rows"]
        self.assertEqual((card_row["file"], card_row["offset_bytes"], card_row["rank"]), ("workload_card.yaml", None, None))
        self.assertEqual(card_row["detail"], "the card says seq_len 4096, toml 2048 (used)")
        lost, = [row for row in output.table("/warnings/rows") if row["severity"] != "notice"]
        row, = told[lost["code"]]["rows"]
        self.assertEqual((row["file"], row["offset_bytes"]), (lost["file"], lost["offset_bytes"]))
        self.assertGreater(row["offset_bytes"], 0)
        for one in told.values():
            self.assertEqual(len(one["rows"]), min(one["rows_count"], 64))


if __name__ == "__main__":
    unittest.main()
