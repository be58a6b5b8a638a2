"""The timeline for Perfetto and chrome://tracing: every rule of the trace event format that a viewer relies on, and what
the options leave in it."""
import collections
import gzip
import json
import os
import unittest

from planted import Folder

SIZE = ("--plain", "--mb-per-rank", "0", "--no-faults", "--steps", "2")
MEGATRON = ("--layout", "megatron", "--data-parallel", "distopt", "--schedule", "interleaved", "--recompute", "--experts",
            "4", "--layers", "8", "--mesh", "pp=2,dp_shard=2,tp=1,ep=2", "--microbatches", "4", "--ranks-per-host", "2")
KEYS = {"X": {"ph", "pid", "tid", "ts", "dur", "name", "args"}, "M": {"ph", "pid", "name", "args"},
        "s": {"ph", "pid", "tid", "ts", "id", "cat", "name"}, "f": {"ph", "pid", "tid", "ts", "id", "cat", "name", "bp"}}
NAMES = {"process_name": ("name", str), "process_labels": ("labels", str), "process_sort_index": ("sort_index", int),
         "thread_name": ("name", str), "thread_sort_index": ("sort_index", int)}


def once(pairs):
    """An object without a key that stands in it twice."""
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key stands twice in {keys}"
    return dict(pairs)


def no_constant(text):
    raise AssertionError(f"{text} is no JSON number")


