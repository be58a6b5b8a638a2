"""Communication inside micro-batches (tensor, expert, context parallel) that compute hides, by micro-batch."""
import numpy as np

import look
from results import Skip, in_steps, summed

DIRECTIONS = [("forward", look.BLUE), ("backward", look.ORANGE), ("weight", look.GREEN)]


def draw(results):
    results.metric("microbatch")
    rows = in_steps(results.table("metrics/microbatch/by_phase", "microbatch", "direction", "communication_ns",
                                  "overlap_ns", "wall_ns"))
    rows = rows[rows["microbatch"] >= 0]
    rows = rows[np.maximum(rows["communication_ns"], 0) > 0]
    if not len(rows):
        raise Skip("no micro-batch has communication other than that of dp and pp")
    numbers = np.unique(rows["microbatch"])
    fig, ax = look.figure(width=max(8, min(14, 2 + 0.4 * len(numbers))), height=3.8)
    means = {}
    here = [part for part in DIRECTIONS if (rows["direction"] == part[0]).any()]
    for place, (direction, colour) in enumerate(here):
        part = rows[rows["direction"] == direction]
        at = np.searchsorted(numbers, part["microbatch"])
        total = summed(at, part["communication_ns"], len(numbers))
        hidden = summed(at, part["overlap_ns"], len(numbers)) / np.maximum(total, 1)
        means[direction] = part["overlap_ns"].sum() / part["communication_ns"].sum()
        width = 0.8 / len(here)
        ax.bar(np.arange(len(numbers)) + (place - (len(here) - 1) / 2) * width, hidden, width, color=colour,
               label=f"{direction}: {means[direction]:.1%}")
    look.label_rows(ax.xaxis, [str(number) for number in numbers])
    ax.set_ylim(0, 1)
    ax.set_xlabel("micro-batch")
    ax.set_ylabel("hidden share of communication (ratio)")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), title="hidden under compute", alignment="left")
    look.title(fig, "Inside micro-batches compute hides " + ", ".join(
        f"{value:.0%} of the communication of {direction}" for direction, value in means.items()))
    return fig
