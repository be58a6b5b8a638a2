"""What a step would gain if parts of the job were like their peers, or transfers took no time."""
import numpy as np

import look
from results import Skip, steps_of

MOST = {"rank": 8, "stage": 8, "dimension": 8}
LEAST = 0.0005  # of the step: ranks and stages that save less are not listed
EXACT = ["rank", "stage", "dimension"]  # a name says more than a kind of operation, where both save the same
COLOURS = {"compute": look.BLUE, "communication": look.RED, "launch": look.ORANGE, "rank": look.PURPLE, "stage": look.SKY,
           "dimension": look.GREEN, "operation": look.RED, "slowest_ranks": look.PURPLE,
           "slow_ranks": look.PURPLE}


def name(row):
    if row["subject"] == "dimension":
        return f"no transfer time in {row['dimension'] or 'unknown'}"
    if row["subject"] in ("rank", "stage"):
        where = f", replica {row['replica']}" if row["replica"] >= 0 else ""
        return f"{row['subject']} {row['number']} like its peers{where}"
    if row["subject"] == "slowest_ranks":
        return f"{row['number']} slowest of all ranks like their peers"
    if row["subject"] == "slow_ranks":
        return "all slow ranks like their peers"
    if row["subject"] == "operation":
        return f"{row['op']} like its peers'"
    return f"{row['subject']} like its peers'" if row["subject"] != "launch" else "launch gaps like the peers'"


def gains(cases, step_ns):
    """[(label, subject, mean gain ns, least, most over steps)], the largest of each kind in order of the gain, and how
    many there are in all."""
    labels = np.array([name(row) for row in cases])
    kinds, listed = {}, []
    for label in dict.fromkeys(labels):
        mine = cases[labels == label]
        gain = mine["gain_ns"].astype(float)
        kinds.setdefault(str(mine["subject"][0]), []).append((label, gain.mean(), gain.min(), gain.max()))
    for subject, rows in kinds.items():
        rows.sort(key=lambda row: -row[1])
        shown = [row for row in rows if subject not in ("rank", "stage") or row[1] >= LEAST * step_ns] or rows[:1]
        listed += [(row[0], subject, *row[1:]) for row in shown[:MOST.get(subject, 3)]]
    return sorted(listed, key=lambda row: -row[2]), sum(map(len, kinds.values()))


def most_telling(listed):
    near = [row for row in listed if row[2] >= 0.9 * listed[0][2]]
    return min(near, key=lambda row: EXACT.index(row[1]) if row[1] in EXACT else len(EXACT))


def draw(results):
    attributes = results.metric("what_if")
    rows = results.table("metrics/what_if/rows", "iteration", "step", "replica", "measured_ns", "replayed_ns", "ideal_ns")
    rows = rows[(rows["replayed_ns"] > 0) & (rows["ideal_ns"] > 0)]
    cases = results.table("metrics/what_if/cases", "subject", "number", "dimension", "op", "replica", "gain_ns")
    if not len(rows):
        raise Skip("no step was replayed")
    step_ns = float(rows["replayed_ns"].mean())
    listed, count = gains(cases, step_ns)
    fig, (ax, side) = look.figure(1, 2, width=12, height=2.2 + 0.25 * len(listed),
                                  gridspec_kw={"width_ratios": [2.2, 1]})
    y = np.arange(len(listed))
    mean, least, most = (np.array([row[index] for row in listed]) / step_ns for index in (2, 3, 4))
    ax.barh(y, mean, color=[COLOURS.get(row[1], look.GREY) for row in listed])
    if len(rows) > 1:
        ax.errorbar(mean, y, xerr=[mean - least, most - mean], fmt="none", ecolor="black", elinewidth=1, capsize=2)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(y, [row[0] for row in listed], fontsize=8)
    ax.set_ylim(len(listed) - 0.5, -0.5)
    ax.set_ylabel("only this is changed" + (f" (largest of {count})" if count > len(listed) else ""))
    ax.set_xlabel("time a step saves (ratio of the step; line: over steps)")
    ax.grid(axis="x", color="#E8E8E8")
    labels, at = steps_of(rows)
    factor, unit = look.duration_unit(float(rows["measured_ns"].max()))
    side.plot(at, rows["measured_ns"] / factor, "o", color=look.RED, label="as measured", markersize=9, fillstyle="none")
    side.plot(at, rows["ideal_ns"] / factor, "D", color=look.GREEN, label="every operation like its peers'", markersize=4)
    look.label_rows(side.xaxis, labels, most=12)
    side.set_xlim(-0.5, len(labels) - 0.5)
    side.set_ylim(0, 1.08 * float(rows["measured_ns"].max()) / factor)
    side.set_xlabel("step (iteration)" if "\n" in labels[0] else "step")
    side.set_ylabel(f"length of the step ({unit})")
    look.legend_below(side, ncols=1)
    slowdown = float(attributes.get("slowdown_ratio", step_ns / rows["ideal_ns"].mean()))
    text = f"A step of {look.say_ns(step_ns)} would take {look.say_ns(float(rows['ideal_ns'].mean()))} if every operation " \
           f"took what it takes on its peers (S = {slowdown:.3f})"
    if listed[0][2] > 0.002 * step_ns:
        best = most_telling(listed)
        text += f"; most is saved by: {best[0]} ({best[2] / step_ns:.1%})"
    unmatched = float(attributes.get("unmatched_ratio", 0))
    if unmatched > 0.01:
        text += f"; {unmatched:.0%} of the communication is not matched and keeps its waits"
    look.title(fig, text)
    return fig
