"""A damaged file: half a step counts as no step. What is said of whole steps is what the undamaged set says, and the page
names the rank and the steps that are not judged."""
import glob
import json
import os
import re
import shutil
import unittest

from planted import Folder, Output, analyze, content_hash, run

SLOW = 5  # rank, from step 8 on; steps are 4 to 9
STEPS = range(4, 10)


def output_period(output, step):
    """Of the slow rank as the damaged set says it: behind a step that is not whole the gap is counted from the CPU step."""
    return next(row["period_ns"] for row in output.table("/metrics/iter_time/rows")
                if (row["rank"], row["step"]) == (SLOW, step))


class DamageTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folders = {}
        cls.whole = {}
        for kind in ("gzip", "plain"):
            cls.folders[kind] = Folder("--preset", "tiny", "--seed", "1", *(("--plain",) if kind == "plain" else ()))
            cls.whole[kind] = cls.folders[kind].analyze()

    @classmethod
    def tearDownClass(cls):
        for folder in cls.folders.values():
            folder.remove()

    def damaged(self, kind, damage, rank=SLOW):
        """The set with damage(bytes) -> bytes done to one file; the content must not depend on the number of workers."""
        folder = self.folders[kind]
        traces = os.path.join(folder.path, "damaged")
        shutil.rmtree(traces, ignore_errors=True)
        shutil.copytree(folder.traces, traces)
        path, = glob.glob(os.path.join(traces, "**", f"rank{rank}_*"), recursive=True)
        with open(path, "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(damage(content))
        hashes, outputs = set(), []
        for workers in (1, 2, 3, 5):
            out = os.path.join(folder.path, f"damaged{workers}.h5")
            outputs.append(Output(out, analyze(traces, out, workers)))
            hashes.add(content_hash(out))
        self.assertEqual(len(hashes), 1)
        return outputs[0]

    @classmethod
    def text(cls):
        path, = glob.glob(os.path.join(cls.folders["plain"].traces, "**", f"rank{SLOW}_*"), recursive=True)
        with open(path, "rb") as file:
            return file.read()

    @classmethod
    def events(cls, category):
        """(begin, end, event) of the events of a category, by place in the plain file."""
        if not hasattr(cls, "all_events"):
            text, decoder, cls.all_events = cls.text().decode(), json.JSONDecoder(), []
            at = text.index("{", text.index('"traceEvents"'))
            while True:
                event, end = decoder.raw_decode(text, at)
                cls.all_events.append((at, end, event))
                if not (more := re.compile(r"\s*,\s*(?={)").match(text, end)):
                    break
                at = more.end()
        return [(begin, end, event) for begin, end, event in cls.all_events if event.get("cat") == category]

    def window(self, step):
        marker, = [e for _, _, e in self.events("user_annotation") if e["name"] == f"ProfilerStep#{step}"]
        return float(marker["ts"]), float(marker["ts"]) + float(marker["dur"])

    def assert_whole_steps_unchanged(self, kind, output, lost, rank=SLOW, judged_alone=()):
        """lost: steps in which the rank is not judged. In the others every number of every rank is as before; the gap in
        front of a step cannot be whole where the step before lost its end (judged_alone)."""
        for table, columns in (("straggler_lag/rows", None), ("iter_time/rows", ("period_ns", "span_ns")),
                               ("gpu_utilization/rows", None)):
            def rows(of):
                return [{c: row[c] for c in row if columns is None or c in columns or c in ("rank", "step")}
                        for row in of.table("/metrics/" + table)
                        if row["step"] in STEPS and row["step"] not in lost and
                        not (row["rank"] == rank and row["step"] in judged_alone)]
            self.assertEqual(rows(output), rows(self.whole[kind]), table)
        of_rank = {row["step"] for row in output.table("/metrics/straggler_lag/rows") if row["rank"] == rank}
        self.assertEqual(of_rank & set(STEPS), set(STEPS) - set(lost))

    def page(self, output):
        return re.sub(r"\s+", " ", output.summary)

    def test_a_cut_in_the_last_step_leaves_the_figures_of_the_steps_before(self):
        whole, = [row for row in self.whole["gzip"].table("/metrics/straggler_lag/own_blame") if row["straggler"]]
        self.assertEqual((whole["rank"], whole["since_step"]), (SLOW, 8))
        output = self.damaged("gzip", lambda content: content[:len(content) * 97 // 100])
        self.assert_whole_steps_unchanged("gzip", output, {9})
        row, = [row for row in output.table("/metrics/straggler_lag/own_blame") if row["straggler"]]
        self.assertEqual((row["rank"], row["since_step"], row["cause"]), (SLOW, 8, "slow_compute"))
        self.assertAlmostEqual(row["per_step_ns"] / whole["per_step_ns"], 1, delta=0.01)
        page = self.page(output)
        self.assertRegex(page, r"its kernels take 1\.(39|40|41) x")
        self.assertIn("not judged: rank 5 in step 9 (lost with the damage of the file)", page)

    def test_numbers_over_all_ranks_are_of_steps_that_all_ranks_have(self):
        """Without the slow rank its last step would pass for one in which nothing is to be gained."""
        output = self.damaged("gzip", lambda content: content[:len(content) * 97 // 100])
        cases = [row for row in self.whole["gzip"].table("/metrics/what_if/cases") if row["subject"] == "rank" and
                 row["number"] == SLOW and row["step"] != 9]
        gain, = [row["gain_per_step_ns"] for row in output.table("/metrics/what_if/gains") if row["subject"] == "rank" and
                 row["number"] == SLOW]
        self.assertAlmostEqual(gain / (sum(row["gain_ns"] for row in cases) / len(cases)), 1, delta=0.01)
        on_path = [row for row in self.whole["gzip"].table("/metrics/critical_path/by_rank") if row["step"] != 9]
        length = lambda rows: sum(value for row in rows for name, value in row.items() if name in
                                  ("compute_ns", "communication_ns", "memory_ns", "launch_ns", "idle_ns", "unseparated_ns"))
        share = length([row for row in on_path if row["rank"] == SLOW]) / length(on_path)
        self.assertAlmostEqual(output.attributes("/metrics/critical_path")["most_rank_ratio"] / share, 1, delta=0.01)
        useful = [row for row in self.whole["gzip"].table("/metrics/efficiency/rows") if row["step"] != 9]
        efficiency = sum(row["useful_sum_ns"] / row["gpus_count"] for row in useful) / sum(row["length_ns"] for row in useful)
        self.assertAlmostEqual(output.attributes("/metrics/efficiency")["parallel_efficiency_ratio"] / efficiency, 1, delta=0.01)
        for metric in ("what_if", "critical_path", "efficiency"):
            told = output.attributes("/metrics/" + metric)
            self.assertEqual(told["status"], "partial", metric)
            self.assertIn("1 step left out that a rank lacks", told["reason"], metric)

    def test_a_rank_of_which_nothing_is_left_is_not_counted(self):
        output = self.damaged("gzip", lambda content: content[:len(content) // 2])
        root = output.attributes()
        self.assertEqual((root["ranks_covered"], root["ranks_whole"]), (7, 7), root["coverage"])
        self.assertTrue(root["coverage"].startswith("7 of 8 ranks analysed"), root["coverage"])
        self.assertEqual(output.attributes("/metrics/clock")["ranks_covered"], 7)

    def test_a_cut_in_the_first_slow_step_accuses_nobody_and_says_who_is_not_judged(self):
        output = self.damaged("gzip", lambda content: content[:len(content) * 9 // 10])
        self.assert_whole_steps_unchanged("gzip", output, {8, 9})
        self.assertIn("no rank stands out", self.page(output))
        self.assertIn("not judged: rank 5 in steps 8, 9 (lost with the damage of the file)", self.page(output))
        compared = run([os.environ["CCL_COMPARE"], self.whole["gzip"].path, output.path]).stdout
        self.assertIn("incomplete second: damaged rank 5; without GPU numbers: rank 5 in steps 8, 9 (lost with the damage of "
                      "the file); the verdicts are of the steps that a rank has in both runs", re.sub(r"\s+", " ", compared))
        self.assertEqual(len(re.findall("^incomplete", compared, re.MULTILINE)), 1)

    def test_every_output_says_which_rank_was_read_in_part(self):
        coverage = "8 of 8 ranks analysed, 1 of them in part: rank 5 (steps 8, 9 lost with the damage)"
        output = self.damaged("gzip", lambda content: content[:len(content) * 9 // 10])
        root = output.attributes()
        self.assertEqual((root["ranks_expected"], root["ranks_covered"], root["ranks_whole"]), (8, 8, 7))
        self.assertEqual(root["coverage"], coverage)
        self.assertEqual([(row["rank"], row["lost_steps"]) for row in output.table("/ranks") if row["lost_steps_count"]],
                         [(SLOW, "8, 9")])
        self.assertIn("ranks " + coverage.replace("ranks analysed", "analysed") + "; world size 8", self.page(output))
        reports = os.path.join(self.folders["gzip"].path, "reports")
        traces, again = (os.path.join(self.folders["gzip"].path, name) for name in ("damaged", "again.h5"))
        told = json.loads(analyze(traces, again, options=("--output-json", "--report-dir", reports)))["coverage"]
        self.assertEqual((told["ranks_covered"], told["ranks_whole"], told["text"]), (8, 7, coverage))
        self.assertEqual([(rank["rank"], rank["lost_steps"], rank["every_step_lost"]) for rank in told["ranks_in_part"]],
                         [(SLOW, [8, 9], False)])
        report, = os.listdir(reports)
        self.assertRegex(report, r"_dp1x2_tp2_pp2_gpu8\.txt$")
        with open(os.path.join(reports, report), encoding="utf-8") as file:
            self.assertIn("Ranks: " + coverage.replace("ranks analysed", "analysed") + " ", re.sub(r"\s+", " ", file.read()))
        compared = run([os.environ["CCL_COMPARE"], self.whole["gzip"].path, output.path]).stdout
        self.assertIn(f"{output.path}: {coverage}; 6 steps", re.sub(r"\s+", " ", compared))
        self.assertIn("note coverage: 8 of 8 ranks against 8 of 8 ranks, 7 of them whole", re.sub(r"\s+", " ", compared))
        self.assertEqual(self.whole["gzip"].attributes()["coverage"], "8 of 8 ranks analysed")
        self.assertEqual(self.whole["gzip"].attributes()["ranks_whole"], 8)

    def test_what_is_told_per_step_and_rank_is_of_whole_steps_and_so_is_what_runs_are_compared_in(self):
        for percent in (50, 97):
            output = self.damaged("gzip", lambda content: content[:len(content) * percent // 100], 6)
            self.assertIn("21 communication kernels per step and rank (rank 0: 21)", self.page(output))
            self.assertIn("traffic 0.29 GB on the wire per rank and step", self.page(output))
            compared = run([os.environ["CCL_COMPARE"], self.whole["gzip"].path, output.path, "--output-json"]).stdout
            comparison, = json.loads(compared)
            figures = {f["figure"]: f for f in comparison["figures"]}
            names = ["communication calls per rank and step", "bytes on the wire per rank and step",
                     "compute per GPU and step", "communication per GPU and step", "period on the GPU, slowest rank"]
            if percent > 50:
                names.append("transfer bus bandwidth")
            else:  # nothing is left of rank 6
                self.assertEqual(comparison["not_compared"]["communication"], "no step has the same ranks in both runs")
            for name in names:
                self.assertAlmostEqual(figures[name]["second"] / figures[name]["first"], 1, delta=0.001, msg=name)

    def test_a_file_that_is_cut_before_its_first_step_is_damaged_not_empty(self):
        output = self.damaged("gzip", lambda content: content[:len(content) * 3 // 100])
        page = self.page(output)
        self.assertIn("not judged: rank 5 in any step (lost with the damage of the file)", page)
        self.assertIn("7 of 8 analysed, every step of rank 5 lost with the damage of its file", page)
        self.assertEqual(output.attributes("/metrics/straggler_lag")["not_judged"],
                         "rank 5 in any step (lost with the damage of the file)")

    def test_a_file_without_its_second_half_or_unreadable_from_the_middle_on_is_named(self):
        for damage in (lambda content: content[:len(content) // 2],
                       lambda content: content[:40000] + bytes([255] * 250) + content[40250:]):
            output = self.damaged("gzip", damage)
            self.assertIn("not judged: rank 5 in any step (lost with the damage of the file)", self.page(output))
            self.assertRegex(self.page(output),
                             r"no rank computes longer than its peers; [^:]*: [^:]* not judged: rank 5 in any step")
            self.assertEqual([row for row in output.table("/metrics/straggler_lag/rows") if row["rank"] == SLOW], [])

    def test_a_hole_among_the_kernels_costs_the_steps_it_lies_in(self):
        start, end = self.window(6)
        inside = [(a, b) for a, b, e in self.events("kernel") if start + 6000 < float(e["ts"]) < end - 6000]
        first, last = inside[0][0], inside[9][1]
        output = self.damaged("plain", lambda c: c[:first + 5] + b"\xff" * (last - first - 10) + c[last - 5:])
        self.assert_whole_steps_unchanged("plain", output, {6})
        self.assertIn("not judged: rank 5 in step 6 (lost with the damage of the file)", self.page(output))
        row, = [row for row in output.table("/metrics/straggler_lag/own_blame") if row["straggler"]]
        whole, = [row for row in self.whole["plain"].table("/metrics/straggler_lag/own_blame") if row["straggler"]]
        for column in ("rank", "since_step", "per_step_ns", "cause"):
            self.assertEqual(row[column], whole[column])
        # Steps 5 to 7 are what comes before: step 6 is not, and of step 4 the gap is not on record.
        periods = {row["step"]: row["period_ns"] for row in self.whole["plain"].table("/metrics/iter_time/rows")
                   if row["rank"] == SLOW}
        longer_ms = ((periods[8] + periods[9]) / 2 - (periods[5] + output_period(output, 7)) / 2) / 1e6
        self.assertIn(f"steps take {longer_ms:.2f} ms longer since then", self.page(output))
        self.assertIn("confidence high", self.page(output))

    def test_a_hole_among_the_launches_costs_the_steps_of_their_kernels(self):
        start, end = self.window(5)
        inside = [(a, b) for a, b, e in self.events("cuda_runtime")
                  if e["name"] == "cudaLaunchKernel" and start + 1000 < float(e["ts"]) < end]
        first, last = inside[0][0], inside[2][1]
        output = self.damaged("plain", lambda c: c[:first + 5] + b"\xff" * (last - first - 10) + c[last - 5:])
        self.assert_whole_steps_unchanged("plain", output, {5})
        self.assertIn("not judged: rank 5 in step 5 (lost with the damage of the file)", self.page(output))

    def test_a_missing_start_costs_the_steps_that_were_launched_in_it(self):
        markers = [b for _, b, e in self.events("user_annotation") if e["name"].startswith("ProfilerStep#")]
        launches = [(b, float(e["ts"])) for _, b, e in self.events("cuda_runtime") if e["name"] == "cudaLaunchKernel"]
        end = max(b for b, ts in launches[:8])
        self.assertTrue(all(ts < self.window(4)[1] for _, ts in launches[:9]))
        begin = max(markers)
        self.assertLess(begin, end)
        output = self.damaged("plain", lambda c: c[:begin] + b"\xff" * (end - begin) + c[end:])
        self.assertIn("not judged: rank 5 in step 4 (lost with the damage of the file)", self.page(output))
        self.assert_whole_steps_unchanged("plain", output, {4})
        begin = self.text().index(b"{", self.text().index(b'"traceEvents"'))  # with the markers: no step is known
        output = self.damaged("plain", lambda c: c[:begin] + b"\xff" * (end - begin) + c[end:])
        self.assertIn("not judged: rank 5 in any step (lost with the damage of the file)", self.page(output))

    def test_an_event_that_no_metric_needs_costs_no_step(self):
        a, b, _ = self.events("python_function")[40]
        output = self.damaged("plain", lambda c: c[:a + 2] + b"\xff" * (b - a - 4) + c[b - 2:])
        self.assert_whole_steps_unchanged("plain", output, set())
        self.assertNotIn("not judged", self.page(output))

    def test_an_export_that_can_not_be_read_is_named_where_its_ranks_are_missing(self):
        folder = Folder("--preset", "tiny", "--seed", "1", "--format", "nsys")
        self.addCleanup(folder.remove)
        path = os.path.join(folder.traces, "nsys_0.sqlite")
        with open(path, "rb") as file:
            whole = file.read()
        for percent in (40, 60, 80):
            with open(path, "wb") as file:
                file.write(whole[:len(whole) * percent // 100])
            outputs = [folder.analyze(workers) for workers in ((1, 2, 3, 5) if percent == 60 else (1,))]
            self.assertEqual(len({content_hash(output.path) for output in outputs}), 1)
            why = "ranks 0-3 (no trace; nsys_0.sqlite could not be read: database disk image is malformed)"
            page = self.page(outputs[0])
            self.assertIn("4 of 8 analysed, missing ranks 0-3, 1 file could not be read; world size 8", page)
            self.assertIn("not judged: " + why, page)
            self.assertEqual(outputs[0].attributes("/metrics/straggler_lag")["not_judged"], why)

    def changed(self, change, rank=SLOW):
        """The plain set with change(event) -> event or None done to each event of one file."""
        def damage(content):
            trace = json.loads(content)
            trace["traceEvents"] = [event for event in map(change, trace["traceEvents"]) if event is not None]
            return json.dumps(trace, indent=2).encode()
        return self.damaged("plain", damage, rank)

    def test_a_marker_of_an_hour_does_not_decide_the_step_time(self):
        def change(event):
            return {**event, "dur": 3600e6} if event.get("name") == "ProfilerStep#6" else event
        output = self.changed(change, rank=2)
        row, = [row for row in output.table("/warnings/rows") if row["code"] == "time_out_of_range"]
        self.assertRegex(row["detail"], r"^step 6 lasts 3600\.000 s and goes on behind the begin of step 7")
        whole = {(row["rank"], row["step"]): row for row in self.whole["plain"].table("/metrics/iter_time/rows")}
        for row in output.table("/metrics/iter_time/rows"):
            self.assertAlmostEqual(row["step_ns"] / whole[row["rank"], row["step"]]["step_ns"], 1, delta=0.02)
            self.assertEqual(row["period_ns"], whole[row["rank"], row["step"]]["period_ns"])

    def test_an_event_outside_the_recording_is_lost_with_its_step(self):
        for key, wrong in (("ts", lambda value: value + 30e6), ("dur", lambda value: 82800e6), ("ts", lambda value: 0)):
            seen = []

            def change(event):
                if event.get("cat") == "kernel":
                    seen.append(event)
                    if len(seen) == 100:
                        return {**event, key: wrong(event[key])}
                return event
            output = self.changed(change)
            self.assertEqual(output.warnings()["time_out_of_range"], 1)
            lost = set(STEPS) - {row["step"] for row in output.table("/metrics/straggler_lag/rows") if row["rank"] == SLOW}
            self.assertEqual(len(lost), 1)
            self.assert_whole_steps_unchanged("plain", output, lost, judged_alone={step + 1 for step in lost})
            self.assertIn("not judged: rank 5 in step", self.page(output))

    def test_a_rank_without_its_kernels_is_not_judged(self):
        output = self.changed(lambda event: None if event.get("cat") == "kernel" else event)
        row, = [row for row in output.table("/warnings/rows") if row["code"] == "event_damaged"]
        self.assertRegex(row["detail"], r"^\d+ launches of kernels, but only 0 kernels$")
        page = self.page(output)
        self.assertIn("7 of 8 analysed, every step of rank 5 lost with the damage of its file", page)
        self.assertIn("not judged: rank 5 in any step", page)
        self.assertEqual({row["rank"] for row in output.table("/metrics/coll_call_num/rows")}, set(range(8)) - {SLOW})

    def test_events_that_name_no_launch_are_placed_by_their_own_time(self):
        def change(event):
            if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
                event["args"].pop("correlation", None)
            return event

        def calls(of):
            return sorted((row["rank"], row["step"], row["calls_count"]) for row in of.table("/metrics/coll_call_num/rows"))
        output = self.changed(change, rank=2)
        self.assertEqual(output.warnings()["no_launch_records"], 1)
        self.assertEqual(calls(output), calls(self.whole["plain"]))
        self.assertNotIn("not judged", self.page(output))

    def test_that_a_rank_has_no_trace_is_said_where_nobody_stands_out(self):
        folder = self.folders["gzip"]
        traces = os.path.join(folder.path, "missing")
        shutil.copytree(folder.traces, traces)
        path, = glob.glob(os.path.join(traces, "**", f"rank{SLOW}_*"), recursive=True)
        os.remove(path)
        page = analyze(traces, os.path.join(folder.path, "missing.h5"))
        self.assertIn("not judged: rank 5 (no trace)", re.sub(r"\s+", " ", page))


if __name__ == "__main__":
    unittest.main()
