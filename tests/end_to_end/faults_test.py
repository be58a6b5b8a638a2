"""Every planted fault is named, and does no harm to what the other files say."""
import glob
import json
import os
import random
import re
import unittest

import compare
from planted import Folder

ONE_HOST = ("--ranks-per-host", "64", "--clock-offset-us", "0", "--clock-drift-ppm", "0", "--plain", "--mb-per-rank",
            "0", "--no-faults")


class FaultsTest(unittest.TestCase):

    def planted(self, *options):
        folder = Folder(*ONE_HOST, *options)
        self.addCleanup(folder.remove)
        return folder, folder.analyze()

    def assert_named(self, output, code, rank):
        self.assertIn(code, output.warnings())
        rows = [row for row in output.table("/warnings/rows") if row["code"] == code]
        named = [row for row in rows if row["rank"] == rank or f"rank{rank}_" in row["file"]]
        self.assertTrue(named, rows)

    def assert_same(self, lines):
        self.assertEqual(lines[:8], [], f"{len(lines)} disagreements")

    def worst(self, output):
        rows = output.table("/metrics/straggler_lag/rows")
        blame = {}
        for row in rows:
            blame[row["rank"]] = blame.get(row["rank"], 0) + row["blame_ns"]
        return max(blame, key=lambda rank: (blame[rank], -rank))

    # --- who is late ---

    def test_slow_rank_and_its_onset(self):
        folder = Folder("--preset", "tiny")
        self.addCleanup(folder.remove)
        output = folder.analyze()
        self.assertEqual(self.worst(output), 5)
        self.assertRegex(output.summary, r"rank 5\b")
        self.assertRegex(output.summary, r"step 8\b")

    def test_slow_rank_in_one_fsdp_group(self):
        _, output = self.planted("--mesh", "dp_shard=4", "--fault", "slow_rank:rank=2,factor=1.3,from=7")
        self.assertEqual(self.worst(output), 2)
        self.assertRegex(output.summary, r"rank 2\b")
        self.assertRegex(output.summary, r"step 7\b")

    def test_healthy_job_has_no_straggler(self):
        _, output = self.planted("--mesh", "dp_shard=4", "--jitter", "0.002")
        self.assertIn("no rank stands out", output.summary)

    def test_late_launch_makes_the_rank_last(self):
        folder, output = self.planted("--mesh", "dp_shard=4", "--fault", "late_launch:rank=1,factor=1,delay_us=3000")
        self.assertEqual(self.worst(output), 1)
        self.assert_same(compare.blame(folder.truth, output))

    def test_slow_launches_make_the_rank_last(self):
        folder, output = self.planted("--mesh", "dp_shard=4", "--fault", "late_launch:rank=1,factor=12")
        self.assertEqual(self.worst(output), 1)
        self.assert_same(compare.budgets(folder.truth, output))

    def test_pause_shows_in_its_step_only(self):
        folder, output = self.planted("--mesh", "dp_shard=4", "--fault", "gc_pause:rank=3,step=6,launch=10,ms=30")
        rows = {row["step"]: row["blame_ns"] for row in output.table("/metrics/straggler_lag/rows") if row["rank"] == 3}
        self.assertEqual(max(rows, key=rows.get), 6)
        self.assertGreater(rows[6], 20_000_000)
        self.assert_same(compare.collectives(folder.truth, output))

    def test_slow_link_lengthens_transfers_not_waits(self):
        folder, output = self.planted("--mesh", "dp_shard=2,tp=2", "--fault", "slow_link:a=0,b=1,factor=6")
        self.assert_same(compare.collectives(folder.truth, output))
        transfer = {}
        for _, row in compare.matched(folder.truth, output)[0]:
            transfer.setdefault((row["op"], row["group"]), []).append(row["transfer_ns"])
        by_group = {key: sum(values) for key, values in transfer.items() if len(values) > 20}
        self.assertGreater(max(by_group.values()), 2 * min(by_group.values()))

    # --- files that are not there, or not whole ---

    def test_missing_ranks_are_named(self):
        folder, output = self.planted("--mesh", "dp_shard=4,tp=2", "--fault", "missing:rank=3",
                                      "--fault", "missing:rank=6")
        self.assertIn("missing_ranks", output.warnings())
        text = output.summary + str(output.table("/warnings/rows"))
        self.assertRegex(text, r"\b3\b.*\b6\b")
        self.assert_same(compare.coverage(folder.truth, output))
        self.assert_same(compare.collectives(folder.truth, output))
        incomplete = {row["incomplete"] for _, row in compare.matched(folder.truth, output)[0]}
        self.assertIn(1, {int(flag) for flag in incomplete})

    def test_cut_file_keeps_what_came_before(self):
        _, output = self.planted("--mesh", "dp_shard=4", "--fault", "cut:rank=1,keep=0.8")
        self.assert_named(output, "file_cut", 1)
        self.assertEqual(sorted(row["rank"] for row in output.table("/ranks")), [0, 1, 2, 3])

    def test_broken_names_cost_only_themselves(self):
        folder, output = self.planted("--mesh", "dp_shard=4", "--fault", "bad_bytes:rank=2,events=4")
        self.assert_named(output, "event_damaged", 2)
        self.assert_same(compare.budgets(folder.truth, output))
        self.assert_same(compare.collectives(folder.truth, output))

    def test_rank_without_gpu_events_is_named(self):
        _, output = self.planted("--mesh", "dp_shard=4", "--fault", "cpu_only:rank=1")
        self.assert_named(output, "no_gpu_events", 1)

    def test_other_world_is_left_out(self):
        _, output = self.planted("--mesh", "dp_shard=4", "--fault", "wrong_world:rank=2,size=8")
        self.assert_named(output, "other_world_size", 2)

    # --- ranks that tell different stories ---

    def test_kernels_from_before_the_window_are_not_matched(self):
        folder, output = self.planted("--mesh", "dp_shard=4", "--fault", "leading_kernels")
        self.assert_same(compare.collectives(folder.truth, output))
        self.assert_same(compare.calls(folder.truth, output))
        outside = {row["rank"]: row["outside_events_count"] for row in output.table("/ranks")}
        self.assertEqual(outside, {rank: 2 + rank % 5 for rank in range(4)})

    def test_windows_over_different_steps(self):
        folder, output = self.planted("--mesh", "dp_shard=4", "--fault", "window:rank=1,from=6")
        self.assert_same(compare.steps(folder.truth, output))
        pairs, lines = compare.matched(folder.truth, output)
        self.assertTrue(pairs)
        self.assertEqual([line for line in lines if "(4," not in line and "(5," not in line], [])

    def test_shifted_step_numbers_are_found(self):
        for by in (4, 1):
            with self.subTest(by=by):
                folder, output = self.planted("--mesh", "dp_shard=4", "--fault", f"step_shift:rank=2,by={by}")
                self.assertIn("step_numbers_differ", output.warnings())
                self.assertEqual({(row["rank"], row["step_shift"]) for row in output.table("/steps")
                                  if row["step_shift"] != 0}, {(2, -by)})
                self.assert_same(compare.collectives(folder.truth, output))

    def test_of_windows_that_hardly_overlap_the_common_steps_are_compared(self):
        folder, output = self.planted("--mesh", "dp_shard=4", "--fault", "window:rank=3,from=4,until=5",
                                      "--fault", "window:rank=1,from=5")
        self.assertNotIn("step_numbers_differ", output.warnings())
        instances = output.table("/collectives/instances")
        self.assertEqual({row["step"] for row in instances}, {5})

    @staticmethod
    def edit(folder, rank, change):
        """change: of the whole text of the rank's trace."""
        path, = glob.glob(os.path.join(folder.traces, "**", f"rank{rank}_*"), recursive=True)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(change(text))

    @staticmethod
    def without_events(text, unwanted):
        trace = json.loads(text)
        trace["traceEvents"] = [event for event in trace["traceEvents"] if not unwanted(event)]
        return json.dumps(trace)

    def test_a_rank_without_step_markers_is_judged_in_no_step(self):
        folder, healthy = self.planted("--mesh", "dp_shard=4")
        self.edit(folder, 2, lambda text: self.without_events(text, lambda e: e["name"].startswith("ProfilerStep#")))
        output = folder.analyze(workers=2)
        self.assertRegex(output.summary, r"none of rank 2 \(no\s+step\s+markers\)")
        self.assertRegex(output.summary, r"not judged: rank 2 in any step \(no step markers\)")
        self.assertNotRegex(output.summary, "longer than its peers: rank")
        for metric, column in (("coll_call_num", "calls_count"), ("straggler", "compute_ns"),
                               ("comm_comp_overlap", "compute_ns")):
            rows, whole = ({(row["rank"], row["step"]): row[column] for row in of.table(f"/metrics/{metric}/rows")}
                           for of in (output, healthy))
            self.assertEqual(rows, {key: value for key, value in whole.items() if key[0] != 2})

    def test_events_whose_launch_is_missing_stay_in_their_steps(self):
        folder, healthy = self.planted("--mesh", "dp_shard=4")
        dice = random.Random(1)
        self.edit(folder, 2, lambda text: self.without_events(
            text, lambda e: e.get("cat") == "cuda_runtime" and dice.random() < 0.18))
        output = folder.analyze(workers=2)
        rows, whole = ({(row["rank"], row["step"]): row["calls_count"] for row in of.table("/metrics/coll_call_num/rows")}
                       for of in (output, healthy))
        self.assertLess(set(rows), set(whole))
        self.assertTrue({step for rank, step in rows if rank == 2}, "not every step lost one at its edge")
        self.assertEqual(rows, {key: whole[key] for key in rows})
        lost = sorted(step for rank, step in whole if (rank, step) not in rows)
        self.assertEqual({rank for rank, step in whole if (rank, step) not in rows}, {2})
        self.assertRegex(output.summary, rf"1 of them in part: rank 2 \(steps? [0-9, -]+ lost with the damage\)")
        self.assertIn("event_damaged", output.warnings())
        self.assertTrue(lost)

    def test_a_trace_that_is_twice_in_its_file_counts_once(self):
        folder, healthy = self.planted("--mesh", "dp_shard=4")
        self.edit(folder, 2, lambda text: text + text)
        output = folder.analyze(workers=2)
        for table in ("/metrics/coll_call_num/rows", "/metrics/straggler/rows", "/metrics/kernel/rows",
                      "/metrics/training_phases/rows"):
            self.assertEqual(output.table(table), healthy.table(table), table)
        details = [row["detail"] for row in output.table("/warnings/rows") if row["code"] == "overlap_on_stream"]
        self.assertEqual(details, ["events that the file holds twice: each is used once"])

    def test_a_group_larger_than_the_run_is_not_believed(self):
        folder, healthy = self.planted("--mesh", "dp_shard=4")
        self.edit(folder, 2, lambda text: text.replace('"Group size": 4', '"Group size": 1000000000'))
        output = folder.analyze(workers=2)
        for table in ("/metrics/traffic_distribution/rows", "/collectives/instances"):
            self.assertEqual(output.table(table), healthy.table(table), table)
        self.assert_named(output, "inout_disagree", 2)

    def test_all_to_all_lists_that_do_not_fit(self):
        folder, output = self.planted("--mesh", "dp_shard=4,ep=4", "--experts", "8", "--hidden", "512", "--fault", "bad_splits:rank=1")
        exchanges = sum(r.calls_count for r in folder.truth["traffic"] if r.rank == 1 and r.op == "all_to_allv")
        self.assertEqual(output.warnings()["inout_disagree"], 2 * exchanges)  # its own sizes, and with its peer
        details = [row["detail"] for row in output.table("/warnings/rows") if row["code"] == "inout_disagree"]
        worst = [re.search(r"two ranks disagree .* worst: rank 1 sends rank 0 (\d+) bytes, which expects (\d+) bytes", text)
                 for text in details]
        worst = [tuple(map(int, found.groups())) for found in worst if found]
        self.assertEqual(len(worst), len(details) // 2, details)
        for sent, expected in worst:
            self.assertEqual(sent - expected, 7 * 512 * 2)  # seven rows of 512 bf16
        self.assert_same(compare.collectives(folder.truth, output))


if __name__ == "__main__":
    unittest.main(verbosity=2)
