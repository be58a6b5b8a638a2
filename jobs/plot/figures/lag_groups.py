"""Distribution of the lag (longest wait of a member) over the collectives of each process group. Stages of a pipeline wait
in their order, whoever is slow: their groups stand last, and the title is of the others."""
import numpy as np

import look
from results import Skip

MOST = 24
PIPELINE = "pp"
THIN = 0.01  # of the axis: a box that is narrower is no more to be seen


def groups_to_show(delay, dimensions):
    """Rows of the groups with most delay, most first; each dimension gets its part, or one would crowd out the others."""
    order = np.argsort(-delay, kind="stable")
    quota = -(-MOST // len(set(dimensions)))
    first = [index for name in sorted(set(dimensions)) for index in order[dimensions[order] == name][:quota]]
    rest = [index for index in order if index not in set(first)]
    shown = (first + rest)[:MOST]
    return sorted(shown, key=lambda index: (-delay[index], index))


def finding(rows, delay, dimensions, names, groups, at):
    """Whose delay it is: of the groups that are not the order of a pipeline, if there are any."""
    counted = dimensions != PIPELINE
    ordered = counted.any() and not counted.all()
    if not counted.any():
        counted[:] = True
    delay = np.where(counted, delay, 0)
    worst = int(delay.argmax())
    share, where = delay[worst], names.get(int(groups[worst]), groups[worst])
    if share < 0.05 * delay.sum():  # no single group says much
        by_dimension = {name: delay[dimensions == name].sum() for name in sorted(set(dimensions))}
        where = max(by_dimension, key=by_dimension.get)
        share, where = by_dimension[where], f"groups of {where}"
    median = float(np.median(rows["lag_ns"][counted[at]]))
    which, of = ("the collectives beside the pipeline's", "their") if ordered else ("all collectives", "the")
    return f"Half of {which} wait less than {look.say_ns(median)} for their last member; " \
           f"{share / max(delay.sum(), 1):.0%} of {of} delay is on {where}"


def mark_thin(ax, boxes):
    """A diamond where nothing of the box is to be seen."""
    low, high = np.log(ax.get_xlim())
    for place, one in enumerate(boxes, 1):
        if np.log(one["q3"] / one["q1"]) < THIN * (high - low):
            ax.plot(one["med"], place, "D", color=one["color"], markeredgecolor=look.BLUE, markersize=7, zorder=5)


def box(name, lag, color):
    low, first, middle, third, high = np.percentile(lag, [5, 25, 50, 75, 95])
    return {"label": f"{name}  n={len(lag)}", "whislo": low, "q1": first, "med": middle, "q3": third, "whishi": high,
            "fliers": [lag.max()], "color": color}


def draw(results):
    rows = results.table("collectives/instances", "group", "lag_ns", "delay_ns", "suspect")
    rows = rows[(rows["lag_ns"] >= 0) & ~rows["suspect"]]
    if not len(rows):
        raise Skip("no matched symmetric collective has a lag")
    names = results.group_names()
    dimension_of = {int(r["group"]): r["dimension"] or "unknown" for r in results.table("process_groups")}
    groups, at = np.unique(rows["group"], return_inverse=True)
    delay = np.bincount(at, weights=np.maximum(rows["delay_ns"], 0).astype(float))
    dimensions = np.array([dimension_of.get(int(group), "unknown") for group in groups])
    shown = sorted(groups_to_show(delay, dimensions), key=lambda index: dimensions[index] == PIPELINE)
    parts = [(f"all {name} ({(dimensions == name).sum()} groups)", dimensions[at] == name, look.YELLOW)
             for name in sorted(set(dimensions)) if (dimensions == name).sum() > 1]
    parts += [(names.get(int(groups[index]), str(groups[index])), at == index,
               look.GREY if dimensions[index] == PIPELINE else look.SKY) for index in shown]
    boxes = [box(name, np.maximum(rows["lag_ns"][chosen], 1) / 1e3, color) for name, chosen, color in parts]
    fig, ax = look.figure(width=9, height=max(2.8, 1.4 + 0.26 * len(boxes)))
    drawn = ax.bxp(boxes, vert=False, patch_artist=True, widths=0.6,
           boxprops={"facecolor": look.SKY, "edgecolor": look.BLUE}, medianprops={"color": "black"},
           flierprops={"marker": "|", "markeredgecolor": look.RED, "markersize": 9})
    for patch, one in zip(drawn["boxes"], boxes):
        patch.set_facecolor(one["color"])
    ax.invert_yaxis()
    ax.set_xscale("log")
    mark_thin(ax, boxes)
    ax.set_xlabel("lag of a collective (µs, log scale): box 25–75 % (diamond: too thin), whiskers 5–95 %, red: largest")
    ax.set_ylabel("process group, most delay first" + (", pipelines last" if PIPELINE in dimensions else ""))
    ax.grid(axis="x", color="#E0E0E0")
    left = "" if len(groups) <= MOST else f" (shown: {MOST} of {len(groups)} groups)"
    look.title(fig, finding(rows, delay, dimensions, names, groups, at) + left)
    return fig
