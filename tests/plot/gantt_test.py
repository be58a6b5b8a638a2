"""Gantt figures on micro-batches written by hand: idle shares, clocks, the choice of pipeline and replica."""
import unittest

import h5py
import numpy as np

from planted_output import PlantedTest, need_matplotlib

need_matplotlib()
import gantt  # noqa: E402
import look  # noqa: E402
from results import Results  # noqa: E402

FIELDS = [("iteration", "i8"), ("step", "i8"), ("rank", "i4"), ("device", "i4"), ("replica", "i4"), ("microbatch", "i4"),
          ("chunk", "i4"), ("direction", "S8"), ("start_ns", "i8"), ("wall_ns", "i8"), ("compute_ns", "i8"),
          ("communication_ns", "i8"), ("overlap_ns", "i8")]
MS = 1_000_000


def one_forward_one_backward(file):
    """Every stage s of 2: forward of two micro-batches from s ms on, backward 2 ms each behind; rank 1's pipeline has a
    hole of 2 ms. Times are put back onto the clocks of the files."""
    ranks = file["ranks"][:]
    rows = []
    for row in ranks:
        stage, rank = int(row["pp"]), int(row["rank"])
        hole = 2 if rank % 4 == 1 else 0
        for batch in (0, 1):
            start = 1_790_000_000_000_000_000 - int(row["clock_offset_ns"])
            rows.append((row["iteration"], 6, rank, 0, -1, batch, batch, b"forward", start + (stage + batch) * MS, MS, MS // 2,
                         MS // 2, MS // 4))
            rows.append((row["iteration"], 6, rank, 0, -1, batch, batch, b"backward", start + (3 + hole + 2 * batch) * MS, 2 * MS,
                         MS, MS, 0))
    for name in ("metrics/microbatch", "model_groups"):
        if name in file:
            del file[name]
    file["model_groups"] = np.array([(row["rank"], int(row["rank"]) % 4, row["pp"], row["dp_shard"]) for row in ranks],
                                    [("rank", "i8"), ("pipeline", "i8"), ("stage", "i8"), ("model_replica", "i8")])
    group = file.create_group("metrics/microbatch")
    group.attrs["status"] = "ok"
    group["by_phase"] = np.array(rows, FIELDS)


class GanttTest(PlantedTest):

    def setUp(self):
        self.path = self.copy("boxes.h5")
        with h5py.File(self.path, "r+") as file:
            one_forward_one_backward(file)

    def test_lanes_are_in_order_on_one_clock(self):
        iteration, step, lanes = gantt.lanes_of_a_step(Results(self.path))
        self.assertEqual((iteration, step), (10, 6))
        self.assertEqual([(lane.rank, lane.stage) for lane in lanes],
                         [(0, 0), (4, 1), (1, 0), (5, 1), (2, 0), (6, 1), (3, 0), (7, 1)])
        first = min(lane.ends()[0] for lane in lanes)
        for lane in lanes:
            self.assertAlmostEqual(lane.ends()[0] - first, lane.stage * MS, delta=2000)
        # 7 ms of window, 6 ms of boxes; stage 1 begins 1 ms later and has no gap between its directions.
        self.assertTrue(np.allclose(gantt.idle_share(lanes[:2]), 1 / 7, atol=1e-3))
        self.assertTrue(np.allclose(gantt.idle_share(lanes[2:4]), 3 / 9, atol=1e-3))

    def test_figures_name_the_pipeline_that_idles_most(self):
        lines, folder = self.plot(self.path, "--only", "pipeline_gantt,pipeline_replica,microbatch_overlap")
        self.assertRegex(lines["pipeline_gantt"], r"^Stages of the pipeline of rank 1 \(the one of 4 .* 33% of step 6")
        self.assertRegex(lines["pipeline_replica"], r"^4 ranks of a model replica \(the one of 2 with most idle time\) are "
                                                    r"in no micro-batch .* of step 6")
        self.assertEqual(lines["microbatch_overlap"], "Inside micro-batches compute hides 50% of the communication of forward, "
                                                      "0% of the communication of backward; a micro-batch takes in the mean "
                                                      "forward 1 ms, backward 2 ms")
        self.assertTrue((folder / "pipeline_gantt.svg").exists())

    def test_virtual_stages_have_shades_and_narrow_boxes_turned_numbers(self):
        fig, ax = look.figure(width=6)
        gantt.draw_lanes(ax, gantt.lanes_of_a_step(Results(self.path))[2], numbers=True)
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        self.assertEqual(labels[:4], [f"{direction}, virtual stage {chunk} of 2" for direction in ("forward", "backward")
                                      for chunk in (0, 1)])
        self.assertNotEqual(gantt.shade("forward", 0), gantt.shade("forward", 1))
        self.assertEqual({text.get_text() for text in ax.texts}, {"0", "1"})
        gantt.write_number(ax, (0, 0.06), 0, 31, 1.0, dark=True)
        gantt.write_number(ax, (0, 0.05), 0, 32, 1.0, dark=True)
        self.assertEqual([(text.get_text(), text.get_rotation()) for text in ax.texts[-1:]], [("31", 90.0)])
        look.plt.close(fig)

    def test_no_micro_batches_is_said(self):
        with h5py.File(self.path, "r+") as file:
            rows = file["metrics/microbatch/by_phase"][:]
            rows["microbatch"] = -1
            file["metrics/microbatch/by_phase"][...] = rows
        lines, _ = self.plot(self.path, "--only", "pipeline_gantt")
        self.assertEqual(lines["pipeline_gantt"], "skipped: no micro-batch has a number and a time")

    def test_lanes_on_clocks_that_are_not_known_are_not_drawn(self):
        reason = "the clocks are known to 3600000000 us only, more than 1 % of the window (13.8 ms)"
        with h5py.File(self.path, "r+") as file:
            group = file.require_group("metrics/pipeline_bubble")
            group.attrs["status"], group.attrs["reason"] = "absent", reason
        lines, _ = self.plot(self.path, "--only", "pipeline_gantt,pipeline_replica")
        self.assertEqual(lines["pipeline_gantt"], f"skipped: {reason}")
        self.assertEqual(lines["pipeline_replica"], f"skipped: {reason}")


if __name__ == "__main__":
    unittest.main()
