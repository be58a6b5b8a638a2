"""Exposed and hidden communication of each named stage, rank by rank, in the window of the steady state."""
import numpy as np

import look
from results import ranks_of, summed


def draw(results):
    results.metric("stage_overlap")
    rows = results.table("metrics/stage_overlap/by_stage", "rank", "stage", "communication_ns", "exposed_ns")
    ranks, at = ranks_of(rows)
    stages = sorted(set(rows["stage"]))
    order = np.array([stages.index(stage) for stage in rows["stage"]])
    cells = order * len(ranks) + at
    total, exposed = (summed(cells, rows[name], len(stages) * len(ranks)).reshape(len(stages), len(ranks))
                      for name in ("communication_ns", "exposed_ns"))
    hidden = np.where(total > 0, 1 - exposed / np.maximum(total, 1), np.nan)
    factor, unit = look.duration_unit(float(total.max()))
    fig, (ax, side) = look.figure(1, 2, width=11, height=look.rank_height(len(stages), 0.4, 3.4))
    y = np.arange(len(stages))
    ax.barh(y, exposed.mean(1) / factor, color=look.RED, label="exposed")
    ax.barh(y, (total - exposed).mean(1) / factor, left=exposed.mean(1) / factor, color=look.GREEN, hatch="///",
            edgecolor="white", linewidth=0, label="hidden under compute")
    ax.set_yticks(y, stages)
    ax.set_ylim(len(stages) - 0.5, -0.5)
    ax.set_xlabel(f"communication in the window, mean over ranks ({unit})")
    ax.set_ylabel("stage")
    look.legend_below(ax, ncols=2)
    image = look.heat(side, hidden, (-0.5, len(ranks) - 0.5, len(stages) - 0.5, -0.5), vmax=1.0, how=np.nanmin)
    look.label_rows(side.xaxis, ranks, most=16)
    side.set_yticks(y, stages)
    side.set_xlabel("rank")
    side.set_ylabel("stage")
    fig.colorbar(image, ax=side, label="hidden share (ratio)")
    worst, rank = np.unravel_index(int(np.argmax(exposed)), exposed.shape)
    share = 1 - exposed.sum() / max(total.sum(), 1)
    look.title(fig, f"{share:.0%} of the stages' communication is hidden; most is exposed in {stages[worst]} on rank "
                    f"{ranks[rank]}: {look.say_ns(float(exposed[worst, rank]))}")
    return fig
