"""What the figures of planted jobs say, and how they are made: sizes, axes, 1024 ranks."""
import importlib
import os
import unittest

import h5py
import numpy as np

from planted_output import EXPERTS, PlantedTest, need_matplotlib

need_matplotlib()
import figures  # noqa: E402
import look  # noqa: E402
from results import Results, Skip  # noqa: E402


def png_size(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def widen(path, times):
    """The same run on times as many ranks: every table with a rank, and the timeline, repeated with higher ranks."""
    with h5py.File(path, "r+") as file:
        old = len(np.unique(file["ranks"]["rank"]))
        tables = []
        file.visititems(lambda name, item: tables.append(name) if isinstance(item, h5py.Dataset) else None)
        for name in tables:
            dataset = file[name]
            attributes, rows = dict(dataset.attrs), dataset[:]
            fields = [field for field in ("rank", "waiting_rank", "last_rank") if field in (rows.dtype.names or ())]
            timeline = name.startswith("timeline/") and not name.endswith("bin_edges_ns")
            if not fields and not timeline:
                continue
            parts = [rows.copy() for _ in range(times)]
            for index, part in enumerate(parts):
                for field in fields:
                    part[field] += index * old
                if name.endswith("row_rank"):
                    part += index * old
            del file[name]
            file[name] = np.concatenate(parts)
            file[name].attrs.update(attributes)


def check_axes(test, name, fig):
    for ax in fig.axes:
        if not ax.axison:
            continue
        for what, shared in (("x", ax.get_shared_x_axes()), ("y", ax.get_shared_y_axes())):
            labels = [getattr(other, f"get_{what}label")() for other in fig.axes if other is ax or shared.joined(ax, other)]
            if ax.get_label() == "<colorbar>":
                labels += [ax.get_xlabel(), ax.get_ylabel()]
            test.assertTrue(any(labels), f"{name}: an axis ({what}) says nothing")


def check_room(test, name, fig):
    """As it is saved: no label is longer than its axis, no legend lies over an axis or pushes the next one away."""
    look.fit_labels(fig)
    fig.canvas.draw()
    boxes = [ax.get_window_extent() for ax in fig.axes if ax.axison]
    for ax, box in ((ax, ax.get_window_extent()) for ax in fig.axes if ax.axison):
        test.assertLessEqual(ax.yaxis.label.get_window_extent().height, 1.02 * box.height, (name, ax.get_ylabel()))
        if legend := ax.get_legend():
            frame = legend.get_window_extent()
            test.assertFalse(any(frame.overlaps(other) for other in boxes), f"{name}: its legend lies over an axis")
            if frame.y1 <= box.y0 and any(other.x0 >= box.x1 for other in boxes):
                test.assertLess(frame.x1, box.x1 + 20, f"{name}: its legend is wider than its axis")
            test.assertTrue(fig.bbox.x0 <= frame.x0 and frame.x1 <= fig.bbox.x1 and frame.y0 >= fig.bbox.y0, name)


class FiguresTest(PlantedTest):

    def test_every_figure_is_drawn_or_says_why_not(self):
        lines, folder = self.plot(self.output)
        self.assertEqual(list(lines), figures.ORDER)
        for name, line in lines.items():
            files = [folder / f"{name}.png", folder / f"{name}.svg"]
            self.assertEqual([file.exists() for file in files], [not line.startswith("skipped: ")] * 2, name)
            if files[0].exists():
                width, height = png_size(files[0])
                self.assertTrue(600 <= width <= 2200 and 300 <= height <= 2200, (name, width, height))
                self.assertLess(files[1].stat().st_size, 3_000_000, name)
        self.assertIn("Rank 5 is the straggler", lines["straggler_steps"])
        self.assertIn("since step 8", lines["straggler_steps"])
        self.assertRegex(lines["blame_matrix"], r"^Of all waiting \d+% is the order of pipeline stages; of the rest \d+% is "
                                                r"for the straggler, rank 5: ")
        self.assertRegex(lines["lag_groups"], r"^Half of the collectives beside the pipeline's wait less than .*; \d+% of their "
                                              r"delay is on (tp \[4, 5\]|dp \[5, 7\])$", "a group of the straggler")
        self.assertRegex(lines["critical_path"], r"^The critical path is \d+% compute and \d+% communication; \d+% of it is on "
                                                 r"rank 5; ")
        self.assertRegex(lines["what_if"], r"\(S = 1\.\d+\); most is saved by: rank 5 like its peers \(\d\.\d%\)$")
        self.assertIn("rank 5 computes longer than its peers in 2 of them", lines["step_series"])
        self.assertIn("(ideal 33%)", lines["pipeline_stages"])
        self.assertIn("of the peak", lines["bandwidth"])
        self.assertEqual(lines["experts"], "skipped: token_to_expert_assignment is not_applicable: no all_to_allv with "
                                           "split sizes in a step: no tokens go to experts")
        self.assertGreaterEqual(sum(not line.startswith("skipped") for line in lines.values()), 13)

    def test_every_axis_says_what_it_shows(self):
        results = Results(self.output)
        for name in figures.ORDER:
            try:
                fig = importlib.import_module(f"figures.{name}").draw(results)
            except Skip:
                continue
            self.assertTrue(fig.finding, name)
            check_axes(self, name, fig)
            check_room(self, name, fig)
            look.plt.close(fig)

    def test_a_thousand_ranks_fit(self):
        wide = self.copy("wide.h5")
        widen(wide, 128)
        lines, folder = self.plot(wide)
        self.assertRegex(lines["straggler_steps"], r"^Rank 5 is the straggler: .*, since step 8; so are 127 more$")
        for name, line in lines.items():
            self.assertNotIn("are odd", line)
            if not line.startswith("skipped"):
                width, height = png_size(folder / f"{name}.png")
                self.assertTrue(width <= 2200 and height <= 2200, (name, width, height))
                self.assertLess((folder / f"{name}.svg").stat().st_size, 12_000_000, name)

    def test_a_culprit_is_not_lost_between_pixels(self):
        cells = np.zeros((5000, 9000))
        cells[3333, 7777] = 5.0
        small = look.shrink(cells)
        self.assertLessEqual(small.shape, (700, 1400))
        self.assertEqual(small.max(), 5.0)

    def test_a_box_of_lags_that_are_all_alike_is_marked(self):
        draw = importlib.import_module("figures.lag_groups")
        fig, ax = look.figure()
        ax.set_xscale("log")
        ax.set_xlim(1, 1e4)
        draw.mark_thin(ax, [draw.box(name, np.array(lag), look.SKY) for name, lag in (("a", [100.0, 101.0]), ("b", [10.0, 900.0]))])
        self.assertEqual([line.get_ydata()[0] for line in ax.lines], [1])
        look.plt.close(fig)

    def test_experts_and_pairs_of_ranks(self):
        lines, _ = self.plot(self.make("experts", EXPERTS), "--only", "experts,traffic_matrix")
        self.assertRegex(lines["experts"], r"^The fullest rank of an expert-parallel group gets 1\.\d\d × the mean")
        self.assertRegex(lines["traffic_matrix"], r"^\d+ pairs of ranks exchange known bytes")

    def test_the_path_is_drawn_whole_where_its_order_is_known(self):
        path = self.copy("segments.h5")
        with h5py.File(path, "r+") as file:
            rows = file["metrics/critical_path/rows"][:]
            longest = rows[int(np.argmax(rows["length_ns"]))]
            steps = file["steps"][:]
            begin = int(steps["gpu_start_ns"][steps["step"] == longest["step"]].min())
            ends = begin + longest["length_ns"] * np.arange(1, 5) // 4
            parts = [(longest["iteration"], longest["step"], -1, 5 - index, index, begin if index == 0 else ends[index - 1],
                      ends[index], b"compute" if index % 2 == 0 else b"communication") for index in range(4)]
            if "segments" in file["metrics/critical_path"]:
                del file["metrics/critical_path/segments"]
            file["metrics/critical_path/segments"] = np.array(parts, [
                ("iteration", "i8"), ("step", "i8"), ("replica", "i4"), ("rank", "i4"), ("place", "i4"), ("start_ns", "i8"),
                ("end_ns", "i8"), ("category", "S13")])
        fig = importlib.import_module("figures.critical_path").draw(Results(path))
        labels = [label.get_text() for label in fig.axes[0].get_yticklabels()]
        self.assertEqual(labels, ["whole path", "rank 2", "rank 3", "rank 4", "rank 5"])
        self.assertNotIn("grey", fig.axes[0].get_xlabel())
        look.plt.close(fig)

    def test_memory_that_the_allocator_reported(self):
        path = self.copy("reported.h5")
        with h5py.File(path, "r+") as file:
            rows = [(10, step, rank, 0, -1, (rank + step) * 10**8, -1) for step in (4, 5) for rank in range(8)]
            group = file.require_group("metrics/memory")
            group.attrs["status"] = "ok"
            if "in_trace" in group:
                del group["in_trace"]
            group["in_trace"] = np.array(rows, [(name, "i8") for name in (
                "iteration", "step", "rank", "device", "replica", "peak_allocated_bytes", "peak_reserved_bytes")])
        lines, _ = self.plot(path, "--only", "memory_steps")
        self.assertTrue(lines["memory_steps"].startswith("Up to 1.2 GB are in use within a step (rank 7, step 5)"), lines)


if __name__ == "__main__":
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
    unittest.main()
