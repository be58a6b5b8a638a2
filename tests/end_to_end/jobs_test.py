"""The job files of the three workloads as they are delivered: every run of a folder into a file of its own, with all
metrics and the text report of each; and what companions of a run say beside the traces."""
import json
import os
import shutil
import tempfile
import unittest

import h5py

from planted import Folder, Output, analyze, run

JOBS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "jobs")
JOB = ("--plain", "--mb-per-rank", "0", "--steps", "2", "--layers", "2", "--mesh", "dp_shard=2,tp=2")


class JobsTest(unittest.TestCase):

    def setUp(self):
        self.path = tempfile.mkdtemp(prefix="ccl_jobs_")
        self.addCleanup(shutil.rmtree, self.path, True)

    def test_each_workload_with_all_metrics(self):
        runs = os.path.join(self.path, "traces")
        for seed, name in ((1, "fsdp_tp_a"), (2, "fsdp_tp_b")):
            run([os.environ["CCL_SYNTH"], "-o", os.path.join(runs, name), "--seed", str(seed), *JOB])
        listed = run([os.environ["CCL_ANALYZE"], "--list-metrics"]).stdout
        for model in ("llama3", "deepseek", "qwen"):
            with self.subTest(model):
                reports = os.path.join(self.path, model)
                os.makedirs(reports)
                analyze(runs, os.path.join(self.path, model + ".h5"),
                        options=("--job", os.path.join(JOBS, model + ".yaml"), "--report-dir", reports))
                files = sorted(n for n in os.listdir(self.path) if n.startswith(model + ".") and n.endswith(".h5"))
                self.assertEqual(files, [f"{model}.fsdp_tp_a.h5", f"{model}.fsdp_tp_b.h5"])
                self.assertEqual(len(os.listdir(reports)), 2)
                for name in files:
                    with h5py.File(os.path.join(self.path, name), "r") as file:
                        names = set(file["metrics"])
                        self.assertGreater(len(names), 25)
                        for metric in names:
                            self.assertIn(metric, listed)
                            self.assertIn("status", file["metrics"][metric].attrs)

    def test_one_metric_is_printed_and_written_alone(self):
        folder = Folder(*JOB)
        self.addCleanup(folder.remove)
        output = folder.analyze(options=("--metric", "iter_time"))
        self.assertTrue(output.summary.startswith("iter_time [ms]: "), output.summary)
        self.assertNotIn("comm_comp_overlap", output.summary)
        with h5py.File(output.path, "r") as file:
            self.assertEqual(list(file["metrics"]), ["iter_time"])
        listed = run([os.environ["CCL_ANALYZE"], "--list-metrics"]).stdout
        for text in output.summary.splitlines()[:2]:  # question and definition, as --list-metrics has them
            self.assertIn(" ".join(text.split(": ", 1)[-1].split()), " ".join(listed.split()))

    def test_what_lies_beside_the_traces_is_used_and_compared(self):
        folder = Folder(*JOB)
        self.addCleanup(folder.remove)
        with open(os.path.join(folder.traces, "workload_card.yaml"), "w", encoding="utf-8") as card:
            card.write("workload:\n  hardware:\n    network_topo: {bandwidth_gbps: [200, 100]}\n"
                       "    xpu_spec: {model: nvidia_h100, total_count: 64}\n")
        for number, loads in enumerate(([[4, 0, 8]], [[2, 6, 0], [0, 0, 4]])):
            inside = os.path.join(folder.traces, f"gates_logs_{number}")
            os.makedirs(inside)
            with open(os.path.join(inside, "gate_logs_0.json"), "w", encoding="utf-8") as log:
                json.dump({"expert_loads": loads}, log)
        path = os.path.join(folder.path, "beside.h5")
        output = Output(path, analyze(folder.traces, path, workers=2))
        self.assertEqual([r["tokens_count"] for r in output.table("/metrics/token_to_expert_assignment/by_expert")],
                         [6, 6, 12])
        self.assertIn("expert 2 of 3 gets 1.50 times the mean", output.summary)
        said = [r["detail"] for r in output.table("/warnings/rows") if r["code"] == "card_disagrees"]
        self.assertEqual(len(said), 3, said)
        lines = " ".join(output.summary.split())
        for text in ("64 GPUs, the traces are of 4 ranks", '"nvidia_h100"', "scale-up bandwidth is 12.5 GB/s"):
            self.assertIn(text, lines)


if __name__ == "__main__":
    unittest.main(verbosity=2)
