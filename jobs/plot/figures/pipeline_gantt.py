"""Gantt of one pipeline: every micro-batch of a step, stage by stage."""
import gantt
import look


def draw(results):
    iteration, step, lanes = gantt.lanes_of_a_step(results)
    lanes, count = gantt.most_idle(lanes, "pipeline")
    boxes = max(sum(map(len, lane.boxes.values())) for lane in lanes)
    fig, ax = look.figure(width=14 if boxes <= 40 else 19, height=min(14.0, 1.6 + 0.46 * len(lanes)))
    gantt.draw_lanes(ax, lanes, numbers=True)
    ax.set_yticks(range(len(lanes)), [f"stage {lane.stage}, rank {lane.rank}" for lane in lanes], fontsize=8)
    ax.set_ylabel("stage of the pipeline")
    idle = gantt.idle_share(lanes)
    batches = 1 + max(number for lane in lanes for boxes in lane.boxes.values() for _, _, number, _ in boxes)
    of = f" (the one of {count} with most idle time)" if count > 1 else ""
    look.title(fig, f"Stages of the pipeline of rank {lanes[0].rank}{of} are in no micro-batch {idle.mean():.0%} of step "
                    f"{step}: {idle.min():.0%} on stage {lanes[int(idle.argmin())].stage} to {idle.max():.0%} on stage "
                    f"{lanes[int(idle.argmax())].stage}; {len(lanes)} stages, {batches} micro-batches")
    return fig
