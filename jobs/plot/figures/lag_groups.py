"""Distribution of the lag (longest wait of a member) over the collectives of each process group."""
import numpy as np

import look
from results import Skip

MOST = 24


def groups_to_show(delay, dimensions):
    """Rows of the groups with most delay, most first; each dimension gets its part, or one would crowd out the others."""
    order = np.argsort(-delay, kind="stable")
    quota = -(-MOST // len(set(dimensions)))
    first = [index for name in sorted(set(dimensions)) for index in order[dimensions[order] == name][:quota]]
    rest = [index for index in order if index not in set(first)]
    shown = (first + rest)[:MOST]
    return sorted(shown, key=lambda index: (-delay[index], index))


def box(name, lag):
    low, first, middle, third, high = np.percentile(lag, [5, 25, 50, 75, 95])
    return {"label": f"{name}  n={len(lag)}", "whislo": low, "q1": first, "med": middle, "q3": third, "whishi": high,
            "fliers": [lag.max()]}


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
    shown = groups_to_show(delay, dimensions)
    parts = [(f"all {name} ({(dimensions == name).sum()} groups)", dimensions[at] == name)
             for name in sorted(set(dimensions)) if (dimensions == name).sum() > 1]
    wholes = len(parts)
    parts += [(names.get(int(groups[index]), str(groups[index])), at == index) for index in shown]
    boxes = [box(name, np.maximum(rows["lag_ns"][chosen], 1) / 1e3) for name, chosen in parts]
    fig, ax = look.figure(width=9, height=max(2.8, 1.4 + 0.26 * len(boxes)))
    drawn = ax.bxp(boxes, vert=False, patch_artist=True, widths=0.6,
           boxprops={"facecolor": look.SKY, "edgecolor": look.BLUE}, medianprops={"color": "black"},
           flierprops={"marker": "|", "markeredgecolor": look.RED, "markersize": 9})
    for patch in drawn["boxes"][:wholes]:
        patch.set_facecolor(look.YELLOW)
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlabel("lag of a collective (µs, log scale): box 25–75 %, whiskers 5–95 %, red: largest")
    ax.set_ylabel("process group, most delay first")
    ax.grid(axis="x", color="#E0E0E0")
    worst = shown[0]
    median = float(np.median(rows["lag_ns"]))
    left = "" if len(groups) <= MOST else f" (shown: {MOST} of {len(groups)} groups)"
    share, where = delay[worst], names.get(int(groups[worst]), groups[worst])
    if share < 0.05 * delay.sum():  # no single group says much
        by_dimension = {name: delay[dimensions == name].sum() for name in sorted(set(dimensions))}
        where = max(by_dimension, key=by_dimension.get)
        share, where = by_dimension[where], f"groups of {where}"
    look.title(fig, f"Half of all collectives wait less than {look.say_ns(median)} for their last member; "
                    f"{share / max(delay.sum(), 1):.0%} of the delay is on {where}{left}")
    return fig
