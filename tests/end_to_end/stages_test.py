"""Stages of a planted mixture-of-experts job in an Nsight Systems export: stage_overlap and stream_roles hold what
PithTrain's own analysis gets from the same file. That analysis is written down here in its simplest form, by SQL and
sums over all pairs."""
import collections
import glob
import os
import re
import sqlite3
import unittest

from planted import Folder, Output, analyze, content_hash

ROLES = {"stage2_f": "ep_a2a", "stage2_b": "ep_a2a", "stage4_f": "ep_a2a", "stage4_b": "ep_a2a",
         "stage1_f": "cp_ring", "stage1_b": "cp_ring", "pipeline send/recv": "pp_p2p"}


class Export:
    """One export, by process."""

    def __init__(self, path):
        base = sqlite3.connect(path)
        self.epoch = base.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()[0]
        names = dict(base.execute("SELECT id, value FROM StringIds"))
        ranges = base.execute("SELECT globalTid / 0x1000000 % 0x1000000, start, COALESCE(end, start), text, textId "
                              "FROM NVTX_EVENTS WHERE start >= 0")
        self.ranges = collections.defaultdict(list)
        for pid, start, end, text, text_id in ranges:
            text = text if text is not None else names.get(text_id, "")
            if not text.lower().startswith("nccl"):
                self.ranges[pid].append((start, end, text))
        launches = {(pid, correlation): start for pid, correlation, start in base.execute(
            "SELECT globalTid / 0x1000000 % 0x1000000, correlationId, start FROM CUPTI_ACTIVITY_KIND_RUNTIME")}
        self.kernels = collections.defaultdict(list)
        for pid, start, end, stream, correlation, name in base.execute(
                "SELECT globalPid / 0x1000000 % 0x1000000, start, end, streamId, correlationId, shortName "
                "FROM CUPTI_ACTIVITY_KIND_KERNEL"):
            communicates = names[name].lower().startswith("nccl")
            self.kernels[pid].append((start, end, stream, communicates, launches.get((pid, correlation), start)))
        self.label = {pid: min(rows)[2] for pid, rows in self.ranges.items()}

    def window(self, pid):
        chunks = sorted(r for r in self.ranges[pid] if re.match("forward chunk.*backward chunk", r[2]))
        return chunks[len(chunks) // 2]

    def innermost(self, pid, time):
        inside = [r for r in self.ranges[pid] if r[0] <= time <= r[1] and r[2] != self.label[pid]]
        return min(inside, key=lambda r: r[1] - r[0])[2] if inside else ""

    def analysis(self, pid, window):
        """(overlap rows by stage, role and times by stream)."""
        kernels = [k for k in self.kernels[pid] if k[0] >= window[0] and k[1] <= window[1]]
        compute_streams = {k[2] for k in kernels if not k[3]}
        compute = sorted((k[0], k[1]) for k in kernels if not k[3])
        found = collections.defaultdict(list)
        roles = collections.defaultdict(set)
        for start, end, stream, communicates, launch in kernels:
            if not communicates or stream in compute_streams:
                continue
            text = self.innermost(pid, launch)
            stages = re.findall("stage([1-5])_([fbw])", text)
            stage = "stage%s_%s" % stages[-1] if stages else text
            roles[stream].add(ROLES.get(stage, "unknown"))
            hidden, at = 0, start
            for a, b in compute:
                if b > at and a < end:
                    hidden += min(b, end) - max(a, at)
                    at = max(at, min(b, end))
            if stages:
                found[stage].append((end - start, hidden))
        rows = {}
        for stage, pairs in found.items():
            total = sum(d for d, _ in pairs)
            exposed = sum(d - h for d, h in pairs)
            rows[stage] = (len(pairs), total, exposed, round(1 - exposed / total, 9),
                           round(min(h / d for d, h in pairs), 9), round(max(h / d for d, h in pairs), 9))
        streams = {stream: "compute" if stream in compute_streams else
                   (roles[stream].copy().pop() if len(roles[stream]) == 1 else "mixed")
                   for stream in {k[2] for k in kernels}}
        return rows, streams


def rename_as_dualpipev(path):
    """Stage 5 and the stage 1 of the next layer in one range, a weight gradient that communicates, chunks as they were
    named before. Returns how many were fused."""
    base = sqlite3.connect(path)
    rows = base.execute("SELECT rowid, globalTid, \"end\", text FROM NVTX_EVENTS WHERE text LIKE 'layer__.stage%' "
                        "ORDER BY globalTid, start").fetchall()
    fused = 0
    for (first, tid, _, text), (second, next_tid, end, next_text) in zip(rows, rows[1:]):
        follows = int(next_text[5:7]) == int(text[5:7]) + 1
        if tid == next_tid and follows and text.endswith("stage5_f") and next_text.endswith("stage1_f"):
            base.execute("UPDATE NVTX_EVENTS SET text = ?, \"end\" = ? WHERE rowid = ?",
                         (f"{text.replace('.', '_')}_{next_text.replace('.', '_')}", end, first))
            base.execute("DELETE FROM NVTX_EVENTS WHERE rowid = ?", (second,))
            fused += 1
    base.execute("DELETE FROM NVTX_EVENTS WHERE text LIKE 'FSDP::%'")  # PithTrain has none, least of all in a stage
    base.execute("UPDATE NVTX_EVENTS SET text = 'layer00.stage3_w' WHERE text = 'layer00.stage2_b'")
    base.execute("UPDATE NVTX_EVENTS SET text = 'rank 1 overlapped ' || text WHERE text LIKE 'forward chunk%backward%'")
    base.commit()
    base.close()
    return fused


class StagesTest(unittest.TestCase):
    maxDiff = 4000

    def planted(self, *options):
        folder = Folder("--format", "nsys", "--experts", "8", "--steps", "2", "--no-faults", "--seq", "64",
                        "--hidden", "256", "--ffn", "512", *options)
        self.addCleanup(folder.remove)
        return folder

    def compare(self, folder, options=(), window_of=None):
        output = folder.analyze(options=("--metric", "stage_overlap,stream_roles", *options))
        expected, roles = {}, {}
        for path in sorted(glob.glob(os.path.join(folder.traces, "*.sqlite"))):
            export = Export(path)
            for pid in export.kernels:
                rank = int(re.match(r"rank=(\d+);", export.label[pid]).group(1))
                window = (window_of or Export.window)(export, pid)
                rows, streams = export.analysis(pid, window)
                expected.update({(rank, stage): row for stage, row in rows.items()})
                roles.update({(rank, stream): role for stream, role in streams.items()})
        found = {(r["rank"], r["stage"]): (r["communication_count"], r["communication_ns"], r["exposed_ns"],
                                           round(r["hidden_ratio"], 9), round(r["hidden_min_ratio"], 9),
                                           round(r["hidden_max_ratio"], 9))
                 for r in output.table("/metrics/stage_overlap/by_stage")
                 if r["communication_count"] and r["stage"].startswith("stage")}
        self.assertEqual(found, expected)
        self.assertEqual({(r["rank"], r["stream"]): r["role"] for r in output.table("/metrics/stream_roles/by_stream")},
                         roles)
        return output, expected, roles

    def test_expert_all_to_alls_in_the_middle_chunk(self):
        folder = self.planted("--mesh", "pp=2,dp_shard=4,ep=4", "--layers", "4", "--microbatches", "6")
        output, expected, roles = self.compare(folder)
        self.assertTrue(expected)
        self.assertIn("ep_a2a", roles.values())
        ranks = {r["rank"]: r for r in output.table("/metrics/stage_overlap/rows")}
        self.assertEqual(sorted(ranks), list(range(8)))
        for rank, row in ranks.items():
            self.assertEqual((row["pp"], row["pp_size"], row["dp"], row["dp_size"], row["ep"], row["ep_size"]),
                             (rank // 4, 2, 0, 1, rank % 4, 4))
            self.assertEqual(row["window_source"], "chunk")
            self.assertGreater(row["candidates_count"], 1)
        for row in output.table("/metrics/stage_overlap/by_stage"):
            self.assertLessEqual(row["union_exposed_ns"], row["union_communication_ns"])

    def test_the_answer_is_the_same_from_any_number_of_workers(self):
        folder = self.planted("--mesh", "dp_shard=8,ep=4", "--microbatches", "2")
        options = ("--metric", "stage_overlap,stream_roles")
        first, second = folder.analyze(1, options), folder.analyze(3, options)
        self.assertTrue(first.table("/metrics/stage_overlap/by_stage"))
        self.assertEqual(content_hash(first.path), content_hash(second.path))

    def test_a_window_of_the_user(self):
        folder = self.planted("--mesh", "pp=2,dp_shard=4,ep=4", "--layers", "4", "--microbatches", "4")

        def whole(export, pid):
            return (min(k[0] for k in export.kernels[pid]), max(k[1] for k in export.kernels[pid]))

        output, _, roles = self.compare(folder, ("--start", "0"), whole)
        self.assertIn("pp_p2p", roles.values())
        rows = output.table("/metrics/stage_overlap/rows")
        self.assertEqual({r["window_source"] for r in rows}, {"user"})
        narrow = folder.analyze(options=("--metric", "stage_overlap", "--start", "1000000", "--end", "3000000"))
        for row in narrow.table("/metrics/stage_overlap/rows"):
            self.assertEqual(row["window_end_ns"] - row["window_start_ns"], 2_000_000)

    def test_one_command_answers_the_four_questions(self):
        folder = self.planted("--mesh", "pp=2,dp_shard=4,ep=4", "--layers", "4", "--microbatches", "6")
        said = folder.analyze(options=("--metric", "stage_overlap")).summary
        for text in ("1, 2. stages, worst first", "3. compute of the pipeline's stages", "4. most exposed communication",
                     "middle overlapped chunk", "overlap_min", "set-up and windows"):
            self.assertIn(text, said)

    def test_fused_stages_weight_gradients_and_older_chunk_names(self):
        folder = self.planted("--mesh", "pp=2,dp_shard=4,ep=4", "--layers", "4", "--microbatches", "6")
        fused = sum(rename_as_dualpipev(path) for path in glob.glob(os.path.join(folder.traces, "*.sqlite")))
        self.assertGreater(fused, 10)

        def window(export, pid):
            chunks = sorted(r for r in export.ranges[pid] if re.match("rank 1 overlapped forward chunk", r[2]))
            return chunks[len(chunks) // 2]

        output, expected, roles = self.compare(folder, window_of=window)
        self.assertIn("stage3_w", {stage for _, stage in expected})
        self.assertIn("mixed", roles.values())  # of streams that carry a stage without a role besides
        self.assertEqual({r["window_source"] for r in output.table("/metrics/stage_overlap/rows")}, {"chunk"})

    def test_names_of_another_framework_are_settings(self):
        folder = self.planted("--mesh", "dp_shard=4,ep=4", "--microbatches", "2")
        for path in glob.glob(os.path.join(folder.traces, "*.sqlite")):
            base = sqlite3.connect(path)
            base.execute("UPDATE NVTX_EVENTS SET text = 'MoE.a2a_out' WHERE text LIKE '%.stage2_f'")
            base.commit()
            base.close()
        settings = os.path.join(folder.path, "settings.yaml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("kernels:\n  stages: {expert_out: ['moe.a2a_out']}\n  stream_roles: {experts: [expert_out]}\n")
        path = os.path.join(folder.path, "own.h5")
        summary = analyze(folder.traces, path, options=("--metric", "stage_overlap", "--settings", settings))
        stages = {r["stage"] for r in Output(path, summary).table("/metrics/stage_overlap/by_stage")}
        self.assertIn("expert_out", stages)
        self.assertNotIn("stage2_f", stages)


if __name__ == "__main__":
    unittest.main(verbosity=2)
