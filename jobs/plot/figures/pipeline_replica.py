"""Gantt of all pipelines of a model replica under each other, one thin lane per rank."""
import gantt
import look
from results import Skip

MOST_LANES = 512


def draw(results):
    _, step, lanes = gantt.lanes_of_a_step(results)
    stages = {lane.stage for lane in lanes}
    if len(lanes) <= len(stages):
        raise Skip("there is one pipeline only: see pipeline_gantt")
    mine, count = gantt.most_idle(lanes, "replica")
    whole = len({lane.pipeline for lane in mine}) < 2  # a replica is one pipeline: all replicas then
    lanes = (lanes if whole else mine)[:MOST_LANES]
    fig, ax = look.figure(width=14, height=min(13.0, 1.8 + 0.16 * len(lanes)))
    gantt.draw_lanes(ax, lanes, numbers=False)
    look.label_rows(ax.yaxis, [f"{lane.rank} (stage {lane.stage})" for lane in lanes], most=40)
    for y in range(1, len(lanes)):
        if lanes[y].pipeline != lanes[y - 1].pipeline:
            ax.axhline(y - 0.5, color="black", linewidth=0.5)
    ax.set_ylabel("rank, pipelines under each other")
    idle = gantt.idle_share(lanes)
    what = "of all pipelines" if whole else "of a model replica" + (
        f" (the one of {count} with most idle time)" if count > 1 else "")
    look.title(fig, f"{len(lanes)} ranks {what} are in no micro-batch {idle.mean():.0%} of step {step}"
                    f"{look.spread([lane.rank for lane in lanes], idle)}")
    return fig
