"""Rank x step: the delay a rank causes by being last, and which of it is its own."""
import numpy as np

import look
from results import grid, in_steps, ranks_of

OWN = "metrics/straggler_lag/own_blame"


def own_blame(results, ranks, delays):
    """Per rank: the delay it causes itself (waiting elsewhere and its place in the pipeline taken off), and the rows of
    those that stand out, the largest first. From the table, or where the file lacks it from the blame of the steps."""
    if not results.has(OWN) or not len(results.file[OWN]):
        return np.nansum(delays, axis=1), []
    table = results.table(OWN, "rank", "straggler", "since_step", "own_blame_ns", "per_step_ns", "period_ns",
                          "steps_count", "affected_steps_count")
    labels, at = ranks_of(table)
    total = {labels[row]: int(value) for row, value in zip(at, table["own_blame_ns"])}
    late = [(labels[row], line) for row, line in zip(at, table) if line["straggler"]]
    late = [(ranks.index(label), line) for label, line in late if label in ranks]
    return np.array([max(0, total.get(label, 0)) for label in ranks], float), \
        sorted(late, key=lambda pair: -int(pair[1]["own_blame_ns"]))


def finding(attributes, ranks, own, late, steps_count):
    worst = late[0][0] if late else int(np.argmax(own))
    name = f"rank {ranks[worst]}"
    told = int(attributes.get("straggler_rank", -1))
    if told < 0 and not late:
        return worst, f"No rank stands out as a straggler; largest: {name}, {look.say_ns(own[worst] / steps_count)} a step"
    per_step, since, some = own[worst] / steps_count, -1, ""
    share = np.nan
    if late:
        line = late[0][1]
        per_step, since = float(line["per_step_ns"]), int(line["since_step"])
        share = per_step / line["period_ns"] if line["period_ns"] > 0 else np.nan
        if since < 0 and line["affected_steps_count"] < line["steps_count"]:
            some = f", in {int(line['affected_steps_count'])} of {int(line['steps_count'])} steps"
    elif str(told) in ranks:
        worst = ranks.index(str(told))
        name, per_step = f"rank {told}", own[worst] / steps_count
    amount = f"{look.say_ns(per_step)} a step" + (f" ({share:.1%} of the step period)" if np.isfinite(share) else "")
    seen, expected = (int(attributes.get(f"ranks_{what}", 0)) for what in ("covered", "expected"))
    role = "is the straggler" if seen >= expected else f"is last most of the {seen} ranks seen (of {expected})"
    also = f"; so are {len(late) - 1} more" if len(late) > 2 else f"; so is rank {ranks[late[1][0]]}" if len(late) > 1 else ""
    return worst, f"{name[0].upper()}{name[1:]} {role}: it delays the others by {amount}" \
                  f"{f', since step {since}' if since >= 0 else some}{also}"


def draw(results):
    attributes = results.metric("straggler_lag")
    rows = in_steps(results.table("metrics/straggler_lag/rows", "iteration", "step", "rank", "blame_ns"))
    ranks, steps, delays = grid(rows, "blame_ns")
    own, late = own_blame(results, ranks, delays)
    worst, text = finding(attributes, ranks, own, late, len(steps))
    factor, unit = look.duration_unit(float(np.nanmax(delays)))
    fig, (ax, side) = look.figure(1, 2, width=9, height=look.rank_height(len(ranks)), sharey=True,
                                  gridspec_kw={"width_ratios": [4, 1]})
    image = look.heat(ax, delays / factor, (-0.5, len(steps) - 0.5, len(ranks) - 0.5, -0.5))
    marks = [(column, row) for row, _ in late for column in range(len(steps))
             if delays[row, column] > 0.2 * np.nanmax(delays[row])]
    if marks:
        ax.scatter(*zip(*marks), marker="o", s=28 if len(steps) < 60 else 6, facecolors="none", edgecolors=look.RED,
                   linewidths=1.2, label="a straggler")
    ax.set_xlabel("step" if len(steps[0].split("\n")) == 1 else "step (iteration)")
    ax.set_ylabel("rank")
    look.label_rows(ax.xaxis, steps, most=24)
    look.label_rows(ax.yaxis, ranks)
    if marks:
        look.legend_below(ax)
    fig.colorbar(image, ax=ax, label=f"delay where it is last ({unit})", pad=0.02)
    big, big_unit = look.duration_unit(float(own.max()))
    side.barh(np.arange(len(ranks)), own / big, height=1.0 if len(ranks) > 64 else 0.7,
              color=[look.RED if row == worst else look.BLUE for row in range(len(ranks))])
    side.text(own[worst] / big, worst, f" rank {ranks[worst]}", color=look.RED, fontsize=8, va="center")
    side.margins(x=0.35)
    side.set_xlabel(f"its own delay,\nall steps ({big_unit})")
    look.title(fig, text)
    return fig
