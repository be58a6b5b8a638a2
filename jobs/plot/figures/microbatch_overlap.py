"""What each micro-batch's time goes to: compute, communication under compute and alone (tensor, expert, context
parallel), beside its whole length."""
import numpy as np

import look
from results import Skip, in_steps, summed

DIRECTIONS = ("forward", "backward", "weight")
PARTS = [("compute alone", look.STATES["compute"], ""), ("communication under compute", look.STATES["overlap"], "///"),
         ("communication alone", look.STATES["exposed"], "..."), ("neither", "#E4E4E4", "")]


def bars(ax, part, numbers, factor):
    """Mean over ranks, steps and virtual stages of the parts of each micro-batch, stacked to its length."""
    at = np.searchsorted(numbers, part["microbatch"])
    count = np.maximum(np.bincount(at, minlength=len(numbers)), 1)
    wall, compute, communication, overlap = (
        summed(at, np.maximum(part[f"{name}_ns"], 0), len(numbers)) / count / factor
        for name in ("wall", "compute", "communication", "overlap"))
    heights = [compute - overlap, overlap, communication - overlap]
    heights.append(np.maximum(wall - sum(heights), 0))
    bottom = np.zeros(len(numbers))
    for height, (label, colour, hatch) in zip(heights, PARTS):
        ax.bar(np.arange(len(numbers)), height, 0.85, bottom=bottom, color=colour, edgecolor="white", linewidth=0,
               hatch=hatch if len(numbers) <= 40 else None, label=label)
        bottom += height
    look.label_rows(ax.xaxis, [str(number) for number in numbers])
    ax.set_xlim(-0.6, len(numbers) - 0.4)
    ax.set_xlabel("micro-batch")
    return communication.sum(), overlap.sum()


def draw(results):
    results.metric("microbatch")
    rows = in_steps(results.table("metrics/microbatch/by_phase", "microbatch", "direction", "compute_ns",
                                  "communication_ns", "overlap_ns", "wall_ns"))
    rows = rows[(rows["microbatch"] >= 0) & (rows["wall_ns"] > 0)]
    here = [direction for direction in DIRECTIONS if (rows["direction"] == direction).any()]
    if not here:
        raise Skip("no micro-batch has a number and a time")
    numbers = np.unique(rows["microbatch"])
    factor, unit = look.duration_unit(float(np.median(rows["wall_ns"])))
    fig, axes = look.figure(1, len(here), width=max(9.0, min(14.0, 3 + 0.3 * len(numbers) * len(here))), height=4.2,
                            sharey=True, squeeze=False)
    texts = []
    for ax, direction in zip(axes[0], here):
        communication, overlap = bars(ax, rows[rows["direction"] == direction], numbers, factor)
        ax.set_title(direction)
        if communication > 0:
            texts.append(f"{overlap / communication:.0%} of the communication of {direction}")
    axes[0, 0].set_ylabel(f"mean over ranks and steps ({unit})")
    look.legend_below(axes[0, 0], ncols={1: 4, 2: 2}.get(len(here), 1))  # wider than its axes it would push the next away
    text = "Inside micro-batches compute hides " + ", ".join(texts) if texts else \
        "Micro-batches hold no communication but that of dp and pp"
    lengths = [f"{direction} {look.say_ns(float(rows['wall_ns'][rows['direction'] == direction].mean()))}" for direction in here]
    look.title(fig, f"{text}; a micro-batch takes in the mean {', '.join(lengths)}")
    return fig
