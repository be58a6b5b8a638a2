"""Micro-batches of pipelines as boxes on lanes, on the corrected clock; shared by the pipeline figures."""
import numpy as np
from matplotlib.colors import to_rgb

import look
from results import Skip, corrected_ns, in_steps

COLOURS = {"forward": look.BLUE, "backward": look.ORANGE, "weight": look.GREEN}
# Virtual stages of a rank from dark to light, so that neighbours differ in print too.
LIGHTER = (0.0, 0.5, 0.72, 0.3)
PATH = "metrics/microbatch/by_phase"


class Lane:
    """One rank in one step: its boxes by direction as (start ns, length ns, micro-batch, virtual stage)."""

    def __init__(self, rank, pipeline, stage, replica):
        self.rank, self.pipeline, self.stage, self.replica = rank, pipeline, stage, replica
        self.boxes = {name: [] for name in COLOURS}

    def ends(self):
        spans = [(start, start + length) for boxes in self.boxes.values() for start, length, *_ in boxes]
        return (min(span[0] for span in spans), max(span[1] for span in spans)) if spans else (0, 0)


def lanes_of_a_step(results):
    """(iteration, step, lanes in order of pipeline and stage) of the middle step that has micro-batches."""
    results.metric("microbatch")
    results.need_clocks()
    places = results.table("model_groups", "rank", "pipeline", "stage", "model_replica")
    place = {int(r["rank"]): (int(r["pipeline"]), int(r["stage"]), int(r["model_replica"]))
             for r in places if r["pipeline"] >= 0}
    if not place:
        raise Skip("no rank is in a pipeline")
    boxes = in_steps(results.table(PATH, "rank", "microbatch", "direction", "start_ns", "wall_ns"))
    boxes = boxes[(boxes["microbatch"] >= 0) & (boxes["wall_ns"] > 0)]
    has_chunks = "chunk" in boxes.dtype.names
    if not len(boxes):
        raise Skip("no micro-batch has a number and a time")
    steps = np.unique(np.stack([boxes["iteration"], boxes["step"]], 1), axis=0)
    iteration, step = (int(part) for part in steps[len(steps) // 2])
    boxes = boxes[(boxes["iteration"] == iteration) & (boxes["step"] == step)]
    starts = corrected_ns(results, boxes, "start_ns")
    lanes = {}
    for row, start in zip(boxes, starts):
        key = int(row["replica"]), int(row["rank"])
        if key[1] in place and row["direction"] in COLOURS:
            lane = lanes.setdefault(key, Lane(key[1], *place[key[1]]))
            chunk = max(0, int(row["chunk"])) if has_chunks else 0
            lane.boxes[row["direction"]].append((int(start), int(row["wall_ns"]), int(row["microbatch"]), chunk))
    if not lanes:
        raise Skip("no rank of a pipeline has micro-batches")
    return iteration, step, sorted(lanes.values(), key=lambda lane: (lane.pipeline, lane.stage, lane.rank))


def shade(direction, chunk):
    base = np.array(to_rgb(COLOURS[direction]))
    return tuple(base + (1 - base) * LIGHTER[chunk % len(LIGHTER)])


def write_number(ax, span, y, number, inches, dark):
    """The micro-batch in its box: upright if that fits, else turned, else not at all. inches: of a unit of time."""
    start, length = span
    upright = length * inches > 0.045 * len(str(number)) + 0.01
    if upright or length * inches > 0.055:
        ax.text(start + length / 2, y, str(number), ha="center", va="center", fontsize=5.5, zorder=2, clip_on=True,
                rotation=0 if upright else 90, color="white" if dark else "black")


def draw_lanes(ax, lanes, numbers):
    """Boxes in ms (or the unit that reads well); numbers: write the micro-batch into boxes that have room."""
    first, last = min(lane.ends()[0] for lane in lanes), max(lane.ends()[1] for lane in lanes)
    factor, unit = look.duration_unit(float(last - first))
    inches = ax.figure.get_figwidth() * 0.88 * factor / float(last - first)
    kinds = set()
    for y, lane in enumerate(lanes):
        ax.barh(y, (last - first) / factor, height=0.84, color="#F0F0F0", linewidth=0, zorder=0)
        for direction, boxes in lane.boxes.items():
            for chunk in {box[3] for box in boxes}:
                kinds.add((direction, chunk))
                mine = [box for box in boxes if box[3] == chunk]
                spans = [((start - first) / factor, length / factor) for start, length, *_ in mine]
                ax.broken_barh(spans, (y - 0.42, 0.84), facecolors=shade(direction, chunk), edgecolors="white",
                               linewidth=0.4 if len(lanes) <= 64 else 0, zorder=1, rasterized=not numbers)
                for span, box in zip(spans, mine) if numbers else ():
                    write_number(ax, span, y, box[2], inches, direction == "forward" and chunk == 0)
    chunks = 1 + max((chunk for _, chunk in kinds), default=0)
    for direction, chunk in sorted(kinds, key=lambda kind: (list(COLOURS).index(kind[0]), kind[1])):
        label = direction + (f", virtual stage {chunk} of {chunks}" if chunks > 1 else "")
        ax.barh(0, 0, color=shade(direction, chunk), label=label)
    ax.barh(0, 0, color="#F0F0F0", label="in no micro-batch")
    ax.set_xlim(0, (last - first) / factor)
    ax.set_ylim(len(lanes) - 0.5, -0.5)
    ax.set_xlabel(f"time since the first micro-batch of the step ({unit}, clocks corrected)")
    look.legend_below(ax, ncols=max(4, 2 * chunks + 1) if chunks <= 3 else 5)


def most_idle(lanes, of):
    """The lanes of one value of the attribute that idle most, and how many values there are."""
    parts = {}
    for lane in lanes:
        parts.setdefault(getattr(lane, of), []).append(lane)
    return max(parts.values(), key=lambda part: (idle_share(part).mean(), -part[0].rank)), len(parts)


def idle_share(lanes):
    """Share of the common window in which a lane is in no micro-batch, per lane."""
    first, last = min(lane.ends()[0] for lane in lanes), max(lane.ends()[1] for lane in lanes)
    shares = []
    for lane in lanes:
        spans = sorted((start, start + length) for boxes in lane.boxes.values() for start, length, *_ in boxes)
        busy, reached = 0, first
        for start, end in spans:
            busy += max(0, end - max(start, reached))
            reached = max(reached, end)
        shares.append(1 - busy / max(1, last - first))
    return np.array(shares)