def read(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", errors="strict") as file:
        return json.load(file, object_pairs_hook=once, parse_constant=no_constant)


class TimelineTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder(*MEGATRON, *SIZE)
        cls.addClassCleanup(cls.folder.remove)

    def timeline(self, *options, folder=None, workers=1, name="timeline.json", expected=(0,)):
        folder = folder or self.folder
        path = os.path.join(folder.path, name)
        folder.analyze(workers, ("--timeline-json", path, "--metric", "clock", *options), expected)
        return path

    def check_format(self, timeline):
        """Returns slices by track, as (start, end, event)."""
        self.assertIsInstance(timeline["traceEvents"], list)
        self.assertIn(timeline.get("displayTimeUnit", "ms"), ("ms", "ns"))
        # Closes the list; viewers pass over metadata that they do not know.
        end = timeline["traceEvents"].pop()
        self.assertEqual(end, {"ph": "M", "name": "trace_end", "pid": 0, "args": {}})
        processes, threads, tracks, flows = {}, {}, collections.defaultdict(list), collections.defaultdict(dict)
        for event in timeline["traceEvents"]:
            kind = event["ph"]
            self.assertIn(kind, KEYS)
            wanted = KEYS[kind] | ({"tid"} if kind == "M" and event["name"].startswith("thread") else set())
            self.assertEqual(set(event), wanted, event)
            self.assertIs(type(event["pid"]), int)
            self.assertIsInstance(event["name"], str)
            if kind == "M":
                key, of_type = NAMES[event["name"]]
                self.assertEqual(set(event["args"]), {key})
                self.assertIsInstance(event["args"][key], of_type)
                if event["name"] == "process_name":
                    self.assertNotIn(event["pid"], processes, "two names of a process")
                    processes[event["pid"]] = event["args"]["name"]
                if event["name"] == "thread_name":
                    self.assertNotIn((event["pid"], event["tid"]), threads, "two names of a track")
                    threads[event["pid"], event["tid"]] = event["args"]["name"]
                continue
            self.assertIs(type(event["tid"]), int)
            self.assertIsInstance(event["ts"], (int, float))
            if kind == "X":
                self.assertGreaterEqual(event["dur"], 0)
                self.assertIsInstance(event["args"], dict)
                tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"], event))
            else:
                self.assertNotIn(kind, flows[event["id"]], "a flow with two ends of a kind")
                flows[event["id"]][kind] = event
        self.assertEqual(len(set(processes.values())), len(processes))
        for track, slices in tracks.items():
            self.assertIn(track, threads)
            self.assertIn(track[0], processes)
            starts = [start for start, _, _ in slices]
            self.assertEqual(starts, sorted(starts), f"track {track} goes back in time")
            for (_, end, _), (start, _, event) in zip(slices, slices[1:]):
                self.assertLessEqual(end, start + 1e-3, f"slices of a track overlap at {event}")
        for pair in flows.values():
            self.assertEqual(set(pair), {"s", "f"})
            self.assertEqual(pair["f"]["bp"], "e")
            for key in ("cat", "name"):
                self.assertEqual(pair["s"][key], pair["f"][key])
            self.assertLessEqual(pair["s"]["ts"], pair["f"]["ts"])
            for event in pair.values():
                inside = any(a - 1e-3 <= event["ts"] <= b + 1e-3 for a, b, _ in tracks[event["pid"], event["tid"]])
                self.assertTrue(inside, f"no slice around {event}")
        return tracks, flows, processes, threads

    def test_every_event_keeps_to_the_format(self):
        tracks, flows, processes, threads = self.check_format(read(self.timeline()))
        self.assertGreater(len(flows), 10)
        self.assertEqual(len(processes), self.folder.truth["world_size"])
        self.assertIn("model 0 pipeline 0 stage 1", " ".join(processes.values()))
        kinds = {name.split(" (")[0] for name in threads.values()}
        self.assertLessEqual({"micro-batches: forward", "micro-batches: backward", "compute", "communication: pp",
                              "communication: ep"}, kinds)
        self.assertGreaterEqual(min(start for track in tracks.values() for start, _, _ in track), -0.001)

    def test_micro_batches_are_those_of_the_truth(self):
        tracks, _, processes, threads = self.check_format(read(self.timeline()))
        found = collections.defaultdict(set)
        for track, slices in tracks.items():
            if threads[track].startswith("micro-batches"):
                rank = int(processes[track[0]].split("rank ")[1].split()[0])
                found[rank] |= {(e["args"]["step"], e["name"][0], e["args"]["microbatch"], e["args"]["virtual_stage"])
                                for _, _, e in slices}
        expected = collections.defaultdict(set)
        for k in self.folder.truth["kernels"]:
            if k.microbatch >= 0 and not k.category.endswith("_communication") and k.category != "memory":
                letter = "F" if k.phase == "forward" else "B"
                expected[k.rank].add((k.step, letter, k.microbatch, k.chunk))
        self.assertEqual(found, expected)

    def test_collectives_say_who_was_last_and_the_number_of_workers_changes_nothing(self):
        one, three = self.timeline(name="t1.json.gz"), self.timeline(name="t3.json.gz", workers=3)
        with open(one, "rb") as a, open(three, "rb") as b:
            self.assertEqual(a.read(), b.read())
        tracks, *_ = self.check_format(read(one))
        told = [e for track in tracks.values() for _, _, e in track if "last_rank" in e["args"]]
        self.assertGreater(len(told), 100)
        for event in told:
            self.assertGreaterEqual(event["args"]["lag_us"], event["args"]["wait_us"])

    def test_names_that_are_no_text_are_made_text(self):
        folder = Folder("--mesh", "dp_shard=2", "--fault", "bad_bytes:rank=1,events=40", *SIZE)
        self.addCleanup(folder.remove)
        self.check_format(read(self.timeline(folder=folder)))

    def test_each_rank_may_have_a_clock_of_its_own(self):
        tracks, *_ = self.check_format(read(self.timeline("--timeline-align", "individual", name="own.json")))
        first = {}
        for (pid, _), slices in tracks.items():
            first[pid] = min(first.get(pid, slices[0][0]), slices[0][0])
        self.assertEqual({round(at, 3) for at in first.values()}, {0})

    def test_window_ranks_and_merging_keep_it_small(self):
        whole = self.check_format(read(self.timeline(name="whole.json")))[0]
        few = self.check_format(read(self.timeline("--timeline-ranks", "0", "--timeline-ranks", "2", name="few.json")))[2]
        self.assertEqual({name.split("rank ")[1].split()[0] for name in few.values()}, {"0", "2"})
        step = self.check_format(read(self.timeline("--start", "step:4", "--end", "step:4", name="step.json")))[0]
        merged = self.check_format(read(self.timeline("--timeline-merge-ns", "2000000", name="merged.json")))[0]

        def count(tracks):
            return sum(len(slices) for slices in tracks.values())

        self.assertLess(count(step), 0.6 * count(whole))
        asked = self.check_format(read(self.timeline("--step", "5", name="asked.json")))[0]
        self.assertEqual({e["args"].get("step", 5) for track in asked.values() for _, _, e in track}, {5})
        self.assertLess(count(merged), 0.9 * count(whole))

    def test_pipelines_are_those_of_the_group_file_the_process_groups_or_the_mesh(self):
        job = ("--mesh", "pp=2,dp_shard=2,tp=2", "--layers", "4", "--microbatches", "2", *SIZE)
        for source, options in {"megatron": ("--layout", "megatron", "--data-parallel", "distopt"),
                                "process groups": ("--layout", "flat"),
                                "mesh": ("--layout", "ccl-bench", "--style", "old")}.items():
            folder = Folder(*job, *options)
            self.addCleanup(folder.remove)
            output = folder.analyze(options=("--metric", "clock"))
            rows = output.table("/model_groups")
            self.assertEqual({row["pipeline_source"] for row in rows}, {source})
            found, replicas = collections.defaultdict(dict), collections.defaultdict(set)
            for row in rows:
                found[row["pipeline"]][row["stage"]] = row["rank"]
                replicas[row["model_replica"]].add(row["rank"])
            planted = sorted([0 + i, 4 + i] for i in range(4))
            self.assertEqual(sorted([ranks for _, ranks in sorted(p.items())] for p in found.values()), planted)
            self.assertEqual(sorted(map(sorted, replicas.values())), [[0, 1, 4, 5], [2, 3, 6, 7]], source)

    def test_only_whole_model_replicas_unless_asked(self):
        folder = Folder("--mesh", "pp=2,dp_shard=2", "--layers", "4", "--microbatches", "2", "--fault", "missing:rank=3",
                        *[o for o in SIZE if o != "--no-faults"], "--preset", "tiny")
        self.addCleanup(folder.remove)

        def ranks(*options, name):
            names = self.check_format(read(self.timeline(*options, folder=folder, name=name)))[2].values()
            return sorted(int(n.split("rank ")[1].split()[0]) for n in names)

        self.assertEqual(ranks(name="whole.json"), [0, 2])
        self.assertEqual(ranks("--incomplete-groups", name="all.json"), [0, 1, 2])
        output = folder.analyze(options=("--metric", "clock"))
        complete = {row["rank"]: bool(row["replica_complete"]) for row in output.table("/model_groups")}
        self.assertEqual(complete, {0: True, 1: False, 2: True, 3: False})


if __name__ == "__main__":
    unittest.main(verbosity=2)
