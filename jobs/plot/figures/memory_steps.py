"""GPU memory of each step as the allocator reported it in the trace (profile_memory), where no snapshot tells it."""
import numpy as np

import look
from results import Skip, grid, in_steps


def draw(results):
    results.metric("memory")
    rows = in_steps(results.table("metrics/memory/in_trace", "rank", "peak_allocated_bytes", "peak_reserved_bytes"))
    told = [(column, name) for column, name in (("peak_allocated_bytes", "in use"), ("peak_reserved_bytes", "reserved"))
            if (rows[column] >= 0).any()]
    if not told:
        raise Skip("no step has a reported size")
    column, name = told[0]
    ranks, steps, most = grid(rows[rows[column] >= 0], column)
    factor, unit = look.byte_unit(float(np.nanmax(most)))
    fig, ax = look.figure(width=9, height=3.8)
    x = np.arange(len(steps))
    few = len(ranks) <= 8
    for index, rank in enumerate(ranks):
        ax.plot(x, most[index] / factor, marker="o", markersize=3, linewidth=1.2 if few else 0.6,
                color=look.PALETTE[index] if few else look.BLUE, label=f"rank {rank}" if few else None)
    if len(told) > 1:
        limit = grid(rows[rows[told[1][0]] >= 0], told[1][0])[2]
        ax.fill_between(np.arange(limit.shape[1]), 0, np.nanmax(limit, axis=0) / factor, color="#E4E4E4", linewidth=0,
                        zorder=0, label="reserved, most over ranks")
    look.label_rows(ax.xaxis, steps, most=24)
    ax.set_xlabel("step (iteration)" if "\n" in steps[0] else "step")
    ax.set_ylabel(f"largest {name} within the step ({unit})")
    ax.set_ylim(bottom=0)
    if few or len(told) > 1:
        look.legend_below(ax, ncols=5)
    row, at = np.unravel_index(int(np.nanargmax(most)), most.shape)
    step = steps[at].split("\n")[0]
    look.title(fig, f"Up to {most[row, at] / factor:.3g} {unit} are {name} within a step (rank {ranks[row]}, step {step}), "
                    f"as the allocator reported it")
    return fig
